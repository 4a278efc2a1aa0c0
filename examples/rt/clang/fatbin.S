/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A fatbin with one entry: the PTX text of file PTX, for sm_70. */
	.long 0xba55ed50
	.short 1, 16			/* version, bytes of this header */
	.quad end - entry
entry:
	.short 1, 0x101			/* PTX */
	.long 64			/* bytes of the entry's header */
	.quad end - text
	.long 0, 0			/* not compressed, no options */
	.short 0, 9
	.long 70			/* sm_70 */
	.quad 0
	.quad 0x11			/* 64-bit, for Linux */
	.quad 0, 0
text:
	.incbin PTX
	.byte 0
	.balign 8
end:
