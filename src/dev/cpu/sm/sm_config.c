/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's configuration: defaults scaled down from sm_90, which HEDDLE_VGPU can change.
 * Also computes how much of an SM's resources a block takes. */
#include "base/number.h"
#include "dev/cpu/vgpu.h"
#include "sm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARP_REGS   256 /* a warp's registers are allocated in multiples of this */
#define LEAST_REGS  16  /* assemblers use at least this many registers per thread */
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

/* ---- words of HEDDLE_VGPU ---- */

enum word_kind {
	WORD_FLAG,   /* a bool; the word has no value */
	WORD_NUMBER, /* a field of 4 or 8 bytes; the value is between min and max */
	WORD_CHOICE, /* a field of one byte: index of the value in `names` */
	WORD_TEXT,
};
static const char *const converge_names[] = {[VC_NONE] = "none", [VC_POSTDOM] = "postdom", NULL};
static const char *const fma_names[] = {[VF_PTXAS] = "ptxas", [VF_NONE] = "none", NULL};

#define FIELD(f) offsetof(struct sm_config, f), sizeof(((struct sm_config *)0)->f)

static const struct word {
	const char *key;
	enum word_kind kind;
	size_t at, bytes; /* offset and size of the field */
	uint64_t min, max;
	const char *const *names; /* list that ends with NULL */
} words[] = {
	{"sms", WORD_NUMBER, FIELD(n_sms), .min = 1, .max = SM_MAX_SMS},
	{"devices", WORD_NUMBER, FIELD(devices), .min = 1, .max = SM_MAX_DEVICES},
	{"workers", WORD_NUMBER, FIELD(workers), .min = 1, .max = 256},
	{"blocks", WORD_NUMBER, FIELD(blocks), .min = 1, .max = SM_MAX_SLOTS},
	{"threads", WORD_NUMBER, FIELD(threads), .min = 1024, .max = 2048},
	{"registers", WORD_NUMBER, FIELD(regs), .min = 4096, .max = 65536},
	{"memory", WORD_NUMBER, FIELD(memory_bytes), .min = 1 << 20, .max = (uint64_t)1 << 40},
	{"report", WORD_TEXT, FIELD(report)},
	{"converge", WORD_CHOICE, FIELD(converge), .names = converge_names},
	{"fma", WORD_CHOICE, FIELD(fma), .names = fma_names},
	{"turns", WORD_NUMBER, FIELD(turns), .max = UINT64_MAX},
	{"garbage", WORD_NUMBER, FIELD(garbage), .max = UINT64_MAX},
	{"weak", WORD_NUMBER, FIELD(weak), .max = UINT64_MAX},
	{"assemble", WORD_NUMBER, FIELD(assemble_ms), .max = 600000},
	{"crash", WORD_TEXT, FIELD(crash)},
	{"hang", WORD_TEXT, FIELD(hang)},
	{"count", WORD_TEXT, FIELD(count)},
	{"once", WORD_FLAG, FIELD(once)},
	{"serial", WORD_FLAG, FIELD(serial)},
};

/* Returns false if the value is not valid for this word. */
static bool set_field(struct sm_config *c, const struct word *w, const char *value)
{
	char *to = (char *)c + w->at;
	uint64_t v = 0;

	switch (w->kind) {
	case WORD_FLAG:
		*(bool *)to = !value;
		return !value;
	case WORD_NUMBER:
		if (!value || number_parse_scaled(value, w->min, w->max, &v) < 0)
			return false;
		if (w->bytes == sizeof(uint64_t))
			*(uint64_t *)(void *)to = v;
		else
			*(uint32_t *)(void *)to = (uint32_t)v;
		return true;
	case WORD_CHOICE:
		while (value && w->names[v] && strcmp(w->names[v], value))
			v++;
		if (!value || !w->names[v])
			return false;
		*(uint8_t *)to = (uint8_t)v;
		return true;
	case WORD_TEXT:
		if (!value || !*value || strlen(value) >= w->bytes)
			return false;
		snprintf(to, w->bytes, "%s", value);
		return true;
	}
	return false;
}

/* ---- messages about valid words and values ---- */

static void say(struct sm_config *c, const char *fmt, ...) HD_PRINTF(2, 3);
static void say(struct sm_config *c, const char *fmt, ...)
{
	size_t len = strlen(c->valid);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->valid + len, sizeof(c->valid) - len, fmt, ap);
	va_end(ap);
}

/* Appends the valid values of a word to c->valid. */
static void say_values(struct sm_config *c, const struct word *w)
{
	switch (w->kind) {
	case WORD_FLAG:
		say(c, "%s has no value", w->key);
		break;
	case WORD_NUMBER:
		say(c, "%s is a number from %" PRIu64, w->key, w->min);
		if (w->max != UINT64_MAX)
			say(c, " to %" PRIu64, w->max);
		break;
	case WORD_CHOICE:
		say(c, "%s is %s", w->key, w->names[0]);
		for (unsigned i = 1; w->names[i]; i++)
			say(c, "%s%s", w->names[i + 1] ? ", " : " or ", w->names[i]);
		break;
	case WORD_TEXT:
		say(c, "%s is a text of 1 to %zu bytes", w->key, w->bytes - 1);
		break;
	}
}

static void say_words(struct sm_config *c)
{
	say(c, "the words are NAME");
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		say(c, "%s%s%s", i + 1 < ARRAY_LEN(words) ? ", " : " and ", words[i].key,
			words[i].kind == WORD_FLAG ? "" : "=");
}

/* ---- parsing ---- */

static bool set_name(struct sm_config *c, const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	if (name[len] || len >= sizeof(c->name) || c->name[0])
		return false;
	memcpy(c->name, name, len + 1);
	return true;
}

/* Returns true if the text is valid. Otherwise adds what is valid to c->valid, unless it has a text
 * already. */
static bool set_word(struct sm_config *c, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : NULL;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const struct word *w = &words[i];

		if (strlen(w->key) != len || memcmp(w->key, text, len) != 0 ||
			(!value && w->kind != WORD_FLAG))
			continue;
		if (set_field(c, w, value))
			return true;
		if (!*c->valid)
			say_values(c, w);
		return false;
	}
	if (!value && set_name(c, text))
		return true;
	if (*c->valid)
		return false;
	if (!value && c->name[0])
		say(c, "the instance's name is '%.40s' already; ", c->name);
	say_words(c);
	return false;
}

int sm_config_parse(const char *text, struct sm_config *ret)
{
	char copy[512], *save = NULL;
	int r = 0;

	set_defaults(ret);
	if (!text)
		return 0;
	if (strlen(text) >= sizeof(copy)) {
		snprintf(ret->wrong, sizeof(ret->wrong), "%.36s...", text);
		say(ret, "at most %zu bytes are read", sizeof(copy) - 1);
		return -EINVAL;
	}
	memcpy(copy, text, strlen(text) + 1);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		if (set_word(ret, w))
			continue;
		r = -EINVAL;
		if (!*ret->wrong)
			snprintf(ret->wrong, sizeof(ret->wrong), "%.39s", w);
	}
	ret->threads = (uint32_t)round_up(ret->threads, 32);
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
