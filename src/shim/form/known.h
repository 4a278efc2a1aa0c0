/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The measured speed of a kernel's forms, kept for the program's next start. The next start then
 * needs no new trials to find the best claim size (blocks that a worker claims at once), or the
 * faster of two forms. These functions use no files and no locks. */
#ifndef HEDDLE_SHIM_KNOWN_H
#define HEDDLE_SHIM_KNOWN_H

#include "base/base.h"
#include "shim/form/pace.h"

#define KNOWN_MAX 32 /* shapes of both forms together */
struct known {
	uint32_t form;            /* 0: the first form; 1: the second form, with fewer registers */
	uint32_t threads, shared; /* per block */
	/* class of the grid's size: at least 4^scale blocks, and less than 4^(scale + 1) */
	uint32_t scale;
	struct pace pace; /* without `skipped` and `patience` */
};

void known_write(const struct known *at, uint32_t n, struct strbuf *out);
/* Decodes records from any bytes. Returns their number, or 0 if the bytes are not plausible
 * records. */
uint32_t known_read(const char *at, size_t len, struct known ret[KNOWN_MAX]);
/* Returns the pace (measured speed) of launches with the form, shape and scale of `like`, whose own
 * pace is ignored. Returns NULL if it is not known. */
const struct pace *known_find(const struct known *at, uint32_t n, const struct known *like);

#endif
