/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* An MPS control daemon of our own, with pipe and log folders of its own, so that one that the
 * machine's owner runs stays untouched. It ends with us. What does not work leaves MPS off, said in
 * one line; tenants then take turns. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTROL       "nvidia-cuda-mps-control"
#define START_WAIT_MS 10000
#define QUIT_WAIT_MS  5000

static int make_dirs(struct hd_config *c, char *ret_log, size_t max)
{
	char dir[sizeof(c->socket)], *slash;
	int n;

	memcpy(dir, c->socket, sizeof(dir));
	slash = strrchr(dir, '/');
	if (!slash)
		return -EINVAL;
	*slash = 0;
	n = snprintf(c->mps_pipe, sizeof(c->mps_pipe), "%s/mps-pipe", dir);
	if (n >= (int)sizeof(c->mps_pipe))
		return -ENAMETOOLONG;
	n = snprintf(ret_log, max, "%s/mps-log", dir);
	if (n >= (int)max)
		return -ENAMETOOLONG;
	if ((mkdir(c->mps_pipe, 0750) < 0 && errno != EEXIST) ||
		(mkdir(ret_log, 0750) < 0 && errno != EEXIST))
		return -errno;
	return 0;
}

static void nap(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* In the child: arg is what the control program gets, input what it reads. */
static void become(const struct hd_config *c, const char *log, const char *arg, int input)
{
	int null = open("/dev/null", O_RDWR);

	loop_restore_signals();
	dup2(input >= 0 ? input : null, 0);
	dup2(null, 1);
	setenv("CUDA_MPS_PIPE_DIRECTORY", c->mps_pipe, 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", log, 1);
	execlp(CONTROL, CONTROL, arg, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

static bool is_up(const struct hd_config *c)
{
	char path[sizeof(c->mps_pipe) + 16];

	snprintf(path, sizeof(path), "%s/control", c->mps_pipe);
	return access(path, F_OK) == 0;
}

static const char *start(struct server *s, const char *log)
{
	char control[sizeof(s->config->mps_pipe) + 16];
	int status;

	snprintf(control, sizeof(control), "%s/control", s->config->mps_pipe);
	unlink(control); /* a dead one's */
	s->mps = fork();
	if (s->mps < 0)
		return strerror(errno);
	if (s->mps == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		become(s->config, log, "-f", -1);
	}
	for (unsigned ms = 0; ms < START_WAIT_MS; ms += 20) {
		if (waitpid(s->mps, &status, WNOHANG) == s->mps) {
			s->mps = 0;
			return WIFEXITED(status) && WEXITSTATUS(status) == 127
				       ? CONTROL " is not installed"
				       : CONTROL " ended at once";
		}
		if (is_up(s->config))
			return NULL;
		nap(20);
	}
	kill(s->mps, SIGTERM);
	waitpid(s->mps, &status, 0);
	s->mps = 0;
	return CONTROL " does not come up";
}

void mps_start(struct server *s)
{
	char log[sizeof(s->config->mps_pipe)];
	const char *why;
	int r = make_dirs(s->config, log, sizeof(log));

	why = r < 0 ? strerror(-r) : start(s, log);
	if (!why) {
		hd_log_at(HD_LOG_INFO, "MPS control daemon %d serves %s", (int)s->mps,
			s->config->mps_pipe);
		return;
	}
	hd_log("no MPS: %s; tenants take turns", why);
	s->config->mps = false;
}

void mps_stop(struct server *s)
{
	int ends[2], status;
	char log[sizeof(s->config->mps_pipe)];
	pid_t quit;

	if (s->mps <= 0)
		return;
	/* "quit" lets servers end in order; the signal is for when it does not listen. */
	if (make_dirs(s->config, log, sizeof(log)) == 0 && pipe2(ends, O_CLOEXEC) == 0) {
		ssize_t n = write(ends[1], "quit\n", 5);

		close(ends[1]);
		quit = n == 5 ? fork() : -1;
		if (quit == 0)
			become(s->config, log, NULL, ends[0]);
		close(ends[0]);
		if (quit > 0)
			waitpid(quit, &status, 0);
	}
	for (unsigned ms = 0; ms < QUIT_WAIT_MS; ms += 20) {
		if (waitpid(s->mps, &status, WNOHANG) != 0)
			return;
		if (ms == QUIT_WAIT_MS / 2)
			kill(s->mps, SIGTERM);
		nap(20);
	}
	kill(s->mps, SIGKILL);
	waitpid(s->mps, &status, 0);
}
