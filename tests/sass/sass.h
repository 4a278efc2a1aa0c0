/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Machine code (SASS) of one module, as decoded from nvdisasm's listing, and the state of blocks
 * that run it. The code runs behind the virtual GPU's driver: memory, streams and launches are the
 * driver's; only loading also compiles, and blocks are stepped here (hook.c).
 *
 * A part is a set of lanes of one warp that run together, at one place. Parts split at branches and
 * meet only where the code says so: at BSYNC, at WARPSYNC. Nothing else joins lanes, even where two
 * parts come to the same place: this is what ptxas may not assume and does. Predicates are a bit a
 * lane. Uniform registers belong to the warp: each part that passes executes the instruction. */
#ifndef HEDDLE_TEST_SASS_H
#define HEDDLE_TEST_SASS_H

#include "dev/cpu/vgpu.h"

#include <stdatomic.h>
#include <string.h>

#define LANES   32
#define RZ      255
#define URZ     63
#define PT      7
#define MAX_OPD 9
/* The first KiB of shared memory is the device's. */
#define SHARED_RESERVED 1024u
#define CODE_BASE       0x0002000000000000ull
#define CODE_SECTION    0x1000000ull
#define BUILTIN_BASE    0x0003000000000000ull

enum sass_opd_kind {
	O_NONE,
	O_REG,
	O_UREG,
	O_PRED,
	O_UPRED,
	O_IMM,
	O_FLOAT,
	O_CONST, /* c[bank][reg + ureg + imm] */
	O_MEM,	 /* [reg + ureg + imm] */
	O_LABEL, /* imm: address of code */
	O_SPECIAL,
	O_BARRIER, /* B0 to B15 */
	O_ALL_PREDS,
	O_OTHER,
};

struct sass_opd {
	uint8_t kind, reg, ureg, half; /* half: 1: .H0_H0, 2: .H1_H1, 3: .H0_H1 spelled out */
	bool neg, abs, inv, wide;      /* inv: ! or ~; wide: the address register is a pair */
	uint8_t bank, scale;
	int64_t imm; /* of O_SPECIAL: enum sass_special */
	double f;
};

#define SASS_MODS(X)                                                                              \
	X(32) X(64) X(128) X(U8) X(S8) X(U16) X(S16) X(U32) X(S32) X(U64) X(S64) X(F16) X(F32)    \
	X(F64) X(E) X(STRONG) X(SYS) X(GPU) X(SM) X(CTA) X(CONSTANT) X(WEAK) X(VC) X(LT) X(LE)    \
	X(EQ) X(NE) X(GT) X(GE) X(LTU) X(LEU) X(EQU) X(NEU) X(GTU) X(GEU) X(NUM) X(NAN) X(AND)    \
	X(OR) X(XOR) X(EX) X(X) X(HI) X(LO) X(WIDE) X(SX32) X(L) X(R) X(W) X(MOV) X(IADD) X(SHL)  \
	X(FTZ) X(SAT) X(RN) X(RM) X(RP) X(RZ) X(TRUNC) X(FLOOR) X(CEIL) X(NTZ) X(RCP) X(RSQ)      \
	X(SQRT) X(EX2) X(LG2) X(SIN) X(COS) X(TANH) X(RCP64H) X(RSQ64H) X(LUT) X(ANY) X(ALL)      \
	X(IDX) X(UP) X(DOWN) X(BFLY) X(SUM) X(MIN) X(MAX) X(ADD) X(INC) X(DEC) X(EXCH) X(CAS)     \
	X(POPC) X(SYNC) X(ARV) X(RED) X(DEFER_BLOCKING) X(RESULT) X(CLEAR) X(DIV) X(COLLECTIVE)   \
	X(REL) X(ABS) X(NOINC) X(NODEC) X(SC) X(IVALL) X(PACK_AB) X(MMA) X(BF16_V2) X(F4E) X(B4E) \
	X(RC8) X(ECL) X(ECR) X(RC16) X(16816) X(1688) X(BF16) X(4A) X(2A) X(SH) X(TRAP) X(16)     \
	X(M88) X(2) X(4) X(MT88) X(T) X(EF) X(EL) X(LU) X(EU) X(NA) X(BYPASS) X(LTC64B) X(LTC128B) \
	X(NOSLEEP) X(RELU) X(PAND) X(TF32) X(16832) X(F32x2) X(NP) X(CONV) X(U) X(ZFILL)            \
	X(INVALIDATE) X(PIVALL) X(XORSIGN) X(BF) X(MERGE_C) X(ST64)

