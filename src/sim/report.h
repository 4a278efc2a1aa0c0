/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs a trace and says how each tenant fared. The figures for the whole are those of S. Eyerman
 * and L. Eeckhout, "System-Level Performance Metrics for Multiprogram Workloads", IEEE Micro 28(3),
 * 2008: of each tenant the turnaround in company over the turnaround alone is its normalized
 * turnaround time (NTT); ANTT is the mean of these (1 is best), STP the sum of their inverses (the
 * number of tenants is best). A tenant's turnaround is the sum over its launches, from submission
 * to end. Launches that finish in both runs count. The NTT of a tenant that finishes launches only
 * alone is infinite, and so is ANTT then; a tenant that finishes none alone either is left out. */
#ifndef HEDDLE_SIM_REPORT_H
#define HEDDLE_SIM_REPORT_H

#include "sim/trace.h"

#define SIM_END_NS 3600000000000ull /* where a trace has no line "run": an hour */

struct sim_job {
	const char *text; /* of one device (sim_section) */
	size_t len;
	uint32_t line; /* lines of the file above it */
	const struct sched_policy
		*policy;            /* goes before that of the device's line; NULL: that one */
	const char *policy_options; /* likewise "options" */
	struct diag_list *diags;
	bool quiet; /* no trace is written */
	bool keeps_stays;
};

struct sim_tenant_report {
	const struct sim_tenant *tenant;
	uint64_t finished, unfinished; /* launches that were submitted */
	double share, share_wanted; /* percent: of the SM-time of all finished blocks; by weight */
	/* Without a block on the device, from submission to end; of all submitted launches. */
	double waiting_mean_ns;
	uint64_t waiting_longest_ns;
	double turnaround_mean_ns;        /* of finished launches; NAN: none */
	double turnaround_alone_mean_ns;  /* of launches that finish in both runs; NAN: none */
	double ntt;                       /* NAN: no launch finishes alone */
	double waiting_ns, turnaround_ns; /* sums */
};

struct sim_report {
	VEC(struct sim_tenant_report) tenants; /* in the order in which they stand in the file */
	uint64_t preemptions;
	uint64_t makespan_ns; /* from the first submission to the end of the last launch or the run
			       */
	double antt, stp;     /* not finite: see above */
	double idle;          /* percent of the SM-time of the makespan in which no block ran */
};

/* Reads and runs: every tenant, or only the one of this name. 0; -EINVAL: said in diags; -ENOMEM.
 * Initializes *ret in any case; the caller frees it with sim_finish. */
int sim_job_run(const struct sim_job *job, const char *only, struct sim *ret);
/* Of a simulation that was run: also runs each tenant alone. 0; -EINVAL: said in diags; -ENOMEM.
 * Names belong to s. The caller frees *ret with sim_report_finish, after a failure too. */
int sim_report_make(const struct sim_job *job, const struct sim *s, struct sim_report *ret);
void sim_report_finish(struct sim_report *r);

#endif
