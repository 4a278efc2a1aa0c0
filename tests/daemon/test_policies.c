/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests shared objects as policies of a running heddled: which files it loads, the notes about
 * policies that it keeps on disk, how it handles a policy that hangs, crashes or returns an invalid
 * plan, and how SIGHUP changes policies. */
#include "at_once.h"
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *so_bad, *so_abi, *so_size;

struct place {
	char dir[64], so[128], note[128], conf[128], log[128], socket[108];
};

static void run_shell(const char *fmt, const char *a, const char *b)
{
	char command[1024];

	snprintf(command, sizeof(command), fmt, a, b);
	assert_int_equal(system(command), 0);
}

/* A folder with a copy of the object, writable for this user only, and a configuration. */
static struct place place_make(const char *so)
{
	char dir[] = "/tmp/heddled-test-XXXXXX";
	struct place p;

	assert_non_null(mkdtemp(dir));
	snprintf(p.dir, sizeof(p.dir), "%s", dir);
	snprintf(p.so, sizeof(p.so), "%s/p.so", dir);
	snprintf(p.note, sizeof(p.note), "%s/sock.policy", dir);
	snprintf(p.socket, sizeof(p.socket), "%s/sock", dir);
	snprintf(p.log, sizeof(p.log), "%s/log", dir);
	snprintf(p.conf, sizeof(p.conf), "%s/etc/heddle/heddled.conf", dir);
	run_shell("mkdir -p %s/etc/heddle", dir, NULL);
	run_shell("cp %s %s && chmod 755 %2$s", so, p.so);
	return p;
}

static void configure(const struct place *p, const char *policy, const char *options)
{
	FILE *f = fopen(p->conf, "w");

	assert_non_null(f);
	fprintf(f, "[heddled]\ngrace_us = 10000000\npolicy = %s\npolicy_options = %s\n", policy,
		options);
	assert_int_equal(fclose(f), 0);
}

static pid_t place_spawn(const struct place *p)
{
	char *args[] = {"--config-root", (char *)p->dir, NULL};
	FILE *log = fopen(p->log, "a");
	pid_t pid;

	assert_non_null(log);
	pid = daemon_spawn(p->socket, args, fileno(log));
	fclose(log);
	return pid;
}

static struct daemon place_start(const struct place *p)
{
	struct daemon d = {.pid = place_spawn(p)};
	int fd = -1;

	snprintf(d.dir, sizeof(d.dir), "%s", p->dir);
	snprintf(d.socket, sizeof(d.socket), "%s", p->socket);
	for (int i = 0; i < 3000 && fd < 0; i++, usleep(10000))
		fd = wire_connect(d.socket, 30000);
	assert_true(fd >= 0);
	close(fd);
	return d;
}

