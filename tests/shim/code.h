/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX of the test program, as text, so that the tests need no compiler. */
#ifndef HEDDLE_TESTS_SHIM_CODE_H
#define HEDDLE_TESTS_SHIM_CODE_H

#define PTX_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* mix(in, out, n, loops): out[i] = hash(in[i], blockIdx). Threads past n return early. */
#define PTX_MIX(name)                                                                \
	".visible .entry " name "(.param .u64 in, .param .u64 out, .param .u32 n,\n" \
	"	.param .u32 loops)\n{\n"                                                   \
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<6>;\n	.reg .pred %p<3>;\n"               \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"   \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n"                 \
	"	setp.ge.u32 %p1, %r4, %r5;\n	@%p1 bra DONE;\n"                             \
	"	ld.param.u64 %rd1, [in];\n	cvta.to.global.u64 %rd1, %rd1;\n"               \
	"	ld.param.u64 %rd2, [out];\n	cvta.to.global.u64 %rd2, %rd2;\n"              \
	"	mul.wide.u32 %rd3, %r4, 4;\n	add.s64 %rd1, %rd1, %rd3;\n"                  \
	"	add.s64 %rd2, %rd2, %rd3;\n	ld.global.u32 %r6, [%rd1];\n"                  \
	"	ld.param.u32 %r7, [loops];\n"                                              \
	"LOOP:\n	setp.eq.u32 %p2, %r7, 0;\n	@%p2 bra OUT;\n"                         \
	"	mad.lo.u32 %r6, %r6, 1664525, 1013904223;\n	shr.u32 %r8, %r6, 7;\n"        \
	"	xor.b32 %r6, %r6, %r8;\n	sub.u32 %r7, %r7, 1;\n	bra LOOP;\n"               \
	"OUT:\n	add.u32 %r6, %r6, %r1;\n	st.global.u32 [%rd2], %r6;\n"               \
	"DONE:\n	ret;\n}\n"

/* lasts(in, out, n, us): out[i] = in[i] + blockIdx, and each block ends us microseconds after its
 * start. */
#define PTX_LASTS                                                                  \
	".visible .entry lasts(.param .u64 in, .param .u64 out, .param .u32 n,\n"  \
	"	.param .u32 us)\n{\n"                                                    \
	"	.reg .b32 %r<8>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<4>;\n"              \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n" \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n"               \
	"	setp.ge.u32 %p1, %r4, %r5;\n	@%p1 bra DONE;\n"                           \
	"	ld.param.u64 %rd1, [in];\n	cvta.to.global.u64 %rd1, %rd1;\n"             \
	"	ld.param.u64 %rd2, [out];\n	cvta.to.global.u64 %rd2, %rd2;\n"            \
	"	mul.wide.u32 %rd3, %r4, 4;\n	add.s64 %rd1, %rd1, %rd3;\n"                \
	"	add.s64 %rd2, %rd2, %rd3;\n	ld.global.u32 %r6, [%rd1];\n"                \
	"	add.u32 %r6, %r6, %r1;\n	st.global.u32 [%rd2], %r6;\n"                   \
	"	setp.ne.u32 %p2, %r3, 0;\n	@%p2 bra DONE;\n	ld.param.u32 %r7, [us];\n"   \
	"	mul.wide.u32 %rd4, %r7, 1000;\n	mov.u64 %rd5, %globaltimer;\n"           \
	"	add.u64 %rd4, %rd4, %rd5;\n"                                             \
	"LOOP:\n	mov.u64 %rd5, %globaltimer;\n	setp.ge.u64 %p3, %rd5, %rd4;\n"     \
	"	@%p3 bra DONE;\n	nanosleep.u32 100000;\n	bra LOOP;\n"                    \
	"DONE:\n	ret;\n}\n"

/* sum(in, out): sums each block's 128 values, using shared memory and barriers. */
#define PTX_SUM                                                                       \
	".visible .entry sum(.param .u64 in, .param .u64 out)\n{\n"                   \
	"	.shared .align 4 .b8 part[512];\n"                                          \
	"	.reg .b32 %r<16>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<4>;\n"                \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"    \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n"                                           \
	"	ld.param.u64 %rd1, [in];\n	cvta.to.global.u64 %rd1, %rd1;\n"                \
	"	mul.wide.u32 %rd3, %r4, 4;\n	add.s64 %rd1, %rd1, %rd3;\n"                   \
	"	ld.global.u32 %r6, [%rd1];\n	shl.b32 %r7, %r3, 2;\n	mov.u32 %r8, part;\n"   \
	"	add.u32 %r7, %r7, %r8;\n	st.shared.u32 [%r7], %r6;\n	mov.u32 %r9, "         \
	"64;\n"                                                                       \
	"AGAIN:\n	bar.sync 0;\n	setp.ge.u32 %p1, %r3, %r9;\n	@%p1 bra SKIP;\n"        \
	"	shl.b32 %r10, %r9, 2;\n	add.u32 %r10, %r10, %r7;\n"                         \
	"	ld.shared.u32 %r11, [%r10];\n	ld.shared.u32 %r12, [%r7];\n"                 \
	"	add.u32 %r12, %r12, %r11;\n	st.shared.u32 [%r7], %r12;\n"                   \
	"SKIP:\n	shr.u32 %r9, %r9, 1;\n	setp.ne.u32 %p2, %r9, 0;\n	@%p2 bra AGAIN;\n" \
	"	setp.ne.u32 %p3, %r3, 0;\n	@%p3 bra DONE;\n	ld.shared.u32 %r13, "           \
	"[part];\n"                                                                   \
	"	ld.param.u64 %rd4, [out];\n	cvta.to.global.u64 %rd4, %rd4;\n"               \
	"	mul.wide.u32 %rd5, %r1, 4;\n	add.s64 %rd4, %rd4, %rd5;\n"                   \
	"	st.global.u32 [%rd4], %r13;\n"                                              \
	"DONE:\n	ret;\n}\n"

