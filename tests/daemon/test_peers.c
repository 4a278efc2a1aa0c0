/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests heddled with malicious or faulty peers (silent ones, ones that do not read, a thousand
 * connections), too few descriptors, other files at its socket's path, ways of starting it, and
 * signals. */
#include "at_once.h"
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY  65534
#define CONNS   1100
#define TENANTS 33
#define LISTS   20

union any {
	struct wire_head head;
	struct wire_refused refused;
	char bytes[WIRE_MAX_BYTES];
};

/* Returns the next message's type, or 0 if the connection was closed. */
static int next_message(int sock, union any *m)
{
	int r = wire_recv(sock, m, sizeof(*m), NULL, 0, NULL);

	if (r <= 0)
		return r == -ECONNRESET ? 0 : r;
	assert_int_equal(wire_check(m, (size_t)r), 0);
	return (int)m->head.type;
}

static int quiet_connect(const struct daemon *d)
{
	int sock = wire_connect(d->socket, 30000);

	assert_true(sock >= 0);
	return sock;
}

/* Joins, and retries if heddled's short silence timeout expires because this process was not
 * scheduled. */
static struct tenant join_in_time(const struct daemon *d)
{
	struct wire_hello h = tenant_hello(1);
	struct tenant t;

	while (tenant_hello_send(d->socket, &h, &t) != WIRE_WELCOME)
		close(t.sock);
	return t;
}

static void status_in_time(const struct daemon *d, struct wire_status *ret)
{
	while (status_of(d, ret) < 0)
		;
}

