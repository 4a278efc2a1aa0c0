/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs an MPS control daemon with its own pipe and log folders, so that heddled does not disturb a
 * control daemon that the machine's owner runs.
 *
 * Programs under MPS end when their control daemon ends. So heddled's control daemon outlives a
 * heddled that is killed, or that ends while programs run. A file beside the folders identifies the
 * control daemon, and the next heddled adopts it. The configuration can also demand that the
 * control daemon ends with heddled.
 *
 * If the control daemon cannot be started or adopted, MPS stays off and heddled logs one line;
 * tenants then use the GPU in time slices. */
#include "base/number.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mps_ask.h"

#define START_WAIT_MS 10000
#define QUIT_WAIT_MS  5000
/* The MPS server keeps the connections of killed programs. After some 60 of them it accepts no new
 * program (H200, driver 580). So after KILLED_SOME killed programs, heddled restarts MPS once no
 * program runs. After KILLED_MANY, it logs a warning if programs still run. */
#define KILLED_SOME   20u
#define KILLED_MANY   40u
#define LOOK_AGAIN_NS 1000000000u

static int make_dirs(const struct mps_place *p)
{
	if ((mkdir(p->pipe, 0750) < 0 && errno != EEXIST) ||
		(mkdir(p->log, 0750) < 0 && errno != EEXIST))
		return -errno;
	return 0;
}

static bool is_control_up(const struct mps_place *p)
{
	char path[sizeof(p->pipe) + 16];

	snprintf(path, sizeof(path), "%s/control", p->pipe);
	return access(path, F_OK) == 0;
}

/* ---- identity ---- */

/* Writes the record of the control daemon. The process that becomes the control daemon writes its
 * record itself, before it executes NVIDIA's program. So a control daemon has a record from its
 * beginning, unless the file cannot be written. */
static void write_record(const struct mps_place *p)
{
	int fd = open(p->record, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char state;

	if (fd < 0)
		return;
	dprintf(fd, "%d %llu\n", (int)getpid(), (unsigned long long)mps_start_of(getpid(), &state));
	close(fd);
}

/* Returns the pid of the recorded control daemon, or 0 if there is none or it has ended. */
static pid_t read_record(const struct mps_place *p)
{
	int fd = open(p->record, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned long long began = 0;
	char text[64] = "", state;
	struct stat st;
	int pid = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%d %llu", &pid, &began) != 2)
		pid = 0;
	close(fd);
	return pid > 0 && began && mps_start_of(pid, &state) == began && state != 'Z' ? pid : 0;
}

/* Watches the control daemon for its end. Returns 0 or a negative errno. */
static int watch_control(struct server *s, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), r = fd < 0 ? -errno : 0;

	if (r == 0)
		r = loop_watch(s, &s->mps_end, WATCH_MPS, fd, EPOLLIN);
	if (r == 0)
		s->mps = pid;
	return r;
}

void mps_forget(struct server *s, const struct mps_place *p)
{
	int status;

	loop_unwatch(s, &s->mps_answer);
	loop_unwatch(s, &s->mps_end);
	/* Works only if the control daemon is a child of this process. */
	waitpid(s->mps, &status, WNOHANG);
	unlink(p->record);
	s->mps = 0;
}

void mps_off(struct server *s)
{
	s->config->mps = s->hd->config.mps = false;
}

void mps_ended(struct server *s)
{
	struct mps_place p;

	/* The event was for an earlier control daemon; this one still runs. */
	if (!mps_await_end(s->mps_end.fd, 0))
		return;
	hd_log("the MPS control daemon ended: new tenants take turns");
	if (mps_place(s->config, &p) == 0)
		mps_forget(s, &p);
	mps_off(s);
}

/* ---- start ---- */

/* Returns true if `devices` is a list of GPU indices other than 0, 1, 2, ... The MPS server is
 * started with this list as its visible devices, and numbers those from 0. A program under MPS
 * applies the same list once more, to the server's numbers. So with such a list it would see other
 * GPUs, or none. */
static bool lists_other_indices(const char *devices)
{
	for (unsigned long i = 0; *devices >= '0' && *devices <= '9'; i++) {
		struct number n = number_digits(devices, SIZE_MAX, 10);

		if (n.value != i)
			return true;
		devices += n.len;
		devices += *devices == ',';
	}
	return false;
}

static void warn_of_indices(void)
{
	const char *devices = getenv("CUDA_VISIBLE_DEVICES");

	if (devices && lists_other_indices(devices))
		hd_log("CUDA_VISIBLE_DEVICES=%s: MPS numbers these GPUs from 0, so programs with "
		       "the same value fail: name GPUs by UUID (nvidia-smi -L)",
			devices);
}

const char *mps_start_control(struct server *s, const struct mps_place *p)
{
	char control[sizeof(p->pipe) + 16];
	int status;
	pid_t pid;

	warn_of_indices();
	snprintf(control, sizeof(control), "%s/control", p->pipe);
	unlink(control); /* may be left over from an earlier daemon */
	pid = fork();
	if (pid < 0)
		return strerror(errno);
	if (pid == 0) {
		if (s->config->mps_stays)
			/* Keeps signals that a terminal sends to heddled away from the control
			 * daemon. */
			setsid();
		else
			prctl(PR_SET_PDEATHSIG, SIGTERM);
		write_record(p);
		mps_become(p, "-f", -1, -1);
	}
	for (unsigned ms = 0; ms < START_WAIT_MS; ms += 20) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			unlink(p->record);
			return WIFEXITED(status) && WEXITSTATUS(status) == 127
				       ? MPS_CONTROL " is not installed"
				       : MPS_CONTROL " ended at once";
		}
		if (is_control_up(p) && watch_control(s, pid) == 0)
			return NULL;
		mps_nap(20);
	}
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	unlink(p->record);
	return MPS_CONTROL " did not start within 10 s";
}

