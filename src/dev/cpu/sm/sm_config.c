/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's configuration: defaults scaled down from sm_90, which HEDDLE_VGPU can change.
 * Also computes how much of an SM's resources a block takes. */
#include "dev/cpu/vgpu.h"
#include "sm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARP_REGS   256 /* registers are allocated to a warp in multiples of this */
#define LEAST_REGS  16  /* no assembler uses fewer a thread */
#define SHARED_UNIT 128

static void set_defaults(struct sm_config *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	*c = (struct sm_config){
		.n_sms = 8,
		.threads = 2048,
		.blocks = SM_MAX_SLOTS,
		.regs = 65536,
		.shared_bytes = 228 * 1024,
		.memory_bytes = MIN(ram / 2, (uint64_t)8 << 30),
		.workers = cores > 0 ? (uint32_t)MIN(cores, 64) : 1,
		.report = "stderr",
	};
}

/* Parses a number with an optional K, M or G. */
static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);

	if (errno || end == text || *text == '-')
		return false;
	const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		unsigned shift = 10 * (unsigned)(unit - units + 1);
		if (v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		end++;
	}
	if (*end || v < min || v > max)
		return false;
	*ret = v;
	return true;
}

static bool set_number(struct sm_config *c, const char *key, const char *value)
{
	uint64_t v;

	if (!strcmp(key, "sms") && parse_number(value, 1, SM_MAX_SMS, &v))
		c->n_sms = (uint32_t)v;
	else if (!strcmp(key, "devices") && parse_number(value, 1, SM_MAX_DEVICES, &v))
		c->devices = (uint32_t)v;
	else if (!strcmp(key, "workers") && parse_number(value, 1, 256, &v))
		c->workers = (uint32_t)v;
	else if (!strcmp(key, "blocks") && parse_number(value, 1, SM_MAX_SLOTS, &v))
		c->blocks = (uint32_t)v;
	else if (!strcmp(key, "threads") && parse_number(value, 1024, 2048, &v))
		c->threads = (uint32_t)round_up(v, 32);
	else if (!strcmp(key, "registers") && parse_number(value, 4096, 65536, &v))
		c->regs = (uint32_t)v;
	else if (!strcmp(key, "memory") && parse_number(value, 1 << 20, (uint64_t)1 << 40, &v))
		c->memory_bytes = v;
	else if (!strcmp(key, "turns") && parse_number(value, 0, UINT64_MAX, &v))
		c->turns = v;
	else if (!strcmp(key, "garbage") && parse_number(value, 0, UINT64_MAX, &v))
		c->garbage = v;
	else if (!strcmp(key, "weak") && parse_number(value, 0, UINT64_MAX, &v))
		c->weak = v;
	else if (!strcmp(key, "assemble") && parse_number(value, 0, 600000, &v))
		c->assemble_ms = (uint32_t)v;
	else
		return false;
	return true;
}

/* Sets *to to the index of a name in a NULL-terminated list. Returns false if it is not there. */
static bool set_name(uint8_t *to, const char *const *names, const char *value)
{
	for (uint8_t i = 0; names[i]; i++) {
		if (strcmp(names[i], value))
			continue;
		*to = i;
		return true;
	}
	return false;
}

static bool set_text(char *to, size_t size, const char *value)
{
	if (!*value || strlen(value) >= size)
		return false;
	snprintf(to, size, "%s", value);
	return true;
}

static const char *const converge_names[] = {
	[VC_NONE] = "none", [VC_POSTDOM] = "postdom", [VC_JOINS] = "joins", NULL};
static const char *const fma_names[] = {[VF_PTXAS] = "ptxas", [VF_NONE] = "none", NULL};

static bool set_word(struct sm_config *c, char *word)
{
	char *value = strchr(word, '=');

	if (value) {
		*value++ = 0;
		if (!strcmp(word, "report"))
			return set_text(c->report, sizeof(c->report), value);
		if (!strcmp(word, "crash"))
			return set_text(c->crash, sizeof(c->crash), value);
		if (!strcmp(word, "hang"))
			return set_text(c->hang, sizeof(c->hang), value);
		if (!strcmp(word, "count"))
			return set_text(c->count, sizeof(c->count), value);
		if (!strcmp(word, "converge"))
			return set_name(&c->converge, converge_names, value);
		if (!strcmp(word, "fma"))
			return set_name(&c->fma, fma_names, value);
		return set_number(c, word, value);
	}
	if (!strcmp(word, "serial")) {
		c->serial = true;
		return true;
	}
	if (!strcmp(word, "once")) {
		c->once = true;
		return true;
	}
	size_t len =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	if (word[len] || len >= sizeof(c->name) || c->name[0])
		return false;
	memcpy(c->name, word, len + 1);
	return true;
}

int sm_config_parse(const char *text, struct sm_config *ret)
{
	char copy[512], *save = NULL;
	int r = 0;

	set_defaults(ret);
	if (!text)
		return 0;
	if (strlen(text) >= sizeof(copy)) {
		snprintf(ret->wrong, sizeof(ret->wrong), "%.39s", text);
		return -EINVAL;
	}
	memcpy(copy, text, strlen(text) + 1);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char whole[sizeof(ret->wrong)];

		snprintf(whole, sizeof(whole), "%.39s", w); /* set_word cuts it at '=' */
		if (set_word(ret, w))
			continue;
		r = -EINVAL;
		if (!*ret->wrong)
			memcpy(ret->wrong, whole, sizeof(whole));
	}
	return r;
}

uint32_t sm_workers(const struct sm_config *c)
{
	return MAX(c->workers / MAX(c->devices, 1), 1);
}

struct sm_demand sm_demand_of(uint32_t threads, uint32_t regs_per_thread, uint32_t shared_bytes)
{
	uint32_t warps = (threads + 31) / 32;

	return (struct sm_demand){
		.threads = warps * 32,
		.regs = warps * (uint32_t)round_up(regs_per_thread * 32, WARP_REGS),
		.shared_bytes = (uint32_t)round_up(
			(uint64_t)shared_bytes + VGPU_SHARED_RESERVED, SHARED_UNIT),
	};
}

void sm_demand_limit(const struct sm_config *c, struct sm_demand *d)
{
	d->regs = MIN(d->regs, MAX(c->regs, d->threads * LEAST_REGS));
}

uint32_t sm_blocks_per_sm(const struct sm_config *c, const struct sm_demand *d)
{
	uint32_t n = c->blocks;

	if (d->threads)
		n = MIN(n, c->threads / d->threads);
	if (d->regs)
		n = MIN(n, c->regs / d->regs);
	if (d->shared_bytes)
		n = MIN(n, c->shared_bytes / d->shared_bytes);
	return n;
}
