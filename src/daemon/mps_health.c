/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks that MPS still replies. A deadlocked MPS server blocks every program forever in its first
 * driver call, before the program becomes a tenant.
 * - While no tenant on a GPU makes progress, heddled asks the control daemon and its servers every
 *   few seconds. A child process asks, because a reply may take seconds.
 * - After several questions in a row without a reply, heddled kills MPS and starts it again. After
 *   some restarts MPS stays off.
 * - While tenants make progress, heddled does not kill an MPS that does not reply. */
#include "base/number.h"
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "mps_ask.h"

/* Number of questions in a row without a reply after which heddled kills MPS. The higher number
 * applies while tenants are connected, because they may only be pausing, and while a server says
 * that it is starting. */
#define SILENT_MAX      3u
#define SILENT_MAX_HIGH 9u
#define RESTARTS_MAX    3u
#define END_WAIT_MS     500
#define PROCESSES_MAX   64u

/* The byte that the asking child writes to its pipe. A child that got no reply in time writes
 * ANSWER_NONE or nothing. */
enum mps_answer { ANSWER_NONE, ANSWER_OK, ANSWER_STARTING };

/* ---- asking ---- */

/* Called in the child process that asks MPS. Moves the pipe for the result to descriptor 3, and
 * closes all other descriptors that came from heddled, except 0 to 2. */
static void keep_only(int fd)
{
	dup3(fd, 3, O_CLOEXEC);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 4, ~0u, 0) == 0)
		return;
#endif
	for (int i = 4; i < 1024; i++)
		close(i);
}

_Noreturn static void run_asker(const struct mps_place *p, bool starts, unsigned bound_ms, int fd)
{
	struct itimerval t = {.it_value = {bound_ms / 1000, (bound_ms % 1000) * 1000}};
	char answer = ANSWER_NONE;
	unsigned n;
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep_only(fd);
	loop_restore_signals();
	/* Ends this process without an answer when the time is over. */
	setitimer(ITIMER_REAL, &t, NULL);
	r = starts ? mps_start_server(p, bound_ms) : mps_answers(p, &n);
	/* -ENOENT means that no server runs. But the control daemon has replied, and can start a
	 * server for a program. */
	if (r == 0 || (starts && r == -ENOENT))
		answer = ANSWER_OK;
	else if (r == -EBUSY)
		answer = ANSWER_STARTING;
	_exit(write(3, &answer, 1) != 1);
}

/* Starts a child that asks MPS. starts: the child also makes MPS start a server, which may take
 * longer. */
static void ask_mps(struct server *s, bool starts)
{
	uint64_t now = loop_now(s);
	struct mps_place p;
	unsigned bound_ms;
	int fd[2];
	pid_t pid;

	s->mps_ask_ns = now + s->config->mps_answer_ns;
	if (mps_place(s->config, &p) < 0 || pipe2(fd, O_CLOEXEC) < 0)
		return;
	bound_ms = p.answer_ms * (starts ? SERVER_ANSWERS : 1);
	pid = fork();
	if (pid == 0)
		run_asker(&p, starts, bound_ms, fd[1]);
	close(fd[1]);
	if (pid < 0)
		close(fd[0]);
	else if (loop_watch(s, &s->mps_answer, WATCH_MPS_ANSWER, fd[0], EPOLLIN) < 0)
		loop_unwatch(s, &s->mps_answer);
	else /* the child has its own timeout; this longer one applies if the child is stopped */
		s->mps_ask_ns = now + bound_ms * 2000000ull;
}

/* ---- ending MPS ---- */

static bool uses_folder(const struct mps_place *p, int pid)
{
	char path[48], text[65536], name[160];
	size_t len, name_len;
	bool uses = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = 0;
	name_len = (size_t)snprintf(name, sizeof(name), "CUDA_MPS_PIPE_DIRECTORY=%s", p->pipe);
	for (const char *at = text; at < text + len && !uses; at += strlen(at) + 1)
		uses = strncmp(at, name, name_len + 1) == 0;
	return uses;
}

/* Returns true for the control daemon, for its MPS child processes, and for MPS processes that use
 * heddled's pipe folder. */
static bool belongs_to_mps(const struct server *s, const struct mps_place *p, int pid)
{
	char path[48];
	bool is_program;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	/* The system keeps only 15 characters of a process name. The names of the control daemon
	 * and of the MPS server both begin with these 15. */
	is_program = fscanf(f, "%*d (nvidia-cuda-mps) %*c %d", &parent) == 1;
	fclose(f);
	return is_program && (pid == s->mps || parent == s->mps || uses_folder(p, pid));
}

