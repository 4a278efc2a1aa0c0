/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The parts of the laboratory, heddle-bench. Each part repeats the measurements of one paper on
 * this device: it has a row (row_NAME.c) and a function that runs it (part_NAME.c). */
#ifndef HEDDLE_LAB_H
#define HEDDLE_LAB_H

#include "front/cli.h"

/* The program in heddle's folder that runs the rows (verbs) of heddle bench. */
#define LAB_PROGRAM "heddle-bench"

/* The functions that run the rows, one for each paper. They return the exit status. */
int lab_preempt(struct cli *c); /* FLEP */
int lab_share(struct cli *c);   /* SiM */
int lab_merge(struct cli *c);   /* KernelMerge */
int lab_tasks(struct cli *c);   /* Pagoda */

#endif
