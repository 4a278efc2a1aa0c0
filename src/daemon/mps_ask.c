/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See mps_ask.h. */
#include "mps_ask.h"
#include "base/number.h"

#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASK_MS  5000u /* timeout in ms if the configuration sets none */
#define POLL_MS 20u

int mps_place(const struct hd_config *c, struct mps_place *ret)
{
	const char *slash = strrchr(c->socket, '/');
	int dir = slash ? (int)(slash - c->socket) : 0;

	if (!slash)
		return -EINVAL;
	if (snprintf(ret->pipe, sizeof(ret->pipe), "%.*s/mps-pipe", dir, c->socket) >=
			(int)sizeof(ret->pipe) ||
		snprintf(ret->log, sizeof(ret->log), "%.*s/mps-log", dir, c->socket) >=
			(int)sizeof(ret->log) ||
		snprintf(ret->record, sizeof(ret->record), "%.*s/mps-daemon", dir, c->socket) >=
			(int)sizeof(ret->record))
		return -ENAMETOOLONG;
	ret->answer_ms =
		c->mps_answer_ns == UINT64_MAX ? ASK_MS : (unsigned)(c->mps_answer_ns / 1000000);
	return 0;
}

void mps_nap(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

void mps_become(const struct mps_place *p, const char *arg, int input, int output)
{
	int null = open("/dev/null", O_RDWR);

	loop_restore_signals();
	dup2(input >= 0 ? input : null, 0);
	dup2(output >= 0 ? output : null, 1);
	/* The child may live longer than the process that reads heddled's messages. */
	if (output < 0)
		dup2(null, 2);
	setenv("CUDA_MPS_PIPE_DIRECTORY", p->pipe, 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", p->log, 1);
	execlp(MPS_CONTROL, MPS_CONTROL, arg, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

static unsigned elapsed_ms(const struct timespec *began)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)((now.tv_sec - began->tv_sec) * 1000 +
			  (now.tv_nsec - began->tv_nsec) / 1000000);
}

/* Reads until the end of the file, or until `ms` milliseconds after `began`. */
static int read_answer(int fd, const struct timespec *began, unsigned ms, char *ret, size_t max)
{
	size_t len = 0;

	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		unsigned passed = elapsed_ms(began);
		char rest[256];
		ssize_t n;

		if (passed >= ms || poll(&p, 1, (int)(ms - passed)) <= 0)
			return -ETIMEDOUT;
		n = len + 1 < max ? read(fd, ret + len, max - 1 - len)
				  : read(fd, rest, sizeof(rest));
		if (n <= 0)
			break;
		len += len + 1 < max ? (size_t)n : 0;
	}
	ret[len] = 0;
	return 0;
}

/* Waits for a child that has closed its output, and kills it at the deadline. Returns 0 and the
 * child's status, or -ETIMEDOUT or -ECHILD. */
static int reap_child(pid_t pid, const struct timespec *began, unsigned ms, int *ret_status)
{
	pid_t r = waitpid(pid, ret_status, WNOHANG);

	while (r == 0 && elapsed_ms(began) < ms) {
		mps_nap(1);
		r = waitpid(pid, ret_status, WNOHANG);
	}
	if (r == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, ret_status, 0);
		return -ETIMEDOUT;
	}
	return r == pid ? 0 : -ECHILD;
}

/* in, out: pipes to and from the child, each with its read end and its write end. */
static int ask_child(const struct mps_place *p, const char *command, int in[2], int out[2],
	char *ret, size_t max)
{
	struct timespec began;
	int status = 0, r, ended;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &began);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		mps_become(p, NULL, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	in[0] = out[1] = -1;
	dprintf(in[1], "%s\n", command);
	close(in[1]);
	in[1] = -1;
	r = read_answer(out[0], &began, p->answer_ms, ret, max);
	if (r < 0)
		kill(pid, SIGKILL);
	ended = reap_child(pid, &began, p->answer_ms, &status);
	if (r < 0 || ended < 0)
		return r < 0 ? r : ended;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static void close_both(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
	}
}

int mps_ask(const struct mps_place *p, const char *command, char *ret, size_t max)
{
	int in[2], out[2], r;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	r = pipe2(out, O_CLOEXEC) < 0 ? -errno : 0;
	if (r == 0) {
		r = ask_child(p, command, in, out, ret, max);
		close_both(out);
	}
	close_both(in);
	return r;
}

