/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Simulates tenants. Always waits for a condition, with a timeout, and never for a fixed time. */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 30000

const char *heddled_path;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void die(const char *what)
{
	fprintf(stderr, "harness: %s: %s\n", what, strerror(errno));
	exit(1);
}

pid_t daemon_spawn(const char *socket, char *const args[], int stderr_fd)
{
	/* heddled keeps no records of simulated tenants, and waits longer than usual before it
	 * considers a tenant late, because the test process may not be scheduled for a while. */
	char *argv[26] = {(char *)heddled_path, "--config-root", "/nonexistent", "--set",
		"state=off", "--set", "grace_us=10000000"};
	int n = 7;
	pid_t pid;

	if (socket) {
		argv[n++] = "--socket";
		argv[n++] = (char *)socket;
	}
	for (; args && *args; args++)
		argv[n++] = *args;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (stderr_fd >= 0)
			dup2(stderr_fd, 2);
		execv(heddled_path, argv);
		_exit(127);
	}
	return pid;
}

struct daemon daemon_in(const char *dir, char *const args[])
{
	struct daemon d = {0};
	uint64_t end = now_ns() + LIMIT_NS;
	int fd = -1;

	snprintf(d.dir, sizeof(d.dir), "%s", dir);
	snprintf(d.socket, sizeof(d.socket), "%s/sock", dir);
	d.pid = daemon_spawn(d.socket, args, -1);
	while (fd < 0 && now_ns() < end) {
		fd = wire_connect(d.socket, CONNECT_MS);
		nap();
	}
	if (fd < 0)
		die("the daemon does not come up");
	close(fd);
	return d;
}

struct daemon daemon_start(char *const args[])
{
	char dir[] = "/tmp/heddled-test-XXXXXX";

	if (!mkdtemp(dir))
		die("mkdtemp");
	return daemon_in(dir, args);
}

int daemon_stop(struct daemon *d)
{
	int status;

	kill(d->pid, SIGTERM);
	if (waitpid(d->pid, &status, 0) != d->pid)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void daemon_kill(struct daemon *d)
{
	kill(d->pid, SIGKILL);
	waitpid(d->pid, NULL, 0);
}

void daemon_remove(struct daemon *d)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", d->dir);
	if (system(command) != 0)
		die(command);
}

unsigned fds_of(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

struct wire_hello tenant_hello(int priority)
{
	struct wire_hello h = {.priority = priority, .weight = 1, .n_sms = 4};

	wire_head_init(&h.head, WIRE_HELLO, sizeof(h));
	strcpy(h.device, "GPU-0");
	strcpy(h.name, "played");
	return h;
}

int tenant_hello_with(const char *socket, const struct wire_hello *h, int fd, struct tenant *ret)
{
	union {
		struct wire_head head;
		struct wire_welcome welcome;
		char bytes[WIRE_MAX_BYTES];
	} m;
	int fds[3], r;
	unsigned n = 0;

	*ret = (struct tenant){.sock = wire_connect(socket, CONNECT_MS), .next_id = 1};
	if (ret->sock < 0)
		return ret->sock;
	r = wire_send(ret->sock, h, &fd, fd >= 0);
	if (r == 0 || r == -EPIPE) /* -EPIPE: already refused */
		r = wire_recv(ret->sock, &m, sizeof(m), fds, 3, &n);
	if (r <= 0)
		return r;
	if (wire_check(&m, (size_t)r) < 0)
		die("a bad answer");
	if (m.head.type != WIRE_WELCOME)
		return (int)m.head.type;
	ret->welcome = m.welcome;
	if (n != 3 || wire_page_map(fds[0], &ret->page) < 0)
		die("welcomed without a page");
	ret->page_fd = fds[0];
	ret->kick = fds[1];
	ret->event = fds[2];
	return WIRE_WELCOME;
}

int tenant_hello_send(const char *socket, const struct wire_hello *h, struct tenant *ret)
{
	return tenant_hello_with(socket, h, -1, ret);
}

struct tenant tenant_join(const struct daemon *d, int priority)
{
	struct wire_hello h = tenant_hello(priority);
	struct tenant t;

	if (tenant_hello_send(d->socket, &h, &t) != WIRE_WELCOME)
		die("not welcome");
	return t;
}

void tenant_leave(struct tenant *t)
{
	close(t->sock);
	close(t->kick);
	close(t->event);
	close(t->page_fd);
	wire_page_unmap(t->page);
	t->page = NULL;
}

void tenant_kick(struct tenant *t)
{
	uint64_t one = 1;

	if (write(t->kick, &one, sizeof(one)) < 0)
		die("kick");
}

struct wire_slot *tenant_submit(struct tenant *t, unsigned slot, uint64_t total)
{
	struct wire_slot *w = &t->page->slots[slot];

	memset(w, 0, offsetof(struct wire_slot, granted));
	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	w->gen = 7;
	w->id = t->next_id++;
	w->kernel = 99;
	w->total = total;
	w->block[0] = w->block[1] = w->block[2] = 1;
	w->workers_per_sm = 2;
	w->submit_ns = now_ns();
	strcpy(w->name, "played");
	__atomic_store_n(&w->state, WIRE_SLOT_SUBMITTED, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->page->watch, __ATOMIC_SEQ_CST))
		tenant_kick(t);
	return w;
}

