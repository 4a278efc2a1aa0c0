/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the reservation of a GPU by one heddled: which user holds it, and that another user's
 * socket does not keep a heddled from serving the GPU. */
#include "unit.h"

#include "daemon/reserve.h"
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOMEBODY 65533 /* unused user ids */
#define ANOTHER  65532

/* Returns the name of an unreserved GPU: all tests on a machine share the name space. */
static void new_gpu(char ret[64])
{
	static unsigned n;

	snprintf(ret, 64, "GPU-%08x-0000-4000-8000-%012llx", (unsigned)getpid(),
		(unsigned long long)(now_ns() + n++) & 0xffffffffffffull);
}

static int hello_on(const struct daemon *d, const char *gpu, bool cpu, struct tenant *ret)
{
	struct wire_hello h = tenant_hello(1);

	snprintf(h.device, sizeof(h.device), "%s", gpu);
	h.is_cpu_device = cpu;
	return tenant_hello_send(d->socket, &h, ret);
}

static void two_daemons(void **state)
{
	struct daemon a = daemon_start(NULL), b = daemon_start(NULL);
	uint64_t until = now_ns() + LIMIT_NS;
	struct tenant t[4], refused;
	char gpu[64], other[64];

	new_gpu(gpu);
	new_gpu(other);
	assert_int_equal(hello_on(&a, gpu, false, &t[0]), WIRE_WELCOME);
	assert_int_equal(hello_on(&a, gpu, false, &t[1]), WIRE_WELCOME);
	assert_int_equal(hello_on(&b, gpu, false, &refused), WIRE_REFUSED);
	close(refused.sock);
	/* The reservation does not cover another GPU, nor a string that is not a GPU's name, nor
	 * the virtual GPU, which each user may have. */
	assert_int_equal(hello_on(&b, other, false, &t[2]), WIRE_WELCOME);
	assert_int_equal(hello_on(&b, gpu, true, &t[3]), WIRE_WELCOME);
	assert_int_equal(hello_on(&a, other, false, &refused), WIRE_REFUSED);
	close(refused.sock);
	tenant_leave(&t[0]);
	assert_int_equal(hello_on(&b, gpu, false, &refused), WIRE_REFUSED);
	close(refused.sock);
	/* The reservation ends with the last tenant, and with the daemon. */
	tenant_leave(&t[1]);
	while (hello_on(&b, gpu, false, &t[1]) != WIRE_WELCOME) {
		assert_true(now_ns() < until);
		usleep(10000);
	}
	daemon_kill(&b);
	assert_int_equal(hello_on(&a, gpu, false, &t[0]), WIRE_WELCOME);
	assert_int_equal(hello_on(&a, other, false, &refused), WIRE_WELCOME);
	for (int i = 0; i < 4; i++)
		tenant_leave(&t[i]);
	tenant_leave(&refused);
	assert_int_equal(daemon_stop(&a), 0);
	daemon_remove(&a);
	daemon_remove(&b);
}

static void names(void **state)
{
	static const char *const none[] = {"", "GPU-0", "GPU-", "/etc/passwd",
		"GPU-0000000g-0000-4000-8000-000000000000",
		"GPU-00000000-0000-4000-8000-0000000000000"};
	struct ucred holder;
	int fd, other;
	char gpu[64];

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		assert_int_equal(gpu_reserve(none[i], &fd, &holder), 0);
		assert_int_equal(fd, -1);
	}
	new_gpu(gpu);
	assert_int_equal(gpu_reserve(gpu, &fd, &holder), 0);
	assert_true(fd >= 0);
	assert_int_equal(gpu_reserve(gpu, &other, &holder), -EBUSY);
	assert_int_equal(holder.pid, getpid());
	assert_int_equal(holder.uid, geteuid());
	close(fd);
	assert_int_equal(gpu_reserve(gpu, &other, &holder), 0);
	close(other);
}

/* Runs gpu_reserve as that user in a child that stays until it is killed. Returns the child's
 * process id; *ret is gpu_reserve's result and *ret_uid the holder. If scope is given, the child
 * instead binds the socket name of that scope, and listens on it if `listens`. */
