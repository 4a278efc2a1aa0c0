/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: heddle-assembler DRIVER [SECONDS], with the program's socket as descriptor 3
 * (assembler.h).
 *
 * Compiles each request in a thread. The process ends when it is idle for a while, or when the
 * program has ended and all requests are complete. Requests are completed even then, because the
 * program's next start can use their results. With SECONDS the process compiles one request at a
 * time, and the whole process ends if a request takes longer than that, because there is no other
 * way to leave the driver. */
#include "base/number.h"
#include "dev/symbol.h"
#include "host/assembler.h"
#include "host/folder.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dev/cu_types.h"

#define IDLE_MS      10000
#define LONGEST      900 /* the assembler ends at most this many seconds after the program */
#define TURNS        4
#define LOCK_LOOK_NS 50000000
#define TEXT_MAX     ((off_t)1 << 30)

static CUresult (*load)(CUlibrary *lib, const void *code, CUjit_option *jit, void **jit_values,
	unsigned int n_jit, CUlibraryOption *options, void **values, unsigned int n);
static CUresult (*unload)(CUlibrary lib);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static sem_t turns; /* limits the threads that compile: half of the CPUs, at most TURNS */
static unsigned n_busy;
static _Atomic bool program_ended;
static unsigned limit_s;      /* 0: no limit */
static volatile int at_limit; /* descriptor for the answer if the limit passes */

struct request {
	int text, answer;
	struct staged staged; /* empty paths: no cache file */
};

/* Returns the content of the file as a string, or NULL if it is empty, too large or unreadable. */
static char *read_text(int fd)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > TEXT_MAX)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return NULL;
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = pread(fd, text + at, (size_t)(st.st_size - at), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(text);
			return NULL;
		}
		at += n;
	}
	text[st.st_size] = 0;
	return text;
}

/* Ignores errors, because it does not matter whether a process still reads the answer. */
static void send_answer(const struct request *r, char byte)
{
	while (write(r->answer, &byte, 1) < 0 && errno == EINTR)
		;
}

static void too_long(int sig)
{
	static const char late = ASSEMBLER_LATE;

	while (write(at_limit, &late, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* Makes sure that at any time only one of a user's assemblers compiles a given text. Otherwise a
 * text on which the compiler hangs would occupy one more processor after each start of a program.
 * The lock is on a file beside the result, and is released when this process ends. Returns -1 if
 * there is nothing to lock. Sets *ret_abandoned if the program ended while this function waited for
 * another assembler. */
static int text_lock(const struct staged *s, bool *ret_abandoned)
{
	char path[sizeof(s->path) + 8];
	struct stat st;
	int fd = -1;

	*ret_abandoned = false;
	if (!*s->path)
		return -1;
	snprintf(path, sizeof(path), "%s.busy", s->path);
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink)
			return fd;
		close(fd);
		/* The other assembler continues, and its result serves the next start. */
		if (atomic_load(&program_ended)) {
			*ret_abandoned = true;
			return -1;
		}
		nanosleep(&(struct timespec){.tv_nsec = LOCK_LOOK_NS}, NULL);
	}
}

static void text_unlock(const struct staged *s, int fd)
{
	char path[sizeof(s->path) + 8];

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "%s.busy", s->path);
	unlink(path);
	close(fd);
}

static void *serve_request(void *arg)
{
	struct request *r = arg;
	char *text = read_text(r->text), byte = ASSEMBLER_WRONG;
	bool abandoned;
	int locked = text_lock(&r->staged, &abandoned);
	CUlibrary lib;

	while (sem_wait(&turns) < 0)
		;
	send_answer(r, ASSEMBLER_BEGUN);
	at_limit = r->answer;
	if (limit_s)
		alarm(limit_s);
	if (text && !abandoned && load(&lib, text, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS) {
		byte = ASSEMBLER_DONE;
		unload(lib);
	}
	if (limit_s)
		alarm(0);
	if (*r->staged.tmp && byte == ASSEMBLER_DONE)
		folder_keep(r->staged.tmp, r->staged.path);
	else if (*r->staged.tmp)
		unlink(r->staged.tmp);
	text_unlock(&r->staged, locked);
	send_answer(r, byte);
	sem_post(&turns);
	close(r->text);
	close(r->answer);
	free(text);
	free(r);
	pthread_mutex_lock(&lock);
	n_busy--;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Takes the two descriptors from a message. On failure, closes those that came. */
static bool fds_of(struct msghdr *m, struct request *ret)
{
	int fds[2];
	bool ok = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(fds[0]);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), (n < 2 ? n : 2) * sizeof(fds[0]));
		if (n == 2 && !ok) {
			ret->text = fds[0];
			ret->answer = fds[1];
			ok = true;
			continue;
		}
		for (size_t i = 0; i < n && i < 2; i++)
			close(fds[i]);
	}
	return ok;
}

