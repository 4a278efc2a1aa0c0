/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how heddled starts MPS, adopts it, leaves it running and ends it. A script simulates MPS's
 * control program: it knows the commands that heddled sends, and stays running like the real
 * one. */
#include "at_once.h"
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files that the script writes:
 *  started: process ids of all control daemons
 *  ended: for each control daemon that ended, the reason
 *  said: the commands that it received
 *  server: the id of the server, which is a separate process
 *  ready: the server is up
 * Files that a test creates:
 *  clients: the script's answer to a request for the clients
 *  deaf: every command fails
 *  alone: no server starts
 *  slow: a server takes a second to start
 *  hangs: the control daemon does not answer until it is started again
 *  deadlock: a server does not answer until the control daemon is started again
 *  unready: a server says that it is starting until the control daemon is started again
 *  stuck: after hangs, deadlock or unready, starting the control daemon again is no help */
static const char control[] =
	"#!/bin/sh\n"
	"p=$CUDA_MPS_PIPE_DIRECTORY\n"
	"d=$p/..\n"
	"if [ \"$1\" = -f ]; then\n"
	"	[ ! -e \"$d/server\" ] || kill -9 \"$(cat \"$d/server\")\"\n"
	"	rm -f \"$d/server\" \"$d/ready\"\n"
	"	[ -e \"$d/stuck\" ] || rm -f \"$d/hangs\" \"$d/deadlock\" \"$d/unready\"\n"
	"	mkfifo \"$p/new\"; echo $$ >>\"$d/started\"; mv \"$p/new\" \"$p/control\"\n"
	"	read -r word <\"$p/control\"; rm \"$p/control\"; echo \"$word\" >>\"$d/ended\"\n"
	"	[ ! -e \"$d/server\" ] || kill -9 \"$(cat \"$d/server\")\"\n"
	"	rm -f \"$d/server\" \"$d/ready\"\n"
	"	exit\n"
	"fi\n"
	"read -r word\n"
	"echo \"$word\" >>\"$d/said\"\n"
	"[ ! -e \"$d/deaf\" ] || exit 1\n"
	"[ ! -e \"$d/hangs\" ] || exec sleep 100\n"
	"case $word in\n"
	"get_server_list) [ ! -e \"$d/server\" ] || cat \"$d/server\" ;;\n"
	"start_server*) [ ! -e \"$d/alone\" ] || exit 1\n"
	"	nvidia-cuda-mps-server >/dev/null 2>&1 & echo $! >\"$d/server\" ;;\n"
	"get_server_status*) [ -e \"$d/ready\" ] && [ ! -e \"$d/unready\" ] && echo ACTIVE ||\n"
	"	echo INITIALIZING ;;\n"
	"get_client_list*) [ ! -e \"$d/deadlock\" ] || exec sleep 100\n"
	"	[ ! -e \"$d/clients\" ] || cat \"$d/clients\" ;;\n"
	"quit) echo quit >\"$p/control\" ;;\n"
	"*) exit 1 ;;\n"
	"esac\n";

static const char server[] = "#!/bin/sh\n"
			     "d=$CUDA_MPS_PIPE_DIRECTORY/..\n"
			     "[ ! -e \"$d/slow\" ] || sleep 1\n"
			     "echo >\"$d/ready\"\n"
			     "while :; do sleep 1; done\n";

struct fixture {
	char dir[64], *path; /* path: the old PATH */
};