/* Returns how often the text occurs in the log. */
static unsigned log_count(const struct place *p, const char *text)
{
	FILE *f = fopen(p->log, "r");
	char line[8192];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

static void log_await(const struct place *p, const char *text)
{
	for (int i = 0; i < 3000 && !log_count(p, text); i++)
		usleep(10000);
	if (!log_count(p, text))
		fail_msg("the log lacks: %s", text);
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void expect_policy(const struct daemon *d, const char *name)
{
	struct wire_status s;

	assert_int_equal(status_of(d, &s), 0);
	assert_string_equal(s.policy, name);
}

/* Returns the exit status, or 128 plus the signal number; fails if the process does not end. */
static int status_await(pid_t pid)
{
	int status;
	pid_t ended = 0;

	for (int i = 0; i < 3000 && !ended; i++, usleep(10000))
		ended = waitpid(pid, &status, WNOHANG);
	if (ended != pid) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		fail_msg("heddled goes on");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns the quota that the device obeys: the launch's own word, or else its tenant's begin
 * word. */
static uint8_t quota_of(const struct tenant *t, const struct wire_slot *w, unsigned sm)
{
	if (__atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&w->host.quota[sm], __ATOMIC_ACQUIRE);
	return w->host.began ? __atomic_load_n(&t->page->begin.quota[sm], __ATOMIC_ACQUIRE)
			     : CTL_NO_QUOTA;
}

/* Waits until each SM has this quota; the daemon stores words at its own pace. */
static bool quota_await(const struct tenant *t, const struct wire_slot *w, uint8_t n)
{
	for (int i = 0; i < 3000; i++, usleep(10000)) {
		bool is = true;

		for (unsigned sm = 0; sm < 4; sm++)
			is &= quota_of(t, w, sm) == n;
		if (is)
			return true;
	}
	return false;
}

static void reload(const struct place *p, const struct daemon *d, const char *says)
{
	unsigned before = log_count(p, says);

	kill(d->pid, SIGHUP);
	for (int i = 0; i < 3000 && log_count(p, says) == before; i++)
		usleep(10000);
	assert_int_equal(log_count(p, says), before + 1);
}

static struct wire_slot *run_one(struct tenant *t, unsigned slot)
{
	struct wire_slot *w = tenant_submit(t, slot, 800);

	device_arrive(t, w);
	tenant_kick(t);
	return w;
}

static void quotas_reach_the_page(void **state)
{
	struct place p = place_make(so_bad);
	struct tenant a, b;
	struct wire_slot *w, *v;
	struct daemon d;

	configure(&p, p.so, "1");
	d = place_start(&p);
	expect_policy(&d, "bad");
	assert_true(is_there(p.note));
	a = tenant_join(&d, 1);
	b = tenant_join(&d, 1);
	w = run_one(&a, 0);
	v = run_one(&b, 0);
	assert_true(quota_await(&a, w, 1));
	assert_true(quota_await(&b, v, 1));
	tenant_leave(&a);
	tenant_leave(&b);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	assert_false(is_there(p.note));
	assert_int_equal(log_count(&p, "policy bad: loaded from"), 1);
	daemon_remove(&d);
}

/* heddled must refuse to start, report the reason in one line, and leave no note file. */
static void expect_refused(const struct place *p, const char *policy, const char *why)
{
	configure(p, policy, "");
	truncate(p->log, 0);
	assert_int_equal(status_await(place_spawn(p)), 1);
	if (log_count(p, why) != 1 || log_count(p, "error") != 1)
		fail_msg("one line with '%s' in %s", why, p->log);
	assert_false(is_there(p->note));
	assert_false(is_there(p->socket));
}

/* Invalid options of a built-in policy change nothing. */
static void options_of_ours(void **state)
{
	struct place p = place_make(so_bad);
	struct daemon d;

	configure(&p, "greedy", "pairs=maybe");
	assert_int_equal(status_await(place_spawn(&p)), 1);
	assert_int_equal(log_count(&p, "pairs: 'maybe' is not one of on|off"), 1);
	configure(&p, "greedy", "pairs=on");
	d = place_start(&p);
	expect_policy(&d, "greedy");
	configure(&p, "greedy", "pears=on");
	reload(&p, &d, "the configuration is unchanged");
	assert_int_equal(log_count(&p, "policy greedy has no option 'pears=on'"), 1);
	configure(&p, "greedy", "pairs=off");
	reload(&p, &d, "read again: policy greedy");
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void refuses_files(void **state)
{
	struct place p = place_make(so_bad);
	char path[256];

	snprintf(path, sizeof(path), "%s/none.so", p.dir);
	expect_refused(&p, path, "No such file");
	expect_refused(&p, p.dir, "not a regular file");
	snprintf(path, sizeof(path), "%s/fifo", p.dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(&p, path, "not a regular file");
	expect_refused(&p, p.conf, "it cannot be loaded");
	assert_int_equal(chmod(p.so, 0775), 0);
	expect_refused(&p, p.so, "other users can write to it");
	assert_int_equal(chmod(p.so, 0757), 0);
	expect_refused(&p, p.so, "other users can write to it");
	assert_int_equal(chmod(p.so, 0755), 0);
	assert_int_equal(chmod(p.dir, 01777), 0);
	expect_refused(&p, p.so, "other users can replace files in the folder");
	assert_int_equal(chmod(p.dir, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(p.so, 65534, 65534), 0);
		expect_refused(&p, p.so, "it belongs to user 65534");
		assert_int_equal(chown(p.so, 0, 0), 0);
		assert_int_equal(chown(p.dir, 65534, 65534), 0);
		expect_refused(&p, p.so, "other users can replace files in the folder");
		assert_int_equal(chown(p.dir, 0, 0), 0);
	}
	run_shell("rm -rf %s", p.dir, NULL);
}

static void refuses_tables(void **state)
{
	static const char *const why[] = {"made for ABI 77, this heddled has 1", "has 16 bytes"};

	for (unsigned i = 0; i < 2; i++) {
		struct place p = place_make(i ? so_size : so_abi);

		expect_refused(&p, p.so, why[i]);
		run_shell("rm -rf %s", p.dir, NULL);
	}
}

/* Changes policies while kernels run; an invalid change has no effect. */
static void changes(void **state)
{
	struct place p = place_make(so_bad);
	char other[256], note[256] = "";
	struct wire_slot *w;
	struct daemon d;
	struct tenant t;
	FILE *f;

	snprintf(other, sizeof(other), "%s/abi.so", p.dir);
	run_shell("cp %s %s && chmod 755 %2$s", so_abi, other);
	configure(&p, "hpf", "");
	d = place_start(&p);
	assert_false(is_there(p.note));
	t = tenant_join(&d, 1);
	w = run_one(&t, 0);
	assert_true(quota_await(&t, w, 255));
	configure(&p, p.so, "1");
	reload(&p, &d, "read again: policy bad");
	assert_true(is_there(p.note));
	tenant_kick(&t);
	assert_true(quota_await(&t, w, 1));
	configure(&p, other, "1");
	reload(&p, &d, "the configuration is unchanged");
	expect_policy(&d, "bad");
	f = fopen(p.note, "r"); /* the note of the running policy */
	assert_non_null(f);
	assert_non_null(fgets(note, sizeof(note), f));
	fclose(f);
	assert_int_equal(strncmp(note, p.so, strlen(p.so)), 0);
	assert_int_equal(log_count(&p, "ABI 77"), 1);
	/* With other options, the same object gets a new state. With the same options, nothing is
	 * loaded. */
	configure(&p, p.so, "2");
	reload(&p, &d, "loaded from");
	tenant_kick(&t);
	assert_true(quota_await(&t, w, 2));
	reload(&p, &d, "read again: policy bad");
	assert_int_equal(log_count(&p, "loaded from"), 2);
	configure(&p, "hpf", "");
	reload(&p, &d, "read again: policy hpf");
	assert_false(is_there(p.note));
	tenant_kick(&t);
	assert_true(quota_await(&t, w, 255));
	tenant_leave(&t);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* Reconnects with the tenant's page, as a program does. */
static struct tenant back(const struct daemon *d, const struct tenant *was)
{
	struct wire_hello h = tenant_hello(1);
	struct tenant t;

	assert_int_equal(tenant_hello_with(d->socket, &h, was->page_fd, &t), WIRE_WELCOME);
	assert_int_equal(t.welcome.tenant, was->welcome.tenant);
	return t;
}

/* The next heddled runs without the policy, and its tenants return with their running launches.
 * When the note is removed, SIGHUP loads the policy again. */
static void goes_on_without(const struct place *p, struct tenant *t, struct wire_slot *w)
{
	struct daemon d;
	struct tenant now;

	assert_true(is_there(p->note));
	d = place_start(p);
	expect_policy(&d, "none");
	assert_int_equal(
		log_count(p, "an earlier heddled ended in its decide while this policy"), 1);
	now = back(&d, t);
	assert_true(quota_await(&now, w, 255));
	/* SIGHUP does not load it either */
	reload(p, &d, "an earlier heddled ended in its decide while");
	expect_policy(&d, "none");
	assert_int_equal(unlink(p->note), 0);
	configure(p, p->so, "1");
	reload(p, &d, "read again: policy bad");
	tenant_kick(&now);
	assert_true(quota_await(&now, w, 1));
	tenant_leave(&now);
	tenant_leave(t);
	assert_true(status_await_tenants(&d, 0));
	assert_int_equal(daemon_stop(&d), 0);
	assert_false(is_there(p->note));
	daemon_remove(&d);
}

static void crashes(void **state)
{
	struct place p = place_make(so_bad);
	struct wire_slot *w;
	struct daemon d;
	struct tenant t;

	configure(&p, p.so, "crash");
	d = place_start(&p);
	t = tenant_join(&d, 1);
	w = run_one(&t, 0);
	assert_int_not_equal(status_await(d.pid), 0);
	assert_int_equal(
		log_count(&p, "error: policy bad: decide has crashed: segmentation fault"), 1);
	goes_on_without(&p, &t, w);
}

/* Each way in which a policy ends heddled has its own log line, and the next heddled runs without
 * the policy. */
static void ends_heddled(void **state)
{
	static const struct {
		const char *options, *load, *says, *call;
	} rows[] = {
		{"abort", NULL, "policy bad: decide has aborted", "decide"},
		{"overflow", NULL, "policy bad: decide has crashed: segmentation fault", "decide"},
		{"exit", NULL, "policy bad: decide has called exit", "decide"},
		{"_exit", NULL, "policy bad: decide has called _exit", "decide"},
		{"create=crash", NULL, "policy bad: create has crashed", "create"},
		{"create=exit", NULL, "policy bad: create has called exit", "create"},
		{"destroy=crash", NULL, "policy bad: destroy has crashed", "destroy"},
		{"destroy=_exit", NULL, "policy bad: destroy has called _exit", "destroy"},
		{"", "crash", "policy p.so: loading it has crashed", "loading it"},
		{"", "exit", "policy p.so: loading it has called exit", "loading it"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct place p = place_make(so_bad);
		struct wire_hello h = tenant_hello(1);
		struct daemon d = {0};
		struct tenant t;
		char again[128];

		configure(&p, p.so, rows[i].options);
		if (rows[i].load) {
			setenv("BAD_LOAD", rows[i].load, 1);
			d.pid = place_spawn(&p);
			unsetenv("BAD_LOAD");
		} else if (strncmp(rows[i].options, "create", 6) == 0) {
			d = place_start(&p);
			tenant_hello_send(d.socket, &h, &t);
		} else {
			d = place_start(&p);
			t = tenant_join(&d, 1);
			run_one(&t, 0);
		}
		if (strncmp(rows[i].options, "destroy", 7) == 0)
			kill(d.pid, SIGTERM);
		assert_int_not_equal(status_await(d.pid), 0);
		if (log_count(&p, rows[i].says) != 1)
			fail_msg("%s: one line '%s' in %s", rows[i].options, rows[i].says, p.log);
		d = place_start(&p);
		expect_policy(&d, "none");
		snprintf(again, sizeof(again), "ended in its %s while this policy", rows[i].call);
		assert_int_equal(log_count(&p, again), 1);
		assert_int_equal(daemon_stop(&d), 0);
		daemon_remove(&d);
	}
}

static void kill_it(struct daemon *d)
{
	kill(d->pid, SIGKILL);
	assert_int_equal(status_await(d->pid), 128 + SIGKILL);
}

/* If heddled is killed, this is not the policy's fault, so the next heddled loads the policy once
 * more. After two kills in a row it does not. */
static void killed(void **state)
{
	struct place p = place_make(so_bad);
	struct daemon d;

	configure(&p, p.so, "1");
	for (int i = 0; i < 2; i++) {
		d = place_start(&p);
		expect_policy(&d, "bad");
		kill_it(&d);
		d = place_start(&p);
		expect_policy(&d, "bad");
		assert_int_equal(log_count(&p, "an earlier heddled was killed outside of its code "
					       "while this policy was loaded; it runs once more"),
			i + 1);
		if (i == 0) /* a regular exit resets the count */
			assert_int_equal(daemon_stop(&d), 0);
	}
	kill_it(&d);
	d = place_start(&p);
	expect_policy(&d, "none");
	assert_int_equal(
		log_count(&p, "twice in a row, so policy none runs; to try it again, remove"), 1);
	kill_it(&d);
	d = place_start(&p);
	expect_policy(&d, "none");
	assert_int_equal(unlink(p.note), 0);
	reload(&p, &d, "read again: policy bad");
	assert_int_equal(daemon_stop(&d), 0);
	assert_false(is_there(p.note));
	daemon_remove(&d);
}

/* heddled is killed during a call of the policy. This, too, may not be the policy's fault: the
 * kernel may have killed heddled for lack of memory. The next heddled loads the policy once
 * more. */
static void killed_in_a_call(void **state)
{
	struct place p = place_make(so_bad);
	struct daemon d;
	struct tenant t;

	configure(&p, p.so, "kill");
	for (int i = 0; i < 2; i++) {
		d = place_start(&p);
		expect_policy(&d, "bad");
		t = tenant_join(&d, 1);
		run_one(&t, 0);
		assert_int_equal(status_await(d.pid), 128 + SIGKILL);
		tenant_leave(&t);
	}
	d = place_start(&p);
	expect_policy(&d, "none");
	assert_int_equal(log_count(&p, "was killed in its decide while this policy"), 1);
	assert_int_equal(log_count(&p, "ended in its decide while this policy"), 1);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void hangs(void **state)
{
	struct place p = place_make(so_bad);
	struct wire_slot *w;
	struct daemon d;
	struct tenant t;

	configure(&p, p.so, "hang");
	d = place_start(&p);
	t = tenant_join(&d, 1);
	w = run_one(&t, 0);
	assert_int_equal(status_await(d.pid), 1);
	assert_int_equal(log_count(&p, "policy bad: decide has not returned for a second"), 1);
	goes_on_without(&p, &t, w);
}

/* A step of the loop that takes over 100 ms gets a log line that names the step. */
static void slow_step(void **state)
{
	struct place p = place_make(so_bad);
	struct wire_slot *w;
	struct tenant t;
	struct daemon d;
	char text[64];

	configure(&p, p.so, "doze");
	d = place_start(&p);
	t = tenant_join(&d, 1);
	w = run_one(&t, 0);
	snprintf(text, sizeof(text), "an event of pid %d, uid %u took 1", (int)getpid(),
		(unsigned)getuid());
	log_await(&p, text);
	device_finish(w);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void hangs_elsewhere(void **state)
{
	struct place p = place_make(so_bad);
	struct wire_hello h = tenant_hello(1);
	struct tenant t;
	struct daemon d;

	configure(&p, p.so, "create=hang");
	d = place_start(&p);
	tenant_hello_send(d.socket, &h, &t);
	assert_int_equal(status_await(d.pid), 1);
	assert_int_equal(log_count(&p, "policy bad: create has not returned"), 1);
	assert_int_equal(unlink(p.note), 0);
	configure(&p, p.so, "destroy=hang");
	d = place_start(&p);
	t = tenant_join(&d, 1);
	kill(d.pid, SIGTERM);
	assert_int_equal(status_await(d.pid), 1);
	assert_int_equal(log_count(&p, "policy bad: destroy has not returned"), 1);
	tenant_leave(&t);
	daemon_remove(&d);
}

/* Each kind of invalid plan is logged once, with its name, however often it recurs; no launch waits
 * for ever. */
static void nonsense(void **state)
{
	static const struct {
		const char *options, *says;
		uint8_t quota;
	} rows[] = {
		{"create=null", "policy bad: create returned NULL", 255},
		{"200", "policy bad: a quota of 200 blocks", 255},
		{"31", "policy bad: a quota of 31 blocks", 2},
		{"nobody", "policy bad: no launch got an SM", 255},
		{"hold", "policy bad: no launch got an SM", 255},
		{"soon", "policy bad: wake_ns is less than 100 us from now", 255},
		{"behind", "policy bad: decide wrote beyond the arrays", 255},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct place p = place_make(so_bad);
		struct wire_slot *w;
		struct daemon d;
		struct tenant t;

		configure(&p, p.so, rows[i].options);
		d = place_start(&p);
		t = tenant_join(&d, 1);
		w = tenant_submit(&t, 0, 800);
		tenant_kick(&t);
		assert_true(word_await(&w->granted, 1));
		device_arrive(&t, w);
		tenant_kick(&t);
		log_await(&p, rows[i].says);
		if (strcmp(rows[i].options, "nobody") == 0 ||
			strcmp(rows[i].options, "hold") == 0) {
			device_drain(&d, w);
			tenant_kick(&t);
		}
		assert_true(quota_await(&t, w, rows[i].quota));
		for (int k = 0; k < 20; k++) {
			struct wire_slot *v = run_one(&t, 1);

			device_finish(v);
			__atomic_store_n(&v->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
			tenant_kick(&t);
			assert_true(word_await(&v->state, WIRE_SLOT_FREE));
		}
		tenant_leave(&t);
		assert_true(status_await_tenants(&d, 0));
		assert_int_equal(daemon_stop(&d), 0);
		assert_int_equal(log_count(&p, "warning: policy bad"), 1);
		daemon_remove(&d);
	}
}

static void asked_again(void **state)
{
	struct place p = place_make(so_bad);
	struct tenant a, b;
	struct daemon d;

	configure(&p, p.so, "first");
	d = place_start(&p);
	a = tenant_join(&d, 1);
	b = tenant_join(&d, 1);
	run_one(&a, 0);
	run_one(&b, 0);
	log_await(&p, "policy bad: wake_ns is UNKNOWN although a launch waits");
	tenant_leave(&a);
	tenant_leave(&b);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotas_reach_the_page),
		cmocka_unit_test(options_of_ours),
		cmocka_unit_test(refuses_files),
		cmocka_unit_test(refuses_tables),
		cmocka_unit_test(changes),
		cmocka_unit_test(crashes),
		cmocka_unit_test(ends_heddled),
		cmocka_unit_test(killed),
		cmocka_unit_test(killed_in_a_call),
		cmocka_unit_test(hangs),
		cmocka_unit_test(hangs_elsewhere),
		cmocka_unit_test(slow_step),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(asked_again),
	};

	if (argc < 5)
		return 1;
	umask(022); /* heddled rejects files that other users may write */
	heddled_path = argv[1];
	so_bad = argv[2];
	so_abi = argv[3];
	so_size = argv[4];
	if (argc > 5)
		cmocka_set_test_filter(argv[5]);
	signal(SIGPIPE, SIG_IGN);
	return run_at_once(tests, ARRAY_LEN(tests));
}
