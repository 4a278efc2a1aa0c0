/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The threads that make preemptible forms. A kernel's first launch requests its form, a thread
 * makes the form while the program continues, and later launches use it. A launch runs unmanaged
 * while its form is being made. */
#include "shim/making.h"
#include "base/environment.h"
#include "shim/placing.h"
#include "shim/remember.h"

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

#define AT_WORK_MAX 4  /* threads that make forms, */
#define THREADS_MAX 32 /* including threads that wait for the assembler */
#define LESS_URGENT 10 /* nice(1) increment over the program's own threads */
/* idle time in s after which the threads end and the parsed module is freed */
#define IDLE_S 1

static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static VEC(struct kernel *) queue;
static unsigned n_threads, n_idle; /* that make forms */
static sem_t turns;                /* to do so; counts those that may begin */
static uint64_t may_wait_ns;       /* launches, from now on, in all */
static unsigned await_round;       /* launches wait as long as it stays */

static void make_form(struct kernel *k)
{
	struct code *c;
	struct form *f = NULL;
	enum wire_reason why = WIRE_WHY_NO_MEMORY;
	struct shim_inside in;
	bool gone, late, placed;
	unsigned epoch;

	shim = k->session;
	if (atomic_load(&k->state) != KERNEL_BUSY) { /* kernel_remember */
		remember_write(k);
		return;
	}
	pthread_mutex_lock(&kernel_lock);
	c = k->code;
	code_get(c);
	epoch = kernels_epoch();
	pthread_mutex_unlock(&kernel_lock);
	if (c && rewrite_kernel(k, c, &f, &why) < 0)
		f = NULL;
	code_put(c);
	pthread_mutex_lock(&kernel_lock);
	gone = k->gone;
	late = epoch != kernels_epoch();
	if (!gone && late) /* the context has ended: the next launch starts again */
		atomic_store(&k->state, KERNEL_NEW);
	else if (!gone)
		kernel_publish(k, f, why);
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
	if (f && (gone || late)) {
		placed = placing_begin(&in);
		if (late)
			rewrite_free_ended(f);
		else if (placed)
			rewrite_unload(f);
		if (placed)
			placing_end(&in);
	}
}

/* The one that is missed most, or NULL. Under the lock. */
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
	return pthread_cond_timedwait(&asked, &kernel_lock, &until) != ETIMEDOUT;
}

/* Waits for the next kernel that needs a form. Returns NULL if none came for a while. */
static struct kernel *await_kernel(void)
{
	struct kernel *k;
	bool waits = true, is_last;

	pthread_mutex_lock(&kernel_lock);
	n_idle++;
	while (!(k = take_missed()) && waits)
		waits = await_work();
	n_idle--;
	n_threads -= !k;
	is_last = !n_threads;
	pthread_mutex_unlock(&kernel_lock);
	if (is_last)
		rewrite_idle();
	return k;
}

void kernel_turn_begin(void)
{
	while (sem_wait(&turns) < 0)
		;
}

void kernel_turn_end(void)
{
	sem_post(&turns);
}

static void *make_forms(void *unused)
{
	const id_t self = (id_t)syscall(SYS_gettid);
	struct kernel *k;

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + LESS_URGENT);
	while ((k = await_kernel())) {
		kernel_turn_begin();
		make_form(k);
		kernel_turn_end();
	}
	return NULL;
}

/* Returns the number of threads that can work at once: half of the processors that the program may
 * use, so that the threads do not slow the program; at least 1 and at most AT_WORK_MAX. */
static unsigned most_at_work(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) / 2 : 1;

	return (unsigned)MAX(MIN(n, AT_WORK_MAX), 1);
}

/* Under the lock, once. */
static void begin_making(void)
{
	static bool begun;

	if (begun)
		return;
	begun = true;
	sem_init(&turns, 0, most_at_work());
	remember_at_exit();
	may_wait_ns = env_number(ENV_FORM_WAIT_MS) * 1000000;
}

/* Starts another thread if the queue is longer than the number of idle threads. Returns false if
 * there is no thread at all. Call under the lock, with a kernel in the queue. */
static bool have_threads(void)
{
	begin_making();
	if (queue.len > n_idle && n_threads < THREADS_MAX && shim_thread(make_forms) == 0)
		n_threads++;
	return n_threads > 0;
}

void kernel_await_none(void)
{
	pthread_mutex_lock(&kernel_lock);
	await_round++;
	pthread_cond_broadcast(&kernel_done);
	pthread_mutex_unlock(&kernel_lock);
}

/* Under the lock, which it lets go of meanwhile. */
static void await_form(struct kernel *k)
{
	uint64_t began = shim_now_ns(), waited;
	unsigned round = await_round;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(may_wait_ns / 1000000000);
	until.tv_nsec += (long)(may_wait_ns % 1000000000);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (may_wait_ns && atomic_load(&k->state) == KERNEL_BUSY && await_round == round) {
		if (pthread_cond_timedwait(&kernel_done, &kernel_lock, &until) == ETIMEDOUT)
			break;
	}
	waited = shim_now_ns() - began;
	may_wait_ns -= MIN(waited, may_wait_ns);
}

/* Under the lock. */
static bool enqueue(struct kernel *k)
{
	if (!VEC_PUSH(&queue, k))
		return false;
	if (!have_threads()) {
		queue.len--;
		return false;
	}
	pthread_cond_signal(&asked);
	return true;
}

bool kernel_remember(struct kernel *k)
{
	bool ok;

	pthread_mutex_lock(&kernel_lock);
	ok = atomic_load(&k->state) == KERNEL_READY && enqueue(k);
	pthread_mutex_unlock(&kernel_lock);
	return ok;
}

static void ask_for_form(struct kernel *k)
{
	pthread_mutex_lock(&kernel_lock);
	if (atomic_load(&k->state) == KERNEL_NEW) {
		/* The kernel enters the queue before its state becomes KERNEL_BUSY. This does no
		 * harm: threads that read the queue need the lock, which this thread holds until
		 * the state is set. */
		if (enqueue(k))
			atomic_store(&k->state, KERNEL_BUSY);
		else
			kernel_give_up(k, WIRE_WHY_NO_MEMORY);
	}
	await_form(k);
	pthread_mutex_unlock(&kernel_lock);
}

void kernel_missed(struct kernel *k, uint64_t threads)
{
	if (atomic_load_explicit(&k->state, memory_order_relaxed) == KERNEL_BUSY)
		atomic_fetch_add_explicit(&k->missed, threads, memory_order_relaxed);
}

struct form *kernel_form(struct kernel *k)
{
	int state = atomic_load_explicit(&k->state, memory_order_acquire);

	if (state == KERNEL_NEW && shim->page_dev) {
		ask_for_form(k);
		state = atomic_load_explicit(&k->state, memory_order_acquire);
	}
	return state == KERNEL_READY ? k->form : NULL;
}
