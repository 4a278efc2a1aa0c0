/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decoded code. Each kernel has its own program: its body and every function that it can reach,
 * with the shared memory laid out for this kernel. An instruction contains a pointer to its handler
 * function, which is chosen by operation, type and host CPU.
 *
 * An operand is a byte offset. It points to the values of 32 adjacent lanes, either in the frame's
 * registers or, if the lowest bit is set, in the function's constants. Values of up to 32 bits take
 * 4 bytes per lane, wider ones 8 (128 bits take two registers). A predicate is one 32-bit word with
 * a bit per lane. Decoded code never changes, so many threads can execute it at once. */
#ifndef HEDDLE_VGPU_CODE_H
#define HEDDLE_VGPU_CODE_H

#include "mem.h"
#include "ptx/ptx.h"

#include <pthread.h>

struct vx;
struct vinsn;
typedef const struct vinsn *vop_fn(struct vx *x, const struct vinsn *in);

enum vinsn_flag {
	VI_FTZ = 1,
	VI_SAT = 2,
	VI_SIGNED = 4, /* loads: sign-extend */
	VI_ADDR32 = 8, /* the address register has 32 bits per lane */
	VI_WIDE = 16,  /* the destination register has 8 bytes per lane */
	/* volatile, relaxed, acquire, release: exactly one memory access per lane */
	VI_STRONG = 32,
	VI_ACQUIRE = 64,
	VI_RELEASE = 128,
	VI_PSEUDO = 256, /* added by the decoder: takes no time and is not counted */
	VI_UNALIGNED = 512,
	VI_TABLE = 2048,
	VI_FRAME = 1024,   /* the address is an offset in the frame's local memory */
	VI_LAYERED = 8192, /* textures and surfaces: the first coordinate is the layer */
	/* for conversions: a number that is too large becomes the largest finite number */
	VI_FINITE = 4096,
};

struct vinsn {
	vop_fn *fn;
	uint32_t d, a, b, c;       /* d: destination; a, b, c: sources */
	uint32_t guard, guard_xor; /* lanes that execute: active & (predicate ^ guard_xor) */
	uint16_t flags;
	uint8_t cost;  /* virtual cycles to issue the instruction */
	uint8_t round; /* enum vround */
	/* size: bytes of an element; vec: number of elements; space: enum ptx_space; op: its
	 * meaning depends on the handler */
	uint8_t size, vec, space, op;
	union {
		uint64_t imm; /* address offset, mask, … */
		const struct vinsn *target;
	};
	/* index of more operands (in func->ext), of a range cache, or of a call (in func->calls) */
	uint32_t x;
	uint32_t line;
	uint32_t table; /* VI_TABLE: index in func->ext; branches: index in func->waits */
};

enum vround { VR_RN, VR_RZ, VR_RM, VR_RP, VR_RNA };

struct vcopy { /* an argument or a result of a call */
	uint32_t bytes;
	uint32_t from, to;              /* offsets of registers, or of bytes in local memory */
	bool from_reg, to_reg, is_pred; /* is_pred: a predicate register, one bit per lane */
};
struct vcall {
	struct vfunc *callee; /* NULL for an indirect call */
	const char *name;     /* name of a callee that has no body */
	vop_fn *builtin;
	uint32_t n_args, n_rets;
	/* arguments and results; for an indirect call, `to` of args and `from` of rets use the
	 * callee's numbering */
	struct vcopy *args, *rets;
};

struct vformal {
	uint32_t at, bytes;
	bool is_reg, is_pred;
};

struct vfunc {
	const struct ptx_func *ptx;
	const char *name;
	uint32_t index;
	struct vinsn *code;
	/* reg_bytes, const_bytes: of the frame; local_bytes: per lane; all multiples of 16 */
	uint32_t n_code, reg_bytes, const_bytes, local_bytes;
	uint8_t *consts;
	uint32_t *ext;
	struct vcall *calls;
	/* targets: the possible targets of brx.idx branches. waits: for each branch at which lanes
	 * can diverge, the points where these lanes converge, as two NULL-terminated lists. */
	const struct vinsn **targets, **waits;
	struct vformal *params, *rets;
	uint32_t n_params, n_rets;
};

