/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The function that handles heddled's command-line options. The symbol is weak because only the
 * program heddled defines it. The program heddle contains only the description of these options,
 * for help and man pages. */
#ifndef HEDDLE_CLI_HEDDLED_H
#define HEDDLE_CLI_HEDDLED_H

#include "front/cli.h"

extern const struct cli_verb cli_heddled; /* the description of heddled's command line */

int __attribute__((weak))
heddled_option(struct cli *c, const struct cli_option *o, const char *value);

#endif
