/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's core: memory, code, and blocks that make progress when stepped. Below the
 * driver API (drv_*.c) and beside the dispatcher (sm.c): nothing here knows streams, processes or
 * locks, except that several threads may step different blocks of one memory at once. Addresses are
 * host addresses for global memory, so that pinned host memory is reachable as it is; shared and
 * local memory have windows of their own in the generic address space. */
#ifndef HEDDLE_VGPU_H
#define HEDDLE_VGPU_H

#include "base/base.h"
#include "base/diag.h"

/* ---- memory: allocations with exact bounds; every access is checked ---- */
struct vgpu_mem;
int vgpu_mem_create(uint64_t limit_bytes, struct vgpu_mem **ret);
void vgpu_mem_destroy(struct vgpu_mem *m);
int vgpu_mem_alloc(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr); /* 256-byte aligned */
/* It is memory of this device: others reach it only as peers (vgpu_launch.reach). */
void vgpu_mem_belongs(struct vgpu_mem *m, uint64_t addr, unsigned device);
int vgpu_mem_free(struct vgpu_mem *m, uint64_t addr);
/* Memory that something else than a kernel works on: while it is held, a free takes it away from
 * all others, and its storage stays. False: [addr, addr+bytes) is not wholly in one allocation. */
bool vgpu_mem_hold(struct vgpu_mem *m, uint64_t addr, uint64_t bytes, uint64_t *ret_base);
void vgpu_mem_drop(struct vgpu_mem *m, uint64_t base);
/* Pinned memory of the host's; vgpu_mem_remove_host frees it. */
int vgpu_mem_alloc_host(struct vgpu_mem *m, uint64_t bytes, uint64_t *ret_addr);
/* Host memory made visible to kernels at its own address (cuMemHostAlloc, cuMemHostRegister). */
int vgpu_mem_add_host(struct vgpu_mem *m, void *p, uint64_t bytes);
int vgpu_mem_remove_host(struct vgpu_mem *m, void *p);
/* The allocation that holds addr; false: none. */
bool vgpu_mem_find(struct vgpu_mem *m, uint64_t addr, uint64_t *ret_base, uint64_t *ret_bytes,
	bool *ret_is_host);

/* ---- code ---- */
struct vgpu_module;
struct vgpu_kernel;
/* Decodes a whole PTX module. 0; -EINVAL with diags (syntax); instructions that the interpreter
 * does not know are no error here: a launch that reaches one ends with VGPU_FAULT_INSTRUCTION. */
int vgpu_module_load(struct vgpu_mem *m, const char *ptx, size_t len, struct diag_list *diags,
	struct vgpu_module **ret);
/* Faults name these lines in place of the text's own; 0: the text has it from nowhere. Copied;
 * without memory nothing happens. */
void vgpu_module_lines(struct vgpu_module *m, const uint32_t *lines, size_t n);
/* A line of the text as they have it; 0: in none. */
uint32_t vgpu_module_line(const struct vgpu_module *m, uint32_t line);
void vgpu_module_belongs(struct vgpu_module *mod, unsigned device); /* its variables do */
/* Ahead of its first launch: managed variables are those of this module, of the same text, which
 * must outlive its launches. */
void vgpu_module_share(struct vgpu_module *mod, const struct vgpu_module *of);
void vgpu_module_free(struct vgpu_module *mod);
/* Its variables get their initial values again, while none of its kernels runs. managed: those that
 * it shares with other devices, too; they also do where there is no memory to keep them. */
void vgpu_module_reset(struct vgpu_module *mod, bool managed);
/* Where lanes of a warp that part wait for each other, as ptxas makes them wait (converge.c). */
enum vgpu_converge {
	VC_NONE,    /* lanes wait for each other only where the PTX says so */
	VC_POSTDOM, /* and where all ways from the branch that parted them meet again */
	VC_JOINS,   /* and wherever some of these ways meet: ptxas often adds such places */
};
void vgpu_set_converge(enum vgpu_converge how); /* of modules that are loaded from now on */
/* Products and sums without a rounding modifier: PTX lets an assembler make one fma of them. */
enum vgpu_fma {
	VF_PTXAS, /* where ptxas does so (cfg/contract.h) */
	VF_NONE,  /* nowhere: each is rounded */
};
void vgpu_set_fma(enum vgpu_fma how); /* of modules that are loaded from now on */
/* In which order warps of a block have their turns, and how long: at random, from the seed and the
 * block's number; 0: one after the other. Ahead of all blocks. */
void vgpu_set_turns(uint64_t seed);
/* What a new block finds in its registers, shared and local memory, as on a GPU: at random, from
 * the seed and the block's number; 0: zeros in memory, and in registers zeros or what the block
 * before it left. Ahead of all blocks. */
