/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests heddled as a process: protocol, hand-over, deaths, a second user, a second instance, a full
 * disk. */
#include "unit.h"

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUND 5

static void store(uint32_t *word, uint32_t v)
{
	__atomic_store_n(word, v, __ATOMIC_RELEASE);
}

static void serves(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct tenant a = tenant_join(&d, 2);
	struct wire_status s;
	struct stat st;

	assert_int_equal(a.welcome.priority, 2);
	assert_int_equal(a.page->tenant, a.welcome.tenant);
	assert_int_equal(status_of(&d, &s), 0);
	assert_int_equal(s.tenants, 1);
	assert_int_equal(s.pid, d.pid);
	assert_string_equal(s.policy, "hpf");
	assert_string_equal(s.mps, "off");
	assert_int_equal(stat(d.socket, &st), 0);
	assert_int_equal(st.st_mode & 0007, 0);
	tenant_leave(&a);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	assert_int_equal(access(d.socket, F_OK), -1);
	daemon_remove(&d);
}

/* Sends raw bytes. Returns the reply's type, or 0 if there is none. */
static int answer_to(
	const struct daemon *d, const void *msg, size_t bytes, struct wire_refused *why)
{
	int sock = wire_connect(d->socket, 30000), r;

	assert_true(sock >= 0);
	assert_int_equal(send(sock, msg, bytes, 0), bytes);
	r = wire_recv(sock, why, sizeof(*why), NULL, 0, NULL);
	if (r > 0)
		r = wire_check(why, (size_t)r) == 0 ? (int)why->head.type : -1;
	close(sock);
	return r;
}

