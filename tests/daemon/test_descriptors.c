/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One user sends every kind of descriptor in every message, and does everything that it can to the
 * descriptors that heddled gave it. While this goes on, heddled must answer another user's status
 * requests within 50 ms in all but 1 of 1,000 tries (with sanitizers: all but 1 of 20). */
#include "harness.h"

#include "base/base.h"
#include "sanitized.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY   65534
#define TRIES    1000
#define LATE_NS  50000000u
#define LINGER_S 30
#define SENT     253 /* maximum number of descriptors in one packet */

/* ---- descriptors ---- */

static char fuse_file[96]; /* "": FUSE is not available */

/* A TCP socket whose last close waits for 30 s. *ret_other is the peer, which does not read. */
static int lingering(int *ret_other)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger l = {1, LINGER_S};
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0);
	int small = 4096;
	char bytes[4096] = {0};

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(listener, 1) < 0 ||
		getsockname(listener, (struct sockaddr *)&a, &len) < 0 ||
		connect(sock, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	*ret_other = accept(listener, NULL, NULL);
	close(listener);
	while (send(sock, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	return sock;
}

static int memory(size_t bytes, int seals)
{
	int fd = memfd_create("other", MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0))
		return -1;
	return fd;
}

/* A Unix socket with another descriptor in its queue that no one has received. */
static int holding(int inner)
{
	struct wire_head m;
	int ends[2];

	wire_head_init(&m, WIRE_LIST, sizeof(m));
	if (inner < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return -1;
	if (wire_send(ends[1], &m, &inner, 1) < 0)
		return -1;
	close(ends[1]);
	close(inner);
	return ends[0];
}

enum kind {
	LINGERS,
	FUSE_FILE,
	PIPE_READ,
	PIPE_FULL,
	FOLDER,
	DEV_NULL,
	DEV_ZERO,
	DEV_TTY,
	EVENTFD_FULL,
	EPOLL,
	TIMER,
	INOTIFY,
	PATH_ONLY,
	OWN_MEMORY, /* /proc/self/mem */
	LOCKED,     /* a file that its sender has locked */
	MEMORY,
	MEMORY_SEALED,
	MEMORY_PAGE,         /* the size of a page, not sealed */
	MEMORY_PAGE_SEALED,  /* sealed, but invalid as a page because it is empty */
	MEMORY_PAGE_NO_SEAL, /* seals could still be added */
	MEMORY_PAGE_READ,    /* not writable */
	HOLDS_ONE,
	HOLDS_NESTED,
	HELD_SOCKET, /* the connection itself */
	KINDS
};

static int open_kind(enum kind what, int *ret_other)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	size_t page = round_up(sizeof(struct wire_page), (uint64_t)sysconf(_SC_PAGESIZE));
	char bytes[4096] = {0};
	int ends[2], fd;

	*ret_other = -1;
	switch (what) {
	case LINGERS:
		return lingering(ret_other);
	case FUSE_FILE:
		return fuse_file[0] ? open(fuse_file, O_RDONLY) : -1;
	case PIPE_READ:
	case PIPE_FULL:
		if (pipe2(ends, O_NONBLOCK) < 0)
			return -1;
		while (write(ends[1], bytes, sizeof(bytes)) > 0)
			;
		fcntl(ends[1], F_SETFL, 0);
		*ret_other = ends[what == PIPE_READ];
		return ends[what == PIPE_FULL];
	case FOLDER:
		return open("/tmp", O_RDONLY | O_DIRECTORY);
	case DEV_NULL:
		return open("/dev/null", O_RDWR);
	case DEV_ZERO:
		return open("/dev/zero", O_RDWR);
	case DEV_TTY:
		return open("/dev/ptmx", O_RDWR | O_NOCTTY);
	case EVENTFD_FULL:
		fd = eventfd(0, 0);
		return write(fd, &(uint64_t){UINT64_MAX - 1}, 8) == 8 ? fd : -1;
	case EPOLL:
		return epoll_create1(0);
	case TIMER:
		return timerfd_create(CLOCK_MONOTONIC, 0);
	case INOTIFY:
		return inotify_init1(0);
	case PATH_ONLY:
		return open("/", O_PATH);
	case OWN_MEMORY:
		return open("/proc/self/mem", O_RDONLY);
	case LOCKED:
		fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
		flock(fd, LOCK_EX);
		return fd;
	case MEMORY:
		return memory(1, 0);
	case MEMORY_SEALED:
		return memory(page + 4096, all);
	case MEMORY_PAGE:
		return memory(page, 0);
	case MEMORY_PAGE_SEALED:
		return memory(page, all);
	case MEMORY_PAGE_NO_SEAL:
		return memory(page, F_SEAL_SHRINK | F_SEAL_GROW);
	case MEMORY_PAGE_READ:
		return memory(page, all | F_SEAL_WRITE);
	case HOLDS_ONE:
		return holding(lingering(ret_other));
	case HOLDS_NESTED:
		return holding(holding(holding(lingering(ret_other))));
	default:
		return -1;
	}
}

/* ---- a FUSE server that does not answer FLUSH and RELEASE ---- */

static void answer_fuse(int fd, const struct fuse_in_header *in, const void *data, size_t bytes)
{
	struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + bytes), .unique = in->unique};
	struct iovec v[2] = {{&out, sizeof(out)}, {(void *)data, bytes}};

	if (writev(fd, v, bytes ? 2 : 1) < 0)
		return; /* the requesting process was killed */
}

