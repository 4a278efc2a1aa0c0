/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: test_assembler ASSEMBLER DRIVER
 * Tests that the assembler answers valid requests, whatever else it receives, that it stores only
 * code that compiles, and that it exits when no process can send to it any more. */
#include "host/assembler.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD    ".version 7.0\n.target sm_70\n.address_size 64\n"
#define GOOD    HEAD ".visible .entry k()\n{\nret;\n}\n"
#define WAIT_MS 60000

static const char *assembler, *driver;
static struct {
	pid_t pid;
	int sock;
	char dir[64];
} t;

static int begin(void **state)
{
	int pair[2];

	strcpy(t.dir, "/tmp/assembler-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	t.sock = pair[0];
	t.pid = fork();
	if (t.pid == 0) {
		if (pair[1] == ASSEMBLER_FD)
			fcntl(ASSEMBLER_FD, F_SETFD, 0);
		else
			dup2(pair[1], ASSEMBLER_FD);
		if (chdir(t.dir) < 0)
			_exit(127);
		execl(assembler, assembler, driver, NULL);
		_exit(127);
	}
	assert_true(t.pid > 0);
	close(pair[1]);
	return 0;
}

/* Checks that the assembler has exited with success and left nothing in the folder. */
static int end(void **state)
{
	int status;

	if (t.sock >= 0)
		close(t.sock);
	assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(rmdir(t.dir), 0);
	return 0;
}

static void send_message(const void *at, size_t len, const int *fds, size_t n)
{
	char room[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct iovec iov = {.iov_base = (void *)at, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n) {
		struct cmsghdr *c;

		m.msg_control = room;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	assert_int_equal(sendmsg(t.sock, &m, MSG_NOSIGNAL), (ssize_t)len);
}

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	return fd;
}

/* Returns the answer's last byte, or 0 if there is none. */
static char answered(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte = 0, last = 0;

	while (poll(&p, 1, WAIT_MS) == 1 && read(fd, &byte, 1) == 1)
		last = byte;
	close(fd);
	return last;
}

static char ask(const char *text, size_t len, const char *paths, size_t paths_len)
{
	int fds[2] = {file_of(text, len), -1}, answer[2];

	assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
	fds[1] = answer[1];
	send_message(paths, paths_len, fds, 2);
	close(fds[0]);
	close(answer[1]);
	return answered(answer[0]);
}

static bool there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", t.dir, name);
	return access(path, F_OK) == 0;
}

static void stage(char paths[256], size_t *ret_len)
{
	int n = snprintf(paths, 256, "%s/tmp%c%s/kept", t.dir, 0, t.dir);
	int fd = open(paths, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	*ret_len = (size_t)n + 1;
}

static void remove_kept(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/kept", t.dir);
	assert_int_equal(unlink(path), 0);
}

static void what_compiles_is_kept(void **state)
{
	char paths[256];
	size_t len;

	stage(paths, &len);
	assert_int_equal(ask(GOOD, strlen(GOOD), paths, len), ASSEMBLER_DONE);
	assert_true(there("kept"));
	assert_false(there("tmp"));
	remove_kept();
	assert_int_equal(ask(GOOD, strlen(GOOD), "\0", 2), ASSEMBLER_DONE);
	stage(paths, &len);
	assert_int_equal(ask("no PTX", 6, paths, len), ASSEMBLER_WRONG);
	assert_false(there("kept"));
	assert_false(there("tmp"));
	stage(paths, &len);
	assert_int_equal(ask("", 0, paths, len), ASSEMBLER_WRONG);
	assert_false(there("tmp"));
}

/* Sends invalid messages, which must be ignored, and then a valid request, which must be
 * answered. */
static void other_messages_do_no_harm(void **state)
{
	char bytes[sizeof(struct staged) + 100], paths[256];
	size_t len;

	srand(3);
	for (unsigned round = 0; round < 400; round++) {
		size_t n = 1 + (size_t)rand() % (sizeof(bytes) - 1), n_fds = (size_t)rand() % 5;
		int fds[5], answer[2];

		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)(rand() % 3 ? 'a' + rand() % 26 : 0);
		for (size_t i = 0; i < n_fds; i++)
			fds[i] = file_of("rubbish", (size_t)rand() % 8);
		if (n_fds == 2 && rand() % 2) { /* a request with invalid contents */
			assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
			close(fds[1]);
			fds[1] = answer[1];
			send_message(bytes, n, fds, n_fds);
			close(fds[0]);
			close(fds[1]);
			assert_int_equal(answered(answer[0]), ASSEMBLER_WRONG);
			continue;
		}
		send_message(bytes, n, fds, n_fds);
		for (size_t i = 0; i < n_fds; i++)
			close(fds[i]);
	}
	stage(paths, &len);
	/* without the final NUL of the path */
	assert_int_equal(ask(GOOD, strlen(GOOD), paths, len - 1), ASSEMBLER_DONE);
	assert_false(there("kept"));
	assert_true(there("tmp"));
	assert_int_equal(ask(GOOD, strlen(GOOD), paths, len), ASSEMBLER_DONE);
	assert_true(there("kept"));
	remove_kept();
}

/* The sender leaves without waiting for the answer. The request must be completed. */
static void what_was_sent_is_done(void **state)
{
	char paths[256];
	int fds[2], answer[2];
	size_t len;

	stage(paths, &len);
	fds[0] = file_of(GOOD, strlen(GOOD));
	assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
	fds[1] = answer[1];
	send_message(paths, len, fds, 2);
	close(t.sock);
	t.sock = -1;
	close(fds[0]);
	close(fds[1]);
	close(answer[0]);
	for (int i = 0; i < WAIT_MS / 10 && !there("kept"); i++)
		usleep(10000);
	remove_kept();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_compiles_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(other_messages_do_no_harm, begin, end),
		cmocka_unit_test_setup_teardown(what_was_sent_is_done, begin, end),
	};

	if (argc != 3)
		return 2;
	assembler = realpath(argv[1], NULL);
	driver = realpath(argv[2], NULL);
	if (!assembler || !driver)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