/* early(in, out, n): lanes exit at two places, each of which only some lanes reach. A shuffle
 * follows. Only the guard form allows this. */
#define PTX_EARLY                                                                    \
	".visible .entry early(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n" \
	"	.reg .b32 %r<16>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<4>;\n"               \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"   \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n"                 \
	"	setp.ge.u32 %p1, %r4, %r5;\n	bfe.u32 %r8, %r3, 0, 1;\n"                    \
	"	setp.eq.u32 %p2, %r8, 0;\n	@%p2 bra E;\n	@%p1 ret;\n	bra S;\n"             \
	"E:\n	@%p1 ret;\nS:\n"                                                       \
	"	ld.param.u64 %rd1, [in];\n	ld.param.u64 %rd2, [out];\n"                    \
	"	mad.wide.u32 %rd1, %r4, 4, %rd1;\n	mad.wide.u32 %rd2, %r4, 4, %rd2;\n"     \
	"	ld.global.u32 %r6, [%rd1];\n"                                              \
	"	shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\n	add.u32 %r6, %r6, %r7;\n"        \
	"	st.global.u32 [%rd2], %r6;\n	ret;\n}\n"

/* meet(count, out, rounds): all blocks of the grid wait for each other at a barrier in each
 * round. */
#define PTX_MEET                                                                         \
	".visible .entry meet(.param .u64 count, .param .u64 out, .param .u32 rounds)\n" \
	"{\n"                                                                            \
	"	.reg .b32 %r<16>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<4>;\n"                   \
	"	mov.u32 %r1, %tid.x;\n	setp.ne.u32 %p1, %r1, 0;\n	@%p1 ret;\n"                 \
	"	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %nctaid.x;\n	ld.param.u32 "              \
	"%r4, "                                                                          \
	"[rounds];\n"                                                                    \
	"	ld.param.u64 %rd1, [count];\n	ld.param.u64 %rd2, [out];\n"                     \
	"	mov.u32 %r5, 0;\n	mov.u32 %r6, %r2;\n	atom.global.add.u32 %r7, [%rd1], "       \
	"1;\n"                                                                           \
	"AGAIN:\n	setp.ge.u32 %p2, %r5, %r4;\n	@%p2 bra OUT;\n"                          \
	"	ld.volatile.global.u32 %r8, [%rd1];\n	add.u32 %r9, %r5, 1;\n"                  \
	"	mul.lo.u32 %r10, %r9, %r3;\n	setp.lt.u32 %p3, %r8, %r10;\n	@%p3 bra "          \
	"AGAIN;\n"                                                                       \
	"	add.u32 %r5, %r5, 1;\n	mad.lo.u32 %r6, %r6, 1664525, 1013904223;\n"            \
	"	setp.ge.u32 %p2, %r5, %r4;\n	@%p2 bra OUT;\n"                                  \
	"	atom.global.add.u32 %r7, [%rd1], 1;\n	bra AGAIN;\n"                            \
	"OUT:\n	mul.wide.u32 %rd3, %r2, 4;\n	add.u64 %rd2, %rd2, %rd3;\n"                \
	"	st.global.u32 [%rd2], %r6;\n	ret;\n}\n"

/* traps(): the block in the middle of the grid traps. */
#define PTX_TRAP                                                            \
	".visible .entry traps()\n{\n"                                      \
	"	.reg .b32 %r<4>;\n	.reg .pred %p<2>;\n"                           \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %nctaid.x;\n	shr.u32 %r2, " \
	"%r2, 1;\n"                                                         \
	"	setp.eq.u32 %p1, %r1, %r2;\n	@%p1 trap;\n	ret;\n}\n"

/* count(out): uses module variables (a counter, a table of constants, an initialised word), some of
 * them in a function that it calls. steady(out): a constant determines which blocks return before a
 * shuffle. */