static void *serve_fuse(void *arg)
{
	static _Alignas(8) char buf[1 << 17];
	int fd = *(int *)arg;
	struct fuse_in_header *in = (struct fuse_in_header *)buf;

	while (read(fd, buf, sizeof(buf)) > 0) {
		struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
		struct fuse_attr attr = {.ino = in->nodeid, .mode = S_IFDIR | 0755, .nlink = 1};
		struct fuse_entry_out entry = {
			.nodeid = 2, .attr = {.ino = 2, .mode = S_IFREG | 0644, .nlink = 1}};
		struct fuse_attr_out attrs = {.attr = in->nodeid == 1 ? attr : entry.attr};
		struct fuse_open_out opened = {.fh = 1};

		if (in->opcode == FUSE_INIT)
			answer_fuse(fd, in, &init, sizeof(init));
		else if (in->opcode == FUSE_LOOKUP)
			answer_fuse(fd, in, &entry, sizeof(entry));
		else if (in->opcode == FUSE_GETATTR)
			answer_fuse(fd, in, &attrs, sizeof(attrs));
		else if (in->opcode == FUSE_OPEN)
			answer_fuse(fd, in, &opened, sizeof(opened));
	}
	return NULL;
}

/* Mounts the file system. Returns the server's descriptor, or -1. */
static int mount_fuse(const char *dir)
{
	static int fd;
	char options[128];
	pthread_t t;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		fd);
	if (fd < 0 || mount("test", dir, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	snprintf(fuse_file, sizeof(fuse_file), "%s/file", dir);
	if (pthread_create(&t, NULL, serve_fuse, &fd))
		return -1;
	pthread_detach(t);
	return fd;
}

/* ---- messages ---- */

enum message { HELLO, STATUS, LIST, SET, PROFILE, WELCOME, EMPTY, MALFORMED, MESSAGES };

static size_t fill_message(enum message what, char *ret)
{
	static const enum wire_type types[] = {
		WIRE_HELLO, WIRE_STATUS, WIRE_LIST, WIRE_SET, WIRE_PROFILE, WIRE_WELCOME};
	static const size_t sizes[] = {sizeof(struct wire_hello), sizeof(struct wire_status),
		sizeof(struct wire_head), sizeof(struct wire_set), sizeof(struct wire_head),
		sizeof(struct wire_welcome)};
	struct wire_hello h = tenant_hello(1);

	memset(ret, 0, WIRE_MAX_BYTES);
	if (what == EMPTY)
		return 0;
	if (what == MALFORMED)
		return 40;
	if (what == HELLO)
		memcpy(ret, &h, sizeof(h));
	wire_head_init((struct wire_head *)ret, types[what], sizes[what]);
	return sizes[what];
}

/* Sends one packet with n copies of this descriptor. */
static void send_fds(int sock, enum message what, int fd, unsigned n)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	static union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SENT * sizeof(int))];
	} control;
	struct iovec iov = {msg, fill_message(what, msg)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(n * sizeof(int))};

	control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS};
	for (unsigned i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &fd, sizeof(fd));
	if (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		return; /* heddled has closed the socket */
}