void device_arrive(const struct tenant *t, struct wire_slot *w)
{
	w->host.began = __atomic_load_n(&t->page->begin.seq, __ATOMIC_ACQUIRE);
	w->host.arrived_ns = now_ns();
	__atomic_store_n(&w->host.arrived, w->gen + 1, __ATOMIC_RELEASE);
}

void device_drain(const struct daemon *d, struct wire_slot *w)
{
	struct wire_status s;

	/* The device obeys quotas only once their word's seq is stored, so the test must wait until
	 * both are. The daemon answers a status request after the turn in which it stored them. */
	if (status_of(d, &s) < 0)
		die("no status");
	__atomic_store_n(&w->host.drained_seq, w->host.seq, __ATOMIC_RELEASE);
	__atomic_fetch_add(&w->host.drains, 1, __ATOMIC_RELEASE);
}

void device_finish(struct wire_slot *w)
{
	w->host.finished = w->total;
	w->host.done_ns = now_ns();
	__atomic_store_n(&w->host.done, w->gen + 1, __ATOMIC_RELEASE);
}

unsigned slot_allowed(struct wire_slot *w)
{
	unsigned n = 0;

	__atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < 4; i++)
		n += __atomic_load_n(&w->host.quota[i], __ATOMIC_ACQUIRE) != 0;
	return n;
}

bool slot_await(struct wire_slot *w, unsigned n)
{
	uint64_t end = now_ns() + LIMIT_NS;

	while (slot_allowed(w) != n) {
		if (now_ns() > end)
			return false;
		nap();
	}
	return true;
}

bool word_await(uint32_t *word, uint32_t value)
{
	uint64_t end = now_ns() + LIMIT_NS;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
		if (now_ns() > end)
			return false;
		nap();
	}
	return true;
}

int status_of(const struct daemon *d, struct wire_status *ret)
{
	int sock = wire_connect(d->socket, CONNECT_MS), r;

	if (sock < 0)
		return sock;
	*ret = (struct wire_status){0};
	wire_head_init(&ret->head, WIRE_STATUS, sizeof(*ret));
	r = wire_send(sock, ret, NULL, 0);
	if (r == 0)
		r = wire_recv(sock, ret, sizeof(*ret), NULL, 0, NULL);
	close(sock);
	return r < 0 ? r : wire_check(ret, (size_t)r);
}

bool status_await_tenants(const struct daemon *d, unsigned n)
{
	uint64_t end = now_ns() + LIMIT_NS;
	struct wire_status s;

	while (status_of(d, &s) < 0 || s.tenants != n) {
		if (now_ns() > end)
			return false;
		nap();
	}
	return true;
}