/* Returns pidfds of the processes of MPS, including a living control daemon: at most PROCESSES_MAX.
 * The caller closes them. */
static unsigned find_processes(const struct server *s, const struct mps_place *p, int ret_fds[])
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while (dir && n < PROCESSES_MAX && (e = readdir(dir))) {
		uint64_t pid = 0;
		int fd = number_parse(e->d_name, 1, INT32_MAX, &pid) == 0
				 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0)
				 : -1;

		/* Checked after opening, so that the descriptor certainly belongs to the process
		 * that was checked. */
		if (fd >= 0 && belongs_to_mps(s, p, (pid_t)pid))
			ret_fds[n++] = fd;
		else if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Kills the processes of MPS in two passes. The second one finds a server that the control daemon
 * started before it ended. */
static void kill_mps(struct server *s, const struct mps_place *p)
{
	int fds[PROCESSES_MAX];

	for (unsigned look = 0; look < 2; look++) {
		unsigned n = find_processes(s, p, fds);

		if (look == 0 && kill(s->mps, SIGTERM) == 0)
			mps_await_end(s->mps_end.fd, END_WAIT_MS);
		for (unsigned i = 0; i < n; i++)
			syscall(SYS_pidfd_send_signal, fds[i], SIGKILL, NULL, 0);
		for (unsigned i = 0; i < n; i++) {
			mps_await_end(fds[i], END_WAIT_MS);
			close(fds[i]);
		}
	}
	mps_forget(s, p);
}

static void restart_or_stop_mps(struct server *s)
{
	const char *why = NULL;
	struct mps_place p;

	if (s->mps <= 0 || mps_place(s->config, &p) < 0)
		return;
	s->mps_silent = 0;
	if (s->mps_restarts == RESTARTS_MAX) {
		hd_log("MPS does not answer after %u restarts: it stays off until heddled is "
		       "restarted; "
		       "tenants take turns",
			s->mps_restarts);
		kill_mps(s, &p);
		mps_off(s);
		return;
	}
	hd_log("MPS does not answer: heddled restarts its server and control daemon (restart %u "
	       "of %u)",
		++s->mps_restarts, RESTARTS_MAX);
	kill_mps(s, &p);
	why = mps_start_control(s, &p);
	if (!why) {
		/* The new server has no connections of programs that were killed before. */
		s->mps_killed = s->hd->killed;
		s->mps_said = false;
		ask_mps(s, true);
		return;
	}
	hd_log("MPS is off: %s; tenants take turns", why);
	mps_off(s);
}

/* ---- evaluating the answer ---- */

static bool makes_progress(struct server *s)
{
	uint64_t before = s->mps_progress;

	s->mps_progress = hd_progress(s->hd);
	return s->mps_progress != before;
}

static void handle_answer(struct server *s, enum mps_answer answer)
{
	uint64_t answer_ns = s->config->mps_answer_ns;
	bool high = answer == ANSWER_STARTING || s->hd->n_tenants;

	loop_unwatch(s, &s->mps_answer);
	s->hd->mps_silent = answer != ANSWER_OK;
	if (answer == ANSWER_OK || makes_progress(s)) {
		s->mps_silent = 0;
		s->mps_ask_ns = loop_now(s) + answer_ns * 5 / 3;
		return;
	}
	s->mps_silent++;
	s->mps_ask_ns = loop_now(s) + answer_ns / 3;
	if (s->mps_silent >= (high ? SILENT_MAX_HIGH : SILENT_MAX))
		restart_or_stop_mps(s);
}

void mps_answered(struct server *s)
{
	char answer = ANSWER_NONE;

	if (s->mps_answer.fd < 0)
		return;
	if (read(s->mps_answer.fd, &answer, 1) < 1)
		answer = ANSWER_NONE;
	handle_answer(s, (enum mps_answer)answer);
}

uint64_t mps_health(struct server *s)
{
	if (s->mps <= 0 || s->config->mps_answer_ns == UINT64_MAX)
		return UINT64_MAX;
	if (loop_now(s) < s->mps_ask_ns)
		return s->mps_ask_ns;
	if (s->mps_answer.fd >= 0)
		handle_answer(s, ANSWER_NONE);
	else if (!s->mps_ask_ns || (!s->hd->mps_silent && makes_progress(s)))
		s->mps_ask_ns = loop_now(s) + s->config->mps_answer_ns * 5 / 3;
	else
		ask_mps(s, false);
	return s->mps > 0 ? s->mps_ask_ns : UINT64_MAX;
}
