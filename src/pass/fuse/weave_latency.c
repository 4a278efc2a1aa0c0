/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Estimates the latency of an instruction (latency.def). */
#include "pass/fuse/weave.h"

static const uint16_t of_unit[PTX_UNIT_COUNT] = {
#define LATENCY_UNIT(unit, cycles) [PTX_UNIT_##unit] = (cycles),
#define LATENCY_SPACE(space, cycles)
#define LATENCY_OP(op, cycles)
#include "pass/fuse/latency.def"
#undef LATENCY_UNIT
#undef LATENCY_SPACE
#undef LATENCY_OP
};

static const struct {
	uint8_t space;
	uint16_t cycles;
} spaces[] = {
#define LATENCY_UNIT(unit, cycles)
#define LATENCY_SPACE(space, cycles) {PTX_##space, (cycles)},
#define LATENCY_OP(op, cycles)
#include "pass/fuse/latency.def"
#undef LATENCY_SPACE
#undef LATENCY_OP
};

static const struct {
	enum ptx_op op;
	uint16_t cycles;
} ops[] = {
#define LATENCY_SPACE(space, cycles)
#define LATENCY_OP(op, cycles) {PTX_OP_##op, (cycles)},
#include "pass/fuse/latency.def"
#undef LATENCY_UNIT
#undef LATENCY_SPACE
#undef LATENCY_OP
};

uint32_t weave_latency(const struct ptx_stmt *s)
{
	uint32_t cycles;

	if (s->kind != PTX_INSN)
		return 0;
	cycles = of_unit[s->mn->unit];
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (s->mn->flags & (PTX_F_READS_MEM | PTX_F_ATOMIC) &&
			s->mn->unit == PTX_UNIT_LSU && s->mn->space == spaces[i].space)
			cycles = spaces[i].cycles;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (s->mn->op == ops[i].op)
			cycles = ops[i].cycles;
	return cycles;
}
