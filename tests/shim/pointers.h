/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* More PTX of the test program: kernels that store addresses of code in memory. */
#ifndef HEDDLE_TESTS_SHIM_POINTERS_H
#define HEDDLE_TESTS_SHIM_POINTERS_H

/* An object of 24 bytes has three words: the address of a table of functions, the address of a
 * function, and a value. make(objects) writes table and value, and take(objects) the function.
 * use(objects, out, f) calls a function of the table, the function, and f. within(out) calls
 * functions whose addresses are only in registers. */
#define PTX_I                                                                      \
	"	.reg .b32 %r<12>;\n	.reg .b64 %rd<12>;\n	.reg .pred %p<3>;\n"            \
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n" \
	"	mad.lo.s32 %r4, %r1, %r2, %r3;\n	and.b32 %r5, %r4, 1;\n"                 \
	"	setp.eq.u32 %p1, %r5, 0;\n"
#define PTX_CALL(pointer)                                                 \
	"	{\n	.param .b32 a;\n	.param .b32 b;\n	st.param.b32 [a], %r6;\n" \
	"	call (b), " pointer ", (a), proto;\n	ld.param.b32 %r6, [b];\n	}\n"
#define PTX_PROTO "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
#define PTX_CODE                                                                                  \
	".func (.param .b32 r) twice(.param .b32 a)\n{\n	.reg .b32 %r<2>;\n"                      \
	"	ld.param.b32 %r1, [a];\n	shl.b32 %r1, %r1, 1;\n	st.param.b32 [r], %r1;\n"               \
	"	ret;\n}\n"                                                                              \
	".func (.param .b32 r) next(.param .b32 a)\n{\n	.reg .b32 %r<2>;\n"                       \
	"	ld.param.b32 %r1, [a];\n	add.u32 %r1, %r1, 1;\n	st.param.b32 [r], %r1;\n"               \
	"	ret;\n}\n"                                                                              \
	".global .align 8 .u64 table[2] = {twice, next};\n"                                       \
	".visible .global .align 8 .u64 chosen = next;\n"                                         \
	".visible .entry make(.param .u64 objects)\n{\n" PTX_I                                    \
	"	ld.param.u64 %rd1, [objects];\n	mad.wide.u32 %rd1, %r4, 24, %rd1;\n"                    \
	"	mov.u64 %rd2, table;\n	cvta.global.u64 %rd2, %rd2;\n"                                   \
	"	st.global.u64 [%rd1], %rd2;\n	st.global.u32 [%rd1+16], %r4;\n	ret;\n}\n"                \
	".visible .entry take(.param .u64 objects)\n{\n" PTX_I                                    \
	"	ld.param.u64 %rd1, [objects];\n	mad.wide.u32 %rd1, %r4, 24, %rd1;\n"                    \
	"	mov.u64 %rd2, twice;\n	mov.u64 %rd3, next;\n"                                           \
	"	selp.b64 %rd2, %rd2, %rd3, %p1;\n	st.global.u64 [%rd1+8], %rd2;\n"                      \
	"	ret;\n}\n"                                                                              \
	".visible .entry use(.param .u64 objects, .param .u64 out, .param .u64 f)\n{\n" PTX_I     \
		PTX_PROTO                                                                         \
	"	ld.param.u64 %rd1, [objects];\n	mad.wide.u32 %rd1, %r4, 24, %rd1;\n"                    \
	"	ld.global.u64 %rd2, [%rd1];\n	mad.wide.u32 %rd2, %r5, 8, %rd2;\n"                       \
	"	ld.u64 %rd3, [%rd2];\n	ld.global.u64 %rd4, [%rd1+8];\n"                                 \
	"	ld.param.u64 %rd5, [f];\n	ld.global.u32 %r6, [%rd1+16];\n" PTX_CALL("%rd3") \
		PTX_CALL("%rd4") PTX_CALL(                                                        \
			"%rd5") "	ld.param.u64 %rd6, [out];\n	mad.wide.u32 %rd6, %r4, "           \
				"4, %rd6;\n"                                                      \
				"	st.global.u32 [%rd6], %r6;\n	ret;\n}\n"                         \
				".visible .entry within(.param .u64 out)\n{\n" PTX_I PTX_PROTO    \
				"	ld.param.u64 %rd6, [out];\n	mad.wide.u32 %rd6, %r4, "           \
				"4, %rd6;\n"                                                      \
				"	ld.global.u32 %r6, [%rd6];\n	mov.u64 %rd2, twice;\n	"           \
				"mov.u64 %rd3, next;\n"                                           \
				"	selp.b64 %rd2, %rd2, %rd3, %p1;\n" PTX_CALL(              \
					"%rd2") "	st.global.u32 [%rd6], %r6;\n	ret;\n}\n"

#endif