static void refuses(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct wire_hello h = tenant_hello(1);
	struct wire_welcome w = {0};
	struct wire_refused why;
	struct wire_status s;
	char big[5000] = {0};
	struct tenant t;

	h.head.protocol = WIRE_PROTOCOL + 1;
	assert_int_equal(answer_to(&d, &h, sizeof(h), &why), WIRE_REFUSED);
	assert_int_equal(why.error, EPROTO);
	assert_non_null(strstr(why.why, "version"));
	h = tenant_hello(1);
	assert_int_equal(answer_to(&d, &h, sizeof(h) - 1, &why), WIRE_REFUSED);
	assert_int_equal(why.error, EBADMSG);
	h.n_sms = 0;
	assert_int_equal(answer_to(&d, &h, sizeof(h), &why), WIRE_REFUSED);
	assert_int_equal(answer_to(&d, big, sizeof(big), &why), WIRE_REFUSED);
	assert_int_equal(answer_to(&d, "x", 1, &why), WIRE_REFUSED);
	wire_head_init(&w.head, WIRE_WELCOME, sizeof(w));
	assert_int_equal(answer_to(&d, &w, sizeof(w), &why), WIRE_REFUSED);
	/* A second hello makes heddled close the tenant. */
	t = tenant_join(&d, 1);
	h = tenant_hello(1);
	assert_int_equal(wire_send(t.sock, &h, NULL, 0), 0);
	assert_int_equal(wire_recv(t.sock, &why, sizeof(why), NULL, 0, NULL), sizeof(why));
	assert_int_equal(why.head.type, WIRE_REFUSED);
	tenant_leave(&t);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(status_of(&d, &s), 0);
	assert_int_equal(s.bad_messages, 7);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void floods(void **state)
{
	struct daemon d = daemon_start(NULL);
	unsigned before = fds_of(d.pid);
	struct wire_hello h = tenant_hello(1);
	struct tenant t[200];
	int fds[WIRE_MAX_FDS];

	for (unsigned i = 0; i < WIRE_MAX_FDS; i++)
		fds[i] = 0;
	for (int i = 0; i < 100; i++) {
		int sock = wire_connect(d.socket, 30000);

		wire_send(sock, &h, fds, WIRE_MAX_FDS);
		close(sock);
	}
	assert_true(status_await_tenants(&d, 0));
	/* A flood of kicks from tenants that come and go. */
	for (int i = 0; i < 200; i++) {
		t[i] = tenant_join(&d, i % 3);
		for (int k = 0; k < 50; k++)
			tenant_kick(&t[i]);
		tenant_submit(&t[i], 0, 100);
	}
	for (int i = 0; i < 200; i++)
		tenant_leave(&t[i]);
	assert_true(status_await_tenants(&d, 0));
	/* Connections of status requests may still be closing now, and may have been when `before`
	 * was counted. */
	for (int i = 0; i < 3000 && fds_of(d.pid) > before + 3; i++)
		usleep(10000);
	assert_true(fds_of(d.pid) <= before + 3); /* a leak would leave hundreds */
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* A tenant keeps its ends of the eventfds and writes to them long after its connection is closed.
 * The daemon must change neither the freed tenant nor another tenant in the same memory. */
static void kicks_after_leaving(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct tenant old[ROUND], new[ROUND], other = tenant_join(&d, 1);
	struct wire_slot *w = &other.page->slots[3];
	int kept[ROUND][2];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < ROUND; i++) {
			old[i] = tenant_join(&d, 1);
			kept[i][0] = dup(old[i].kick);
			kept[i][1] = dup(old[i].event);
		}
		for (int i = 0; i < ROUND; i++)
			tenant_leave(&old[i]);
		assert_true(status_await_tenants(&d, 1));
		for (int i = 0; i < ROUND; i++)
			new[i] = tenant_join(&d, 1);
		/* The daemon sees these changes only after a kick by one of these tenants. */
		for (int i = 0; i < ROUND; i++)
			store(&new[i].page->slots[3].state, WIRE_SLOT_CLOSED);
		for (int i = 0; i < ROUND; i++) {
			assert_int_equal(write(kept[i][0], &(uint64_t){1}, 8), 8);
			assert_int_equal(write(kept[i][1], &(uint64_t){1}, 8), 8);
		}
		/* The loop handles events in order, so the kicks above have been handled by now. */
		store(&w->state, WIRE_SLOT_CLOSED);
		tenant_kick(&other);
		assert_true(word_await(&w->state, WIRE_SLOT_FREE));
		for (int i = 0; i < ROUND; i++) {
			assert_int_equal(new[i].page->slots[3].state, WIRE_SLOT_CLOSED);
			tenant_kick(&new[i]);
			assert_true(word_await(&new[i].page->slots[3].state, WIRE_SLOT_FREE));
			tenant_leave(&new[i]);
			close(kept[i][0]);
			close(kept[i][1]);
		}
		assert_true(status_await_tenants(&d, 1));
	}
	tenant_leave(&other);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void hands_over(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct tenant low = tenant_join(&d, 0), high = tenant_join(&d, 2);
	struct wire_slot *l = tenant_submit(&low, 0, 800), *h;
	uint64_t best = UINT64_MAX;
	struct wire_status s;
	struct wire_head woken;

	device_arrive(&low, l);
	tenant_kick(&low);
	for (int i = 0; i < 50; i++) {
		uint64_t took;

		assert_true(slot_await(l, 4));
		h = tenant_submit(&high, 0, 400);
		while (__atomic_load_n(&l->granted, __ATOMIC_ACQUIRE) || slot_allowed(l))
			assert_true(now_ns() - h->submit_ns < LIMIT_NS);
		took = now_ns() - h->submit_ns;
		best = MIN(best, took);
		device_drain(&d, l);
		device_arrive(&high, h);
		device_finish(h);
		__atomic_store_n(&h->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
		tenant_kick(&high);
		assert_true(word_await(&h->state, WIRE_SLOT_FREE));
	}
	printf("kick to store: best of 50 %.1f us\n", (double)best / 1e3);
	assert_true(slot_await(l, 4));
	/* A tenant that waits for a message gets one and wakes up. */
	assert_int_equal(wire_recv(low.sock, &woken, sizeof(woken), NULL, 0, NULL), sizeof(woken));
	assert_int_equal(woken.type, WIRE_WAKE);
	assert_int_equal(status_of(&d, &s), 0);
	assert_true(s.preemptions >= 40);
	assert_true(s.handover_p50_ns > 0);
	tenant_leave(&low);
	tenant_leave(&high);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* Half of the grace period that the harness sets. */
#define GOES_ON_NS 5000000000ull

enum die_in { SUBMITTED, RUNNING, DRAINING, SUSPENDED, HELD, OPAQUE, INHERITED, STATES };

/* Starts a process that enters a state and stays in it. */
static pid_t victim(const struct daemon *d, enum die_in what, int ready)
{
	pid_t pid = fork();
	struct wire_slot *w;
	struct tenant t;

	if (pid)
		return pid;
	for (int fd = 3; fd < 256; fd++) { /* close the descriptors of the test's own tenants */
		if (fd != ready)
			close(fd);
	}
	t = tenant_join(d, what == DRAINING || what == SUSPENDED || what == HELD ? 0 : 2);
	if (what == OPAQUE) {
		t.page->opaque_submitted = 1;
		tenant_kick(&t);
	} else {
		w = tenant_submit(&t, 0, 400);
		if (what != SUBMITTED)
			device_arrive(&t, w);
		tenant_kick(&t);
		if (what == DRAINING || what == SUSPENDED || what == HELD)
			word_await(&w->granted, 0);
		if (what == SUSPENDED || what == HELD)
			device_drain(d, w);
		tenant_kick(&t);
	}
	if (what == INHERITED && fork() == 0)
		/* from here on, the child's only task is to keep the socket open for a while */
		what = STATES;
	if (write(ready, "x", 1) < 0)
		_exit(1);
	if (what == STATES) {
		alarm(2 * GOES_ON_NS / 1000000000);
		close(1); /* so that readers of the test's output do not wait for this process */
		close(2);
	}
	for (;;)
		pause();
}

/* A tenant is killed in each state. The other tenant must continue at once (on an idle machine:
 * within a ms), and not only when the victim's grace period ends, or when a child that inherited
 * the victim's socket ends. */
static void deaths(void **state)
{
	struct daemon d = daemon_start(NULL);

	for (int what = 0; what < STATES; what++) {
		bool first = what != DRAINING && what != SUSPENDED && what != HELD;
		struct tenant other = tenant_join(&d, 1);
		struct wire_slot *w = NULL;
		int ends[2], status;
		uint64_t killed;
		char x;
		pid_t pid;

		assert_int_equal(pipe(ends), 0);
		if (!first) {
			w = tenant_submit(&other, 0, 400);
			device_arrive(&other, w);
			tenant_kick(&other);
		}
		pid = victim(&d, (enum die_in)what, ends[1]);
		assert_int_equal(read(ends[0], &x, 1), 1);
		if (first) {
			w = tenant_submit(&other, 0, 400);
			while (!__atomic_load_n(&other.page->begin.seq, __ATOMIC_ACQUIRE))
				usleep(1000);
			device_arrive(&other, w);
			tenant_kick(&other);
			assert_true(word_await(&w->granted, 0));
			device_drain(&d, w);
		}
		kill(pid, SIGKILL);
		killed = now_ns();
		waitpid(pid, &status, 0);
		assert_true(status_await_tenants(&d, 1));
		assert_true(slot_await(w, 4));
		assert_true(word_await(&w->granted, 1)); /* stored after the quotas */
		assert_true(word_await(&other.page->watch, 0));
		assert_true(word_await(&other.page->hold, 0));
		assert_true(now_ns() - killed < GOES_ON_NS);
		tenant_leave(&other);
		assert_true(status_await_tenants(&d, 0));
		close(ends[0]);
		close(ends[1]);
	}
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void second_instance(void **state)
{
	struct daemon d = daemon_start(NULL), again;
	char text[512] = "";
	int ends[2], status;
	struct tenant t;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = daemon_spawn(d.socket, NULL, ends[1]);
	close(ends[1]);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "another heddled"));
	close(ends[0]);
	t = tenant_join(&d, 1); /* the first daemon still serves */
	tenant_leave(&t);
	/* The socket of a killed daemon does not block the next one. */
	daemon_kill(&d);
	assert_int_equal(access(d.socket, F_OK), 0);
	again = daemon_in(d.dir, NULL);
	t = tenant_join(&again, 1);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&again), 0);
	daemon_remove(&d);
}