/* A tenant does everything that it can to the descriptors that it received from heddled: it changes
 * flags, takes locks, seeks, adds seals, and fills the eventfds. */
static void abuse_tenant(const struct daemon *d)
{
	struct wire_hello h = tenant_hello(0);
	struct tenant t;
	const uint64_t most = UINT64_MAX - 1, *full = &most;

	if (tenant_hello_send(d->socket, &h, &t) != WIRE_WELCOME)
		return;
	for (unsigned i = 0; i < 3; i++) {
		int fd = (int[]){t.kick, t.event, t.page_fd}[i];

		fcntl(fd, F_SETFL, O_ASYNC | O_APPEND); /* clears O_NONBLOCK */
		flock(fd, LOCK_EX);
		fcntl(fd, F_OFD_SETLKW, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET});
		lseek(fd, 1 << 30, SEEK_SET);
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE);
	}
	if (write(t.event, full, 8) < 0 || write(t.kick, full, 8) < 0)
		fprintf(stderr, "not full: %m\n");
	tenant_submit(&t, 0, 100);
	t.page->slots[0].state = WIRE_SLOT_SUBMITTED;
	/* Leave heddled's messages to this tenant unread. */
	for (unsigned i = 1; i < 20; i++)
		tenant_submit(&t, i, 100);
	tenant_leave(&t);
}

/* Sends one kind of descriptor in every message. Never closes the descriptor, because that could
 * block this process, too. */
static void attack_with(const struct daemon *d, enum kind k, unsigned round)
{
	for (enum message m = 0; m < MESSAGES; m++) {
		int sock = wire_connect(d->socket, 1000), other = -1, fd;

		if (sock < 0)
			continue;
		fd = k == HELD_SOCKET ? dup(sock) : open_kind(k, &other);
		if (fd >= 0)
			send_fds(sock, m, fd, (round + m) % 3 ? 1 : SENT);
		if (other >= 0 && round % 2)
			close(other); /* the connection is reset */
		if (m == HELLO && k % 4 == 0)
			usleep(2000);
		close(sock);
	}
}

/* Runs each kind in its own process; stops waiting for the process if it blocks. */
static void attack(const struct daemon *d)
{
	signal(SIGCHLD, SIG_IGN);
	for (unsigned round = 0;; round++) {
		for (enum kind k = 0; k <= KINDS; k++) {
			pid_t pid = k == FUSE_FILE && round > 2 ? -1 : fork();

			if (pid == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				if (k == KINDS)
					abuse_tenant(d);
				else
					attack_with(d, k, round);
				_exit(0);
			}
			for (unsigned i = 0; pid > 0 && i < 20 && kill(pid, 0) == 0; i++)
				usleep(1000);
		}
	}
}

static unsigned children_of(pid_t pid)
{
	char path[64], text[4096] = "";
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f)) {
		for (const char *c = text; *c; c++)
			n += *c == ' ';
	}
	fclose(f);
	return n;
}

static void become_nobody(void)
{
	if (geteuid() == 0 && (setregid(NOBODY, NOBODY) < 0 || setreuid(NOBODY, NOBODY) < 0))
		_exit(1);
}

static pid_t start_attack(const struct daemon *d)
{
	pid_t pid = fork();

	if (pid == 0) {
		become_nobody();
		attack(d);
	}
	return pid;
}

static struct daemon open_to_all(void)
{
	struct daemon d = daemon_start(NULL);

	assert_int_equal(chmod(d.dir, 0755), 0);
	assert_int_equal(chmod(d.socket, 0666), 0);
	return d;
}

