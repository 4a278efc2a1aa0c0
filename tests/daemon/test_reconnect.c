/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests tenants that reconnect over sockets: to the next daemon with their launches, to a daemon
 * that was stopped for a while, with invalid pages, or with another tenant's page. */
#include "unit.h"

#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t number(int fd)
{
	uint64_t n = 0;

	assert_int_equal(wire_page_number(fd, &n), 0);
	return n;
}

/* Reconnects with the tenant's page, mapped a second time; leaves the old connection open. */
static int back(const struct daemon *d, const struct tenant *was, int priority, struct tenant *ret)
{
	struct wire_hello h = tenant_hello(priority);
	int r = tenant_hello_with(d->socket, &h, was->page_fd, ret);

	if (r != WIRE_WELCOME)
		return r;
	ret->next_id = was->next_id;
	assert_int_equal(number(ret->page_fd), number(was->page_fd));
	return r;
}

static void to_the_next(void **state)
{
	struct daemon d = daemon_start(NULL), e;
	struct tenant low = tenant_join(&d, 0), high = tenant_join(&d, 2), low2, high2;
	struct wire_slot *l = tenant_submit(&low, 0, 800), *h;

	device_arrive(&low, l);
	tenant_kick(&low);
	assert_true(slot_await(l, 4));
	h = tenant_submit(&high, 0, 800);
	assert_true(slot_await(l, 0));
	device_drain(&d, l);
	device_arrive(&high, h);
	tenant_kick(&high);
	daemon_kill(&d);
	e = daemon_in(d.dir, NULL);
	assert_int_equal(back(&e, &low, 0, &low2), WIRE_WELCOME);
	assert_int_equal(back(&e, &high, 2, &high2), WIRE_WELCOME);
	assert_int_equal(low2.welcome.tenant, low.welcome.tenant);
	assert_int_equal(high2.welcome.tenant, high.welcome.tenant);
	assert_int_equal(high2.welcome.priority, 2);
	assert_true(slot_await(l, 0));
	assert_int_equal(slot_allowed(h), 4);
	device_finish(h);
	assert_true(slot_await(l, 4));
	device_finish(l);
	__atomic_store_n(&l->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
	tenant_kick(&low2);
	assert_true(word_await(&l->state, WIRE_SLOT_FREE));
	tenant_leave(&low2);
	tenant_leave(&high2);
	assert_true(status_await_tenants(&e, 0));
	tenant_leave(&low);
	tenant_leave(&high);
	assert_int_equal(daemon_stop(&e), 0);
	daemon_remove(&e);
}

/* The daemon is stopped by SIGSTOP. The tenant takes it for dead and reconnects several times. */
static void to_one_that_stood_still(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct tenant t = tenant_join(&d, 1), last = {.sock = -1};
	struct wire_hello h = tenant_hello(1);
	int sock[5], fds[3], status;
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct wire_slot *w = tenant_submit(&t, 0, 800);
	unsigned n = 0;

	device_arrive(&t, w);
	kill(d.pid, SIGSTOP);
	assert_int_equal(waitpid(d.pid, &status, WUNTRACED), d.pid);
	for (int i = 0; i < 5; i++) {
		sock[i] = wire_connect(d.socket, 30000);
		assert_true(sock[i] >= 0);
		assert_int_equal(wire_send(sock[i], &h, &t.page_fd, 1), 0);
	}
	close(sock[0]); /* the tenant gave up this connection */
	kill(d.pid, SIGCONT);
	assert_int_equal(
		wire_recv(sock[4], msg, sizeof(msg), fds, 3, &n), sizeof(struct wire_welcome));
	assert_int_equal(n, 3);
	assert_int_equal(number(fds[0]), number(t.page_fd));
	assert_true(status_await_tenants(&d, 1));
	/* heddled has closed the other connections, including the first. */
	for (int i = 1; i < 4; i++) {
		while (wire_recv(sock[i], msg, sizeof(msg), NULL, 0, NULL) > 0)
			;
		close(sock[i]);
	}
	assert_int_equal(wire_recv(t.sock, msg, sizeof(msg), NULL, 0, NULL), 0);
	last = (struct tenant){.sock = sock[4], .kick = fds[1], .event = fds[2], .page_fd = fds[0]};
	assert_int_equal(wire_page_map(fds[0], &last.page), 0);
	assert_true(slot_await(w, 4));
	tenant_leave(&last);
	assert_true(status_await_tenants(&d, 0));
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static int sealed(size_t bytes, int seals, uint32_t magic)
{
	struct wire_page head = {
		.magic = magic, .version = WIRE_PAGE_VERSION, .n_slots = WIRE_SLOTS};
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(pwrite(fd, &head, 64, 0), 64);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void pages_that_are_none(void **state)
{
	const int size = F_SEAL_SHRINK | F_SEAL_GROW, all = size | F_SEAL_SEAL;
	struct daemon d = daemon_start(NULL);
	struct tenant t = tenant_join(&d, 1), other;
	struct wire_hello h = tenant_hello(1);
	size_t bytes = t.page->bytes;
	unsigned before = fds_of(d.pid);
	int bad[] = {
		sealed(bytes, F_SEAL_GROW | F_SEAL_SEAL, WIRE_PAGE_MAGIC),
		sealed(bytes, F_SEAL_SHRINK | F_SEAL_SEAL, WIRE_PAGE_MAGIC),
		sealed(bytes, size, WIRE_PAGE_MAGIC),
		sealed(bytes, all | F_SEAL_WRITE, WIRE_PAGE_MAGIC),
		sealed(bytes, all | F_SEAL_FUTURE_WRITE, WIRE_PAGE_MAGIC),
		sealed(bytes, all, 0),
		sealed(bytes + 4096, all, WIRE_PAGE_MAGIC),
		sealed(4096, all, WIRE_PAGE_MAGIC),
		eventfd(0, 0),
		open("/proc/self/exe", O_RDONLY),
		open("/tmp", O_RDONLY),
		open("/dev/zero", O_RDWR),
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_true(bad[i] >= 0);
		assert_int_equal(tenant_hello_with(d.socket, &h, bad[i], &other), WIRE_REFUSED);
		close(other.sock);
		close(bad[i]);
	}
	assert_true(status_await_tenants(&d, 1));
	for (int i = 0; i < 3000 && fds_of(d.pid) > before + 3; i++)
		usleep(10000);
	assert_true(fds_of(d.pid) <= before + 3);
	/* A complete page filled with arbitrary values. */
	bad[0] = sealed(bytes, all, WIRE_PAGE_MAGIC);
	for (size_t at = 64; at < bytes; at += 64)
		assert_int_equal(
			pwrite(bad[0], "\xff\x01\xfe\x02\x80\x7f\x01\x01", 8, (off_t)at), 8);
	assert_int_equal(tenant_hello_with(d.socket, &h, bad[0], &other), WIRE_WELCOME);
	close(bad[0]);
	tenant_kick(&other);
	assert_true(status_await_tenants(&d, 2));
	tenant_leave(&other);
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

static void somebody_elses(void **state)
{
	struct daemon d = daemon_start(NULL);
	struct tenant t = tenant_join(&d, 1), other;
	struct wire_hello h = tenant_hello(1);
	struct wire_slot *w;
	pid_t child = fork();
	int status;

	if (child == 0) {
		int r = tenant_hello_with(d.socket, &h, t.page_fd, &other);

		_exit(r == WIRE_REFUSED ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(status_await_tenants(&d, 1));
	w = tenant_submit(&t, 0, 100); /* the tenant continues as before */
	__atomic_store_n(&w->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
	tenant_kick(&t);
	assert_true(word_await(&w->state, WIRE_SLOT_FREE));
	tenant_leave(&t);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_next),
		cmocka_unit_test(to_one_that_stood_still),
		cmocka_unit_test(pages_that_are_none),
		cmocka_unit_test(somebody_elses),
	};

	if (argc < 2)
		return 2;
	heddled_path = argv[1];
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
