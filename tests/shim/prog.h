/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the test program's scenarios. */
#ifndef HEDDLE_TESTS_SHIM_PROG_H
#define HEDDLE_TESTS_SHIM_PROG_H

#include "dev/cu_link.h"

#define THREADS 128

extern unsigned rounds, blocks, loops;
extern unsigned n; /* number of elements */
extern CUmodule mod;
extern CUcontext ctx;
extern CUfunction mix;

/* With code.h: a kernel for an architecture that is too old for the preemptible form. */
#define PTX_OLD ".version 5.0\n.target sm_60\n.address_size 64\n" PTX_MIX("old")

void check(CUresult r, const char *what);
#define DO(call) check(call, #call)
CUdeviceptr buffer(unsigned words, unsigned seed);
void digest(const char *what, CUdeviceptr d, unsigned words);
void do_mix(CUfunction fn, CUdeviceptr in, CUdeviceptr out, CUstream s);
CUfunction kernel_of(const char *ptx, const char *name); /* from a new module, which stays loaded */

void events(void); /* defined in prog_streams.c */
void defaults(void);
void many_streams(void);
void many_blocking(void);
void brief(void);
void threads(void);
void capture(void);
void own(void);

void symbols(void); /* defined in prog_calls.c */
void waits(void);
void lasting(void);
void childless(void);
void guards(void);
void flood(void);
void blocked(void);
void contexts(void);
void closes(void);
void refused(void);
void remade(void);
void fed(void);
void twice(void);
void deep(void);
void outcomes(void);
void stay(void);

#endif
