/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finding, unpacking and parsing PTX for the ptx verbs. */
#include "cli/ptx_file.h"
#include "base/text.h"
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PTX_BYTES (256u << 20)
#define NAMED_MAX     20 /* unknown instructions of a file, */

struct walk {
	struct cli *c;
	const char *path;
	cli_ptx_fn *fn;
	void *user;
	uint64_t arch; /* 0: all */
	bool debug;    /* of cubins, what their debug sections hold */
	unsigned n_ptx, n_taken, n_code;
	int status;
};

static void keep(struct walk *w, int status)
{
	w->status = w->status ? w->status : status;
}

static void parsed(struct walk *w, struct cli_ptx *f)
{
	int r;

	arena_init(&f->arena, 0);
	diag_init(&f->diags, &f->arena, f->name, f->text, f->len);
	r = ptx_parse(f->text, f->len, 0, &f->diags, &f->module);
	if (r < 0)
		keep(w, cli_error(w->c, NULL, "%s: %s", f->name, strerror(-r)));
	else
		keep(w, w->fn(w->c, f, w->user));
	if (f->module)
		ptx_module_free(f->module);
	arena_finish(&f->arena);
}

/* The next PTX of the file: r is what came of getting at its text, which is freed. */
static void take(struct walk *w, uint32_t arch, int r, char *text, size_t len)
{
	struct cli_ptx f = {.path = w->path, .arch = arch, .entry = w->n_ptx, .len = len};
	struct strbuf name = {0};

	w->n_taken++;
	strbuf_printf(&name, "%s(sm_%u%s #%u)", w->path, arch, w->debug ? " debug" : "", f.entry);
	f.name = name.at ? name.at : w->path;
	if (r < 0) {
		keep(w, cli_error(w->c, NULL, "%s: %s", f.name,
				r == -ENOTSUP ? w->debug ? "compressed in a way that is not known"
							 : "packed as CUDA 7 did, which is not read"
					      : strerror(-r)));
	} else {
		f.text = text;
		parsed(w, &f);
		free(text);
	}
	strbuf_finish(&name);
}

static int entry(void *user, const struct image_entry *e)
{
	struct walk *w = user;
	char *text = NULL;
	size_t len = 0;
	int r;

	if (e->kind != IMAGE_PTX) {
		w->n_code++;
		return 0;
	}
	w->n_ptx++;
	if (w->arch && w->arch != e->arch)
		return 0;
	r = image_unpack(e, MAX_PTX_BYTES, &text, &len);
	take(w, e->arch, r, text, len);
	return 0;
}

/* Of a file without PTX: of each cubin what it was made from, where it says so. */
static int debug_entry(void *user, const struct image_entry *e)
{
	struct walk *w = user;
	char *cubin, *text = NULL;
	size_t cubin_len, len = 0;
	int r;

	if (e->kind != IMAGE_ELF || image_unpack(e, MAX_PTX_BYTES, &cubin, &cubin_len) < 0)
		return 0;
	r = image_elf_ptx((struct image_bytes){(const uint8_t *)cubin, cubin_len}, &text, &len);
	free(cubin);
	if (r == -ENOENT || r == -EBADMSG)
		return 0;
	w->n_ptx++;
	if (w->arch && w->arch != e->arch) {
		free(text);
		return 0;
	}
	take(w, e->arch, r, text, len);
	return 0;
}

/* What is no PTX and no container: text may be PTX with an error right at its start. */
static bool is_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 32 && !strchr("\t\n\v\f\r", text[i]))
			return false;
	return !memchr(text, 0, len);
}

int cli_ptx_walk(struct cli *c, const char *path, cli_ptx_fn *fn, void *user)
{
	struct walk w = {
		.c = c, .path = strcmp(path, "-") == 0 ? "<stdin>" : path, .fn = fn, .user = user};
	char *text;
	size_t len;
	int r = cli_number(c, "arch", 1, 9999, &w.arch);

	if (r == 0)
		r = cli_read_file(c, path, &text, &len);
	if (r)
		return r;
	if (is_text(text, len)) {
		struct cli_ptx f = {.path = w.path, .name = w.path, .text = text, .len = len};

		parsed(&w, &f);
		free(text);
		return w.status;
	}
	r = image_walk((struct image_bytes){(const uint8_t *)text, len}, entry, &w);
	if (r == 0 && !w.n_ptx && w.n_code) {
		w.debug = true;
		image_walk((struct image_bytes){(const uint8_t *)text, len}, debug_entry, &w);
	}
	free(text);
	if (r == -EBADMSG)
		keep(&w, cli_error(c, "a newer copy of the file may help",
				 "%s: its device code is cut or broken", w.path));
	else if (r == -ENOENT || (!w.n_ptx && !w.n_code))
		keep(&w, cli_error(c, "a PTX text, or a program, library or fatbin with PTX in it",
				 "%s: holds no device code", w.path));
	else if (!w.n_ptx)
		keep(&w, cli_error(c, "heddle doctor -- PROG lists kernels that come without",
				 "%s: holds machine code only, no PTX", w.path));
	else if (!w.n_taken)
		keep(&w, cli_error(c, "heddle ptx check lists what there is",
				 "%s: holds no PTX for sm_%u", w.path, (unsigned)w.arch));
	return w.status;
}