/* Adopts the control daemon of an earlier heddled and changes nothing of it, because programs may
 * run under it. */
static const char *adopt_control(struct server *s, const struct mps_place *p, pid_t pid)
{
	char answer[512];

	if (mps_ask(p, "get_server_list", answer, sizeof(answer)) < 0)
		return "the control daemon of an earlier heddled does not answer";
	return watch_control(s, pid) < 0 ? strerror(errno) : NULL;
}

/* Ends the control daemon, with the command "quit" if it still answers. */
static void quit_control(struct server *s, const struct mps_place *p)
{
	char answer[512];

	/* "quit" lets the servers end in order. Signals follow if the control daemon does not
	 * reply. */
	mps_ask(p, "quit", answer, sizeof(answer));
	if (!mps_await_end(s->mps_end.fd, QUIT_WAIT_MS / 2)) {
		kill(s->mps, SIGTERM);
		if (!mps_await_end(s->mps_end.fd, QUIT_WAIT_MS / 2))
			kill(s->mps, SIGKILL);
		mps_await_end(s->mps_end.fd, QUIT_WAIT_MS);
	}
	mps_forget(s, p);
}

/* Ends the control daemon that an earlier heddled left running, because the configuration no longer
 * asks for MPS. Does nothing if a program uses that control daemon. */
static void end_leftover_control(struct server *s, const struct mps_place *p)
{
	pid_t pid = read_record(p);

	if (!pid || watch_control(s, pid) < 0)
		return;
	if (!mps_has_clients(p)) {
		quit_control(s, p);
		return;
	}
	hd_log("MPS control daemon %d of an earlier heddled still serves programs: it stays", pid);
	loop_unwatch(s, &s->mps_end);
	s->mps = 0;
}

/* Starts the MPS server before the first program connects. Otherwise the first program starts the
 * server, and may be killed meanwhile. When that happened once (driver 580), the server deadlocked
 * and all programs waited for it. */
static void start_first_server(const struct mps_place *p)
{
	int r = mps_start_server(p, p->answer_ms * SERVER_ANSWERS);

	if (r == 0)
		return;
	hd_log("MPS has no server for uid %u yet (%s): the first program starts it",
		(unsigned)geteuid(),
		r == -ENOENT  ? "none started"
		: r == -EBUSY ? "it is still starting"
		: r == -EIO   ? "the control daemon cannot start one"
			      : strerror(-r));
}

void mps_start(struct server *s)
{
	struct mps_place p;
	const char *why = NULL;
	int r = mps_place(s->config, &p);
	pid_t pid;

	s->mps_end.fd = s->mps_answer.fd = -1;
	if (!s->config->mps && r == 0)
		end_leftover_control(s, &p);
	if (!s->config->mps)
		return;
	memcpy(s->config->mps_pipe, p.pipe, sizeof(p.pipe));
	if (r == 0)
		r = make_dirs(&p);
	pid = r < 0 ? 0 : read_record(&p);
	if (r < 0)
		why = strerror(-r);
	else
		why = pid ? adopt_control(s, &p, pid) : mps_start_control(s, &p);
	if (why) {
		hd_log("MPS is off: %s; tenants take turns", why);
		s->config->mps = false;
		return;
	}
	start_first_server(&p);
	hd_log_at(HD_LOG_INFO, "MPS control daemon %d%s serves %s", (int)s->mps,
		pid ? " of an earlier heddled" : "", p.pipe);
}

void mps_stop(struct server *s, bool somebody)
{
	struct mps_place p;

	if (s->mps <= 0 || mps_place(s->config, &p) < 0)
		return;
	loop_unwatch(s, &s->mps_answer);
	if (s->config->mps_stays && (somebody || mps_has_clients(&p))) {
		hd_log_at(HD_LOG_INFO,
			"MPS control daemon %d stays, for programs run under it: the next heddled "
			"takes it over",
			(int)s->mps);
		loop_unwatch(s, &s->mps_end);
		return;
	}
	quit_control(s, &p);
}

/* ---- restart ---- */

static void restart_control(struct server *s, const struct mps_place *p, uint32_t killed)
{
	const char *why;

	hd_log_at(HD_LOG_INFO, "MPS is restarted: programs killed under it: %u", killed);
	quit_control(s, p);
	why = mps_start_control(s, p);
	if (!why) {
		start_first_server(p);
		return;
	}
	hd_log("MPS is off: %s; tenants take turns", why);
	mps_off(s);
}

void mps_look(struct server *s)
{
	uint32_t killed = s->hd->killed - s->mps_killed;
	struct mps_place p;

	if (s->mps <= 0 || killed < KILLED_SOME || loop_now(s) < s->mps_look_ns ||
		s->hd->mps_silent) /* mps_health restarts a silent MPS */
		return;
	if (s->hd->n_tenants && killed >= KILLED_MANY && !s->mps_said) {
		hd_log("%u programs were killed under MPS, which accepts no new program after some "
		       "60: "
		       "heddled restarts it when no program runs",
			killed);
		s->mps_said = true;
	}
	if (s->hd->n_tenants)
		return;
	s->mps_look_ns = loop_now(s) + LOOK_AGAIN_NS;
	if (mps_place(s->config, &p) < 0 || mps_has_clients(&p))
		return;
	restart_control(s, &p, killed);
	s->mps_killed = s->hd->killed;
	s->mps_said = false;
}
