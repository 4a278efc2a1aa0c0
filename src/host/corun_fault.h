/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Describes why kernels cannot run together: a code, the kernel concerned, and a detail. libheddle
 * and the command line both get the message from host_explain, each with its own option names. */
#ifndef HEDDLE_HOST_CORUN_FAULT_H
#define HEDDLE_HOST_CORUN_FAULT_H

#include "host/way.h"

enum host_code {
	HOST_OK,
#define HOST_CODE(id, err, text, hint) HOST_##id,
#include "host/corun_faults.def"
#undef HOST_CODE
	HOST_CODES
};

struct host_fault {
	enum host_code code;
	int kernel;         /* index in the set; -1: no kernel, or all kernels */
	enum host_way way;  /* for CRASHED and LATE: the way of the form */
	uint64_t number[3]; /* numbers in the message of this code */
	uint32_t line, col; /* MERGING: position in the kernel's source; 0: no single position */
	CUresult result;    /* for DRIVER, TEXT and GREEN */
	char detail[512];   /* what failed or why; may be "" */
	char log[1024];     /* TEXT: messages of the driver's compiler; "": none */
};

/* Fills *f and returns the code's negative errno. `kernel` has the same meaning as in the field.
 * `detail` is copied; NULL means "". */
int host_fail(struct host_fault *f, enum host_code code, int kernel, const char *detail);
int host_fail_with(
	struct host_fault *f, enum host_code code, int kernel, uint64_t a, uint64_t b, uint64_t c);
/* Records an error of code DRIVER. what: the action that failed. */
int host_cu_failed(struct host_fault *f, CUresult r, const char *what);
int host_errno(const struct host_fault *f); /* negative errno; 0 for HOST_OK */
#define HOST_TRY(f, call, what)                             \
	do {                                                \
		CUresult r_ = (call);                       \
		if (r_ != CUDA_SUCCESS)                     \
			return host_cu_failed(f, r_, what); \
	} while (0)

/* How a front end names its options, for messages. */
struct host_words {
	/* true: messages name a kernel by its number (from 1) and its name; false: by its name
	 * only */
	bool numbered;
	const char *help, *steal, *mixed, *streams, *vertical; /* names of ways and their parts */
	const char *plain;                                     /* a hint: "... run any kernels" */
	const char *time; /* the option that raises the limit of the compile time */
	const char *ptx;  /* what the user should attach to a bug report */
};

struct host_set;
/* Appends the fault as a sentence to `text`, and a hint (possibly "") to `hint`. `s` is the set of
 * kernels with the fault; if it is NULL, no kernel is named. */
void host_explain(const struct host_fault *f, const struct host_set *s, const struct host_words *w,
	struct strbuf *text, struct strbuf *hint);
/* Explains why two kernels are fused vertically and not woven; w->why contains a reason. `name` and
 * `number` identify kernel w->which; if `number` is 0, the text uses only the name. */
void host_explain_woven(
	const struct pass_woven *w, const char *name, unsigned number, struct strbuf *out);

#endif