static void add_names(const struct ptx_module *m, struct strbuf *out)
{
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry && it->func->has_body)
			strbuf_printf(out, "%s\n", it->func->sym->name);
	}
}

static int add_file(struct cli *c, struct cli_ptx *f, void *user)
{
	if (!f->diags.errors)
		add_names(f->module, &c->out);
	return CLI_OK;
}

void cli_ptx_names(struct cli *c, char *const words[])
{
	static const struct cli_verb nameless = {.name = "--print-kernels", .operands = ""};
	struct stat st;

	c->verb = &nameless;
	for (; *words; words++)
		if (stat(*words, &st) == 0 && S_ISREG(st.st_mode))
			cli_ptx_walk(c, *words, add_file, NULL);
}

static void emit(void *c)
{
	cli_emit(c);
}

void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text)
{
	ptx_print_by(m, text, text == &c->out ? emit : NULL, c);
}

void cli_ptx_json_name(struct json *j, const struct cli_ptx *f)
{
	json_str(j, "file", f->path);
	json_uint(j, "entry", f->entry);
	json_uint(j, "arch", f->arch);
}

void cli_ptx_json_diags(struct json *j, const struct diag_list *d)
{
	static const char *const levels[] = {"note", "warning", "error"};

	json_begin_array(j, "diagnostics");
	for (unsigned i = 0; i < d->len; i++) {
		const struct diag *e = &d->at[i];

		json_begin_object(j, NULL);
		json_str(j, "level", levels[e->level]);
		json_uint(j, "line", e->line);
		json_uint(j, "column", e->col);
		json_str(j, "message", e->message);
		if (e->hint)
			json_str(j, "hint", e->hint);
		json_end(j, '}');
	}
	json_end(j, ']');
}

/* ---- instructions that are not known ---- */

/* What is known and spelt nearly so; the first word counts. */
static const char *nearest(const char *text)
{
	size_t len = strcspn(text, ".");

	for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
		const char *name = ptx_ops[i].name;
		size_t n = strcspn(name, "_");

		if (n == len && memcmp(name, text, len) == 0)
			return NULL; /* it is what follows that is not known */
	}
	for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
		const char *name = ptx_ops[i].name;

		if (len > 1 && text_is_near(text, len, name, strcspn(name, "_")))
			return name;
	}
	return NULL;
}

void cli_ptx_warn_unknown(struct cli_ptx *f)
{
	unsigned left = NAMED_MAX;

	for (size_t i = 0; i < f->module->items.len; i++) {
		const struct ptx_item *item = &f->module->items.at[i];

		if (item->kind != PTX_ITEM_FUNC)
			continue;
		for (size_t k = 0; k < item->func->body.len && left; k++) {
			const struct ptx_stmt *s = &item->func->body.at[k];
			const char *meant;

			if (s->kind != PTX_INSN || !(s->mn->flags & PTX_F_UNKNOWN))
				continue;
			left--;
			diag_add(&f->diags, DIAG_WARNING, s->line, s->col, s->mn->text_len,
				"no instruction that is known: %s", s->mn->text);
			meant = nearest(s->mn->text);
			if (meant)
				diag_hint(&f->diags,
					"%.*s is one; what is not known keeps its kernel "
					"from being preempted",
					(int)strcspn(meant, "_"), meant);
		}
	}
}

int cli_ptx_each(struct cli *c, cli_ptx_fn *fn)
{
	struct json j;
	int status = CLI_OK;

	if (c->json) {
		cli_json_open(c, &j, 1);
		json_begin_array(&j, "files");
	}
	for (int i = 0; i < c->n_operands; i++) {
		int r = cli_ptx_walk(c, c->operands[i], fn, &j);

		status = status ? status : r;
	}
	if (c->json) {
		json_end(&j, ']');
		json_end(&j, '}');
	}
	return status;
}
