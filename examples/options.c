/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The command line of the example programs, and the folders in which they look for their
 * kernels. */
#include "common.h"

#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: %s [OPTION]...\n"
	"  --size large|small|trivial  problem size (small)\n"
	"  --scale F            multiply the work by F\n"
	"  --repeat N           launches, each checked (1)\n"
	"  --for-ms MS          go on until so much time has passed (not with --barrier)\n"
	"  --until FILE         go on until there is such a file (not with --barrier)\n"
	"  --seed S             of the inputs (1)\n"
	"  --check each|last|none  which results are compared with the host's (each)\n"
	"  --reference DIR      keep the host's results there, and take those of earlier runs\n"
	"  --json               one JSON object a line\n"
	"  --ptx FILE           kernel to load (../kernels/nvcc or clang beside the program)\n"
	"  --toolchain nvcc|clang  whose PTX\n"
	"  --library            load by cuLibraryLoadData\n"
	"  --device N           ordinal (0)\n"
	"  --device-class gpu|cpu  which table of sizes (by the device's name)\n"
	"  --start-at NS        first launch at this CLOCK_MONOTONIC time\n"
	"  --barrier FILE       common start with other programs through a shared file\n"
	"  --parties N          how many programs share it (2)\n"
	"  --role low|high      low launches first and tells when its kernel runs;\n"
	"                       high launches --delay-us after that\n"
	"  --delay-us D         (0)\n"
	"  --slices N           each launch as N, of a kernel of heddle ptx slice (--ptx)\n"
	"  --commands           launches as each line of standard input says, until its end:\n"
	"                       run ROUNDS, or run ROUNDS ROLE DELAY-US PARTIES FILE (a barrier);\n"
	"                       a line says when it is ready, and when one is done (with --json)\n"
	"  --calibrate          kernel times of every size, as JSON\n";

enum {
	OPT_SIZE = 256,
	OPT_SCALE,
	OPT_REPEAT,
	OPT_FOR_MS,
	OPT_UNTIL,
	OPT_SEED,
	OPT_CHECK,
	OPT_REFERENCE,
	OPT_JSON,
	OPT_PTX,
	OPT_TOOLCHAIN,
	OPT_LIBRARY,
	OPT_DEVICE,
	OPT_CLASS,
	OPT_START_AT,
	OPT_BARRIER,
	OPT_PARTIES,
	OPT_ROLE,
	OPT_DELAY,
	OPT_SLICES,
	OPT_COMMANDS,
	OPT_CALIBRATE
};

static const struct option options[] = {
	{"size", required_argument, NULL, OPT_SIZE},
	{"scale", required_argument, NULL, OPT_SCALE},
	{"repeat", required_argument, NULL, OPT_REPEAT},
	{"for-ms", required_argument, NULL, OPT_FOR_MS},
	{"until", required_argument, NULL, OPT_UNTIL},
	{"seed", required_argument, NULL, OPT_SEED},
	{"check", required_argument, NULL, OPT_CHECK},
	{"reference", required_argument, NULL, OPT_REFERENCE},
	{"json", no_argument, NULL, OPT_JSON},
	{"ptx", required_argument, NULL, OPT_PTX},
	{"toolchain", required_argument, NULL, OPT_TOOLCHAIN},
	{"library", no_argument, NULL, OPT_LIBRARY},
	{"device", required_argument, NULL, OPT_DEVICE},
	{"device-class", required_argument, NULL, OPT_CLASS},
	{"start-at", required_argument, NULL, OPT_START_AT},
	{"barrier", required_argument, NULL, OPT_BARRIER},
	{"parties", required_argument, NULL, OPT_PARTIES},
	{"role", required_argument, NULL, OPT_ROLE},
	{"delay-us", required_argument, NULL, OPT_DELAY},
	{"slices", required_argument, NULL, OPT_SLICES},
	{"commands", no_argument, NULL, OPT_COMMANDS},
	{"calibrate", no_argument, NULL, OPT_CALIBRATE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool parse_real(const char *text, double *ret_value)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 0.0))
		return false;
	*ret_value = v;
	return true;
}

static bool parse_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 0);
	if (end == text || *end || *text == '-' || v > max)
		return false;
	*ret_value = v;
	return true;
}