enum sass_mod {
#define X(m) M_##m,
	SASS_MODS(X)
#undef X
		M_COUNT,
};
_Static_assert(M_COUNT <= 192, "three words of modifiers");

enum sass_special {
	SR_TID_X,
	SR_TID_Y,
	SR_TID_Z,
	SR_CTAID_X,
	SR_CTAID_Y,
	SR_CTAID_Z,
	SR_LANEID,
	SR_CGACTAID,
	SR_EQMASK,
	SR_LTMASK,
	SR_LEMASK,
	SR_GTMASK,
	SR_GEMASK,
	SR_GLOBALTIMERLO,
	SR_GLOBALTIMERHI,
	SR_CLOCKLO,
	SR_CLOCKHI,
	SR_SWINHI,
	SR_VIRTUALSMID,
	SR_VIRTID,
	SR_SRZ,
	SR_COUNT,
};

struct sass_x;
struct sass_insn;
/* What follows an instruction. */
enum sass_next {
	N_NEXT, /* the next instruction, by all lanes */
	N_SET,	/* x->part (if any is left of it) is placed already, and goes on */
	N_WAIT, /* the part waits, or is gone, or gives its turn away: another one is chosen */
};
typedef enum sass_next sass_fn(struct sass_x *x, const struct sass_insn *in);

struct sass_insn {
	sass_fn *fn; /* NULL: not known */
	uint64_t mods[3];
	uint8_t guard, n; /* guard: a predicate's number */
	bool guard_uniform, guard_not;
	uint8_t n_pred_out; /* leading predicates of the results behind the first one */
	uint8_t op;	    /* the row's own number */
	uint32_t at;	    /* offset in its section */
	uint32_t section;
	struct sass_opd o[MAX_OPD];
	const char *text;
};

static inline bool has(const struct sass_insn *in, enum sass_mod m)
{
	return in->mods[m / 64] >> m % 64 & 1;
}

struct sass_symbol {
	const char *name;
	uint64_t value, size;
	uint16_t section;
	uint8_t type;
};

struct sass_section {
	const char *name;
	uint32_t first, n; /* instructions */
};

struct sass_reloc {
	uint32_t section; /* that is changed */
	uint64_t offset;
	const char *symbol;
	int64_t addend;
};

struct sass_elf_section {
	const char *name;
	const uint8_t *at; /* NULL: NOBITS */
	uint64_t size;
	uint32_t info;
};

struct sass_code {
	char *listing;	/* its text, cut into words */
	uint8_t *cubin; /* the file */
	size_t cubin_len;
	struct sass_insn *insns;
	uint32_t n_insns, cap_insns;
	struct sass_section *sections;
	uint32_t n_sections, cap_sections;
	struct sass_symbol *labels; /* of the listing: value: address of code */
	uint32_t n_labels, cap_labels;
	struct sass_elf_section *elf;
	uint32_t n_elf;
	struct sass_symbol *symbols;
	uint32_t n_symbols;
	struct sass_reloc *relocs;
	uint32_t n_relocs, cap_relocs;
};

/* listing.c: 0, -EINVAL with *ret_why, -ENOMEM. Takes the text over. */
int sass_listing_parse(struct sass_code *c, char *text, const char **ret_why);
int64_t sass_label(const struct sass_code *c, const char *name); /* -1: none */
/* decode.c: one instruction's text, without its address and semicolon; may write to it. in->fn
 * stays NULL for what is not known. */
void sass_decode(struct sass_code *c, struct sass_insn *in, char *text);
/* cubin.c */
int sass_cubin_parse(struct sass_code *c, const uint8_t *at, size_t len);
uint32_t sass_cubin_stack(const struct sass_code *c);
const struct sass_elf_section *sass_elf_section(const struct sass_code *c, const char *name);
/* compile.c: PTX to code, by ptxas and nvdisasm; *ret_why is what they said (static storage). */
int sass_compile(const char *ptx, size_t len, struct sass_code **ret, const char **ret_why);
void sass_code_free(struct sass_code *c);

/* ---- running ---- */

