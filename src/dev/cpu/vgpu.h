/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's core: memory, code, and blocks. A block executes when a caller steps it. The
 * callers are the driver API (drv_*.c) and the block dispatcher (sm/); the core knows nothing about
 * streams, processes or the driver's lock. Several threads can step different blocks in one memory
 * at once. A global memory address is a host address, so kernels can access pinned host memory.
 * Shared and local memory have their own windows in the generic address space. */
#ifndef HEDDLE_VGPU_H
#define HEDDLE_VGPU_H

#include "base/base.h"
#include "base/diag.h"

/* ---- memory: allocations with exact bounds; every access is checked ---- */
struct vgpu_mem;
int vgpu_mem_create(uint64_t limit_bytes, struct vgpu_mem **ret);
void vgpu_mem_destroy(struct vgpu_mem *m);
/* The address is a multiple of 256. */
int vgpu_mem_alloc(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr);
/* Assigns the memory to a device. Other devices can access it only as peers (vgpu_launch.reach). */
void vgpu_mem_belongs(struct vgpu_mem *m, uint64_t addr, unsigned device);
int vgpu_mem_free(struct vgpu_mem *m, uint64_t addr);
/* vgpu_mem_hold keeps the storage of an allocation while code other than kernels uses it. If the
 * allocation is freed meanwhile, no other code can find it any more, but its storage stays until
 * vgpu_mem_drop. vgpu_mem_hold returns false if the bytes at addr are not within one allocation. */
bool vgpu_mem_hold(struct vgpu_mem *m, uint64_t addr, uint64_t bytes, uint64_t *ret_base);
void vgpu_mem_drop(struct vgpu_mem *m, uint64_t base);
/* Allocates pinned host memory; vgpu_mem_remove_host frees it. */
int vgpu_mem_alloc_host(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr);
/* Makes host memory accessible to kernels at its own address (cuMemHostRegister). Returns -EEXIST
 * if it overlaps an allocation, -EINVAL or -ENOMEM. */
int vgpu_mem_add_host(struct vgpu_mem *m, void *p, uint64_t bytes);
int vgpu_mem_remove_host(struct vgpu_mem *m, void *p);
/* Finds the allocation that contains addr. Returns false if there is none. */
bool vgpu_mem_find(struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes,
	bool *ret_is_host);

/* ---- modules and kernels ---- */
struct vgpu_module;
struct vgpu_kernel;
/* Parses a PTX module and allocates its variables. Returns 0, -ENOMEM, or -EINVAL for a syntax error,
 * an unreadable initializer, or a variable or a parameter list that is too large, which diags
 * explains. An unknown instruction is not an error here: a launch that reaches one ends with
 * VGPU_FAULT_INSTRUCTION. */
int vgpu_module_load(struct vgpu_mem *m, const char *ptx, size_t len, struct diag_list *diags,
	struct vgpu_module **ret);
/* Checks the limits of a device's compiler: constants, static shared memory, parameters. Returns
 * -EINVAL if the module exceeds one, which diags explains. */
int vgpu_module_limits(const struct vgpu_module *m, struct diag_list *diags);
/* Sets the line numbers that fault reports use instead of the text's own lines; 0 means no source
 * line. The array is copied. If memory is short, the call has no effect. */
void vgpu_module_lines(struct vgpu_module *m, const uint32_t *lines, size_t n);
/* Returns the source line of a line of the text, or 0 if there is none. If vgpu_module_lines was
 * not called, this is the text's own line. */
uint32_t vgpu_module_line(const struct vgpu_module *m, uint32_t line);
/* Sets the device that the module's variables belong to. */
void vgpu_module_belongs(struct vgpu_module *mod, unsigned device);
/* Makes mod use the managed variables of module `of`, which was loaded from the same text. Call
 * this before mod's first launch. `of` must outlive the launches of mod. */
void vgpu_module_share(struct vgpu_module *mod, const struct vgpu_module *of);
void vgpu_module_free(struct vgpu_module *mod);
/* Resets the module's variables to their initial values; none of its kernels may be running.
 * Managed variables, which the module shares with other devices, are reset in two cases: if
 * `managed` is set, or if there is not enough memory to save their values during the reset. */
void vgpu_module_reset(struct vgpu_module *mod, bool managed);
/* The points where diverged lanes of a warp wait for each other, as in code from ptxas
 * (converge.c). */
enum vgpu_converge {
	VC_NONE,    /* only where the PTX requires it */
	VC_POSTDOM, /* also where all paths of a branch meet again */
};
void vgpu_set_converge(enum vgpu_converge how); /* applies to modules loaded later */
/* Which multiplications and additions are fused, if they have no rounding modifier. PTX lets an
 * assembler decide. */
enum vgpu_fma {
	VF_PTXAS, /* the same ones that ptxas fuses (cfg/contract.h) */
	VF_NONE,  /* none: every result is rounded */
};
void vgpu_set_fma(enum vgpu_fma how); /* applies to modules loaded later */
/* Sets how a block's warps take turns. With a seed, the order of the warps and the length of each
 * turn are random; the random numbers depend on the seed and the block's number only. With seed 0,
 * the warps run in order, with turns of equal length. Call it before any block is created. */
void vgpu_set_turns(uint64_t seed);
/* Sets the initial contents of a new block's registers, shared memory and local memory. Call it
 * before any block is created.
 * - With a seed, the contents are random, as they can be on a GPU. The random numbers depend on the
 *   seed and the block's number only.
 * - With seed 0, shared memory is zero. Registers and local memory are zero or have values that an
 *   earlier block or call left in them. */