/* Copies both paths if both are absolute; otherwise leaves both empty. */
static void paths_of(const char *at, size_t len, struct staged *ret)
{
	size_t first = strnlen(at, len), second;

	memset(ret, 0, sizeof(*ret));
	if (first == len || first >= sizeof(ret->tmp))
		return;
	second = strnlen(at + first + 1, len - first - 1);
	if (first + second + 2 != len || second >= sizeof(ret->path) || at[0] != '/' ||
		at[first + 1] != '/')
		return;
	memcpy(ret->tmp, at, first);
	memcpy(ret->path, at + first + 1, second);
}

/* Returns false if no thread can be created. */
static bool begin_request(struct request *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool ok;

	pthread_mutex_lock(&lock);
	n_busy++;
	pthread_mutex_unlock(&lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ok = pthread_create(&thread, &attr, serve_request, r) == 0;
	pthread_attr_destroy(&attr);
	if (!ok) {
		pthread_mutex_lock(&lock);
		n_busy--;
		pthread_mutex_unlock(&lock);
	}
	return ok;
}

/* Receives one message. Returns false if no more messages will come. */
static bool take_request(int flags)
{
	static char paths[sizeof(struct staged)];
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = paths, .iov_len = sizeof(paths)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(ASSEMBLER_FD, &m, MSG_CMSG_CLOEXEC | flags);
	struct request one, *r;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	if (!fds_of(&m, &one))
		return true;
	paths_of(paths, (size_t)n, &one.staged);
	r = malloc(sizeof(*r));
	if (r)
		*r = one;
	if (!r || !begin_request(r)) {
		close(one.text);
		close(one.answer);
		free(r);
	}
	return true;
}

static bool is_busy(void)
{
	bool busy;

	pthread_mutex_lock(&lock);
	busy = n_busy > 0;
	pthread_mutex_unlock(&lock);
	return busy;
}

static void serve_all(void)
{
	struct pollfd p = {.fd = ASSEMBLER_FD, .events = POLLIN};

	for (;;) {
		int r = poll(&p, 1, IDLE_MS);

		if (r > 0 && !take_request(0))
			return;
		if (r < 0 && errno != EINTR)
			return;
		if (r == 0 && !is_busy())
			break;
	}
	/* Take no further requests, but complete those that have already arrived. */
	shutdown(ASSEMBLER_FD, SHUT_RD);
	while (take_request(MSG_DONTWAIT))
		;
}

static unsigned n_turns(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) / 2 : 1;

	return (unsigned)(n < 1 ? 1 : n > TURNS ? TURNS : n);
}

int main(int argc, char **argv)
{
	CUresult (*init)(unsigned int flags);
	uint64_t limit;
	void *driver;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, too_long);
	if (argc == 3 && number_parse(argv[2], 1, UINT32_MAX, &limit) == 0)
		limit_s = (unsigned)limit;
	driver = argc == 2 || limit_s ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!driver)
		return 1;
	init = (CUresult(*)(unsigned int))dev_symbol(driver, "cuInit");
	load = (CUresult(*)(CUlibrary *, const void *, CUjit_option *, void **, unsigned int,
		CUlibraryOption *, void **, unsigned int))dev_symbol(driver, "cuLibraryLoadData");
	unload = (CUresult(*)(CUlibrary))dev_symbol(driver, "cuLibraryUnload");
	if (!init || !load || !unload || init(0) != CUDA_SUCCESS)
		return 1;
	sem_init(&turns, 0, limit_s ? 1 : n_turns());
	serve_all();
	atomic_store(&program_ended, true);
	if (!limit_s) {
		signal(SIGALRM, SIG_DFL);
		alarm(LONGEST);
	}
	pthread_mutex_lock(&lock);
	while (n_busy)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}
