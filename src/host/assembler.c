/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The client side of the assembler, the separate process that compiles PTX. The assembler is no
 * child of the program, because the program may wait for all of its children. The assembler keeps
 * no file of the program open, and gets no signal from the program's terminal. */
#include "host/assembler.h"

#include "base/base.h"
#include "base/measure.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#define STACK  ((size_t)64 << 10)
#define FD_MAX 65536
/* Copy the socket's descriptor to this number or above first. Then it is not overwritten when 0 to
 * 2 become /dev/null, and 3 becomes the socket. */
#define FD_ABOVE 16

#define TRIES 16
/* seconds after the limit in which the assembler can report the timeout itself */
#define GRACE_S 30

extern char **environ;

void assembler_init(
	struct assembler *a, const struct cu_api *cu, const char *path, unsigned limit_s)
{
	int n = snprintf(a->path, sizeof(a->path), "%s", path);

	a->cu = cu;
	a->limit_s = limit_s;
	a->sock = (struct host_fd){.fd = -1};
	a->lacking = n <= 0 || (size_t)n >= sizeof(a->path);
	pthread_mutex_init(&a->lock, NULL);
	pthread_mutex_init(&a->turn, NULL);
}

void assembler_limit(struct assembler *a, unsigned limit_s)
{
	if (a->limit_s != limit_s)
		host_fd_close(&a->sock); /* that assembler was started with the old limit */
	a->limit_s = limit_s;
}

void assembler_finish(struct assembler *a)
{
	if (!a->cu)
		return;
	host_fd_close(&a->sock);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->turn);
	a->cu = NULL;
}

/* ---- starting the assembler ---- */