static bool parse_unsigned(const char *text, unsigned *ret_value)
{
	uint64_t v;
	if (!parse_u64(text, UINT_MAX, &v))
		return false;
	*ret_value = (unsigned)v;
	return true;
}

/* `choices` is "a|b|c". */
static bool parse_choice(const char *text, const char *choices, const char **ret_value)
{
	size_t len = strlen(text);
	for (const char *c = choices; c; c = strchr(c, '|')) {
		c += *c == '|';
		if (!strncmp(c, text, len) && (c[len] == '|' || !c[len])) {
			*ret_value = text;
			return true;
		}
	}
	return false;
}

static bool take_option(int opt, const char *v, struct ex_options *o)
{
	switch (opt) {
	case OPT_SIZE:
		return parse_choice(v, "large|small|trivial", &o->size);
	case OPT_SCALE:
		return parse_real(v, &o->scale) && o->scale > 0.0;
	case OPT_REPEAT:
		return parse_unsigned(v, &o->repeat);
	case OPT_FOR_MS:
		return parse_real(v, &o->for_ms);
	case OPT_UNTIL:
		o->until = v;
		return true;
	case OPT_SEED:
		return parse_u64(v, UINT64_MAX, &o->seed);
	case OPT_CHECK:
		return parse_choice(v, "each|last|none", &o->check);
	case OPT_REFERENCE:
		o->reference = v;
		return true;
	case OPT_JSON:
		return o->json = true;
	case OPT_PTX:
		o->ptx = v;
		return true;
	case OPT_TOOLCHAIN:
		return parse_choice(v, "nvcc|clang", &o->toolchain);
	case OPT_LIBRARY:
		return o->library = true;
	case OPT_DEVICE:
		return parse_unsigned(v, &o->device);
	case OPT_CLASS:
		return parse_choice(v, "gpu|cpu", &o->device_class);
	case OPT_START_AT:
		return parse_u64(v, UINT64_MAX, &o->start_at_ns);
	case OPT_BARRIER:
		o->barrier = v;
		return true;
	case OPT_PARTIES:
		return parse_unsigned(v, &o->parties) && o->parties > 0;
	case OPT_ROLE:
		return parse_choice(v, "low|high", &o->role);
	case OPT_DELAY:
		return parse_real(v, &o->delay_us);
	case OPT_SLICES:
		return parse_unsigned(v, &o->slices) && o->slices > 0;
	case OPT_COMMANDS:
		return o->commands = true;
	case OPT_CALIBRATE:
		return o->calibrate = true;
	}
	return false;
}

int ex_parse(int argc, char **argv, struct ex_options *ret_options)
{
	struct ex_options o = {.size = "small",
		.scale = 1.0,
		.repeat = 1,
		.seed = 1,
		.check = "each",
		.parties = 2,
		.role = "low"};
	int opt, index = 0;
	while ((opt = getopt_long(argc, argv, "h", options, &index)) != -1) {
		if (opt == 'h') {
			printf(usage, argv[0]);
			return 1;
		}
		if (!take_option(opt, optarg, &o)) {
			if (opt != '?')
				fprintf(stderr, "%s: bad value '%s' for --%s\n", argv[0],
					optarg ? optarg : "", options[index].name);
			fprintf(stderr, usage, argv[0]);
			return 3;
		}
	}
	if (optind < argc ||
		(o.barrier && (o.for_ms > 0.0 || o.until)) || /* parties must agree on the rounds */
		(o.commands && (o.barrier || o.for_ms > 0.0 || o.until || !o.json)) ||
		(o.slices && !o.ptx)) {
		fprintf(stderr, usage, argv[0]);
		return 3;
	}
	*ret_options = o;
	return 0;
}

void ex_find_ptx(const struct ex_options *o, const char *name, char *ret_path, size_t size)
{
	static const char *const chains[] = {"nvcc", "clang"};
	if (o->ptx) {
		snprintf(ret_path, size, "%s", o->ptx);
		return;
	}
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[len < 0 ? 0 : len] = '\0';
	const char *dir = dirname(self);
	for (unsigned k = 0; k < 2; k++) {
		const char *chain = o->toolchain ? o->toolchain : chains[k];
		snprintf(ret_path, size, "%s/../kernels/%s/%s.ptx", dir, chain, name);
		if (access(ret_path, R_OK) == 0)
			return;
	}
}