void vgpu_set_garbage(uint64_t seed);
/* Global memory is weak, as PTX lets it be: what comes when is drawn from the seed and the block's
 * number; 0: what is stored is there. Ahead of all modules. */
void vgpu_set_weak(uint64_t seed);
/* What is run how often goes to the end of a file: counts.c. "": nowhere. Ahead of all modules. */
void vgpu_set_counts(const char *file);
struct vgpu_kernel *vgpu_module_kernel(struct vgpu_module *mod, const char *name);
unsigned vgpu_module_kernels(struct vgpu_module *mod, struct vgpu_kernel **ret_at, unsigned max);
int vgpu_module_global(
	struct vgpu_module *mod, const char *name, uint64_t *ret_addr, uint64_t *ret_bytes);

/* Bytes of shared memory that the device takes for each block. */
#define VGPU_SHARED_RESERVED 1024

struct vgpu_kernel_info {
	const char *name;
	uint32_t n_params, param_bytes;
	const uint32_t *param_offset, *param_size;
	uint32_t regs_per_thread; /* an estimate (cfg_registers), within the bounds that .maxnreg,
				     .maxntid and .minnctapersm set; the rest counts as spilled */
	uint32_t spilled_bytes;   /* part of local_bytes */
	uint32_t static_shared_bytes, local_bytes, const_bytes;
	uint32_t max_threads; /* .maxntid product, else 1024 */
	unsigned ptx_version;
};
void vgpu_kernel_info(const struct vgpu_kernel *k, struct vgpu_kernel_info *ret);

/* ---- launches and blocks ---- */
struct vgpu_launch {
	const struct vgpu_kernel *kernel;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const void *params; /* the parameter buffer; must outlive the launch */
	uint64_t grid_id;
	uint64_t workspace; /* of a grid that waits for itself as a whole: 64 bytes; 0: none */
	uint32_t n_sms;
	uint32_t reach; /* bit mask of devices whose memory it may access; 0: all */
	uint64_t (*timer_ns)(void *user); /* %globaltimer; NULL: CLOCK_REALTIME */
	void (*print)(
		void *user, const char *text, size_t len); /* printf's output; NULL: dropped */
	void *user;
};

enum vgpu_fault_kind {
	VGPU_FAULT_NONE,
	VGPU_FAULT_ADDRESS, /* CUDA_ERROR_ILLEGAL_ADDRESS */
	VGPU_FAULT_ALIGN,   /* CUDA_ERROR_MISALIGNED_ADDRESS */
	VGPU_FAULT_TRAP,   /* CUDA_ERROR_LAUNCH_FAILED; cuda-gdb's "illegal instruction" for trap */
	VGPU_FAULT_ASSERT, /* CUDA_ERROR_ASSERT */
	VGPU_FAULT_INSTRUCTION, /* CUDA_ERROR_ILLEGAL_INSTRUCTION: unknown to the interpreter */
	VGPU_FAULT_DEADLOCK,    /* no warp of the block can ever go on: CUDA_ERROR_LAUNCH_TIMEOUT */
	VGPU_FAULT_STACK,       /* call depth or local memory exhausted */
	VGPU_FAULT_PC, /* called what is no function of its module: CUDA_ERROR_INVALID_PC */
};
struct vgpu_fault {
	enum vgpu_fault_kind kind;
	uint32_t block[3], thread[3];
	uint32_t line; /* in the PTX */
	uint64_t address;
	char message[400]; /* one line: kernel, block, thread, PTX line, what happened */
	char source[200];  /* that PTX line's text */
};

struct vgpu_block;
enum vgpu_state {
	VGPU_RUNNING, /* used up its budget */
	VGPU_DONE,
	VGPU_FAULT, /* see vgpu_block_fault */
	VGPU_IDLE,  /* every warp is in a nanosleep or spins on an unchanged value: come back later
		     */
};
/* smid: which SM it is resident on; slot: its index among that SM's blocks (for %warpid). */
int vgpu_block_create(const struct vgpu_launch *l, uint64_t block_index, uint32_t smid,
	uint32_t slot, struct vgpu_block **ret);
/* Reuses an object for the next block of the same launch: cheap. */
void vgpu_block_reset(struct vgpu_block *b, uint64_t block_index);
void vgpu_block_destroy(struct vgpu_block *b);
/* Runs up to `budget` warp instructions round robin over the block's warps. Adds thread
 * instructions executed; io_clock is its SM's clock, which goes on by the cycles spent. Blocks of
 * one SM are stepped in turn by the dispatcher. */
enum vgpu_state vgpu_block_step(
	struct vgpu_block *b, uint64_t budget, uint64_t *io_thread_insns, uint64_t *io_clock);
const struct vgpu_fault *vgpu_block_fault(const struct vgpu_block *b);

#endif
