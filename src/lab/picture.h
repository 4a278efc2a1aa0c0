/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* --svg of the laboratory's verbs: bench/render.py draws a picture from the JSON result. It needs
 * python3, which nothing else of heddle needs at run time. */
#ifndef HEDDLE_LAB_PICTURE_H
#define HEDDLE_LAB_PICTURE_H

#include "front/cli.h"

/* With --svg, checks before long work that the picture can be drawn and written at its end. Returns
 * CLI_OK, or CLI_FAILED after it reports the reason. */
int picture_check(struct cli *c);
/* With --svg, draws the picture of this kind ("share" or "merge") from the JSON object that the verb has
 * just closed. Returns CLI_OK, or CLI_FAILED after it reports the reason. */
int picture_draw(struct cli *c, const char *kind);

#endif