static pid_t as_user(
	uid_t user, const char *gpu, const char *scope, bool listens, int *ret, uid_t *ret_uid)
{
	struct {
		int r;
		uid_t uid;
	} said = {0};
	int ends[2], fd = -1;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		struct ucred holder = {0};

		if (setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child also ends if the test fails */
		if (scope) {
			int n = snprintf(
				a.sun_path + 1, sizeof(a.sun_path) - 1, "heddle/%s/%s", scope, gpu);

			fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
			said.r = bind(fd, (struct sockaddr *)&a,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
			if (listens && said.r == 0)
				said.r = listen(fd, 1);
		} else {
			said.r = gpu_reserve(gpu, &fd, &holder);
			said.uid = holder.uid;
		}
		if (write(ends[1], &said, sizeof(said)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
	close(ends[0]);
	*ret = said.r;
	*ret_uid = said.uid;
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void need_root(void)
{
	if (geteuid() != 0) {
		puts("skipped: not root");
		skip();
	}
}

static void other_users(void **state)
{
	struct ucred holder;
	pid_t first, second;
	char gpu[64];
	uid_t uid;
	int r, fd;

	need_root();
	/* A user's reservation yields to root's and does not prevent it. */
	new_gpu(gpu);
	first = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, 0);
	assert_int_equal(gpu_reserve(gpu, &fd, &holder), 0);
	assert_true(fd >= 0);
	second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, -EBUSY);
	assert_int_equal(uid, 0);
	end(second);
	end(first);
	close(fd);
	/* A user that binds root's name reserves nothing, whether it listens or not. */
	for (int listens = 0; listens < 2; listens++) {
		new_gpu(gpu);
		first = as_user(SOMEBODY, gpu, "system", listens, &r, &uid);
		assert_int_equal(r, 0);
		for (int i = 0; i < 4; i++) /* more than its queue holds */
			assert_int_equal(gpu_reserve(gpu, &fd, &holder), 0);
		second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
		assert_int_equal(r, 0);
		end(second);
		end(first);
	}
}

static void between_users(void **state)
{
	static const char name[] = "user/65533";
	struct ucred holder;
	pid_t first, second;
	char gpu[64];
	uid_t uid;
	int r, fd;

	need_root();
	/* Of two daemons of one user, the first reserves the GPU. Two users do not see each other's
	 * reservations. */
	new_gpu(gpu);
	first = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, 0);
	second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, -EBUSY);
	assert_int_equal(uid, SOMEBODY);
	end(second);
	second = as_user(ANOTHER, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, 0);
	end(second);
	end(first);
	/* A user that binds another user's name, or the name that was once common to all users,
	 * blocks no other user. */
	for (int listens = 0; listens < 2; listens++) {
		for (int old = 0; old < 2; old++) {
			new_gpu(gpu);
			first = as_user(ANOTHER, gpu, old ? "user" : name, listens, &r, &uid);
			assert_int_equal(r, 0);
			for (int i = 0; i < 4; i++) { /* more than its queue holds */
				second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
				assert_int_equal(r, 0);
				end(second);
			}
			end(first);
		}
	}
	/* A reservation under SOMEBODY's name counts if root or SOMEBODY made it. */
	new_gpu(gpu);
	first = as_user(SOMEBODY, gpu, name, true, &r, &uid);
	assert_int_equal(r, 0);
	second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, -EBUSY);
	assert_int_equal(uid, SOMEBODY);
	end(second);
	end(first);
	new_gpu(gpu);
	first = as_user(0, gpu, name, true, &r, &uid);
	assert_int_equal(r, 0);
	second = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(r, -EBUSY);
	assert_int_equal(uid, 0);
	end(second);
	end(first);
	/* The user's reservation does not block root's own. */
	first = as_user(SOMEBODY, gpu, NULL, false, &r, &uid);
	assert_int_equal(gpu_reserve(gpu, &fd, &holder), 0);
	assert_true(fd >= 0);
	close(fd);
	end(first);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_daemons),
		cmocka_unit_test(names),
		cmocka_unit_test(other_users),
		cmocka_unit_test(between_users),
	};

	if (argc < 2)
		return 2;
	heddled_path = argv[1];
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