struct vprogram {
	struct arena arena;
	struct vfunc *funcs; /* funcs[0] is the kernel */
	/* n_ranges: range caches per block */
	uint32_t n_funcs, n_counts, static_shared_bytes, n_ranges;
	struct vform *forms; /* one for each kernel of the form (decode/form.h) */
	uint32_t n_forms;
	bool reserved;    /* the program reads the address of reserved shared memory */
	uint64_t *counts; /* execution counts (counts.h); NULL: not counted */
};

struct vgpu_kernel {
	struct vgpu_module *mod;
	struct ptx_func *ptx;
	struct vgpu_kernel_info info;
	pthread_mutex_t lock; /* held while the kernel is decoded; protects `program` and `error` */
	struct vprogram *program;
	int error;
};

struct vglobal {
	struct ptx_sym *sym;
	uint64_t addr, bytes;
	bool is_shared; /* managed variable that belongs to another module (vgpu_module_share) */
};

struct vgpu_module {
	struct vgpu_mem *mem;
	struct ptx_module *ptx;
	char *text;
	uint32_t *lines; /* for each of the n_lines lines of the text: its source line; or NULL */
	/* functions have addresses from func_base on, which no other module uses */
	uint64_t text_len, n_lines, func_base;
	struct vgpu_kernel *kernels;
	unsigned n_kernels;
	enum vgpu_converge converge;
	bool fuses_none;
	/* guards `fused`, and the bodies of functions that are not fused yet */
	pthread_mutex_t fusing;
	bool *fused; /* for each of funcs: true once vgpu_fuse has processed it; or NULL */
	VEC(struct vglobal) globals;
	VEC(struct ptx_func *) funcs; /* the address of funcs.at[i] is func_base + 16 * i */
};

/* Windows of the generic address space. They are above all host addresses. */
#define VGPU_SHARED_BASE 0x0001000000000000ull
#define VGPU_LOCAL_BASE  0x0001000100000000ull
#define VGPU_PARAM_BASE  0x0001000200000000ull
#define VGPU_FUNC_BASE   0x0001000300000000ull
#define VGPU_WINDOW      0x100000000ull

int vgpu_program_of(const struct vgpu_kernel *k, struct vprogram **ret);
int vgpu_decode(struct vgpu_kernel *k, struct vprogram **ret);
void vgpu_program_free(struct vprogram *p);
/* Fuses those multiplications and additions in these functions that ptxas would fuse (in
 * fuse_fma.c). The caller holds the lock mod->fusing. */
int vgpu_fuse(struct vgpu_module *mod, const ptx_func_list *funcs);
struct vglobal *vgpu_global_of(struct vgpu_module *mod, const struct ptx_sym *sym);
uint64_t vgpu_func_addr(const struct vgpu_module *mod, const struct ptx_func *f);
int vgpu_init_globals(struct vgpu_module *mod, struct diag_list *diags);
/* Computes an order of n basic blocks, entry first, in ret_order (in order.c). succ lists the
 * successors of all blocks. */
int vgpu_order_blocks(uint32_t n, const uint32_t *first_succ, const uint32_t *succ, struct arena *a,
	uint32_t *ret_order);

/* A handler function and its name, such as "add.u32". Each kind of host CPU has its own set of
 * handler tables. vgpu_vec_find returns NULL for an unknown name. */
struct vop_entry {
	const char *key;
	vop_fn *fn;
};
vop_fn *vgpu_vec_find(const char *key);
/* For tests: use only the vector instructions that every host has. Call it before any module is
 * loaded. */
void vgpu_vec_plain(void);

#endif
