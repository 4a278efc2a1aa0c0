/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For cases of pools beside others: a kernel that adds to a word, one that waits for a word, and a
 * pool with both as tasks. */
#ifndef HEDDLE_TESTS_RT_PUT_AWAIT_H
#define HEDDLE_TESTS_RT_PUT_AWAIT_H

static const char ptx[] =
	".version 6.0\n.target sm_70\n.address_size 64\n"
	".visible .entry put(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n" /* *p += a */
	".reg .b64 %a; .reg .b32 %v;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %v, [a];\n"
	"red.global.add.u32 [%a], %v;\nret;\n}\n"
	/* waits until *p is a */
	".visible .entry await(.param .u64 p, .param .u32 a, .param .u32 b)\n{\n"
	".reg .b64 %a; .reg .b32 %v; .reg .b32 %r; .reg .pred %q;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %v, [a];\n"
	"$again:\nld.volatile.global.u32 %r, [%a];\nsetp.ne.u32 %q, %r, %v;\n@%q bra $again;\n"
	"ret;\n}\n";
static const char *const names[] = {"put", "await"};
static unsigned data[64];
#include "opened_pool.h"

enum { PUT, AWAIT };
static unsigned number[2];

static void make(struct heddle_tasks_options o)
{
	make_pool(o, number, 2);
}

static unsigned word(unsigned i)
{
	assert_int_equal(heddle_read(h, data, at, sizeof(data)), 0);
	return data[i];
}

static void set_word(unsigned i, unsigned v)
{
	assert_int_equal(heddle_write(h, at + 4ul * i, &v, sizeof(v)), 0);
}

#endif
