/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The results of measured launches of a kernel's forms, kept for the program's next start: it
 * needs no new trials for the best claim size, or for the faster of two forms. Pure: no files,
 * no locks. */
#ifndef HEDDLE_SHIM_KNOWN_H
#define HEDDLE_SHIM_KNOWN_H

#include "base/base.h"
#include "shim/pace.h"

#define KNOWN_MAX 32 /* shapes of both forms */
struct known {
	uint32_t form;            /* 0: the first, 1: the one within fewer registers */
	uint32_t threads, shared; /* of a block */
	uint32_t scale;   /* of the grid: at least 4^scale blocks, and less than 4^(scale + 1) */
	struct pace pace; /* without the count of short launches */
};

void known_write(const struct known *at, uint32_t n, struct strbuf *out);
/* From any bytes. Returns the number of rows; 0: not an output of known_write. */
uint32_t known_read(const char *at, size_t len, struct known ret[KNOWN_MAX]);
/* The pace of such launches; ignores the pace of `like`. NULL: not known. */
const struct pace *known_find(const struct known *at, uint32_t n, const struct known *like);

#endif