uint64_t mps_start_of(pid_t pid, char *ret_state)
{
	char path[32], text[1024] = "", *at;
	unsigned long long began = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	if (!at || sscanf(at,
			   ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %llu",
			   ret_state, &began) != 2)
		return 0;
	return began;
}

bool mps_await_end(int pidfd, unsigned ms)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	return poll(&p, 1, (int)ms) == 1;
}

/* Returns true if the process is alive. The server keeps the connections of killed processes, so
 * only living ones count. A process of another pid namespace has pid 0 and counts as alive. */
static bool is_process_alive(pid_t pid)
{
	char state = 'Z';

	return pid == 0 || (mps_start_of(pid, &state) && state != 'Z' && state != 'X');
}

/* Reads the next integer of the text. Returns false if there is none. */
static bool next_number(char **io_at, int *ret)
{
	char *word;
	uint64_t n;

	while ((word = strsep(io_at, " \t\r\n"))) {
		if (number_parse(word, 0, INT32_MAX - 1, &n) == 0) {
			*ret = (int)n;
			return true;
		}
	}
	return false;
}

bool mps_has_clients(const struct mps_place *p)
{
	char servers[1024], clients[4096], command[48], *at = servers, *of;
	int server, client;

	if (mps_ask(p, "get_server_list", servers, sizeof(servers)) < 0)
		return true;
	while (next_number(&at, &server)) {
		snprintf(command, sizeof(command), "get_client_list %d", server);
		if (mps_ask(p, command, clients, sizeof(clients)) < 0)
			return true;
		of = clients;
		while (next_number(&of, &client)) {
			if (is_process_alive(client))
				return true;
		}
	}
	return false;
}

/* Asks the control daemon two questions about a server: its state, and the list of its clients. Of
 * the state, only "still starting" matters here. An old control daemon does not know the question
 * for the state. An error message counts as a reply to either question. */
static int server_answers(const struct mps_place *p, int server)
{
	char answer[4096], command[48];
	int r;

	snprintf(command, sizeof(command), "get_server_status %d", server);
	r = mps_ask(p, command, answer, sizeof(answer));
	if (r < 0 && r != -EIO)
		return r;
	if (r == 0 && strstr(answer, "INITIALIZING"))
		return -EBUSY;
	snprintf(command, sizeof(command), "get_client_list %d", server);
	r = mps_ask(p, command, answer, sizeof(answer));
	return r == -EIO ? 0 : r; /* an error message counts as an answer */
}

int mps_answers(const struct mps_place *p, unsigned *ret_servers)
{
	char servers[1024], *at = servers;
	int server, r = mps_ask(p, "get_server_list", servers, sizeof(servers));
	unsigned n = 0;

	while (r == 0 && next_number(&at, &server)) {
		r = server_answers(p, server);
		n++;
	}
	*ret_servers = n;
	return r;
}

int mps_start_server(const struct mps_place *p, unsigned wait_ms)
{
	/* MPS may answer only after the server has started, so this needs a longer timeout. */
	struct mps_place patient = *p;
	char answer[1024], command[48];
	struct timespec began;
	unsigned n = 0;
	int r = mps_answers(p, &n);

	if (r < 0 && r != -EBUSY)
		return r;
	clock_gettime(CLOCK_MONOTONIC, &began);
	if (n == 0) {
		snprintf(command, sizeof(command), "start_server -uid %u", (unsigned)geteuid());
		patient.answer_ms = wait_ms;
		r = mps_ask(&patient, command, answer, sizeof(answer));
		if (r < 0 && r != -ETIMEDOUT)
			return r;
		r = mps_answers(p, &n);
	}
	/* The control daemon may not reply while a server starts, so repeat the question. If no
	 * server appears at all, give up sooner. */
	while (((r == -EBUSY || r == -ETIMEDOUT) && elapsed_ms(&began) < wait_ms) ||
		(r == 0 && n == 0 && elapsed_ms(&began) < wait_ms / 4)) {
		mps_nap(POLL_MS);
		r = mps_answers(p, &n);
	}
	return r == 0 && n == 0 ? -ENOENT : r;
}