/* heddled ends while programs run. Its log says that they continue, not that they leave. */
static void ends_first(void **state)
{
	char dir[] = "/tmp/heddled-test-XXXXXX", text[4096] = "";
	struct daemon d = {0};
	struct tenant t[3];
	size_t at = 0;
	ssize_t n;
	int ends[2];

	assert_non_null(mkdtemp(dir));
	snprintf(d.dir, sizeof(d.dir), "%s", dir);
	snprintf(d.socket, sizeof(d.socket), "%s/sock", dir);
	assert_int_equal(pipe(ends), 0);
	d.pid = daemon_spawn(d.socket, NULL, ends[1]);
	close(ends[1]);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0); /* the daemon is listening */
	for (unsigned i = 0; i < ARRAY_LEN(t); i++)
		t[i] = tenant_join(&d, 1);
	tenant_leave(&t[2]);
	assert_true(status_await_tenants(&d, 2));
	device_arrive(&t[0], tenant_submit(&t[0], 0, 100));
	assert_int_equal(daemon_stop(&d), 0);
	while ((n = read(ends[0], text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	text[at] = 0;
	close(ends[0]);
	assert_non_null(strstr(text, "heddled: ends; 2 tenants go on without it\n"));
	assert_non_null(strstr(text, "tenant 3 leaves: "));
	assert_null(strstr(text, "tenant 1 leaves: "));
	assert_null(strstr(text, "tenant 2 leaves: "));
	tenant_leave(&t[0]);
	tenant_leave(&t[1]);
	daemon_remove(&d);
}

/* Joins from a child process of another user. Returns the granted priority, or negative errno. */
static int as_nobody(const struct daemon *d, int priority)
{
	struct wire_hello h = tenant_hello(priority);
	struct tenant t;
	int ends[2], r, status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		r = setgroups(0, NULL) || setgid(65534) || setuid(65534)
			    ? -EINVAL
			    : tenant_hello_send(d->socket, &h, &t);
		if (r == WIRE_WELCOME)
			r = t.welcome.priority;
		if (write(ends[1], &r, sizeof(r)) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ends[0], &r, sizeof(r)), sizeof(r));
	waitpid(pid, &status, 0);
	close(ends[0]);
	close(ends[1]);
	return r;
}

static void second_user(void **state)
{
	char *args[] = {"--set", "privileged_group=nogroup", NULL};
	struct daemon d;

	if (geteuid() != 0)
		skip();
	d = daemon_start(NULL);
	chmod(d.dir, 0755);
	assert_int_equal(as_nobody(&d, 2), -EACCES);
	/* If the socket's permissions admit other users, they get at most normal priority. */
	chmod(d.socket, 0666);
	assert_int_equal(as_nobody(&d, 2), 1);
	assert_int_equal(as_nobody(&d, 0), 0);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
	if (!getgrnam("nogroup") || getgrnam("nogroup")->gr_gid != 65534)
		return;
	d = daemon_start(args);
	chmod(d.dir, 0755);
	chmod(d.socket, 0666);
	assert_int_equal(as_nobody(&d, 2), 2);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void full_disk(void **state)
{
	char *args[] = {"--events", "/dev/full", NULL};
	struct daemon d = daemon_start(args);
	struct tenant t;

	for (int i = 0; i < 20; i++) {
		t = tenant_join(&d, 1);
		tenant_submit(&t, 0, 100);
		tenant_leave(&t);
	}
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void event_log(void **state)
{
	char dir[] = "/tmp/heddled-test-XXXXXX", path[64], line[4096];
	char *args[] = {"--events", path, NULL};
	unsigned seen = 0, lines = 0, words = 0;
	struct daemon d;
	struct tenant a, b;
	struct wire_slot *w;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/events", dir);
	d = daemon_in(dir, args);
	a = tenant_join(&d, 0);
	b = tenant_join(&d, 2);
	w = tenant_submit(&a, 0, 100);
	device_arrive(&a, w);
	tenant_kick(&a);
	assert_true(slot_await(w, 4));
	tenant_submit(&b, 0, 100);
	assert_true(slot_await(w, 0));
	device_drain(&d, w);
	tenant_leave(&b);
	assert_true(slot_await(w, 4));
	tenant_leave(&a);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); lines++) {
		static const char *const names[] = {"\"join\"", "\"submit\"", "\"arrive\"",
			"\"preempt\"", "\"grant\"", "\"leave\"", "\"hold\"", "\"release\""};

		assert_int_equal(line[0], '{');
		assert_string_equal(line + strlen(line) - 2, "}\n");
		for (unsigned i = 0; i < ARRAY_LEN(names); i++)
			seen |= strstr(line, names[i]) ? 1u << i : 0;
		words += strstr(line, "\"join\"") && strstr(line, "\"priority\": \"low\"");
		words += strstr(line, "\"join\"") && strstr(line, "\"priority\": \"high\"");
	}
	fclose(f);
	assert_int_equal(words, 2);
	assert_int_equal(seen, 0xff);
	assert_true(lines >= 10);
	daemon_remove(&d);
}

/* Names from the tenant (program, class, device, kernels) appear in tables, in the log and in the
 * event log, which is JSON. Each must appear as one plain word. */
static void names(void **state)
{
	static const char evil[] = "x\n     7    4321 root\x1b[2J\x9b"
				   "1m\xc2\x9b"
				   "2m\xe2\x80\xae\"}\r\t\x7f";
	char dir[] = "/tmp/heddled-test-XXXXXX", events[64], said[64], line[4096];
	char *args[] = {"--events", events, "--log", "debug", NULL};
	struct wire_hello h = tenant_hello(1);
	unsigned rows = 0, lines = 0;
	struct wire_head q;
	struct wire_slot *w;
	struct daemon d = {0};
	struct tenant t;
	int sock, fd, r;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(events, sizeof(events), "%s/events", dir);
	snprintf(said, sizeof(said), "%s/said", dir);
	snprintf(d.dir, sizeof(d.dir), "%s", dir);
	snprintf(d.socket, sizeof(d.socket), "%s/sock", dir);
	fd = open(said, O_RDWR | O_CREAT, 0600);
	d.pid = daemon_spawn(d.socket, args, fd);
	for (sock = -1; sock < 0 && waitpid(d.pid, NULL, WNOHANG) == 0; usleep(1000))
		sock = wire_connect(d.socket, 100);
	assert_true(sock >= 0);
	close(sock);
	snprintf(h.name, sizeof(h.name), "%s", evil);
	snprintf(h.device, sizeof(h.device), "%s", evil);
	snprintf(h.device_name, sizeof(h.device_name), "%s", evil);
	snprintf(h.group, sizeof(h.group), "%.31s", evil);
	snprintf(h.driver, sizeof(h.driver), "%.31s", evil);
	assert_int_equal(tenant_hello_send(d.socket, &h, &t), WIRE_WELCOME);
	w = tenant_submit(&t, 0, 100);
	snprintf(w->name, sizeof(w->name), "%s", evil);
	tenant_kick(&t);
	assert_true(slot_await(w, 4));
	sock = wire_connect(d.socket, 30000);
	wire_head_init(&q, WIRE_LIST, sizeof(q));
	assert_int_equal(wire_send(sock, &q, NULL, 0), 0);
	for (;; rows++) {
		struct wire_row row;

		r = wire_recv(sock, &row, sizeof(row), NULL, 0, NULL);
		if (r != sizeof(row) || row.head.type != WIRE_ROW)
			break;
		for (unsigned i = 0; i < 4; i++) {
			const char *name = (const char *[]){
				row.name, row.group, row.device, row.device_name}[i];

			assert_true(
				strlen(name) ==
				strspn(name, "abcdefghijklmnopqrstuvwxyzGPU0123456789 ?[{}\"-J"));
		}
	}
	assert_int_equal(rows, 2);
	close(sock);
	tenant_leave(&t);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	for (unsigned i = 0; i < 2; i++) {
		f = fopen(i ? events : said, "r");
		assert_non_null(f);
		for (; fgets(line, sizeof(line), f); lines++) {
			for (const char *c = line; *c; c++)
				assert_true((*c >= ' ' && *c < 127) || *c == '\n' || *c == '\t');
			assert_true(i ? line[0] == '{' : strncmp(line, "heddled: ", 9) == 0);
		}
		fclose(f);
	}
	assert_true(lines >= 5);
	close(fd);
	daemon_remove(&d);
}

static void activation(void **state)
{
	char dir[] = "/tmp/heddled-test-XXXXXX", path[108], note[108], text[256] = "";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct daemon d = {0};
	struct tenant t;
	int sock, notes;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/activated", dir);
	snprintf(note, sizeof(note), "%s/notify", dir);
	sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	strcpy(a.sun_path, path);
	assert_int_equal(bind(sock, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(sock, 8), 0);
	notes = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, note);
	assert_int_equal(bind(notes, (struct sockaddr *)&a, sizeof(a)), 0);
	d.pid = fork();
	if (d.pid == 0) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		setenv("LISTEN_PID", pid, 1);
		setenv("LISTEN_FDS", "1", 1);
		setenv("NOTIFY_SOCKET", note, 1);
		setenv("WATCHDOG_USEC", "100000", 1);
		setenv("WATCHDOG_PID", pid, 1);
		setenv("STATE_DIRECTORY", dir, 1);
		dup2(sock, 3);
		execl(heddled_path, heddled_path, "--socket", path, (char *)NULL);
		_exit(127);
	}
	close(sock);
	assert_true(recv(notes, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "READY=1"));
	strcpy(d.socket, path);
	strcpy(d.dir, dir);
	t = tenant_join(&d, 1);
	tenant_leave(&t);
	/* heddled notifies twice per watchdog interval, even when idle, and stops when the loop
	 * stops. */
	for (unsigned i = 0; i < 5; i++) {
		uint64_t began = now_ns();

		memset(text, 0, sizeof(text));
		assert_true(recv(notes, text, sizeof(text) - 1, 0) > 0);
		assert_string_equal(text, "WATCHDOG=1\n");
		assert_true(now_ns() - began < LIMIT_NS);
	}
	kill(d.pid, SIGSTOP);
	while (recv(notes, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
	usleep(200000);
	assert_int_equal(recv(notes, text, sizeof(text), MSG_DONTWAIT), -1);
	kill(d.pid, SIGCONT);
	assert_int_equal(daemon_stop(&d), 0);
	/* the service manager owns the socket, so heddled does not remove it */
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/heddled.db", dir);
	/* the database is in the service manager's folder */
	assert_int_equal(access(path, F_OK), 0);
	close(notes);
	daemon_remove(&d);
}

static void gates(void **state)
{
	static const char *const wrong[] = {"", "maybe", "1", "ON", "on "};
	static const struct {
		const char *value;
		uint32_t gates;
	} right[] = {{"on", 1}, {"off", 0}, {"yes", 1}, {"no", 0}, {"true", 1}, {"false", 0}};
	char set[32], *args[] = {"--set", set, NULL};
	struct tenant low, high;
	struct daemon d;
	int status;
	pid_t pid;

	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		snprintf(set, sizeof(set), "gates=%s", wrong[i]);
		pid = daemon_spawn("/nonexistent/sock", args, -1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2); /* 2: usage error; 1: path not found */
	}
	for (unsigned i = 0; i <= ARRAY_LEN(right); i++) {
		bool given = i < ARRAY_LEN(right);

		if (given)
			snprintf(set, sizeof(set), "gates=%s", right[i].value);
		d = daemon_start(given ? args : NULL);
		low = tenant_join(&d, 0);
		high = tenant_join(&d, 2);
		assert_true(word_await(&low.page->watch, 1));
		assert_int_equal(low.page->gates, given ? right[i].gates : 1);
		assert_int_equal(high.page->gates, 0);
		tenant_leave(&low);
		tenant_leave(&high);
		assert_int_equal(daemon_stop(&d), 0);
		daemon_remove(&d);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serves),
		cmocka_unit_test(refuses),
		cmocka_unit_test(floods),
		cmocka_unit_test(kicks_after_leaving),
		cmocka_unit_test(hands_over),
		cmocka_unit_test(deaths),
		cmocka_unit_test(second_instance),
		cmocka_unit_test(ends_first),
		cmocka_unit_test(second_user),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(event_log),
		cmocka_unit_test(names),
		cmocka_unit_test(activation),
		cmocka_unit_test(gates),
	};

	if (argc < 2)
		return 1;
	heddled_path = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
