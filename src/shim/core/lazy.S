/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Entry of each generated stub's first call, with the stub's index. It saves every register that
 * can hold an argument, shim_resolve finds the function and stores it in the table, and the call
 * continues in that function with stack and registers unchanged. */
	.text
	.hidden shim_lazy
	.globl shim_lazy
	.hidden shim_resolve
#if defined(__x86_64__)
	.type shim_lazy, @function
shim_lazy: /* stack: index, return address, the caller's own */
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	movq %rsp, %rbp
	.cfi_def_cfa %rbp, 24
	andq $-16, %rsp
	subq $208, %rsp
	movq %rax, 0(%rsp)
	movq %rdi, 8(%rsp)
	movq %rsi, 16(%rsp)
	movq %rdx, 24(%rsp)
	movq %rcx, 32(%rsp)
	movq %r8, 40(%rsp)
	movq %r9, 48(%rsp)
	movq %r10, 56(%rsp)
	movaps %xmm0, 64(%rsp)
	movaps %xmm1, 80(%rsp)
	movaps %xmm2, 96(%rsp)
	movaps %xmm3, 112(%rsp)
	movaps %xmm4, 128(%rsp)
	movaps %xmm5, 144(%rsp)
	movaps %xmm6, 160(%rsp)
	movaps %xmm7, 176(%rsp)
	movl 8(%rbp), %edi
	call shim_resolve
	movq %rax, %r11
	movq 0(%rsp), %rax
	movq 8(%rsp), %rdi
	movq 16(%rsp), %rsi
	movq 24(%rsp), %rdx
	movq 32(%rsp), %rcx
	movq 40(%rsp), %r8
	movq 48(%rsp), %r9
	movq 56(%rsp), %r10
	movaps 64(%rsp), %xmm0
	movaps 80(%rsp), %xmm1
	movaps 96(%rsp), %xmm2
	movaps 112(%rsp), %xmm3
	movaps 128(%rsp), %xmm4
	movaps 144(%rsp), %xmm5
	movaps 160(%rsp), %xmm6
	movaps 176(%rsp), %xmm7
	movq %rbp, %rsp
	popq %rbp
	.cfi_def_cfa %rsp, 16
	leaq 8(%rsp), %rsp
	.cfi_def_cfa_offset 8
	jmp *%r11
	.cfi_endproc
	.size shim_lazy, . - shim_lazy
#elif defined(__aarch64__)
	.type shim_lazy, %function
shim_lazy: /* w17: index */
	stp x29, x30, [sp, #-224]!
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov w0, w17
	bl shim_resolve
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	br x16
	.size shim_lazy, . - shim_lazy
#endif
	.section .note.GNU-stack, "", %progbits
