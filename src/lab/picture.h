/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The option --svg of the laboratory's verbs: bench/render.py draws a picture from the JSON result.
 * It needs python3, which no other part of heddle needs at run time. */
#ifndef HEDDLE_LAB_PICTURE_H
#define HEDDLE_LAB_PICTURE_H

#include "front/cli.h"

/* If --svg is given, checks before the measurement that the picture can be drawn and written.
 * Returns CLI_OK, or CLI_FAILED after it reports the reason. */
int picture_check(struct cli *c);
/* If --svg is given, draws a picture of this kind ("share" or "merge") from the verb's JSON object,
 * which must be closed. Returns CLI_OK, or CLI_FAILED after it reports the reason. */
int picture_draw(struct cli *c, const char *kind);

#endif
