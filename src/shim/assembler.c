/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The assembler as the shim sees it: started with the first request, started again when it has
 * ended for lack of any. It is no child of the program's (which may wait for all that it has, and
 * would be told when it ends), holds no file of the program's open, and gets no signal from its
 * terminal. */
#include "shim/assembler.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/shim.h"

#define STACK    ((size_t)64 << 10)
#define FD_MAX   65536
#define FD_ABOVE 16 /* the socket is moved there, out of the way of what becomes 0 to 3 */

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_fd sock = {.fd = -1}; /* to the assembler, under the lock */
static bool lacking;                    /* it does not start here */

/* ---- starting it ---- */

struct start {
	char path[4096];
	const char *driver;
	char **env;
	int sock;
	char *stack; /* of the second of the two processes */
};

static void close_from(unsigned first)
{
	struct rlimit most = {.rlim_cur = FD_MAX};

#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	getrlimit(RLIMIT_NOFILE, &most);
	for (unsigned fd = first; fd < MIN(most.rlim_cur, FD_MAX); fd++)
		close((int)fd);
}

/* What the program does at signals is not for who shares its memory. */
static void reset_signals(void)
{
	struct sigaction now, usual = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < NSIG; i++) {
		if (sigaction(i, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaction(i, &usual, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* As behind vfork: nothing but calls of the system, in the memory of the thread that waits. */
static int becomes_assembler(void *arg)
{
	const struct start *s = arg;
	char *argv[] = {(char *)s->path, (char *)s->driver, NULL};
	int fd = fcntl(s->sock, F_DUPFD, FD_ABOVE), null = open("/dev/null", O_RDWR);

	if (fd < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
		dup2(fd, ASSEMBLER_FD) < 0)
		_exit(126);
	close_from(ASSEMBLER_FD + 1);
	setsid();
	reset_signals();
	execve(s->path, argv, s->env);
	_exit(127);
}

/* In between, so that the other has no parent in the program. */
static int starts_and_ends(void *arg)
{
	const struct start *s = arg;

	_exit(clone(becomes_assembler, s->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, arg) <
		0);
}

/* "NAME=" of an entry that the assembler has otherwise, or not at all: what is preloaded is for the
 * program, and no context is made, so MPS need not know of it. */
static bool is_other(const char *entry, bool devices)
{
	static const char *const names[] = {
		"LD_PRELOAD=", "CUDA_MPS_PIPE_DIRECTORY=", "CUDA_VISIBLE_DEVICES="};

	for (size_t i = 0; i < ARRAY_LEN(names) - !devices; i++) {
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* Of several devices the shim's alone: where they are not alike, each would be compiled for. */
static bool name_device(char *ret, size_t size)
{
	int n = 0, at = 0;
	CUuuid id;

	if (!cu.cuDeviceGetUuid || cu.cuDeviceGetCount(&n) != CUDA_SUCCESS || n < 2 ||
		cu.cuDeviceGetUuid(&id, shim.dev) != CUDA_SUCCESS)
		return false;
	at = snprintf(ret, size, "CUDA_VISIBLE_DEVICES=GPU-");
	for (int i = 0; i < 16; i++)
		at += snprintf(ret + at, size - (size_t)at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
	return true;
}

static char **environment(char device[64])
{
	bool devices = name_device(device, 64);
	size_t n = 0, at = 0;
	char **env;

	while (environ && environ[n])
		n++;
	env = calloc(n + 3, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!is_other(environ[i], devices))
			env[at++] = environ[i];
	}
	env[at++] = "CUDA_MPS_PIPE_DIRECTORY=/nonexistent";
	if (devices)
		env[at++] = device;
	return env;
}

/* What it compiles is read from the driver's cache. The virtual GPU does not compile, unless it is
 * told how long that is to take. */
static bool is_needed(void)
{
	const char *uncached = secure_getenv("CUDA_CACHE_DISABLE"),
		   *vgpu = secure_getenv("HEDDLE_VGPU");

	if (uncached && atoi(uncached))
		return false;
	return dev_kind_of(&cu) != DEV_CPU || (vgpu && strstr(vgpu, "assemble="));
}

static bool find(struct start *s)
{
	Dl_info own, driver;
	const char *slash;
	int n;

	if (!cu.cuInit || !dladdr((void *)assemble, &own) || !dladdr((void *)cu.cuInit, &driver))
		return false;
	slash = strrchr(own.dli_fname, '/');
	n = snprintf(s->path, sizeof(s->path), "%.*s" ASSEMBLER_FILE,
		slash ? (int)(slash - own.dli_fname) + 1 : 0, own.dli_fname);
	s->driver = driver.dli_fname;
	return n > 0 && (size_t)n < sizeof(s->path) && access(s->path, X_OK) == 0;
}

static bool spawn(struct start *s)
{
	char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int status = -1, r;
	pid_t pid;

	if (stacks == MAP_FAILED)
		return false;
	s->stack = stacks;
	/* No signal when it ends: none of the program's waits sees it. */
	pid = clone(starts_and_ends, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK, s);
	do
		r = pid < 0 ? -1 : (int)waitpid(pid, &status, __WCLONE);
	while (r < 0 && pid >= 0 && errno == EINTR);
	munmap(stacks, 2 * STACK);
	return r >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Under the lock. */
static bool start(void)
{
	struct start *s = calloc(1, sizeof(*s));
	char device[64];
	int pair[2];
	bool ok = false;

	if (s && is_needed() && find(s) &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		s->sock = pair[1];
		s->env = environment(device);
		ok = s->env && spawn(s);
		close(pair[1]);
		if (ok)
			own_take(&sock, pair[0]);
		else
			close(pair[0]);
		free(s->env);
	}
	free(s);
	lacking = !ok;
	return ok;
}

/* ---- requests ---- */

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("heddle-ptx", MFD_CLOEXEC);

	for (size_t at = 0; fd >= 0 && at < len;) {
		ssize_t n = write(fd, text + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	return fd;
}

struct request {
	int text, answer;
	const struct staged *staged;
};

static bool send_to(int to, const struct request *r)
{
	int fds[2] = {r->text, r->answer};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control;
	const char *tmp = r->staged ? r->staged->tmp : "", *path = r->staged ? r->staged->path : "";
	struct iovec paths[2] = {{.iov_base = (char *)tmp, .iov_len = strlen(tmp) + 1},
		{.iov_base = (char *)path, .iov_len = strlen(path) + 1}};
	struct msghdr m = {.msg_iov = paths,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	do
		n = sendmsg(to, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

/* To the one that runs, or else to a new one. */
static bool send_request(const struct request *r)
{
	bool sent = false;

	pthread_mutex_lock(&lock);
	if (own_is(&sock))
		sent = send_to(sock.fd, r);
	if (!sent && !lacking) {
		own_close(&sock);
		sent = start() && send_to(sock.fd, r);
	}
	pthread_mutex_unlock(&lock);
	return sent;
}

/* 0: the other end is closed, or this one. */
static char read_byte(const struct own_fd *o)
{
	char byte;
	ssize_t n;

	do
		n = own_is(o) ? read(o->fd, &byte, 1) : 0;
	while (n < 0 && errno == EINTR);
	return n == 1 ? byte : 0;
}

/* What ends before it has begun does not start here: another would not, either. */
static enum assembled answer_of(const struct own_fd *pipe)
{
	if (read_byte(pipe) != ASSEMBLER_BEGUN) {
		pthread_mutex_lock(&lock);
		lacking = true;
		pthread_mutex_unlock(&lock);
		return ASSEMBLED_NOT;
	}
	return read_byte(pipe) == ASSEMBLER_DONE ? ASSEMBLED : ASSEMBLED_WRONG;
}

enum assembled assemble(const char *text, size_t len, const struct staged *s)
{
	struct request request = {.text = file_of(text, len), .staged = s};
	enum assembled r = ASSEMBLED_NOT;
	struct own_fd from, to, file;
	int answer[2];
	bool sent;

	if (request.text < 0)
		return r;
	own_take(&file, request.text);
	request.text = file.fd;
	if (pipe2(answer, O_CLOEXEC) == 0) {
		own_take(&from, answer[0]);
		own_take(&to, answer[1]);
		request.answer = to.fd;
		sent = own_is(&file) && own_is(&to) && send_request(&request);
		own_close(&to);
		if (sent)
			r = answer_of(&from);
		own_close(&from);
	}
	own_close(&file);
	return r;
}