static void put(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_program(const char *dir, const char *name, const char *text)
{
	char path[128];

	put(dir, name, text);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(chmod(path, 0755), 0);
}

static struct fixture begin(void)
{
	struct fixture f = {.dir = "/tmp/heddled-test-XXXXXX", .path = strdup(getenv("PATH"))};
	char path[4200];

	assert_non_null(mkdtemp(f.dir));
	put_program(f.dir, "nvidia-cuda-mps-control", control);
	put_program(f.dir, "nvidia-cuda-mps-server", server);
	snprintf(path, sizeof(path), "%s:%s", f.dir, f.path);
	setenv("PATH", path, 1);
	return f;
}

/* Returns the number of lines in the file. *ret_last is the number in the last line. */
static unsigned lines(const struct fixture *f, const char *name, int *ret_last)
{
	char path[128], line[64];
	unsigned n = 0;
	FILE *file;

	*ret_last = 0;
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	file = fopen(path, "r");
	for (; file && fgets(line, sizeof(line), file); n++)
		*ret_last = atoi(line);
	if (file)
		fclose(file);
	return n;
}

static void end(struct fixture *f)
{
	struct daemon d = {0};
	int pid = 0;

	if (lines(f, "started", &pid) && pid)
		kill(pid, SIGKILL);
	if (lines(f, "server", &pid) && pid)
		kill(pid, SIGKILL);
	setenv("PATH", f->path, 1);
	free(f->path);
	memcpy(d.dir, f->dir, sizeof(d.dir));
	daemon_remove(&d);
}

static bool is_gone(int pid)
{
	uint64_t until = now_ns() + LIMIT_NS;

	while (kill(pid, 0) == 0 && now_ns() < until) {
		waitpid(pid, NULL, WNOHANG);
		usleep(1000);
	}
	return kill(pid, 0) != 0;
}

static const char *mps_of(const struct daemon *d)
{
	static struct wire_status s;

	assert_int_equal(status_of(d, &s), 0);
	return s.mps;
}

/* Starts a daemon and waits until it serves tenants, not only listens. */
static struct daemon serving(const struct fixture *f, char *const args[])
{
	struct daemon d = daemon_in(f->dir, args);

	mps_of(&d);
	return d;
}

static char *on[] = {"--mps", "on", NULL}, *off[] = {"--mps", "off", NULL};

static void not_installed(void **state)
{
	struct fixture f = begin();
	struct daemon d;

	setenv("PATH", "/nonexistent", 1);
	d = serving(&f, on);
	assert_string_equal(mps_of(&d), "off");
	assert_int_equal(daemon_stop(&d), 0);
	end(&f);
}

static void serves(void **state)
{
	struct fixture f = begin();
	struct daemon d = serving(&f, on);
	struct tenant t = tenant_join(&d, 1);
	char path[108];
	int pid = 0;

	assert_string_equal(mps_of(&d), "on");
	assert_int_equal(t.welcome.mps, 1);
	snprintf(path, sizeof(path), "%s/mps-pipe", f.dir);
	assert_string_equal(t.welcome.mps_pipe, path);
	tenant_leave(&t);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(lines(&f, "ended", &pid), 1);
	snprintf(path, sizeof(path), "%s/mps-daemon", f.dir);
	assert_int_equal(access(path, F_OK), -1);
	end(&f);
}

/* heddled is killed, or ends while a tenant or another MPS client runs. MPS stays, and the next
 * heddled adopts it. */
static void outlives(void **state)
{
	struct fixture f = begin();
	struct daemon d = serving(&f, on);
	char text[32];
	struct tenant t;
	int pid = 0;

	assert_int_equal(lines(&f, "started", &pid), 1);
	daemon_kill(&d);
	d = serving(&f, on);
	assert_string_equal(mps_of(&d), "on");
	t = tenant_join(&d, 1);
	assert_int_equal(t.welcome.mps, 1);
	assert_int_equal(daemon_stop(&d), 0);
	tenant_leave(&t);
	d = serving(&f, on);
	assert_string_equal(mps_of(&d), "on");
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	put(f.dir, "clients", text);
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(lines(&f, "ended", &pid), 0);
	assert_int_equal(lines(&f, "started", &pid), 1);
	assert_int_equal(kill(pid, 0), 0);
	/* A heddled that is started with MPS off leaves MPS running if programs use it, */
	d = serving(&f, off);
	assert_string_equal(mps_of(&d), "off");
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(lines(&f, "ended", &(int){0}), 0);
	assert_int_equal(kill(pid, 0), 0);
	/* and ends MPS if no client of it exists any more. */
	put(f.dir, "clients", "2147483646\n");
	d = serving(&f, off);
	assert_true(is_gone(pid));
	assert_int_equal(lines(&f, "ended", &pid), 1);
	assert_int_equal(daemon_stop(&d), 0);
	end(&f);
}

/* heddled notices the end of MPS, both as its own child and as an adopted process. */
static void ends(void **state)
{
	struct fixture f = begin();
	int pid = 0;

	for (unsigned adopted = 0; adopted < 2; adopted++) {
		struct daemon d = serving(&f, on);
		uint64_t until = now_ns() + LIMIT_NS;
		struct tenant t;

		if (adopted) {
			daemon_kill(&d);
			d = serving(&f, on);
		}
		assert_int_equal(lines(&f, "started", &pid), 1 + adopted);
		assert_string_equal(mps_of(&d), "on");
		kill(pid, SIGKILL);
		while (strcmp(mps_of(&d), "off") != 0 && now_ns() < until)
			usleep(1000);
		assert_string_equal(mps_of(&d), "off");
		t = tenant_join(&d, 1);
		assert_int_equal(t.welcome.mps, 0);
		tenant_leave(&t);
		assert_int_equal(daemon_stop(&d), 0);
	}
	end(&f);
}

static void ends_with_it(void **state)
{
	char *args[] = {"--mps", "on", "--set", "mps_stays=off", NULL};
	struct fixture f = begin();
	struct daemon d = serving(&f, args);
	struct tenant t;
	int pid = 0;

	assert_int_equal(lines(&f, "started", &pid), 1);
	daemon_kill(&d);
	assert_true(is_gone(pid));
	d = serving(&f, args);
	assert_int_equal(lines(&f, "started", &pid), 2);
	t = tenant_join(&d, 1);
	assert_int_equal(daemon_stop(&d), 0);
	assert_true(is_gone(pid));
	tenant_leave(&t);
	end(&f);
}

/* First the control daemon does not answer. Then the process id in heddled's file belongs to
 * another process, or is missing or invalid. */
static void no_such(void **state)
{
	struct fixture f = begin();
	struct daemon d = serving(&f, on);
	char text[128];
	int pid = 0;

	assert_int_equal(lines(&f, "started", &pid), 1);
	daemon_kill(&d);
	put(f.dir, "deaf", "");
	d = serving(&f, on);
	assert_string_equal(mps_of(&d), "off");
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(daemon_stop(&d), 0);
	snprintf(text, sizeof(text), "%s/deaf", f.dir);
	unlink(text);
	kill(pid, SIGKILL);
	snprintf(text, sizeof(text), "%d 12345\n", (int)getpid());
	for (unsigned i = 0; i < 3; i++) {
		put(f.dir, "mps-daemon", i == 0 ? text : i == 1 ? "" : "-1 x\n");
		d = serving(&f, on);
		assert_string_equal(mps_of(&d), "on");
		assert_int_equal(lines(&f, "started", &pid), 2 + i);
		assert_int_equal(daemon_stop(&d), 0);
		assert_true(is_gone(pid));
	}
	end(&f);
}

static void come_and_go(const struct daemon *d, unsigned n, bool killed)
{
	for (unsigned i = 0; i < n; i++) {
		struct tenant t = tenant_join(d, 1);

		t.page->ends = !killed;
		tenant_leave(&t);
	}
}

/* So many clients were killed that MPS would accept no new ones. heddled then starts MPS anew as
 * soon as no program uses it. */
static void worn(void **state)
{
	struct fixture f = begin();
	int log = fcntl(2, F_DUPFD_CLOEXEC, 10), pid = 0, first, ends[2];
	uint64_t until = now_ns() + LIMIT_NS;
	struct daemon d = {0};
	struct tenant stays;
	char text[8192] = "";
	ssize_t n;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	dup2(ends[1], 2);
	d = serving(&f, on);
	dup2(log, 2);
	close(ends[1]);
	assert_int_equal(lines(&f, "started", &pid), 1);
	first = pid;
	come_and_go(&d, 60, false);
	stays = tenant_join(&d, 1);
	come_and_go(&d, 19, true);
	while (n = strlen(text), !strstr(text, "heddled restarts it")) {
		come_and_go(&d, 1, true);
		assert_true(now_ns() < until);
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		n = read(ends[0], text, sizeof(text) - 1);
		text[MAX(n, 0)] = 0;
	}
	assert_non_null(strstr(text, "when no program runs"));
	assert_int_equal(lines(&f, "started", &pid), 1);
	tenant_leave(&stays);
	while (lines(&f, "started", &pid) != 2) {
		struct wire_status s;

		assert_true(now_ns() < until);
		status_of(&d, &s);
		usleep(10000);
	}
	assert_int_not_equal(pid, first);
	assert_true(is_gone(first));
	assert_string_equal(mps_of(&d), "on");
	come_and_go(&d, 10, true);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(lines(&f, "started", &pid), 2);
	assert_int_equal(daemon_stop(&d), 0);
	assert_true(is_gone(pid));
	close(ends[0]);
	close(log);
	end(&f);
}

/* Returns heddled's log when it starts MPS with this CUDA_VISIBLE_DEVICES (NULL: unset). */
static void says(const char *devices, char *ret, size_t max)
{
	int log = fcntl(2, F_DUPFD_CLOEXEC, 10), ends[2];
	struct fixture f = begin();
	struct daemon d;
	size_t len = 0;
	ssize_t n;

	unsetenv("CUDA_VISIBLE_DEVICES");
	if (devices)
		setenv("CUDA_VISIBLE_DEVICES", devices, 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	dup2(ends[1], 2);
	d = serving(&f, on);
	dup2(log, 2);
	close(ends[1]);
	assert_string_equal(mps_of(&d), "on");
	assert_int_equal(daemon_stop(&d), 0);
	while (len + 1 < max && (n = read(ends[0], ret + len, max - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = 0;
	close(ends[0]);
	close(log);
	unsetenv("CUDA_VISIBLE_DEVICES");
	end(&f);
}

/* MPS renumbers GPUs: with a list of indices other than 0, 1, ..., programs would get other
 * GPUs. */
static void indices(void **state)
{
	static const char *const fine[] = {NULL, "", "0", "0,1,2", "GPU-82f4dccb", "-1"};
	static const char *const other[] = {"1", "0,2", "1,0", "0,1,3,2"};
	char text[8192], expected[64];

	for (unsigned i = 0; i < ARRAY_LEN(fine); i++) {
		says(fine[i], text, sizeof(text));
		assert_null(strstr(text, "CUDA_VISIBLE_DEVICES"));
	}
	for (unsigned i = 0; i < ARRAY_LEN(other); i++) {
		says(other[i], text, sizeof(text));
		snprintf(expected, sizeof(expected), "CUDA_VISIBLE_DEVICES=%s: MPS", other[i]);
		assert_non_null(strstr(text, expected));
		assert_non_null(strstr(text, "by UUID"));
	}
}

/* ---- an MPS that does not answer ---- */

static bool exists(const struct fixture *f, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return access(path, F_OK) == 0;
}

static bool await_mps(const struct daemon *d, const char *text)
{
	uint64_t until = now_ns() + LIMIT_NS;

	while (strcmp(mps_of(d), text) != 0 && now_ns() < until)
		usleep(1000);
	return strcmp(mps_of(d), text) == 0;
}

static void await_lines(const struct fixture *f, const char *name, unsigned n)
{
	uint64_t until = now_ns() + LIMIT_NS;

	while (lines(f, name, &(int){0}) < n && now_ns() < until)
		usleep(1000);
	assert_true(lines(f, name, &(int){0}) >= n);
}

/* Starts a daemon that logs to the file "log". */
static struct daemon logging(const struct fixture *f, char *const args[])
{
	int saved = fcntl(2, F_DUPFD_CLOEXEC, 10), log;
	struct daemon d;
	char path[128];

	snprintf(path, sizeof(path), "%s/log", f->dir);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(log >= 0);
	dup2(log, 2);
	close(log);
	d = serving(f, args);
	dup2(saved, 2);
	close(saved);
	return d;
}

static unsigned times_said(const struct fixture *f, const char *name, const char *text)
{
	char path[128], line[512];
	unsigned n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		n += strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return n;
}

/* Short timeouts for MPS's answers. never: for tests in which no answer ever comes. brief: for
 * tests in which an answer may be late because the machine is busy. */
static char *never[] = {"--mps", "on", "--set", "mps_answer_ms=100", NULL};
static char *brief[] = {"--mps", "on", "--set", "mps_answer_ms=400", NULL};
static char *quick[] = {"--mps", "on", "--set", "mps_answer_ms=1500", NULL};

/* heddled has MPS start a server and serves no tenant before the server is up. */
static void server_first(void **state)
{
	struct fixture f = begin();
	char command[64];
	struct daemon d;

	put(f.dir, "slow", "");
	d = serving(&f, on);
	assert_true(exists(&f, "ready"));
	assert_string_equal(mps_of(&d), "on");
	snprintf(command, sizeof(command), "start_server -uid %u", (unsigned)geteuid());
	assert_int_equal(times_said(&f, "said", command), 1);
	/* The next heddled adopts the control daemon with its server. */
	daemon_kill(&d);
	d = serving(&f, on);
	assert_string_equal(mps_of(&d), "on");
	assert_int_equal(times_said(&f, "said", command), 1);
	assert_int_equal(daemon_stop(&d), 0);
	end(&f);
}

static void no_server(void **state)
{
	struct fixture f = begin();
	struct daemon d;

	put(f.dir, "alone", "");
	d = logging(&f, on);
	assert_string_equal(mps_of(&d), "on");
	assert_int_equal(times_said(&f, "log", "the first program starts it"), 1);
	assert_int_equal(daemon_stop(&d), 0);
	end(&f);
}

/* Starts a process that looks like an MPS server of another user. */
static pid_t other_server(const struct fixture *f)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent/mps-pipe", 1);
		execlp("nvidia-cuda-mps-server", "nvidia-cuda-mps-server", NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

/* The control daemon or only its server stops answering, or the server never finishes starting.
 * heddled then replaces both, but touches no other user's server. */
static void stops(void **state)
{
	static const char *const how[] = {"hangs", "deadlock", "unready"};

	for (unsigned i = 0; i < ARRAY_LEN(how); i++) {
		struct fixture f = begin();
		struct daemon d = logging(&f, quick);
		int old_control = 0, old_server = 0, now = 0;
		pid_t other = other_server(&f);
		unsigned asked;

		assert_true(await_mps(&d, "on"));
		assert_int_equal(lines(&f, "started", &old_control), 1);
		assert_int_equal(lines(&f, "server", &old_server), 1);
		asked = times_said(&f, "said", "get_server_list");
		put(f.dir, how[i], "");
		await_lines(&f, "started", 2);
		/* a starting server may still come up, so heddled asks it more often than a silent
		 * one */
		if (i == 2)
			assert_true(times_said(&f, "said", "get_server_list") >= asked + 9);
		assert_true(is_gone(old_control));
		assert_true(is_gone(old_server));
		assert_true(await_mps(&d, "on"));
		assert_true(times_said(&f, "log", "MPS does not answer") >= 1);
		assert_int_equal(lines(&f, "server", &now), 1);
		assert_int_not_equal(now, old_server);
		assert_int_equal(kill(now, 0), 0);
		assert_int_equal(kill(other, 0), 0);
		assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
		assert_int_equal(daemon_stop(&d), 0);
		end(&f);
	}
}

/* heddled restarts MPS three times; then tenants continue without it. */
static void never_answers(void **state)
{
	struct fixture f = begin();
	struct daemon d;
	struct tenant t;
	int pid = 0;

	put(f.dir, "stuck", "");
	put(f.dir, "hangs", "");
	d = logging(&f, never);
	assert_true(await_mps(&d, "not answering"));
	await_lines(&f, "started", 4);
	assert_true(await_mps(&d, "off"));
	assert_int_equal(lines(&f, "started", &pid), 4);
	assert_true(is_gone(pid));
	assert_int_equal(times_said(&f, "log", "(restart 3 of 3)"), 1);
	assert_int_equal(times_said(&f, "log", "after 3 restarts: it stays off"), 1);
	t = tenant_join(&d, 1);
	assert_int_equal(t.welcome.mps, 0);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(lines(&f, "started", &pid), 4);
	end(&f);
}

/* While a tenant makes progress, heddled does not replace the tenant's MPS server, however long the
 * server does not answer. It does so once the tenant makes no progress. */
static void gets_on(void **state)
{
	struct fixture f = begin();
	struct daemon d = logging(&f, brief);
	struct tenant t = tenant_join(&d, 1);
	unsigned asked;

	assert_int_equal(t.welcome.mps, 1);
	put(f.dir, "hangs", "");
	asked = lines(&f, "said", &(int){0});
	for (unsigned i = 1; i <= 14; i++) {
		await_lines(&f, "said", asked + i);
		__atomic_fetch_add(&t.page->opaque_submitted, 1, __ATOMIC_RELEASE);
	}
	assert_int_equal(lines(&f, "started", &(int){0}), 1);
	assert_string_equal(mps_of(&d), "not answering");
	await_lines(&f, "started", 2);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	end(&f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_installed),
		cmocka_unit_test(serves),
		cmocka_unit_test(outlives),
		cmocka_unit_test(ends),
		cmocka_unit_test(ends_with_it),
		cmocka_unit_test(no_such),
		cmocka_unit_test(worn),
		cmocka_unit_test(indices),
		cmocka_unit_test(server_first),
		cmocka_unit_test(no_server),
		cmocka_unit_test(never_answers),
	};
	/* These tests mostly wait for answers that never come. */
	const struct CMUnitTest silent[] = {cmocka_unit_test(stops), cmocka_unit_test(gets_on)};

	if (argc < 2)
		return 2;
	heddled_path = argv[1];
	signal(SIGPIPE, SIG_IGN);
	if (argc > 2)
		return run_at_once(silent, ARRAY_LEN(silent));
	return run_at_once(tests, ARRAY_LEN(tests));
}