#define PTX_COUNT                                                                    \
	".visible .global .align 4 .u32 counter;\n.global .align 4 .u32 step = 3;\n" \
	".visible .const .align 4 .b32 table[4] = {5, 6, 7, 8};\n"                   \
	".func (.param .b32 sum) more(.param .b32 x)\n{\n"                           \
	"	.reg .b32 %r<8>;\n	.reg .b64 %rd<2>;\n"                                    \
	"	ld.param.u32 %r1, [x];\n	ld.global.u32 %r2, [step];\n"                     \
	"	mov.u64 %rd1, table+8;\n	ld.const.u32 %r3, [%rd1];\n"                      \
	"	mad.lo.u32 %r4, %r1, %r2, %r3;\n	ld.const.u32 %r5, [table+12];\n"          \
	"	add.u32 %r4, %r4, %r5;\n	st.param.b32 [sum], %r4;\n	ret;\n}\n"             \
	".visible .entry count(.param .u64 out)\n{\n"                                \
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<8>;\n"                                   \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"   \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	and.b32 %r5, %r4, 3;\n"                   \
	"	mul.wide.u32 %rd1, %r5, 4;\n	mov.u64 %rd2, table;\n"                       \
	"	add.s64 %rd1, %rd1, %rd2;\n	ld.const.u32 %r6, [%rd1];\n"                   \
	"	mov.u64 %rd6, table+4;\n	ld.const.u32 %r7, [%rd6];\n"                      \
	"	ld.global.u32 %r8, [step];\n	add.u32 %r6, %r6, %r7;\n"                     \
	"	add.u32 %r6, %r6, %r8;\n	mov.u64 %rd3, counter;\n"                         \
	"	red.global.add.u32 [%rd3], %r8;\n"                                         \
	"	ld.param.u64 %rd4, [out];\n	cvta.to.global.u64 %rd4, %rd4;\n"              \
	"	mul.wide.u32 %rd5, %r4, 4;\n	add.s64 %rd4, %rd4, %rd5;\n"                  \
	"	{\n	.param .b32 x;\n	.param .b32 sum;\n	st.param.b32 [x], %r6;\n"          \
	"	call (sum), more, (x);\n	ld.param.u32 %r6, [sum];\n	}\n"                   \
	"	st.global.u32 [%rd4], %r6;\n	ret;\n}\n"                                    \
	".visible .entry steady(.param .u64 out)\n{\n"                               \
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<2>;\n"               \
	"	mov.u32 %r1, %ctaid.x;\n	ld.const.u32 %r2, [table];\n	setp.ge.u32 %p1, "   \
	"%r1, %r2;\n"                                                                \
	"	@%p1 ret;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"                \
	"	mad.lo.s32 %r4, %r1, %r3, %r4;\n	ld.param.u64 %rd1, [out];\n"              \
	"	mad.wide.u32 %rd1, %r4, 4, %rd1;\n	ld.global.u32 %r5, [%rd1];\n"           \
	"	shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;\n	add.u32 %r5, %r5, %r6;\n"        \
	"	st.global.u32 [%rd1], %r5;\n	ret;\n}\n"

/* bulky(bulk, out): out[i] = hash(out[i], block's index) + the sum of every 128th word of bulk,
 * from the thread's number on. */
#define PTX_BULKY                                                                      \
	".version 8.1\n.target sm_70\n.address_size 64\n"                              \
	".visible .entry bulky(.param .align 4 .b8 bulk[32000], .param .u64 out)\n{\n" \
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<8>;\n	.reg .pred %p<2>;\n"                 \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"     \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	mov.u64 %rd1, bulk;\n"                      \
	"	mad.wide.u32 %rd1, %r3, 4, %rd1;\n	ld.param.u64 %rd2, [out];\n"              \
	"	cvta.to.global.u64 %rd2, %rd2;\n	mad.wide.u32 %rd2, %r4, 4, %rd2;\n"         \
	"	ld.global.u32 %r5, [%rd2];\n	mad.lo.u32 %r5, %r5, 1664525, %r1;\n"           \
	"LOOP:\n	ld.param.u32 %r6, [%rd1];\n	add.u32 %r5, %r5, %r6;\n"                 \
	"	add.s64 %rd1, %rd1, 512;\n	add.u32 %r3, %r3, 128;\n"                         \
	"	setp.lt.u32 %p1, %r3, 8000;\n	@%p1 bra LOOP;\n"                              \
	"	st.global.u32 [%rd2], %r5;\n	ret;\n}\n"

/* half(out): the lanes of the first warp of a one-dimensional block exchange values. */
#define PTX_HALF                                                                    \
	".visible .entry half(.param .u64 out)\n{\n"                                \
	"	.reg .b32 %r<8>;\n	.reg .b64 %rd<4>;\n	.reg .pred %p<3>;\n"               \
	"	mov.u32 %r1, %tid.x;\n	shr.u32 %r2, %r1, 5;\n	setp.ne.u32 %p1, %r2, 0;\n" \
	"	@%p1 bra DONE;\n	shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"               \
	"	ld.param.u64 %rd1, [out];\n	cvta.to.global.u64 %rd1, %rd1;\n"             \
	"	mad.wide.u32 %rd2, %r1, 4, %rd1;\n	st.global.u32 [%rd2], %r3;\n"          \
	"DONE:\n	ret;\n}\n"

#endif
