/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts how often warps execute each line of a module's text (HEDDLE_VGPU=count=FILE). When a
 * module is unloaded, its counts are appended to the file, as "KERNEL LINE TIMES" for each executed
 * line. The counts of modules that are never unloaded are lost. */
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"
#include "dev/cpu/vgpu.h"

static char path[200];

void vgpu_set_counts(const char *file)
{
	snprintf(path, sizeof(path), "%s", file);
}

void vgpu_counts_begin(struct vprogram *p)
{
	if (!path[0])
		return;
	for (uint32_t i = 0; i < p->n_funcs; i++)
		for (uint32_t k = 0; k < p->funcs[i].n_code; k++)
			p->n_counts = MAX(p->n_counts, p->funcs[i].code[k].line + 1);
	/* NULL if out of memory: then nothing is counted */
	p->counts = calloc(p->n_counts, sizeof(*p->counts));
}

void vgpu_counts_end(struct vprogram *p)
{
	FILE *f = p->counts ? fopen(path, "ae") : NULL;

	for (uint32_t i = 0; f && i < p->n_counts; i++)
		if (p->counts[i])
			fprintf(f, "%s %u %llu\n", p->funcs[0].name, i,
				(unsigned long long)p->counts[i]);
	if (f)
		fclose(f);
	free(p->counts);
	p->counts = NULL;
}
