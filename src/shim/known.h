/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What launches have taught of a kernel's forms, as it is kept for the program's next start: there
 * the best claim size, and which of two forms, need not be tried out again. Pure: no files, no
 * locks. */
#ifndef HEDDLE_SHIM_KNOWN_H
#define HEDDLE_SHIM_KNOWN_H

#include "base/base.h"
#include "shim/pace.h"

#define KNOWN_MAX 32 /* shapes of both forms */
struct known {
	uint32_t form;            /* 0: the first, 1: the one within fewer registers */
	uint32_t threads, shared; /* of a block */
	uint32_t scale;   /* of the grid: 4^scale blocks, and less than four times as many */
	struct pace pace; /* without how long it has been too short */
};

void known_write(const struct known *at, uint32_t n, struct strbuf *out);
/* From any bytes: how many there are; 0 when they are not what known_write wrote. */
uint32_t known_read(const char *at, size_t len, struct known ret[KNOWN_MAX]);
/* What is known of such launches; of `like` the pace does not matter. NULL: nothing. */
const struct pace *known_find(const struct known *at, uint32_t n, const struct known *like);

#endif
