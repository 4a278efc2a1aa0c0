/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements heddle run -v. A process that becomes a tenant sends its shared page to the socket
 * that HEDDLE_REPORT names. The page outlives the process, no matter how the process ends. heddled
 * writes the final figures to the page when it notices the end. */
#include "cli/run_watch.h"
#include "cli/listing.h"
#include "cli/run_why.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "front/ask.h"
#include "wire/wire.h"

#define BACKLOG  256
#define FINAL_MS 2000 /* time for heddled to notice the program's end */

struct tenant {
	struct wire_page *page;
	struct wire_hello hello;
	pid_t pid;
};
struct watch {
	struct cli *c;
	char dir[64], path[96];
	int listener;
	VEC(struct tenant) tenants;
	/* If there is no tenant: the last message of the program's shims, and what /proc showed of
	 * the program. */
	char said[sizeof(((struct wire_refused *)0)->why)];
	struct run_seen seen;
};

static volatile pid_t child;

/* Passes a signal on to the program if another process sent it to this process with kill(), because
 * the sender meant the program. A signal from the terminal is not passed on, because the program,
 * in the same process group, has got it already. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	int e = errno;

	(void)context;
	if (info->si_code <= 0 && child > 0)
		kill(child, sig);
	errno = e;
}

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

static void catch_signals(struct sigaction old[])
{
	struct sigaction sa = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(&sa.sa_mask);
	for (unsigned i = 0; i < ARRAY_LEN(passed); i++)
		sigaction(passed[i], &sa, &old[i]);
}

static int open_socket(struct watch *w)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int r = cli_make_folder("run", w->dir);

	if (r < 0)
		return r;
	snprintf(w->path, sizeof(w->path), "%s/report", w->dir);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", w->path);
	w->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		listen(w->listener, BACKLOG) < 0)
		return -errno;
	return setenv(WIRE_REPORT_ENV, w->path, 1) ? -ENOMEM : 0;
}

static void close_socket(struct watch *w)
{
	if (w->listener >= 0)
		close(w->listener);
	if (w->path[0])
		unlink(w->path);
	if (w->dir[0])
		rmdir(w->dir);
	for (size_t i = 0; i < w->tenants.len; i++)
		wire_page_unmap(w->tenants.at[i].page);
	VEC_FREE(&w->tenants);
}

/* Reads one report that waits on the socket. Returns false if there is none. */
static bool read_report(struct watch *w)
{
	int sock = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC), fd = -1, r;
	struct timeval patience = {.tv_usec = 200000};
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct tenant t = {0};
	union {
		struct wire_head head;
		struct wire_hello hello;
		struct wire_refused refused;
	} m;
	unsigned n = 0;

	if (sock < 0)
		return false;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	r = wire_recv(sock, &m, sizeof(m), &fd, 1, &n);
	if (r > 0 && wire_check(&m, (size_t)r) < 0)
		r = -EPROTO;
	if (r > 0)
		wire_plain(&m);
	if (r > 0 && m.head.type == WIRE_REFUSED)
		snprintf(w->said, sizeof(w->said), "%s", m.refused.why);
	else if (r > 0 && m.head.type == WIRE_HELLO)
		t.hello = m.hello;
	if (r > 0 && n == 1 && m.head.type == WIRE_HELLO &&
		getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
		wire_page_map(fd, &t.page) == 0) {
		t.pid = cred.pid;
		if (!VEC_PUSH(&w->tenants, t))
			wire_page_unmap(t.page);
	}
	if (n == 1)
		close(fd);
	close(sock);
	return true;
}

/* Waits until the program ends. It polls a pidfd together with the listening socket, so that
 * reports that arrive meanwhile are read. */
