/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The threads that make preemptible forms. A kernel's first launch requests its form, a thread
 * makes the form while the program continues, and later launches use it. A launch runs unmanaged
 * while its form is being made. */
#include "shim/form/making.h"
#include "base/environment.h"
#include "shim/core/lock.h"
#include "shim/form/placing.h"
#include "shim/form/remember.h"
#include "shim/form/rewrite.h"
#include "shim/form/turns.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 32 /* maximum number of threads, including those that wait for the assembler */
#define LESS_URGENT 10 /* these threads have a nice value this much above the program's threads */
/* idle time in s after which the threads end and the parsed module is freed */
#define IDLE_S 1

static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static VEC(struct kernel *) queue;
static unsigned n_threads, n_idle; /* threads that make forms */
static bool begun;
static uint64_t may_wait_ns; /* total time that launches may still wait for forms */

static void make_form(struct kernel *k)
{
	struct session *session = k->session;
	struct code *c;
	struct form *f = NULL;
	enum wire_reason why = WIRE_WHY_NO_MEMORY;
	struct shim_inside in;
	bool gone, late, placed;
	unsigned epoch;

	if (atomic_load(&k->state) != KERNEL_BUSY) { /* kernel_remember queued it */
		remember_write(k);
		return;
	}
	lock_take(&kernel_lock);
	c = k->code;
	code_get(c);
	epoch = kernels_epoch(session);
	lock_drop(&kernel_lock);
	if (c && rewrite_kernel(session, k, c, &f, &why) < 0)
		f = NULL;
	code_put(c);
	lock_take(&kernel_lock);
	gone = k->gone;
	late = epoch != kernels_epoch(session);
	if (!gone && late) /* the context has ended, so the next launch requests the form again */
		atomic_store(&k->state, KERNEL_NEW);
	else if (!gone)
		kernel_publish(session, k, f, why);
	pthread_cond_broadcast(&kernel_done);
	lock_drop(&kernel_lock);
	if (f && (gone || late)) {
		placed = placing_begin(session, &in);
		if (late)
			form_free_ended(f);
		else if (placed)
			form_unload(session, f);
		if (placed)
			placing_end(session, &in);
	}
}

/* Removes the kernel with the most missed threads from the queue. NULL: the queue is empty. Call
 * under the lock. */
static struct kernel *take_missed(void)
{
	struct kernel *k;
	size_t at = 0;

	if (!queue.len)
		return NULL;
	for (size_t i = 1; i < queue.len; i++) {
		if (atomic_load(&queue.at[i]->missed) > atomic_load(&queue.at[at]->missed))
			at = i;
	}
	k = queue.at[at];
	memmove(queue.at + at, queue.at + at + 1, (--queue.len - at) * sizeof(queue.at[0]));
	return k;
}

/* Waits for a kernel in the queue. The caller holds the lock, which this releases while it waits.
 * Returns false after a timeout. */
static bool await_work(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += IDLE_S;
	return lock_wait_until(&kernel_lock, &asked, &until) != ETIMEDOUT;
}

/* Waits for the next kernel that needs a form. Returns NULL if none came for a while. */
static struct kernel *await_kernel(void)
{
	struct kernel *k;
	bool waits = true, is_last;

	lock_take(&kernel_lock);
	n_idle++;
	while (!(k = take_missed()) && waits)
		waits = await_work();
	n_idle--;
	n_threads -= !k;
	is_last = !n_threads;
	lock_drop(&kernel_lock);
	if (is_last)
		rewrite_idle();
	return k;
}

static void *make_forms(void *unused)
{
	const id_t self = (id_t)syscall(SYS_gettid);
	struct kernel *k;

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + LESS_URGENT);
	while ((k = await_kernel())) {
		turn_begin();
		make_form(k);
		turn_end();
	}
	return NULL;
}

/* Call under the lock. */
static void begin_making(void)
{
	if (begun)
		return;
	begun = true;
	turns_init();
	remember_at_exit();
	may_wait_ns = env_number(ENV_FORM_WAIT_MS) * 1000000;
}

/* Starts another thread if the queue is longer than the number of idle threads. Returns false if
 * there is no thread at all. Call under the lock, with a kernel in the queue. */
static bool have_threads(struct session *session)
{
	begin_making();
	if (queue.len > n_idle && n_threads < THREADS_MAX && shim_thread(session, make_forms) == 0)
		n_threads++;
	return n_threads > 0;
}

/* Waits for the kernel's form. The caller holds the lock, which this releases while it waits. */
static void await_form(struct kernel *k)
{
	uint64_t began = shim_now_ns(), waited;
	unsigned round = turns_round();
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(may_wait_ns / 1000000000);
	until.tv_nsec += (long)(may_wait_ns % 1000000000);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (may_wait_ns && atomic_load(&k->state) == KERNEL_BUSY && turns_round() == round) {
		if (lock_wait_until(&kernel_lock, &kernel_done, &until) == ETIMEDOUT)
			break;
	}
	waited = shim_now_ns() - began;
	may_wait_ns -= MIN(waited, may_wait_ns);
}

/* Call under the lock. */
static bool enqueue(struct session *session, struct kernel *k)
{
	if (!VEC_PUSH(&queue, k))
		return false;
	if (!have_threads(session)) {
		queue.len--;
		return false;
	}
	pthread_cond_signal(&asked);
	return true;
}

/* Makes one of the form-making threads call remember_write for the kernel. Returns false if the
 * kernel has no form now, or if there is no such thread. */
static bool kernel_remember(struct session *session, struct kernel *k)
{
	bool ok;

	lock_take(&kernel_lock);
	ok = atomic_load(&k->state) == KERNEL_READY && enqueue(session, k);
	lock_drop(&kernel_lock);
	return ok;
}

static void ask_for_form(struct session *session, struct kernel *k)
{
	lock_take(&kernel_lock);
	if (atomic_load(&k->state) == KERNEL_NEW) {
		/* The kernel enters the queue before its state becomes KERNEL_BUSY. This does no
		 * harm: threads that read the queue need the lock, which this thread holds until
		 * the state is set. */
		if (enqueue(session, k))
			atomic_store(&k->state, KERNEL_BUSY);
		else
			kernel_give_up(k, WIRE_WHY_NO_MEMORY);
	}
	await_form(k);
	lock_drop(&kernel_lock);
}

void kernel_missed(struct kernel *k, uint64_t threads)
{
	if (atomic_load_explicit(&k->state, memory_order_relaxed) == KERNEL_BUSY)
		atomic_fetch_add_explicit(&k->missed, threads, memory_order_relaxed);
}

struct form *kernel_form(struct session *session, struct kernel *k)
{
	int state = atomic_load_explicit(&k->state, memory_order_acquire);

	if (state == KERNEL_NEW && session->page_dev) {
		ask_for_form(session, k);
		state = atomic_load_explicit(&k->state, memory_order_acquire);
	}
	return state == KERNEL_READY ? k->form : NULL;
}

void remember_soon(struct session *session)
{
	struct kernel *k;

	while ((k = remember_unasked())) {
		if (!kernel_remember(session, k))
			remember_write(k);
	}
}

void making_pause(struct session *session, const struct session_ends *ends)
{
	turns_await_none();
}

/* In the child after a fork, no thread that makes forms exists. */
void making_after_fork(void)
{
	pthread_cond_init(&asked, NULL);
	queue.len = 0;
	n_threads = n_idle = 0;
}