static void silent(void **state)
{
	char *args[] = {"--set", "silence_ms=200", NULL};
	struct daemon d = daemon_start(args);
	struct tenant t = join_in_time(&d);
	int sock = quiet_connect(&d);
	struct wire_status s;
	union any m;

	assert_int_equal(next_message(sock, &m), WIRE_REFUSED);
	assert_int_equal(m.refused.error, ETIMEDOUT);
	assert_int_equal(next_message(sock, &m), 0);
	close(sock);
	/* A tenant may be silent for as long as it likes. */
	status_in_time(&d, &s);
	assert_int_equal(s.tenants, 1);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* Returns whether heddled serves another user, from a child process. */
static bool serves_nobody(const struct daemon *d)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct wire_status s;

		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(2);
		_exit(status_of(d, &s) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void many_of_one_user(void **state)
{
	char *args[] = {"--set", "silence_ms=0", NULL};
	struct daemon d = daemon_start(args);
	struct rlimit l;
	int sock[CONNS], n = 0, refused = -1;
	struct wire_status s;
	union any m, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_max < 4 * 4096 + 64)
		skip();   /* the daemon's own limit is what counts */
	while (n < CONNS) /* the daemon accepts connections in order */
		sock[n++] = quiet_connect(&d);
	for (int i = n - 1; i >= 1024; i--) {
		assert_int_equal(next_message(sock[i], &m), WIRE_REFUSED);
		refused = i;
	}
	assert_int_equal(refused, 1024);
	/* The last connection has its answer, so the daemon has accepted all earlier ones. It has
	 * answered none of these, because they have sent nothing. */
	for (int i = 0; i < 1000; i++) {
		fcntl(sock[i], F_SETFL, O_NONBLOCK);
		assert_int_equal(next_message(sock[i], &none), -EAGAIN);
	}
	assert_non_null(strstr(m.refused.why, "of this user"));
	if (geteuid() == 0) {
		chmod(d.dir, 0755);
		chmod(d.socket, 0666);
		assert_true(serves_nobody(&d));
	}
	while (n)
		close(sock[--n]);
	while (status_of(&d, &s) < 0)
		usleep(1000);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static int ask_list(const struct daemon *d)
{
	int sock = quiet_connect(d);
	struct wire_head q;

	wire_head_init(&q, WIRE_LIST, sizeof(q));
	assert_int_equal(wire_send(sock, &q, NULL, 0), 0);
	return sock;
}

/* Many clients each request a list of two megabytes and do not read it. */
static void unread(void **state)
{
	char *args[] = {"--set", "silence_ms=0", NULL};
	struct daemon d = daemon_start(args);
	struct tenant t[TENANTS];
	int sock[LISTS], served = 0, refused = 0, type;
	union any m;

	for (int i = 0; i < TENANTS; i++) {
		t[i] = tenant_join(&d, 1);
		for (unsigned k = 0; k < WIRE_SLOTS; k++)
			tenant_submit(&t[i], k, 100);
	}
	for (int i = 0; i < LISTS; i++)
		sock[i] = ask_list(&d);
	for (int i = 0; i < LISTS; i++) {
		type = next_message(sock[i], &m);
		served += type == WIRE_ROW;
		refused += type == WIRE_REFUSED && strstr(m.refused.why, "unread");
	}
	assert_int_equal(served + refused, LISTS);
	assert_true(served >= 2 && served <= 6);
	/* A client that reads gets the whole list. */
	while ((type = next_message(sock[0], &m)) == WIRE_ROW)
		;
	assert_int_equal(type, WIRE_END);
	for (int i = 0; i < LISTS; i++)
		close(sock[i]);
	for (int i = 0; i < TENANTS; i++)
		tenant_leave(&t[i]);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* heddled does not keep an unread answer for ever: it drops the part that the client did not read
 * in time. */
static void never_read(void **state)
{
	char *args[] = {"--set", "silence_ms=300", NULL};
	struct daemon d = daemon_start(args);
	struct tenant t[TENANTS];
	int type = 0;
	union any m;

	for (int i = 0; i < TENANTS; i++) {
		t[i] = join_in_time(&d);
		for (unsigned k = 0; k < WIRE_SLOTS; k++)
			tenant_submit(&t[i], k, 100);
	}
	/* repeat if heddled closed the connection because it was silent for too long */
	while (type != WIRE_ROW) {
		struct pollfd p = {.fd = quiet_connect(&d)};
		struct wire_head q;

		wire_head_init(&q, WIRE_LIST, sizeof(q));
		wire_send(p.fd, &q, NULL, 0);
		assert_int_equal(poll(&p, 1, (int)(LIMIT_NS / 1000000)), 1);
		type = next_message(p.fd, &m);
		while (type == WIRE_ROW && next_message(p.fd, &m) == WIRE_ROW)
			;
		assert_int_not_equal(m.head.type, WIRE_END);
		close(p.fd);
	}
	for (int i = 0; i < TENANTS; i++)
		tenant_leave(&t[i]);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static uint64_t cpu_ticks(pid_t pid)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(
		fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			&system),
		2);
	fclose(f);
	return user + system;
}

/* A client connects when the daemon has no descriptor left. The client must wait, and the daemon
 * must not spin. The test measures the daemon's CPU time, which other load can only reduce. */
static void no_descriptors(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct rlimit was, l;
	uint64_t before;
	union any m;
	struct wire_status q = {0};
	int sock;

	assert_true(status_await_tenants(&d, 0)); /* the daemon has opened all its own files */
	assert_int_equal(prlimit(d.pid, RLIMIT_NOFILE, NULL, &was), 0);
	l = was;
	l.rlim_cur = 4;
	assert_int_equal(prlimit(d.pid, RLIMIT_NOFILE, &l, NULL), 0);
	sock = quiet_connect(&d);
	wire_head_init(&q.head, WIRE_STATUS, sizeof(q));
	assert_int_equal(wire_send(sock, &q, NULL, 0), 0);
	before = cpu_ticks(d.pid);
	sleep(2);
	assert_true(cpu_ticks(d.pid) - before <= (uint64_t)sysconf(_SC_CLK_TCK) / 5);
	assert_int_equal(prlimit(d.pid, RLIMIT_NOFILE, &was, NULL), 0);
	assert_int_equal(next_message(sock, &m), WIRE_STATUS);
	close(sock);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* The daemon inherits a low limit of descriptors from its parent, a child of this test. It must
 * accept only as many connections as it has all descriptors for. */
static void few_descriptors(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit l = {96, 96};
		struct tenant t[8];
		struct daemon d;
		int refused = 0;

		if (setrlimit(RLIMIT_NOFILE, &l) < 0)
			_exit(2);
		d = daemon_start(NULL);
		if (!status_await_tenants(&d, 0))
			_exit(3);
		for (int i = 0; i < 8; i++) {
			struct wire_hello h = tenant_hello(1);
			int r = tenant_hello_send(d.socket, &h, &t[i]);

			refused += r == WIRE_REFUSED;
			if (r != WIRE_WELCOME)
				break;
		}
		/* heddled refuses any further client at once. */
		for (int i = 0; i < 3; i++) {
			struct wire_hello h = tenant_hello(1);
			struct tenant more;

			refused += tenant_hello_send(d.socket, &h, &more) == WIRE_REFUSED;
		}
		status = daemon_stop(&d);
		daemon_remove(&d);
		_exit(status ? 4 : refused >= 2 ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static unsigned count_lines(const char *text, const char *with)
{
	unsigned n = 0;

	while ((text = strstr(text, with))) {
		n++;
		text++;
	}
	return n;
}

/* A client that is refused over and over does not fill the log. */
static void few_words(void **state)
{
	char dir[] = "/tmp/heddled-test-XXXXXX", *text = calloc(1, 1 << 20);
	uint64_t began = now_ns(), seconds;
	struct daemon d = {0};
	int ends[2], sock = -1;
	size_t at = 0;
	ssize_t n;

	assert_non_null(text);
	assert_non_null(mkdtemp(dir));
	snprintf(d.dir, sizeof(d.dir), "%s", dir);
	snprintf(d.socket, sizeof(d.socket), "%s/sock", dir);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	d.pid = daemon_spawn(d.socket, NULL, ends[1]);
	close(ends[1]);
	for (int i = 0; i < 500;) {
		sock = wire_connect(d.socket, 30000);
		if (sock < 0)
			continue; /* the socket does not exist yet */
		if (send(sock, "nonsense", 8, MSG_NOSIGNAL) < 0)
			assert_int_equal(errno, EPIPE);
		close(sock);
		i++;
	}
	assert_int_equal(daemon_stop(&d), 0);
	seconds = (now_ns() - began) / 1000000000;
	while ((n = read(ends[0], text + at, (1 << 20) - 1 - at)) > 0)
		at += (size_t)n;
	close(ends[0]);
	assert_true(count_lines(text, "refused pid") >= 1);
	assert_true(count_lines(text, "refused pid") <= 20 * (seconds + 2));
	free(text);
	daemon_remove(&d);
}

/* Returns heddled's exit status, and its output in ret_text. Kills it if it does not exit. */
static int try_to_start(const char *socket, char *ret_text, size_t max)
{
	struct pollfd p = {.events = POLLIN};
	int ends[2], status;
	ssize_t n, at = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = daemon_spawn(socket, NULL, ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	while (poll(&p, 1, 30000) > 0 &&
		(n = read(ends[0], ret_text + at, max - 1 - (size_t)at)) > 0)
		at += n;
	if (!p.revents)
		kill(pid, SIGKILL);
	ret_text[at] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static bool holds(const char *path, const char *text)
{
	char have[64] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, have, sizeof(have) - 1);

	if (fd >= 0)
		close(fd);
	return n >= 0 && strcmp(have, text) == 0;
}

/* --socket FILE: whatever FILE is, heddled leaves it unchanged, unless it is the socket of a daemon
 * that no longer runs. */
static void in_the_way(void **state)
{
	char dir[] = "/tmp/heddled-test-XXXXXX", path[64], lock[72], text[512];
	struct daemon d = {0};
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(d.dir, sizeof(d.dir), "%s", dir);
	snprintf(path, sizeof(path), "%s/sock", dir);
	snprintf(lock, sizeof(lock), "%s/sock.lock", dir);
	put(path, "precious");
	assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "no socket"));
	assert_true(holds(path, "precious"));
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
	assert_int_equal(lstat(path, &st), 0);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
	assert_int_equal(lstat(path, &st), 0);
	unlink(path);
	/* The lock file beside the socket is a link to elsewhere, a file that would block open(),
	 * or another user's. */
	unlink(lock);
	assert_int_equal(symlink("/dev/null", lock), 0);
	assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "sock.lock is not"));
	unlink(lock);
	assert_int_equal(mkfifo(lock, 0600), 0);
	assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
	assert_non_null(strstr(text, "sock.lock is not"));
	unlink(lock);
	if (geteuid() == 0) {
		int fd;

		put(lock, "1\n");
		assert_int_equal(chown(lock, NOBODY, NOBODY), 0);
		fd = open(lock, O_RDWR);
		assert_int_equal(flock(fd, LOCK_EX), 0);
		assert_int_equal(try_to_start(path, text, sizeof(text)), 1);
		assert_non_null(strstr(text, "sock.lock is not"));
		close(fd);
	}
	daemon_remove(&d);
}

/* At its end, heddled does not remove a file at the socket's path that is not its own. */
static void removes_its_own(void **state)
{
	struct daemon d = daemon_start(NULL);

	unlink(d.socket);
	put(d.socket, "precious");
	assert_int_equal(daemon_stop(&d), 0);
	assert_true(holds(d.socket, "precious"));
	daemon_remove(&d);
}

static void signals(void **state)
{
	static const int harmless[] = {
		SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPIPE, SIGXFSZ, SIGHUP};
	struct daemon d = daemon_start(NULL);
	struct wire_status s;

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		kill(d.pid, harmless[i]);
	assert_int_equal(status_of(&d, &s), 0);
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(access(d.socket, F_OK), -1);
	daemon_remove(&d);
	/* Started by nohup: SIGHUP is ignored. */
	signal(SIGHUP, SIG_IGN);
	d = daemon_start(NULL);
	signal(SIGHUP, SIG_DFL);
	kill(d.pid, SIGHUP);
	assert_int_equal(status_of(&d, &s), 0);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* heddled was started with descriptors 0 to 2 closed. None of its important files may get these
 * numbers. */
static void closed_descriptors(void **state)
{
	int kept[3];
	struct daemon d;

	for (int fd = 0; fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		close(fd);
	}
	d = daemon_start(NULL);
	for (int fd = 0; fd < 3; fd++) {
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	for (int fd = 0; fd < 3; fd++) {
		char path[64], to[64] = "";

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)d.pid, fd);
		assert_true(readlink(path, to, sizeof(to) - 1) > 0);
		assert_string_equal(to, "/dev/null");
	}
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent),
		cmocka_unit_test(many_of_one_user),
		cmocka_unit_test(unread),
		cmocka_unit_test(never_read),
		cmocka_unit_test(no_descriptors),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(few_words),
		cmocka_unit_test(in_the_way),
		cmocka_unit_test(removes_its_own),
		cmocka_unit_test(signals),
		cmocka_unit_test(closed_descriptors),
	};

	if (argc < 2)
		return 1;
	heddled_path = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	signal(SIGPIPE, SIG_IGN);
	return run_at_once(tests, ARRAY_LEN(tests));
}