static void others_are_answered(void **state)
{
	char dir[] = "/tmp/heddled-fuse-XXXXXX";
	struct daemon d = open_to_all();
	unsigned late = 0, porters = 0, before = fds_of(d.pid);
	uint64_t worst = 0;
	struct wire_status s;
	int fuse;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	fuse = mount_fuse(dir);
	if (fuse < 0)
		printf("no FUSE here: tried without\n");
	pid = start_attack(&d);
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t began = now_ns(), took;

		assert_int_equal(status_of(&d, &s), 0);
		took = now_ns() - began;
		late += took > LATE_NS;
		worst = MAX(worst, took);
		porters = MAX(porters, children_of(d.pid));
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%u of %d answers were late, the worst took %.1f ms; %u porters at most; %lu "
	       "refused\n",
		late, TRIES, (double)worst / 1e6, porters, (unsigned long)s.refused);
	assert_true(late <= (SANITIZED ? TRIES / 20 : TRIES / 1000));
	assert_true(s.refused > 100);
	if (fuse >= 0) {
		/* ends the processes that wait for the server */
		umount2(dir, MNT_FORCE | MNT_DETACH);
		close(fuse);
		fuse_file[0] = 0;
	}
	rmdir(dir);
	assert_true(status_await_tenants(&d, 0));
	for (int i = 0; i < 3000 && (children_of(d.pid) || fds_of(d.pid) > before + 3); i++)
		usleep(10000);
	assert_int_equal(children_of(d.pid), 0);
	assert_true(fds_of(d.pid) <= before + 3);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

/* As user NOBODY: returns the type of the reply to STATUS, or 0 if the connection was closed. */
static int nobody_is_answered(const struct daemon *d, char ret_why[236])
{
	int ends[2], r[2] = {-1, 0}, status;
	char why[236] = "";
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		union {
			struct wire_head head;
			struct wire_refused refused;
			char bytes[WIRE_MAX_BYTES];
		} m;
		struct wire_status q = {0};
		int sock;

		become_nobody();
		sock = wire_connect(d->socket, 5000);
		wire_head_init(&q.head, WIRE_STATUS, sizeof(q));
		wire_send(sock, &q, NULL, 0);
		r[0] = wire_recv(sock, &m, sizeof(m), NULL, 0, NULL);
		r[1] = r[0] > 0 ? (int)m.head.type : 0;
		if (r[1] == WIRE_REFUSED)
			memcpy(why, m.refused.why, sizeof(why));
		if (write(ends[1], r, sizeof(r)) < 0 || write(ends[1], why, sizeof(why)) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ends[0], r, sizeof(r)), sizeof(r));
	assert_int_equal(read(ends[0], why, sizeof(why)), sizeof(why));
	waitpid(pid, &status, 0);
	close(ends[0]);
	close(ends[1]);
	memcpy(ret_why, why, sizeof(why));
	return r[1];
}

/* A FUSE server that never answers blocks the process that closes its files, even after kill -9. A
 * user may have two such processes; then heddled refuses this user, and no one else, until they
 * end. */
static void blocked_user_is_refused(void **state)
{
	char dir[] = "/tmp/heddled-fuse-XXXXXX", why[236] = "";
	struct wire_status s;
	struct daemon d;
	int fuse, r = 0;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	fuse = geteuid() == 0 ? mount_fuse(dir) : -1;
	if (fuse < 0) {
		rmdir(dir);
		printf("no FUSE here, or not root: skipped\n");
		skip();
	}
	d = open_to_all();
	pid = fork();
	if (pid == 0) {
		become_nobody();
		for (unsigned i = 0; i < 4; i++) {
			int sock = wire_connect(d.socket, 5000), fd = open(fuse_file, O_RDONLY);

			if (fd < 0)
				_exit(1);
			send_fds(sock, HELLO, fd, 1);
			usleep(100000);
		}
		pause();
	}
	for (int i = 0; i < 100 && r != WIRE_REFUSED; i++) {
		usleep(100000);
		r = nobody_is_answered(&d, why);
	}
	assert_int_equal(r, WIRE_REFUSED);
	assert_non_null(strstr(why, "files to close"));
	assert_int_equal(children_of(d.pid), 2);
	assert_int_equal(status_of(&d, &s), 0);
	umount2(dir, MNT_FORCE | MNT_DETACH);
	close(fuse);
	fuse_file[0] = 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 100 && r == WIRE_REFUSED; i++) {
		usleep(100000);
		r = nobody_is_answered(&d, why);
	}
	assert_int_equal(r, WIRE_STATUS);
	rmdir(dir);
	assert_int_equal(daemon_stop(&d), 0);
	daemon_remove(&d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_answered),
		cmocka_unit_test(blocked_user_is_refused),
	};

	heddled_path = argc > 1 ? argv[1] : "heddled";
	/* The mounts of this test disappear with its process. */
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
