/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs the child processes of a verb. Each child has a pipe, and one poll() waits for all pipes.
 * SIGCHLD is not used. */
#include "front/child.h"

#include "base/measure.h"

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

extern char **environ;

static volatile sig_atomic_t caught, told; /* the last signal; the number of signals so far */

static void on_signal(int sig)
{
	caught = sig;
	told = told + 1;
}

void child_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal}, old;

	sigemptyset(&sa.sa_mask);
	for (unsigned i = 0; i < ARRAY_LEN(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &sa, NULL);
}

bool child_interrupted(void)
{
	return caught;
}

void child_end_if_interrupted(void)
{
	if (!caught)
		return;
	signal(caught, SIG_DFL);
	raise(caught);
}

/* Executes the child's program; never returns. in_fd < 0: the child has no input. */
static void become_child(char *const argv[], char *const env[], const char *err_path, int in_fd,
	int out_fd, pid_t parent)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(125); /* the parent ended before the call of prctl */
	dup2(out_fd, STDOUT_FILENO);
	if (err_path) {
		fd = open(err_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (fd >= 0)
			dup2(fd, STDERR_FILENO);
	}
	fd = in_fd >= 0 ? in_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDIN_FILENO);
	for (; env && *env; env++) {
		if (strchr(*env, '='))
			putenv(*env);
		else
			unsetenv(*env);
	}
	execvp(argv[0], argv);
	_exit(errno == ENOENT ? 127 : 126);
}

static void close_both(const int fds[2])
{
	for (unsigned i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int start_child(char *const argv[], char *const env[], const char *err_path, bool listening,
	struct child *ret)
{
	pid_t pid, parent = getpid();
	int out[2], in[2] = {-1, -1}, e;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (listening && pipe2(in, O_CLOEXEC)) {
		e = errno;
		close_both(out);
		return -e;
	}
	pid = fork();
	if (pid == 0)
		become_child(argv, env, err_path, in[0], out[1], parent);
	e = errno;
	if (pid < 0) {
		close_both(out);
		close_both(in);
		return -e;
	}
	close(out[1]);
	if (listening)
		close(in[0]);
	*ret = (struct child){.pid = pid, .fd = out[0], .in = in[1]};
	return 0;
}

int child_start(char *const argv[], char *const env[], const char *err_path, struct child *ret)
{
	return start_child(argv, env, err_path, false, ret);
}

int child_start_listening(
	char *const argv[], char *const env[], const char *err_path, struct child *ret)
{
	return start_child(argv, env, err_path, true, ret);
}

int child_tell(struct child *c, const char *text)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	size_t len = strlen(text);
	ssize_t n;
	int e;

	sigemptyset(&ignore.sa_mask);
	sigaction(SIGPIPE, &ignore, &old);
	n = write(c->in, text, len);
	e = errno;
	sigaction(SIGPIPE, &old, NULL);
	return n == (ssize_t)len ? 0 : n < 0 ? -e : -EPIPE;
}

void child_close_input(struct child *c)
{
	if (c->in > 0)
		close(c->in);
	c->in = -1;
}

/* Reads the output that is available. Closes the pipe at its end. */
static void drain_output(struct child *c)
{
	char buf[16384];
	ssize_t n = read(c->fd, buf, sizeof(buf));

	if (n > 0) {
		strbuf_add(&c->out, buf, (size_t)n);
	} else if (n == 0 || errno != EINTR) {
		close(c->fd);
		c->fd = -1;
	}
}

static void reap_child(struct child *c)
{
	while (c->pid > 0 && waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

static void kill_all(struct child *children, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (children[i].pid > 0)
			kill(children[i].pid, SIGKILL);
	for (unsigned i = 0; i < n; i++)
		reap_child(&children[i]);
}

int child_collect(struct child *children, unsigned n, int timeout_ms)
{
	double end = clock_ms() + timeout_ms;
	static sig_atomic_t heeded; /* the value of `told` at the last return with -EINTR */

	for (;;) {
		struct pollfd p[16];
		unsigned index[16], open_fds = 0;
		double left = end - clock_ms();

		for (unsigned i = 0; i < n && open_fds < ARRAY_LEN(p); i++) {
			if (children[i].fd < 0)
				continue;
			index[open_fds] = i;
			p[open_fds++] = (struct pollfd){.fd = children[i].fd, .events = POLLIN};
		}
		if (open_fds == 0)
			return 0;
		if (left <= 0 || heeded != told) {
			heeded = told;
			return left <= 0 ? -ETIMEDOUT : -EINTR;
		}
		if (poll(p, open_fds, (int)MIN(left + 1, 1000)) > 0)
			for (unsigned i = 0; i < open_fds; i++)
				if (p[i].revents)
					drain_output(&children[index[i]]);
	}
}

int child_wait(struct child *children, unsigned n, int timeout_ms)
{
	int r = child_collect(children, n, timeout_ms);

	if (r)
		kill_all(children, n);
	else
		for (unsigned i = 0; i < n; i++)
			reap_child(&children[i]);
	return r;
}

static void child_stop(struct child *c)
{
	if (c->pid <= 0)
		return;
	kill(c->pid, SIGTERM);
	for (int i = 0; i < 100; i++) {
		if (waitpid(c->pid, &c->status, WNOHANG) != 0) {
			c->pid = 0;
			return;
		}
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	kill(c->pid, SIGKILL);
	reap_child(c);
}

void child_finish(struct child *c)
{
	child_stop(c);
	child_close_input(c);
	if (c->fd > 0)
		close(c->fd);
	strbuf_finish(&c->out);
	*c = (struct child){.fd = -1};
}

const char *child_status_text(const struct child *c, char *buf, size_t size)
{
	if (WIFSIGNALED(c->status))
		snprintf(buf, size, "killed by %s", strsignal(WTERMSIG(c->status)));
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(c->status));
	return buf;
}