void vgpu_set_garbage(uint64_t seed);
/* Makes global memory weakly ordered, as PTX allows: reorderings are random, derived from the seed
 * and the block's number. With 0, memory is strongly ordered. Call it before any module is
 * loaded. */
void vgpu_set_weak(uint64_t seed);
/* Sets the file to which execution counts are appended (counts.c); "" for none. Call it before any
 * module is loaded. */
void vgpu_set_counts(const char *file);
struct vgpu_kernel *vgpu_module_kernel(struct vgpu_module *mod, const char *name);
unsigned vgpu_module_kernels(struct vgpu_module *mod, struct vgpu_kernel **ret_at, unsigned max);
int vgpu_module_global(
	struct vgpu_module *mod, const char *name, uint64_t *ret_addr, uint64_t *ret_bytes);

/* Bytes of shared memory that the device reserves for each block. */
#define VGPU_SHARED_RESERVED 1024

struct vgpu_kernel_info {
	const char *name;
	uint32_t n_params, param_bytes;
	const uint32_t *param_offset, *param_size;
	/* an estimate (cfg_registers), limited by .maxnreg, .maxntid and .minnctapersm; registers
	 * above the limit count as spilled */
	uint32_t regs_per_thread;
	uint32_t spilled_bytes; /* included in local_bytes */
	uint32_t static_shared_bytes, local_bytes, const_bytes;
	uint32_t max_threads; /* product of .maxntid, or 1024 without it */
	uint32_t cluster[3];  /* .reqnctapercluster; zeros: the launch chooses the size */
	bool needs_cluster;   /* .explicitcluster: the launch must give a cluster size */
	unsigned target;      /* number in .target: 75 for sm_75, 90 for sm_90a */
};
void vgpu_kernel_info(const struct vgpu_kernel *k, struct vgpu_kernel_info *ret);

/* ---- launches and blocks ---- */
struct vgpu_launch {
	const struct vgpu_kernel *kernel;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const void *params; /* parameter buffer, which must outlive the launch */
	uint64_t grid_id;
	uint64_t workspace; /* cooperative launches: address of 64 bytes of memory; 0: none */
	uint32_t n_sms;
	uint32_t reach; /* bit mask of devices whose memory the kernel can access; 0: all */
	uint64_t (*timer_ns)(void *user); /* source of %globaltimer; NULL: CLOCK_REALTIME */
	/* receives the output of printf; NULL: the output is dropped */
	void (*print)(void *user, const char *text, size_t len);
	void *user;
};

enum vgpu_fault_kind {
	VGPU_FAULT_NONE,
	VGPU_FAULT_ADDRESS, /* reported as CUDA_ERROR_ILLEGAL_ADDRESS */
	VGPU_FAULT_ALIGN,   /* reported as CUDA_ERROR_MISALIGNED_ADDRESS */
	/* trap, which cuda-gdb calls "illegal instruction"; becomes CUDA_ERROR_LAUNCH_FAILED */
	VGPU_FAULT_TRAP,
	VGPU_FAULT_ASSERT, /* reported as CUDA_ERROR_ASSERT */
	/* CUDA_ERROR_ILLEGAL_INSTRUCTION: the interpreter does not know it */
	VGPU_FAULT_INSTRUCTION,
	/* no warp of the block can ever continue: CUDA_ERROR_LAUNCH_TIMEOUT */
	VGPU_FAULT_DEADLOCK,
	VGPU_FAULT_STACK, /* calls are too deep, or local memory is exhausted */
	/* a call to an address that is not a function of the module: CUDA_ERROR_INVALID_PC */
	VGPU_FAULT_PC,
};
struct vgpu_fault {
	enum vgpu_fault_kind kind;
	uint32_t block[3], thread[3];
	uint32_t line; /* line in the PTX text */
	uint64_t address;
	char message[400]; /* one line that names kernel, block, thread, PTX line and error */
	char source[200];  /* text of that PTX line */
};

struct vgpu_block;
enum vgpu_state {
	VGPU_RUNNING, /* the block has used up its budget of cycles */
	VGPU_DONE,
	VGPU_FAULT, /* see vgpu_block_fault */
	/* no warp can run now, and at least one is in a nanosleep or polls an unchanged value; step
	 * the block again later */
	VGPU_IDLE,
};
/* Creates a block. smid is its SM, and slot is its index among the blocks of that SM (for
 * %warpid). */
int vgpu_block_create(const struct vgpu_launch *l, uint64_t block_index, uint32_t smid,
	uint32_t slot, struct vgpu_block **ret);
/* Reuses the block object for the next block of the same launch. This is cheaper than creating
 * one. */
void vgpu_block_reset(struct vgpu_block *b, uint64_t block_index);
void vgpu_block_destroy(struct vgpu_block *b);
/* Executes up to `budget` warp instructions; the block's warps take turns (vgpu_set_turns). Adds
 * the number of executed thread instructions to *io_thread_insns. *io_clock is the clock of the
 * block's SM; it advances by the cycles spent. The dispatcher steps the blocks of one SM in
 * turn. */
enum vgpu_state vgpu_block_step(
	struct vgpu_block *b, uint64_t budget, uint64_t *io_thread_insns, uint64_t *io_clock);
const struct vgpu_fault *vgpu_block_fault(const struct vgpu_block *b);

#endif