static int await_end(struct watch *w)
{
	int fd = (int)syscall(SYS_pidfd_open, child, 0), status = 0;
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = w->listener, .events = POLLIN}};

	/* Until a tenant reports, the loop examines the running process. It does so often at first,
	 * because the program may end soon. */
	for (int ms = 1; fd >= 0 && !(p[0].revents & POLLIN); ms = MIN(2 * ms, 1000)) {
		if (poll(p, ARRAY_LEN(p), w->tenants.len ? -1 : ms) > 0 && (p[1].revents & POLLIN))
			read_report(w);
		if (!w->tenants.len)
			run_look(child, w->path, &w->seen);
	}
	if (fd >= 0)
		close(fd);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	while (read_report(w))
		;
	return status;
}

/* ---- the report on the launches ---- */

static bool is_final(const struct tenant *t)
{
	return __atomic_load_n(&t->page->left, __ATOMIC_ACQUIRE);
}

/* Waits for the final figures, but not for processes that outlive the program. */
static void await_figures(const struct watch *w)
{
	for (int ms = 0; ms < FINAL_MS; ms += 5) {
		bool all = true;

		for (size_t i = 0; i < w->tenants.len; i++)
			all = all &&
			      (is_final(&w->tenants.at[i]) || kill(w->tenants.at[i].pid, 0) == 0);
		if (all)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
}

static uint64_t read_word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Appends "launches 60: 42 managed, 18 plain", and a line for each reason why launches were not
 * managed. */
static void add_launches(struct strbuf *o, const struct wire_page *p)
{
	uint64_t by_reason[WIRE_REASONS], by_outcome[WIRE_OUTCOMES], all;

	for (unsigned i = 0; i < WIRE_REASONS; i++)
		by_reason[i] = read_word(&p->launched[i]);
	all = wire_outcomes(by_reason, by_outcome);
	strbuf_printf(o, "\n  %-10s %" PRIu64, "launches", all);
	for (unsigned i = 0, any = 0; i < WIRE_OUTCOMES; i++)
		if (by_outcome[i])
			strbuf_printf(o, "%s%" PRIu64 " %s", any++ ? ", " : ": ", by_outcome[i],
				wire_outcome_names[i]);
	for (unsigned i = 0; i < WIRE_REASONS; i++)
		if (by_reason[i] && wire_reason_rows[i].outcome > WIRE_GUARD)
			strbuf_printf(o, "\n    %" PRIu64 " %s, %s: %s", by_reason[i],
				wire_outcome_names[wire_reason_rows[i].outcome],
				wire_reason_rows[i].name, wire_reason_rows[i].text);
}

/* Returns whether this tenant's program is a tenant on several devices. */
static bool is_one_of_several(const struct watch *w, const struct tenant *t)
{
	for (size_t i = 0; i < w->tenants.len; i++) {
		const struct tenant *o = &w->tenants.at[i];

		if (o->pid == t->pid && strcmp(o->hello.device, t->hello.device) != 0)
			return true;
	}
	return false;
}

static void add_text(struct strbuf *o, const struct watch *w, const struct tenant *t)
{
	const struct wire_page *p = t->page;
	char asked[16], granted[16];

	strbuf_printf(o, "heddle run: %s, pid %d", t->hello.name, (int)t->pid);
	if (is_one_of_several(w, t))
		strbuf_printf(o, ", on %s (%s)", t->hello.device_name, t->hello.device);
	strbuf_printf(
		o, ": priority %s", ask_priority_name((int)p->priority, granted, sizeof(granted)));
	if ((int)p->priority != t->hello.priority)
		strbuf_printf(o, " (%s was asked for)",
			ask_priority_name(t->hello.priority, asked, sizeof(asked)));
	add_launches(o, p);
	strbuf_printf(o, "\n  %-10s %" PRIu64 " time%s\n", "preempted", read_word(&p->preempted),
		PLURAL(read_word(&p->preempted), "s"));
	strbuf_printf(o, "  %-10s %.1f ms", "time lost",
		(double)(read_word(&p->waited_ns) + read_word(&p->held_ns)) / 1e6);
	if (read_word(&p->spanned_ns))
		strbuf_printf(o, " (its preemptible launches took %.1f ms in all)",
			(double)read_word(&p->spanned_ns) / 1e6);
	strbuf_puts(o, "\n");
	if (!is_final(t))
		strbuf_puts(o, "  (heddled had not noticed its end: figures may be old)\n");
}

static void add_json(struct json *j, const struct tenant *t)
{
	const struct wire_page *p = t->page;
	uint64_t launched[WIRE_REASONS];
	char name[16];

	json_begin_object(j, NULL);
	json_int(j, "pid", t->pid);
	json_str(j, "name", t->hello.name);
	json_str(j, "device", t->hello.device);
	json_str(j, "priority", ask_priority_name((int)p->priority, name, sizeof(name)));
	json_uint(j, "weight", p->weight);
	json_str(j, "asked_priority", ask_priority_name(t->hello.priority, name, sizeof(name)));
	json_bool(j, "ended", is_final(t));
	for (unsigned i = 0; i < WIRE_REASONS; i++)
		launched[i] = read_word(&p->launched[i]);
	listing_json_launches(launched, j);
	json_uint(j, "preemptions", read_word(&p->preempted));
	json_uint(j, "spanned_ns", read_word(&p->spanned_ns));
	json_uint(j, "waited_ns", read_word(&p->waited_ns));
	json_uint(j, "held_ns", read_word(&p->held_ns));
	json_end(j, '}');
}

static void report_figures(struct watch *w)
{
	struct strbuf out = {0};
	struct json j;
	char why[6400];

	await_figures(w);
	if (w->c->json) {
		json_init(&j, &out);
		json_begin_object(&j, NULL);
		json_uint(&j, "schema", 1);
		json_str(&j, "command", "run");
		json_begin_array(&j, "tenants");
	}
	for (size_t i = 0; i < w->tenants.len; i++) {
		if (w->c->json)
			add_json(&j, &w->tenants.at[i]);
		else
			add_text(&out, w, &w->tenants.at[i]);
	}
	if (w->c->json) {
		json_end(&j, ']');
		json_str(&j, "why",
			w->tenants.len
				? NULL
				: run_why(w->c->operands[0], w->said, &w->seen, why, sizeof(why)));
		json_end(&j, '}');
	} else if (!w->tenants.len) {
		strbuf_printf(&out, "heddle run: %s did not become a tenant: %s\n",
			w->c->operands[0],
			run_why(w->c->operands[0], w->said, &w->seen, why, sizeof(why)));
	}
	if (out.len)
		fwrite(out.at, 1, out.len, stderr);
	strbuf_finish(&out);
}

/* Ends this process with the program's exit status or signal, so that the parent process sees the
 * same result. */
static int end_like(int status)
{
	if (WIFSIGNALED(status)) {
		struct rlimit none = {0, 0};
		sigset_t all;

		setrlimit(RLIMIT_CORE, &none); /* the program has already written its core dump */
		signal(WTERMSIG(status), SIG_DFL);
		sigfillset(&all);
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

static void become_program(const struct cli *c, const struct sigaction old[])
{
	for (unsigned i = 0; i < ARRAY_LEN(passed); i++)
		sigaction(passed[i], &old[i], NULL);
	_exit(run_exec(c));
}

int run_watched(struct cli *c)
{
	struct watch w = {.c = c, .listener = -1};
	struct sigaction old[ARRAY_LEN(passed)];
	int r = open_socket(&w), status;

	if (r < 0) {
		close_socket(&w);
		cli_error(c, "TMPDIR says where else", "a socket for the report: %s", strerror(-r));
		return 125;
	}
	catch_signals(old);
	fflush(NULL);
	child = fork();
	if (child == 0)
		become_program(c, old);
	if (child < 0) {
		close_socket(&w);
		cli_error(c, NULL, "fork: %s", strerror(errno));
		return 125;
	}
	status = await_end(&w);
	report_figures(&w);
	close_socket(&w);
	return end_like(status);
}