struct start {
	const char *path, *driver;
	char limit[16]; /* empty: no limit */
	char **env;
	int sock;
	char *stack; /* stack of the process that becomes the assembler */
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

/* Resets all signal handlers, because the program's handlers must not run in a process that shares
 * its memory. Also discards signals to the program's process group that arrived before setsid:
 * ignoring a signal discards a pending one. */
static void reset_signals(void)
{
	struct sigaction now, usual = {.sa_handler = SIG_DFL}, ignored = {.sa_handler = SIG_IGN};
	sigset_t none;

	for (int i = 1; i < NSIG; i++) {
		if (sigaction(i, NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
			sigaction(i, &ignored, NULL);
			sigaction(i, &usual, NULL);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Becomes the assembler process. Until execve this process shares the memory of the thread that
 * started it and waits for it, as after vfork. So it makes only system calls. */
static int becomes_assembler(void *arg)
{
	const struct start *s = arg;
	char *argv[] = {
		(char *)s->path, (char *)s->driver, *s->limit ? (char *)s->limit : NULL, NULL};
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

/* Starts the assembler from an intermediate process that ends at once, so that the assembler's
 * parent is not the program. */
static int starts_and_ends(void *arg)
{
	const struct start *s = arg;

	_exit(clone(becomes_assembler, s->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, arg) <
		0);
}

/* Returns true if the assembler drops or replaces this environment variable ("NAME=..."). Preloaded
 * libraries are only for the program. The assembler makes no context, so it does not need MPS. */
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

/* If there are several devices, sets CUDA_VISIBLE_DEVICES to this one. Otherwise the driver would
 * compile for each kind of device. */
static bool name_device(const struct cu_api *cu, CUdevice dev, char *ret, size_t size)
{
	int n = 0, at = 0;
	CUuuid id;

	if (!cu->cuDeviceGetUuid || cu->cuDeviceGetCount(&n) != CUDA_SUCCESS || n < 2 ||
		cu->cuDeviceGetUuid(&id, dev) != CUDA_SUCCESS)
		return false;
	at = snprintf(ret, size, "CUDA_VISIBLE_DEVICES=GPU-");
	for (int i = 0; i < 16; i++)
		at += snprintf(ret + at, size - (size_t)at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
	return true;
}

static char **make_environment(const struct cu_api *cu, CUdevice dev, char device[64])
{
	bool devices = name_device(cu, dev, device, 64);
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

/* Returns true if a separate compiler is needed. The virtual GPU does not compile, unless an option
 * makes it simulate a compiler. */
static bool is_needed(const struct cu_api *cu)
{
	static const char *const words[] = {"assemble=", "crash=", "hang="};
	const char *vgpu = secure_getenv("HEDDLE_VGPU");

	if (dev_kind_of(cu) != DEV_CPU)
		return true;
	for (size_t i = 0; vgpu && i < ARRAY_LEN(words); i++) {
		if (strstr(vgpu, words[i]))
			return true;
	}
	return false;
}

static bool find_paths(const struct assembler *a, struct start *s)
{
	Dl_info driver;

	if (!a->cu->cuInit || !dladdr((void *)a->cu->cuInit, &driver))
		return false;
	s->path = a->path;
	s->driver = driver.dli_fname;
	if (a->limit_s)
		snprintf(s->limit, sizeof(s->limit), "%u", a->limit_s);
	return access(s->path, X_OK) == 0;
}

static bool spawn_assembler(struct start *s)
{
	char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int status = -1, r;
	sigset_t all, old;
	pid_t pid;

	if (stacks == MAP_FAILED)
		return false;
	s->stack = stacks;
	/* Block all signals. The child shares the program's memory, so a signal to the process
	 * group would run the program's handler in the child as well. The child inherits the mask
	 * and resets it in reset_signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* Without an exit signal, so that the program's own waits do not return this child. */
	pid = clone(starts_and_ends, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	do
		r = pid < 0 ? -1 : (int)waitpid(pid, &status, __WCLONE);
	while (r < 0 && pid >= 0 && errno == EINTR);
	munmap(stacks, 2 * STACK);
	return r >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Call under the lock. */
static bool start_assembler(struct assembler *a, CUdevice dev)
{
	struct start *s = calloc(1, sizeof(*s));
	char device[64];
	int pair[2];
	bool ok = false;

	if (s && is_needed(a->cu) && find_paths(a, s) &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		s->sock = pair[1];
		s->env = make_environment(a->cu, dev, device);
		ok = s->env && spawn_assembler(s);
		close(pair[1]);
		if (ok)
			host_fd_take(&a->sock, pair[0]);
		else
			close(pair[0]);
		free(s->env);
	}
	free(s);
	a->lacking = !ok;
	return ok;
}

/* ---- requests ---- */

static bool file_of(const char *text, size_t len, struct host_fd *ret)
{
	int fd = memfd_create("heddle-ptx", MFD_CLOEXEC);

	if (fd < 0)
		return false;
	host_fd_take(ret, fd);
	for (size_t at = 0; at < len;) {
		ssize_t n = host_fd_is(ret) ? write(ret->fd, text + at, len - at) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			host_fd_close(ret);
			return false;
		}
		at += (size_t)n;
	}
	return true;
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

/* Sends the request to the running assembler, or to a new one. */
static bool send_request(struct assembler *a, CUdevice dev, const struct request *r)
{
	bool sent = false;

	pthread_mutex_lock(&a->lock);
	if (host_fd_is(&a->sock))
		sent = send_to(a->sock.fd, r);
	if (!sent && !a->lacking) {
		host_fd_close(&a->sock);
		sent = start_assembler(a, dev) && send_to(a->sock.fd, r);
	}
	pthread_mutex_unlock(&a->lock);
	return sent;
}

/* Waits until there is something to read, or until the deadline `until`; 0 means no deadline. */
static bool await_input(int fd, double until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		double left = until - clock_ms();
		int r = poll(&p, 1, !until ? -1 : left > 0 ? (int)MIN(left + 1, 1e9) : 0);

		if (r != 0 && !(r < 0 && errno == EINTR))
			return true;
		if (r == 0 && left <= 0)
			return false;
	}
}

/* Returns 0 if either end of the pipe is closed, and ASSEMBLER_LATE after the deadline. */
static char read_byte(const struct host_fd *o, double until)
{
	char byte;
	ssize_t n;

	if (host_fd_is(o) && !await_input(o->fd, until))
		return ASSEMBLER_LATE;
	do
		n = host_fd_is(o) ? read(o->fd, &byte, 1) : 0;
	while (n < 0 && errno == EINTR);
	return n == 1 ? byte : 0;
}

static double limit_of(const struct assembler *a)
{
	return a->limit_s ? clock_ms() + 1e3 * (a->limit_s + GRACE_S) : 0;
}

/* Disconnects from this assembler process. The next request starts another one. */
static void leave_it(struct assembler *a)
{
	pthread_mutex_lock(&a->lock);
	host_fd_close(&a->sock);
	pthread_mutex_unlock(&a->lock);
}

/* Reads the reply to a request. Sets *ret_unbegun if the assembler did not begin this request, for
 * one of these reasons: another text crashed the assembler, the assembler cannot start on this
 * system, or it was busy for too long. */
static enum assembled answer_of(
	struct assembler *a, const struct host_fd *pipe, double *ret_ms, bool *ret_unbegun)
{
	double from;
	char byte;

	if (read_byte(pipe, limit_of(a)) != ASSEMBLER_BEGUN) {
		leave_it(a);
		*ret_unbegun = true;
		return ASSEMBLED_NOT;
	}
	from = clock_ms();
	pthread_mutex_lock(&a->lock);
	a->starts = true;
	pthread_mutex_unlock(&a->lock);
	byte = read_byte(pipe, limit_of(a));
	if (ret_ms)
		*ret_ms = clock_ms() - from;
	if (byte == ASSEMBLER_LATE)
		leave_it(a);
	return byte == ASSEMBLER_DONE    ? ASSEMBLED
	       : byte == ASSEMBLER_WRONG ? ASSEMBLED_WRONG
	       : byte == ASSEMBLER_LATE  ? ASSEMBLED_LATE
					 : ASSEMBLED_DIED;
}

/* Sends a request and waits for the reply. The request's file still belongs to the caller. */
static enum assembled request_answer(struct assembler *a, CUdevice dev, struct request *request,
	double *ret_ms, bool *ret_unbegun)
{
	enum assembled r = ASSEMBLED_NOT;
	struct host_fd from, to;
	int answer[2];
	bool sent;

	if (pipe2(answer, O_CLOEXEC) < 0)
		return r;
	host_fd_take(&from, answer[0]);
	host_fd_take(&to, answer[1]);
	request->answer = to.fd;
	sent = host_fd_is(&to) && send_request(a, dev, request);
	host_fd_close(&to);
	if (sent)
		r = answer_of(a, &from, ret_ms, ret_unbegun);
	host_fd_close(&from);
	return r;
}

/* Sends a request. Starts the assembler again if it ended before it began the request. If this
 * fails repeatedly, and the assembler has started on this system before, the text is not compiled
 * at all: another text has crashed the compiler, and this text could crash it too, so it is not
 * compiled in the program's own process either. */
static enum assembled ask_on(
	struct assembler *a, CUdevice dev, struct request *request, double *ret_ms)
{
	bool starts = false;

	for (int i = 0; i < TRIES; i++) {
		bool unbegun = false;
		enum assembled r = request_answer(a, dev, request, ret_ms, &unbegun);

		if (!unbegun)
			return r;
		pthread_mutex_lock(&a->lock);
		starts = a->starts;
		a->lacking = !starts && i > 0;
		pthread_mutex_unlock(&a->lock);
		if (!starts && i > 0)
			break;
	}
	return starts ? ASSEMBLED_DIED : ASSEMBLED_NOT;
}

enum assembled assemble(struct assembler *a, CUdevice dev, const char *text, size_t len,
	const struct staged *s, double *ret_ms)
{
	struct request request = {.staged = s};
	enum assembled r = ASSEMBLED_NOT;
	struct host_fd file;

	if (!file_of(text, len, &file))
		return r;
	request.text = file.fd;
	if (a->limit_s)
		pthread_mutex_lock(&a->turn);
	if (host_fd_is(&file))
		r = ask_on(a, dev, &request, ret_ms);
	if (a->limit_s)
		pthread_mutex_unlock(&a->turn);
	host_fd_close(&file);
	return r;
}
