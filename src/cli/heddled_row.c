/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The description of heddled's options, used by heddled's own parser, by heddle's completions and
 * by the man page. */
#include "cli/heddled.h"
#include "sched/policy/policy.h"

static const struct cli_option options[] = {
	{0, "policy", sched_policy_words, sched_policy_help},
	{0, "mps", "on|off", "run tenants under an MPS control daemon of heddled's (default: off)"},
	{0, "socket", "PATH", "where to listen"},
	{0, "temporal", NULL, "preempt only whole devices, never some SMs"},
	{0, "events", "FILE", "write every event and decision there, as JSON lines"},
	{0, "log", "error|warning|info|debug",
		"least level of messages on standard error (default: info)"},
	{0, "set", "KEY=VALUE", "set a key of heddled.conf; may be repeated"},
	{0, "config-root", "DIR", "read the configuration below DIR instead of /"},
	{0, "check-config", NULL, "check the configuration, report errors, and end"},
	{0, "foreground", NULL, "no effect: heddled always stays in the foreground"},
	{0, "version", NULL, "print the version"},
	{0},
};

const struct cli_verb cli_heddled = {
	.name = "heddled",
	.operands = "",
	.summary = "decide which program's kernels run on the GPU",
	.details =
		"Hears of the kernels of every program started with heddle run, and says which of "
		"them hold the GPU. Stays in the foreground. heddled(8) describes heddled.conf.",
	.json = "with --check-config: ok.",
	.options = options,
	.flags = CLI_PROGRAM,
	.on_option = heddled_option,
};
