/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the report of a simulated trace. A tenant is simulated twice: with the other tenants,
 * and alone. Both simulations create the tenant's launches in the same order, so the report can
 * compare them launch by launch. (A launch that is repeated has a field `again`, which points to
 * the next repetition.) */
#include "sim/report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int job_error(const struct sim_job *job, uint32_t line, const char *what)
{
	diag_add(job->diags, DIAG_ERROR, line, 0, 1, "%s", what);
	return -EINVAL;
}

/* Sets the policy's options if the caller replaces those of the file. The reader has already
 * checked the options of the file with the policy of the file. */
static int set_options(const struct sim_job *job, struct sim *s)
{
	char why[256];

	if (job->policy_options && strlen(job->policy_options) >= sizeof(s->policy_options))
		return job_error(job, 0, "policy_options: too long: at most 1,023 bytes");
	if (job->policy_options)
		strcpy(s->policy_options, job->policy_options);
	if (sched_policy_check(s->policy, s->policy_options, why, sizeof(why)) < 0)
		return job_error(job, 0, why);
	return 0;
}

int sim_job_run(const struct sim_job *job, const char *only, struct sim *ret)
{
	struct sim_reader r = {.sim = ret,
		.diags = job->diags,
		.only = only,
		.line = job->line,
		.find = job->find,
		.find_user = job->find_user};
	int status;

	sim_init(ret);
	ret->quiet = job->quiet || only;
	ret->keeps_stays = job->keeps_stays && !only;
	status = sim_read(&r, job->text, job->len);
	if (status < 0)
		return status;
	if (!job->len)
		return job_error(job, 0, "the file is empty");
	if (!ret->launches && !only)
		return job_error(job, 0, "nothing is launched: there is no line 'at TIME launch'");
	if (job->policy)
		ret->policy = job->policy;
	status = set_options(job, ret);
	if (status < 0)
		return status;
	if (!r.has_end)
		ret->end = SIM_END_NS;
	status = sim_run(ret);
	if (status == -EINVAL)
		return job_error(job, ret->error_line, ret->error);
	return status;
}

static bool was_submitted(const struct sim_launch *l)
{
	return l->id != 0;
}

static void add_launch(const struct sim *s, struct sim_tenant_report *t, const struct sim_launch *l)
{
	uint64_t waited = l->waited_ns;

	if (l->handle && !l->present)
		waited += s->now - l->wait_since_ns;
	t->waiting_ns += (double)waited;
	t->waiting_longest_ns = MAX(t->waiting_longest_ns, waited);
	t->finished += l->done;
	t->unfinished += !l->done;
	if (l->done)
		t->turnaround_ns += (double)(l->done_ns - l->submit_ns);
}

static struct sim_tenant_report *report_of(struct sim_report *r, const struct sim_tenant *t)
{
	struct sim_tenant_report *at = r->tenants.at;

	while (at->tenant != t)
		at++;
	return at;
}

/* Sums over the launches that finish in both runs. */
struct both {
	double together_ns, alone_ns;
	uint64_t n;
	bool alone; /* at least one launch finishes in the run alone */
};

static void add_both(
	struct both *b, const struct sim_launch *together, const struct sim_launch *alone)
{
	for (; together && alone; together = together->again, alone = alone->again) {
		b->alone |= alone->done;
		if (!together->done || !alone->done)
			continue;
		b->together_ns += (double)(together->done_ns - together->submit_ns);
		b->alone_ns += (double)(alone->done_ns - alone->submit_ns);
		b->n++;
	}
}

/* Returns the first launch, from l on, that the trace lists explicitly, and not as a repetition of
 * another launch. If t is not NULL, only launches of tenant t count. */
static const struct sim_launch *next_read(const struct sim_launch *l, const struct sim_tenant *t)
{
	while (l && (l->repeated || (t && l->tenant != t)))
		l = l->next;
	return l;
}

static int compare_alone(
	const struct sim_job *job, const struct sim *s, struct sim_tenant_report *t)
{
	const struct sim_launch *l, *o;
	struct both b = {0};
	struct sim alone;
	int status = sim_job_run(job, t->tenant->name, &alone);

	if (status == 0) {
		l = next_read(s->launches, t->tenant);
		o = next_read(alone.launches, NULL);
		while (l && o) {
			add_both(&b, l, o);
			l = next_read(l->next, t->tenant);
			o = next_read(o->next, NULL);
		}
	}
	sim_finish(&alone);
	t->turnaround_alone_mean_ns = b.n ? b.alone_ns / (double)b.n : NAN;
	t->ntt = b.n && b.alone_ns > 0 ? b.together_ns / b.alone_ns : b.alone ? INFINITY : NAN;
	return status;
}

static void sum_up_launches(const struct sim *s, struct sim_report *r)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (const struct sim_launch *l = s->launches; l; l = l->next) {
		if (!was_submitted(l))
			continue;
		add_launch(s, report_of(r, l->tenant), l);
		first = MIN(first, l->submit_ns);
		last = MAX(last, l->handle ? s->now : l->done_ns);
	}
	r->makespan_ns = last > first ? last - first : 0;
	r->idle = r->makespan_ns ? 100 - 100 * s->busy_ns / ((double)r->makespan_ns * s->o.n_sms)
				 : NAN;
}

static void sum_up_tenants(const struct sim *s, struct sim_report *r)
{
	double work = 0, weights = 0;

	for (size_t i = 0; i < r->tenants.len; i++) {
		work += sim_work(s, r->tenants.at[i].tenant);
		weights += r->tenants.at[i].tenant->weight;
	}
	for (size_t i = 0; i < r->tenants.len; i++) {
		struct sim_tenant_report *t = &r->tenants.at[i];
		uint64_t n = t->finished + t->unfinished;

		t->share = work > 0 ? 100 * sim_work(s, t->tenant) / work : NAN;
		t->share_wanted = 100 * t->tenant->weight / weights;
		t->waiting_mean_ns = n ? t->waiting_ns / (double)n : NAN;
		t->turnaround_mean_ns = t->finished ? t->turnaround_ns / (double)t->finished : NAN;
	}
}

static void sum_up_ntt(struct sim_report *r)
{
	double sum = 0, progress = 0;
	unsigned n = 0;

	for (size_t i = 0; i < r->tenants.len; i++) {
		double ntt = r->tenants.at[i].ntt;

		if (isnan(ntt))
			continue;
		sum += ntt;
		progress += 1 / ntt;
		n++;
	}
	r->antt = n ? sum / n : NAN;
	r->stp = n ? progress : NAN;
}

int sim_report_make(const struct sim_job *job, const struct sim *s, struct sim_report *ret)
{
	struct sched_stats stats = {0};

	*ret = (struct sim_report){0};
	for (const struct sim_tenant *t = s->tenants; t; t = t->next) {
		struct sim_tenant_report report = {.tenant = t};

		if (!VEC_PUSH(&ret->tenants, report))
			return -ENOMEM;
	}
	sum_up_launches(s, ret);
	sum_up_tenants(s, ret);
	for (size_t i = 0; i < ret->tenants.len; i++) {
		int status = compare_alone(job, s, &ret->tenants.at[i]);

		if (status < 0)
			return status;
	}
	sum_up_ntt(ret);
	if (s->sched)
		sched_stats(s->sched, &stats);
	ret->preemptions = stats.preemptions;
	return 0;
}

void sim_report_finish(struct sim_report *r)
{
	VEC_FREE(&r->tenants);
}
