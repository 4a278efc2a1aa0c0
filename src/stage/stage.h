/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A stage is an environment in which programs share a device: without heddle, under MPS, or under
 * heddle. Pairs of example programs run in it. heddle demo and heddle bench preempt compare the
 * same programs in different stages. A stage owns a temporary folder and the daemons that it
 * started; stage_close removes the folder and ends the daemons. */
#ifndef HEDDLE_STAGE_H
#define HEDDLE_STAGE_H

#include "base/measure.h"
#include "dev/dev.h"
#include "front/child.h"
#include "front/cli.h"

/* The shim needs this many launches to find a kernel's best form and number of blocks for each
 * claim (src/shim/pace.c). Benchmarks make them first, where heddle manages a kernel on a GPU, and
 * do not count them. Their JSON has the number as warm_rounds. */
#define STAGE_SEARCH_ROUNDS 14

struct stage_spec {
	const char *name;     /* the name that is shown: "unmanaged", "MPS", "heddle" */
	enum dev_kind device; /* DEV_CPU or DEV_CUDA */
	bool managed;         /* the programs run under heddle; false: without it */
	bool mps;
	/* unmanaged: programs get MPS client priorities from CUDA_MPS_CLIENT_PRIORITY */
	bool mps_priorities;
	bool ranked;        /* managed: one program of a pair has priority high (cases.h: lead) */
	const char *policy; /* heddled's policy; NULL: hpf */
	const char *options[8]; /* further options for heddled; ends with NULL */
	/* managed: a store of measurements that heddled starts with; NULL: none */
	const char *store;
	/* Managed stages: the weights of these programs, which then have priority normal. The list
	 * ends with a NULL name. */
	struct {
		const char *program, *weight;
	} weights[2];
};

struct stage {
	struct cli *c;
	struct stage_spec spec;
	char dir[64];
	struct child daemon;
	bool mps_running;
	char *heddle, *heddled;
	char *cpu_libraries; /* LD_LIBRARY_PATH=... that makes programs load the virtual GPU */
};

/* An example program and its input. */
struct stage_program {
	const char *name, *size;
	double scale; /* factor for the input size; 0 means 1 */
	/* a PTX file to run instead of the program's own kernel, made by heddle ptx slice */
	const char *ptx;
	unsigned slices; /* number of slices for each launch; 0: the kernel is not sliced */
};

struct stage_round {
	uint64_t low_launch_ns, low_done_ns, high_launch_ns, high_done_ns; /* CLOCK_MONOTONIC */
};

struct stage_result {
	unsigned rounds;
	struct stage_round *at; /* for each round; allocated in the caller's arena */
	double low_ns, high_ns; /* median turnaround; 0: the program did not take part */
	double low_kernel_ns, high_kernel_ns;
	double *low_kernel_rounds_ns; /* kernel time of each round */
	double makespan_ns;           /* median */
	uint64_t low_blocks;
	unsigned checked, wrong;
	/* Managed stages: counts from the daemon's events. */
	unsigned preemptions, shrinks; /* preemptions that took all SMs; that took only some */
	/* time from the preempting word's store to the last worker's exit, for each handover */
	double *handover_ns;
	/* for each handover: the low-priority launch's unfinished blocks, which then waited */
	double *put_off;
	unsigned handovers;
	char *events; /* the daemon's event lines of this pair, or NULL */
};

struct stage_run {
	const char *reference; /* folder where programs cache the host's results; NULL: none */
	struct stage_program low, high; /* a program with name NULL does not take part */
	unsigned rounds;
	double delay_us;   /* from the start of low's kernel to high's launch */
	bool runtime;      /* use the programs that are built on the runtime API */
	const char *check; /* which rounds' results are checked: "each", "last" or "none" */
	int timeout_ms;
	bool equal; /* both tenants have priority normal */
};

/* Finds the device that --device names (want; NULL: automatic), its name and its number of SMs.
 * Returns CLI_USAGE if want is no kind of device. Apart from that, this function and all functions
 * below that return int return CLI_OK, or CLI_FAILED after they report an error through c. */
int stage_device(
	struct cli *c, const char *want, enum dev_kind *ret, char ret_name[128], unsigned *ret_sms);
/* Starts the stage. After a failure it closes whatever it opened. While a stage is open, a signal
 * that would end this process does so only after the stage is closed. */
int stage_open(struct cli *c, const struct stage_spec *spec, struct stage *ret);
void stage_close(struct stage *s);
int stage_run(
	struct stage *s, struct arena *a, const struct stage_run *run, struct stage_result *ret);

/* Computes res->makespan_ns from res->at. */
void stage_measure_makespan(struct arena *a, struct stage_result *res);
/* Returns the length of heddled's event log in bytes, or 0 if there is no log. */
long stage_events_end(const struct stage *s);
/* Reads the events after byte offset `from` of the event log, and computes res's counts from
 * them. */
void stage_read_events(const struct stage *s, struct arena *a, long from, struct stage_result *res);

/* An event from stage_result.events. what is "" for a line that is not an event. */
struct stage_event {
	char what[16];
	uint64_t t_ns, store_ns, total, finished; /* total and finished are numbers of blocks */
};
/* Reads the event at *at and moves *at past it. Returns false after the last event. */
bool stage_next_event(const char **at, struct stage_event *ret);

#endif