enum sass_part_state {
	P_READY,
	P_BSYNC,    /* arg: the convergence barrier */
	P_WARPSYNC, /* arg: the lanes it waits for */
	P_BAR,	    /* arg: the block barrier */
};

struct sass_part {
	uint32_t mask, pc, arg;
	uint8_t state;
	uint32_t back; /* where WARPSYNC.COLLECTIVE goes on */
};

struct sass_warp {
	uint32_t index, existing, live;
	uint32_t n, current; /* parts */
	bool asleep;
	struct sass_part part[LANES];
	uint32_t pred[8];
	uint32_t ur[64];
	uint32_t upred; /* bit 7 is always set */
	uint32_t b[16];
	uint32_t red_count, red_pred; /* B2R.RESULT */
	uint32_t tid[3][LANES];
	uint32_t (*r)[LANES];
};

struct sass_bar {
	uint32_t arrived, expected, count, all, any;
};

struct sass_kernel {
	struct sass_code *code;
	const char *name;
	uint32_t section, n_regs, shared_bytes, stack_bytes;
};

struct vgpu_block {
	const struct vgpu_launch *launch;
	const struct sass_kernel *kernel;
	struct vgpu_mem *mem;
	uint64_t index;
	uint32_t ctaid[3], smid, slot, n_warps, n_threads, shared_bytes, turn;
	uint8_t *shared, *local;
	uint8_t *bank[8];
	uint32_t bank_bytes[8];
	struct sass_warp *warps;
	uint32_t (*regs)[LANES];
	struct sass_bar bar[16];
	struct vgpu_fault fault;
	uint64_t clock, ran;
	uint64_t range_base, range_end, range_generation;
};

struct sass_x {
	struct vgpu_block *b;
	struct sass_warp *w;
	struct sass_part *part;
	const struct sass_code *code;
	uint32_t active, mask; /* of the part; less those that the guard leaves out */
};

void sass_fault(struct sass_x *x, const struct sass_insn *in, enum vgpu_fault_kind kind,
	unsigned lane, const char *fmt, ...) HD_PRINTF(5, 6);
enum sass_next sass_unknown(struct sass_x *x, const struct sass_insn *in, const char *what);

/* warp.c: parts and convergence */
struct sass_part *sass_split(struct sass_x *x, uint32_t lanes); /* into a new part, same pc */
void sass_remove(struct sass_x *x, uint32_t lanes);		/* they exit */
void sass_barriers_check(struct sass_x *x, struct sass_warp *w);
void sass_bar_check(struct sass_x *x, unsigned id);
sass_fn op_bssy, op_bsync, op_break, op_bmov, op_warpsync, op_endcollective, op_bra, op_brx,
	op_call, op_ret, op_exit, op_yield, op_bar, op_b2r, op_nanosleep, op_vote, op_shfl,
	op_match, op_redux, op_lepc, op_trap;

/* Reading operands: a pointer to 32 values, maybe tmp. */
typedef uint32_t lanes32[LANES];
typedef uint64_t lanes64[LANES];
const uint32_t *get32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp);
const uint32_t *get_f32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp);
/* A register pair, or 32 bits extended by sign if they are an immediate or asked for so. */
const uint64_t *get64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp);
const uint64_t *get_f64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp);
uint32_t get_pred(struct sass_x *x, const struct sass_opd *o);
void put32(struct sass_x *x, const struct sass_opd *o, const uint32_t *v);
void put64(struct sass_x *x, const struct sass_opd *o, const uint64_t *v);
void put_pred(struct sass_x *x, const struct sass_opd *o, uint32_t bits);
/* Registers behind the first one: n of them. */
void put_word(struct sass_x *x, const struct sass_opd *o, unsigned k, const uint32_t *v);
const uint32_t *get_word(struct sass_x *x, const struct sass_opd *o, unsigned k, uint32_t *tmp);
/* Memory; NULL after a fault. */
uint8_t *sass_global(struct sass_x *x, const struct sass_insn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write);

static inline float f32_of(uint32_t u)
{
	float f;
	memcpy(&f, &u, 4);
	return f;
}
static inline uint32_t u32_of(float f)
{
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}
static inline double f64_of(uint64_t u)
{
	double f;
	memcpy(&f, &u, 8);
	return f;
}
static inline uint64_t u64_of(double f)
{
	uint64_t u;
	memcpy(&u, &f, 8);
	return u;
}

#endif
