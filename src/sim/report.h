/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs a trace and reports the results of each tenant. The system-level metrics are those of S.
 * Eyerman and L. Eeckhout, "System-Level Performance Metrics for Multiprogram Workloads", IEEE
 * Micro 28(3), 2008. A tenant's turnaround is the sum, over its launches that finish in both runs,
 * of the time from submission to end. Its normalized turnaround time (NTT) is its turnaround with
 * the other tenants divided by its turnaround alone. ANTT is the mean of the NTTs (1 is best). STP
 * is the sum of their inverses (the number of tenants is best). If a tenant finishes launches only
 * when it is alone, its NTT and ANTT are infinite. A tenant that finishes no launch alone is left
 * out. */
#ifndef HEDDLE_SIM_REPORT_H
#define HEDDLE_SIM_REPORT_H

#include "sim/trace.h"

#define SIM_END_NS 3600000000000ull /* end of a trace that has no line "run": one hour */

struct sim_job {
	const char *text; /* the part of the trace for one device (sim_section) */
	size_t len;
	uint32_t line;                     /* number of lines in the file before this text */
	const struct sched_policy *policy; /* replaces the device's policy; NULL: keeps it */
	const char *policy_options;        /* replaces "options"; NULL: keeps them */
	/* As in struct sim_reader. */
	const struct sched_policy *(*find)(void *user, const char *name);
	void *find_user;
	struct diag_list *diags;
	bool quiet; /* writes no trace */
	bool keeps_stays;
};

struct sim_tenant_report {
	const struct sim_tenant *tenant;
	/* number of submitted launches that finished; that did not */
	uint64_t finished, unfinished;
	/* The tenant's percentage of the SM time of all finished blocks, and the percentage that
	 * its weight entitles it to. */
	double share, share_wanted;
	/* Time between submission and end during which a launch had no block on the device; over
	 * all submitted launches. */
	double waiting_mean_ns;
	uint64_t waiting_longest_ns;
	double turnaround_mean_ns; /* mean over finished launches; NAN: there are none */
	/* mean over launches that finish in both runs; NAN: there are none */
	double turnaround_alone_mean_ns;
	/* normalized turnaround time; NAN: no launch finishes alone */
	double ntt;
	double waiting_ns, turnaround_ns; /* sums over launches */
};

struct sim_report {
	VEC(struct sim_tenant_report) tenants; /* in the order of the trace */
	uint64_t preemptions;
	/* time from the first submission to the end of the last launch, or to the end of the run */
	uint64_t makespan_ns;
	double antt, stp; /* may be infinite: see above */
	double idle;      /* percentage of the makespan's SM time in which no block ran */
};

/* Reads and runs the trace with all tenants, or only with the tenant `only`. Returns 0, -EINVAL
 * with an error in diags, or -ENOMEM. Initializes *ret in any case; the caller frees it with
 * sim_finish. */
int sim_job_run(const struct sim_job *job, const char *only, struct sim *ret);
/* Makes the report of a finished simulation; also runs each tenant alone. Returns 0, -EINVAL with
 * an error in diags, or -ENOMEM. Names belong to s. The caller frees *ret with sim_report_finish,
 * even after a failure. */
int sim_report_make(const struct sim_job *job, const struct sim *s, struct sim_report *ret);
void sim_report_finish(struct sim_report *r);

#endif
