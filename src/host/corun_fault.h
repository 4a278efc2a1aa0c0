/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Why kernels cannot run together: a code, the kernel, and a detail. Every front end gets the text
 * from host_explain, with its own names of options. */
#ifndef HEDDLE_CORUN_FAULT_H
#define HEDDLE_CORUN_FAULT_H

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
	int kernel;         /* of the set, from 0; -1: none, or all of them */
	enum dev_how how;   /* CRASHED, LATE: the way of the form */
	uint64_t number[3]; /* as the text of the code uses them */
	uint32_t line, col; /* MERGING: where in the kernel's source; 0: no one place */
	CUresult result;    /* DRIVER, TEXT, GREEN */
	char detail[512];   /* what failed, or why; "" */
	char log[1024];     /* TEXT: what the driver's compiler wrote; "" */
};

/* Fills *f; kernel as in the field, detail is copied (NULL: ""). Returns the code's negative
 * errno. */
int host_fail(struct host_fault *f, enum host_code code, int kernel, const char *detail);
int host_fail_with(
	struct host_fault *f, enum host_code code, int kernel, uint64_t a, uint64_t b, uint64_t c);
/* DRIVER; what: the action that failed. */
int host_cu_failed(struct host_fault *f, CUresult r, const char *what);
int host_errno(const struct host_fault *f); /* negative; 0: HOST_OK */
#define HOST_TRY(f, call, what)                             \
	do {                                                \
		CUresult r_ = (call);                       \
		if (r_ != CUDA_SUCCESS)                     \
			return host_cu_failed(f, r_, what); \
	} while (0)

/* A front end's names of options. */
struct host_words {
	bool numbered; /* names a kernel by its number, from 1, and its name; else by its name */
	const char *help, *steal, *mixed, *streams, *vertical; /* ways, and parts of ways */
	const char *plain;                                     /* "... run any kernels" */
	const char *time; /* the option that raises the compile timeout */
	const char *ptx;  /* the attachment for a bug report */
};

struct host_set;
/* Appends the fault as a sentence, and a hint (or ""). s: the set with the fault; NULL: none, so no
 * kernel is named. */
void host_explain(const struct host_fault *f, const struct host_set *s, const struct host_words *w,
	struct strbuf *text, struct strbuf *hint);
/* Why two kernels are fused vertically instead of woven; w->why has a reason. name, number: of
 * kernel w->which, as in host_explain (0: by its name alone). */
void host_explain_woven(
	const struct pass_woven *w, const char *name, unsigned number, struct strbuf *out);

#endif
