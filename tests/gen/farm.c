/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Processes for farm.h. The child processes write progress and results to shared memory; only
 * the parent tracks which child runs what. */
#include "farm.h"
#include "rng.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOGETHER 50 /* consecutive seeds that run with the same settings of the virtual GPU */

/* A child process and its part of the seeds. */
struct worker {
	struct run_progress *progress; /* shared: the child writes it */
	pid_t pid;
	uint32_t next, end; /* programs that the parent does not know to have been started */
	uint32_t beat;      /* the child's beat at the last check */
	double since;
};

struct farm {
	const struct farm_options *o;
	const struct gen_program *given; /* a single program instead of seeds */
	struct run_result *results;      /* shared with the child processes */
	struct worker *workers;
	uint32_t handed_out, failures;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Most programs run in serial mode, with one thread and a virtual clock, which is fast; some run
 * in the default mode. The number of SMs determines how many workers a grid gets. */
static void set_virtual_gpu(const struct farm_options *o, uint64_t seed)
{
	struct rng r = {seed / TOGETHER};
	unsigned sms = rng_percent(&r, 35) ? 1 : 1 + rng_below(&r, 6);
	char text[256];

	if (rng_percent(&r, 80))
		snprintf(text, sizeof(text), "serial,report=none,sms=%u%s%s", sms,
			o->mode ? "," : "", o->mode ? o->mode : "");
	else
		snprintf(text, sizeof(text), "gen%d,workers=2,report=none,sms=%u%s%s",
			(int)getpid(), sms, o->mode ? "," : "", o->mode ? o->mode : "");
	setenv("HEDDLE_VGPU", text, 1);
}

/* ---- in the child process ---- */
static void build(const struct farm *f, uint32_t at, struct gen_program *ret)
{
	if (f->given ? gen_copy(f->given, ret) : gen_build(f->o->first + at, ret))
		_exit(1);
	if (f->given)
		return;
	ret->features |= f->o->apart ? GEN_APART : 0;
	if (f->o->astray && gen_add_stray(ret))
		_exit(1);
	gen_scale(ret, f->o->scale);
}

/* Returns the process's exit status: 0 if it reached its end. */
static int work(const struct farm *f, struct worker *w)
{
	struct strbuf why = {0};
	struct run_device d;
	bool usable = true;

	set_virtual_gpu(f->o, f->given ? f->given->seed : f->o->first + w->next);
	if (run_open(f->o->device, &d))
		return 2;
	d.progress = w->progress;
	d.astray = f->o->astray;
	d.pretend = f->o->pretend;
	d.form = f->o->form;
	for (uint32_t at = w->next; usable && at < w->end; at += f->o->batch) {
		unsigned n = MIN(f->o->batch, w->end - at);
		struct gen_program *p = calloc(n, sizeof(*p));

		for (unsigned i = 0; i < n; i++)
			build(f, at + i, &p[i]);
		usable = run_programs(&d, p, n, at, &f->results[at], &why);
		for (unsigned i = 0; i < n; i++)
			gen_free(&p[i]);
		free(p);
	}
	if (why.len && !f->o->quiet)
		usable &= write(STDOUT_FILENO, why.at, why.len) == (ssize_t)why.len;
	strbuf_finish(&why);
	return 0;
}

static int start(struct farm *f, struct worker *w)
{
	*w->progress = (struct run_progress){.at = w->next, .phase = RUN_COMPILES};
	w->beat = 0;
	w->since = now_s();
	fflush(stdout);
	w->pid = fork();
	if (w->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its parent, nothing would watch it */
		_exit(work(f, w));
	}
	return w->pid < 0 ? -EAGAIN : 0;
}

/* ---- in the parent process ---- */
/* The process has ended. The first program without a result is the one that it was running. */
static void ended(struct farm *f, struct worker *w, int status, bool killed)
{
	uint32_t at = w->next;

	for (; at < w->end && f->results[at].verdict != RUN_NONE; at++)
		f->failures += f->results[at].verdict > RUN_HELD;
	w->pid = 0;
	w->next = at;
	if (at == w->end)
		return;
	if (!killed && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return; /* the process stopped after a failure; the next one continues at `at` */
	f->failures++;
	f->results[at].verdict = !killed                           ? RUN_LOST
				 : w->progress->phase == RUN_FORM  ? RUN_HANGS
				 : w->progress->phase == RUN_PLAIN ? RUN_INVALID
								   : RUN_REFUSED;
	if (!f->o->quiet)
		printf("seed %llu: %s\n", (unsigned long long)(f->o->first + at),
			killed ? w->progress->phase == RUN_FORM    ? "the preemptible form hangs"
				 : w->progress->phase == RUN_PLAIN ? "the plain form hangs"
								   : "compiling it hangs"
			       : "the process died");
	w->next = at + 1;
}

static void look_after(struct farm *f, struct worker *w)
{
	bool killed = false;
	int status;
	pid_t r = waitpid(w->pid, &status, WNOHANG);

	if (r == 0 && w->progress->beat != w->beat) {
		w->beat = w->progress->beat;
		w->since = now_s();
	} else if (r == 0 && now_s() - w->since > f->o->limit_s) {
		kill(w->pid, SIGKILL);
		killed = true;
		r = waitpid(w->pid, &status, 0);
	}
	if (r != 0)
		ended(f, w, status, killed);
}

/* Gives the process its next programs. Returns false if none are left. */
static bool employ(struct farm *f, struct worker *w)
{
	uint64_t first;

	if (f->failures >= f->o->enough)
		return false;
	if (w->next == w->end) {
		if (f->handed_out == f->o->count)
			return false;
		w->next = f->handed_out;
		/* Ranges end at multiples of their size, so that a seed always runs with the same
		 * settings of the virtual GPU.
		 */
		first = f->o->first + w->next;
		w->end = (uint32_t)MIN(
			(uint64_t)f->o->count, w->next + f->o->range - first % f->o->range);
		f->handed_out = w->end;
	}
	return start(f, w) == 0;
}

static int farm(struct farm *f)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	unsigned busy;

	do {
		busy = 0;
		for (unsigned i = 0; i < f->o->jobs; i++) {
			struct worker *w = &f->workers[i];

			if (w->pid > 0)
				look_after(f, w);
			busy += w->pid > 0 || employ(f, w);
		}
		nanosleep(&pause, NULL);
	} while (busy);
	return f->handed_out == f->o->count || f->failures ? 0 : -EAGAIN;
}

static int run(
	const struct farm_options *o, const struct gen_program *given, struct run_result *ret)
{
	struct farm f = {.o = o, .given = given};
	struct run_progress *progress;
	int r = -ENOMEM;

	f.results = shared(sizeof(*ret) * o->count);
	progress = shared(sizeof(*progress) * o->jobs);
	f.workers = calloc(o->jobs, sizeof(*f.workers));
	if (f.results && f.workers && progress) {
		for (unsigned i = 0; i < o->jobs; i++)
			f.workers[i].progress = &progress[i];
		r = farm(&f);
	}
	if (r == 0)
		memcpy(ret, f.results, sizeof(*ret) * o->count);
	if (f.results)
		munmap(f.results, sizeof(*ret) * o->count);
	if (progress)
		munmap(progress, sizeof(*progress) * o->jobs);
	free(f.workers);
	return r;
}

int farm_run(const struct farm_options *o, struct run_result *ret)
{
	return run(o, NULL, ret);
}

void farm_judge(const struct farm_options *o, struct run_result *io_results)
{
	struct farm_options one = *o;

	one.device = DEV_CPU;
	one.count = one.jobs = one.batch = one.enough = 1;
	one.pretend = one.form = NULL;
	one.quiet = true;
	for (unsigned i = 0; i < o->count; i++) {
		struct run_result *is = &io_results[i], should = {0};

		one.first = o->first + i;
		if (is->verdict <= RUN_NATIVE || (!is->plain && is->verdict != RUN_INVALID) ||
			farm_run(&one, &should) || !should.plain || is->plain == should.plain)
			continue;
		is->verdict = RUN_NATIVE;
		printf("seed %llu: the plain form %s\n", (unsigned long long)one.first,
			is->plain ? "gives other than on the virtual GPU"
				  : "ends on the virtual GPU");
	}
}

enum run_verdict farm_try(const struct farm_options *o, const struct gen_program *p)
{
	struct farm_options one = *o;
	struct run_result ret;

	one.count = one.jobs = one.batch = one.enough = 1;
	return run(&one, p, &ret) == 0 ? (enum run_verdict)ret.verdict : RUN_LOST;
}
