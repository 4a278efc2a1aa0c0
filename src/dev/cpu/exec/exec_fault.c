/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Describes a fault: kernel, block, thread, PTX line and its text. Only the first fault of a block
 * is kept. */
#include "base/demangle.h"
#include "exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies the text of a line in the module. A statement over several lines, such as nvcc's calls, is
 * copied up to its ';'. White space in sequence becomes one blank. */
static void source_line(const struct vgpu_module *mod, uint32_t line, char *to, size_t size)
{
	const char *s = mod->text, *end = s + mod->text_len, *line_end, *e;
	size_t n = 0;

	for (uint32_t k = 1; k < line && s < end; k++) {
		s = memchr(s, '\n', (size_t)(end - s));
		s = s ? s + 1 : end;
	}
	line_end = memchr(s, '\n', (size_t)(end - s));
	line_end = line_end ? line_end : end;
	e = memchr(s, ';', (size_t)(end - s));
	e = !e || e < line_end ? line_end : e + 1;
	for (; s < e && n + 1 < size; s++) {
		bool blank = (unsigned char)*s <= ' ';

		if (!blank || (n && to[n - 1] != ' '))
			to[n++] = (char)(blank ? ' ' : *s);
	}
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = 0;
}

void vx_fault_thread(struct vgpu_block *b, struct vwarp *w, unsigned lane, uint32_t line,
	enum vgpu_fault_kind kind, const char *text)
{
	struct vgpu_fault *f = &b->fault;
	const struct vgpu_module *mod = b->launch->kernel->mod;
	bool is_source;
	char name[81];
	char of[32] = "";

	if (f->kind)
		return;
	f->kind = kind;
	/* Instructions that a pass added have no source line. */
	f->line = vgpu_module_line(mod, line);
	is_source = f->line != 0;
	if (!is_source) {
		f->line = line;
		snprintf(of, sizeof(of), " of the form made of it");
	}
	if (f->line > PTX_LINE_MASK)
		snprintf(of, sizeof(of), " of kernel %u", f->line >> PTX_LINE_BITS);
	for (unsigned k = 0; k < 3; k++) {
		f->block[k] = b->ctaid[k];
		f->thread[k] = w->tid[k][lane];
	}
	/* Users know the blocks of the program, not the workers of a form. */
	if (is_source && b->program->n_forms)
		vx_form_ids(b, w, lane, f->line >> PTX_LINE_BITS, f->block, f->thread);
	f->line &= PTX_LINE_MASK;
	source_line(mod, line, f->source, sizeof(f->source));
	snprintf(f->message, sizeof(f->message),
		"kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u%s: %.200s",
		demangle_name(b->program->funcs[0].name, name, sizeof(name)), f->block[0],
		f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2], f->line, of,
		text);
}

const struct vinsn *vx_fault(struct vx *x, const struct vinsn *in, enum vgpu_fault_kind kind,
	unsigned lane, uint64_t address, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!x->b->fault.kind)
		x->b->fault.address = address;
	vx_fault_thread(x->b, x->w, lane, in->line, kind, text);
	x->left = 0;
	if (x->f)
		x->f->pc = in;
	return NULL;
}
