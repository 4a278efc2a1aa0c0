/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One 32-bit word counts the rounds. Processes that arrive early sleep on it (futex); the last one
 * to arrive clears the round's data and advances the word. Times are CLOCK_MONOTONIC. */
#include "meet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_MS     50
#define PATIENCE_S 60

struct page {
	_Atomic uint32_t parties, arrived, round, started, cancelled;
	_Atomic uint64_t started_ns;
};
struct meet {
	struct page *page;
};

int meet_open(const char *path, unsigned parties, struct meet **ret_meet)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	void *p = MAP_FAILED;
	/* Allocates the file's space first. In a full folder the page could still be mapped, but a
	 * write to it would kill the process. */
	int error = posix_fallocate(fd, 0, sizeof(struct page));
	if (error == 0) {
		p = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		error = errno;
	}
	close(fd);
	if (p == MAP_FAILED)
		return -error;
	struct page *page = p;
	uint32_t set = 0;
	struct meet *m = malloc(sizeof(*m));
	if (!m || (!atomic_compare_exchange_strong(&page->parties, &set, parties) &&
			  set != parties)) {
		free(m);
		munmap(p, sizeof(struct page));
		return m ? -EINVAL : -ENOMEM;
	}
	m->page = page;
	*ret_meet = m;
	return 0;
}

void meet_close(struct meet *m)
{
	if (m)
		munmap(m->page, sizeof(struct page));
	free(m);
}

/* Sleeps until *word differs from `old`, for at most NAP_MS at a time. A cancellation just before the
 * sleep changes no word that the kernel compares, so an unlimited sleep could miss it. */
static int await(struct page *p, _Atomic uint32_t *word, uint32_t old)
{
	struct timespec nap = {0, NAP_MS * 1000000};
	unsigned naps = 0;
	while (atomic_load(word) == old) {
		if (atomic_load(&p->cancelled))
			return -ECANCELED;
		if (syscall(SYS_futex, word, FUTEX_WAIT, old, &nap, NULL, 0) &&
			errno == ETIMEDOUT && ++naps == PATIENCE_S * 1000 / NAP_MS)
			return -ETIMEDOUT;
	}
	return 0;
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0);
}

int meet_all(struct meet *m)
{
	struct page *p = m->page;
	uint32_t round = atomic_load(&p->round);
	if (atomic_fetch_add(&p->arrived, 1) + 1 < atomic_load(&p->parties))
		return await(p, &p->round, round);
	atomic_store(&p->arrived, 0);
	atomic_store(&p->started, 0);
	atomic_fetch_add(&p->round, 1);
	wake(&p->round);
	return atomic_load(&p->cancelled) ? -ECANCELED : 0;
}

void meet_tell_started(struct meet *m, uint64_t now_ns)
{
	atomic_store(&m->page->started_ns, now_ns);
	atomic_store(&m->page->started, 1);
	wake(&m->page->started);
}

int meet_await_started(struct meet *m, bool spin, uint64_t *ret_ns)
{
	struct page *p = m->page;
	for (uint32_t k = 0; spin && k < 1u << 30 && !atomic_load(&p->started); k++)
		if (atomic_load(&p->cancelled))
			return -ECANCELED;
	int r = await(p, &p->started, 0);
	if (r == 0)
		*ret_ns = atomic_load(&p->started_ns);
	return r;
}

void meet_cancel(struct meet *m)
{
	atomic_store(&m->page->cancelled, 1);
	wake(&m->page->round);
	wake(&m->page->started);
}
