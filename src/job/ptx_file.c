/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds, unpacks and parses PTX for the ptx verbs. */
#include "job/ptx_file.h"
#include "base/demangle.h"
#include "base/text.h"
#include "cfg/cfg.h"
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PTX_BYTES (256u << 20)
#define HINT_BYTES    400
#define NAMED_MAX     20 /* maximum number of unknown instructions in warnings about a file */

struct walk {
	struct cli *c;
	const char *path;
	cli_ptx_fn *fn;
	void *user;
	uint64_t arch; /* 0: all architectures */
	bool debug;    /* read the PTX in the debug sections of cubins */
	unsigned n_ptx, n_taken, n_code;
	int status;
};

static void keep_status(struct walk *w, int status)
{
	w->status = w->status ? w->status : status;
}

static void parse_and_call(struct walk *w, struct cli_ptx *f)
{
	int r;

	arena_init(&f->arena, 0);
	diag_init(&f->diags, &f->arena, f->name, f->text, f->len);
	r = ptx_parse(f->text, f->len, 0, &f->diags, &f->module);
	if (r < 0) {
		keep_status(w, cli_error(w->c, NULL, "%s: %s", f->name, strerror(-r)));
	} else {
		if (!f->diags.errors)
			cfg_check_limits(f->module, &f->diags);
		keep_status(w, w->fn(w->c, f, w->user));
	}
	if (f->module)
		ptx_module_free(f->module);
	arena_finish(&f->arena);
}

/* Parses the next PTX of the file and calls fn for it. r is the result of extracting the text; a
 * negative r is reported instead. Frees text. */
static void take_ptx(struct walk *w, uint32_t arch, int r, char *text, size_t len)
{
	struct cli_ptx f = {.path = w->path, .arch = arch, .entry = w->n_ptx, .len = len};
	struct strbuf name = {0};

	w->n_taken++;
	strbuf_printf(&name, "%s(sm_%u%s #%u)", w->path, arch, w->debug ? " debug" : "", f.entry);
	f.name = name.at ? name.at : w->path;
	if (r < 0) {
		keep_status(w,
			cli_error(w->c, NULL, "%s: %s", f.name,
				r == -ENOTSUP ? w->debug ? "compressed in a way that is not known"
							 : "packed as CUDA 7 did, which is not read"
					      : strerror(-r)));
	} else {
		f.text = text;
		parse_and_call(w, &f);
		free(text);
	}
	strbuf_finish(&name);
}

static int read_entry(void *user, const struct image_entry *e)
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
	take_ptx(w, e->arch, r, text, len);
	return 0;
}

/* Called for each cubin of a file without PTX. If the cubin's debug section contains its PTX
 * source, the function handles that PTX. */
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
	take_ptx(w, e->arch, r, text, len);
	return 0;
}

/* Returns whether the bytes are text. A text file that is neither valid PTX nor a container may be
 * PTX with an error right at its start. */
static bool is_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 32 && !strchr("\t\n\v\f\r", text[i]))
			return false;
	return !memchr(text, 0, len);
}

static bool has_name(const struct strbuf *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = names->at; p && *p; p = strstr(p, ", "), p = p ? p + 2 : p)
		if (!strncmp(p, name, len) && !strncmp(p + len, ", ", 2))
			return true;
	return false;
}

/* Appends the names of the module's kernels, each followed by a separator. For a hint it appends
 * only names that are not listed yet, and stops at a length limit. */
static void add_names(const struct ptx_module *m, bool hint, struct strbuf *out)
{
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind != PTX_ITEM_FUNC || !it->func->is_entry || !it->func->has_body)
			continue;
		if (hint && (out->len > HINT_BYTES || has_name(out, it->func->sym->name)))
			continue;
		strbuf_printf(out, "%s%s", it->func->sym->name, hint ? ", " : "\n");
	}
}

/* Reports an error if the text is empty or CUDA C++. Returns CLI_OK for any other text. */
static int check_text(const struct cli *c, const char *path, const char *text, size_t len)
{
	const char *dot = strrchr(path, '.');

	if (dot && (!strcmp(dot, ".cu") || !strcmp(dot, ".cuh")))
		return cli_error(c, "compile it with nvcc -ptx", "%s: CUDA C++, not PTX", path);
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\n\v\f\r", text[i]))
			return CLI_OK;
	return cli_error(c, NULL, "%s: empty", path);
}

/* Handles a file that is not text, such as a program or a fatbin. */
static void walk_image(struct walk *w, const char *bytes, size_t len)
{
	const struct image_bytes b = {(const uint8_t *)bytes, len};
	int r = image_walk(b, read_entry, w);

	if (r == 0 && !w->n_ptx && w->n_code) {
		w->debug = true;
		image_walk(b, debug_entry, w);
	}
	if (r == -EBADMSG)
		keep_status(w, cli_error(w->c, "a newer copy of the file may help",
				       "%s: its device code is cut or broken", w->path));
	else if (r == -ENOENT || (!w->n_ptx && !w->n_code))
		keep_status(w, cli_error(w->c,
				       "a PTX text, or a program, library or fatbin with PTX in it",
				       "%s: holds no device code", w->path));
	else if (!w->n_ptx)
		keep_status(
			w, cli_error(w->c, "heddle doctor -- PROG lists kernels that come without",
				   "%s: holds machine code only, no PTX", w->path));
	else if (!w->n_taken)
		keep_status(w, cli_error(w->c, "heddle ptx check lists what there is",
				       "%s: holds no PTX for sm_%u", w->path, (unsigned)w->arch));
}

static const char *shown_path(const char *path)
{
	return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

int cli_ptx_walk(struct cli *c, const char *path, cli_ptx_fn *fn, void *user)
{
	struct walk w = {.c = c, .path = shown_path(path), .fn = fn, .user = user};
	char *text;
	size_t len;
	int r = cli_number(c, "arch", 1, 9999, &w.arch);

	if (r == 0)
		r = cli_read_file(c, path, &text, &len);
	if (r)
		return r;
	if (is_text(text, len)) {
		struct cli_ptx f = {.path = w.path, .name = w.path, .text = text, .len = len};

		w.status = check_text(c, w.path, text, len);
		if (w.status == CLI_OK)
			parse_and_call(&w, &f);
	} else {
		walk_image(&w, text, len);
	}
	free(text);
	return w.status;
}

/* ---- finding the PTX of one kernel ---- */

struct choice {
	const char *kernel; /* the name as the user wrote it */
	bool exact;         /* a kernel has this name as its symbol */
	char *text;         /* PTX of the chosen kernel; NULL: none found yet */
	size_t len;
	uint32_t arch;
	struct strbuf names; /* names of kernels in the file, each followed by ", " */
	/* meant has the symbols of the kernels that the user may mean, with ", " after each. shown
	 * has their C++ names, separated by "; ". */
	struct strbuf meant, shown;
	unsigned n_meant;
};

static void choice_finish(struct choice *ch)
{
	strbuf_finish(&ch->names);
	strbuf_finish(&ch->meant);
	strbuf_finish(&ch->shown);
}

static void add_meant(struct choice *ch, const char *symbol)
{
	if (has_name(&ch->meant, symbol))
		return;
	ch->n_meant++;
	strbuf_printf(&ch->meant, "%s, ", symbol);
	if (ch->shown.len)
		strbuf_puts(&ch->shown, "; ");
	if (!demangle(symbol, &ch->shown))
		strbuf_puts(&ch->shown, symbol);
}

/* Finds the kernel in m that the user means: the one with this symbol, or else one with this C++
 * name. */
static const struct ptx_func *find_meant(struct choice *ch, const struct ptx_module *m)
{
	const struct ptx_func *f = ptx_find_func(m, ch->kernel);

	if (f && f->is_entry && f->has_body) {
		if (!ch->exact) {
			free(ch->text); /* the PTX of a kernel that only matched by its C++ name */
			ch->text = NULL;
		}
		ch->exact = true;
		return f;
	}
	f = NULL;
	for (size_t i = 0; i < m->items.len && !ch->exact; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind != PTX_ITEM_FUNC || !it->func->is_entry || !it->func->has_body ||
			!demangle_matches(it->func->sym->name, ch->kernel))
			continue;
		f = it->func;
		add_meant(ch, f->sym->name);
	}
	return f;
}

static int choose_kernel(struct cli *c, struct cli_ptx *f, void *user)
{
	struct choice *ch = user;
	const struct ptx_func *k = f->diags.errors ? NULL : find_meant(ch, f->module);

	if (f->diags.errors)
		return CLI_OK; /* another PTX of the file may have no errors */
	if (!k) {
		add_names(f->module, true, &ch->names);
		return CLI_OK;
	}
	if (ch->text && f->arch >= ch->arch)
		return CLI_OK;
	free(ch->text);
	ch->text = malloc(f->len + 1);
	if (!ch->text)
		return cli_error(c, NULL, "out of memory");
	memcpy(ch->text, f->text, f->len);
	ch->text[f->len] = 0;
	ch->len = f->len;
	ch->arch = f->arch;
	return CLI_OK;
}

/* Reports that the kernel does not exist, or that the name fits several kernels. */
static int no_kernel(struct cli *c, struct choice *ch, const char *path)
{
	struct strbuf *names = &ch->names;

	if (ch->n_meant > 1)
		return cli_error(c, ch->shown.at, "%s has %u kernels called '%s'", path,
			ch->n_meant, ch->kernel);
	if (names->len > 2 && !names->failed)
		names->at[names->len - 2] = 0; /* removes the last comma */
	return cli_error(c, names->len ? names->at : "it holds no kernels that can be read",
		"%s has no kernel '%s'", path, ch->kernel);
}

static int find_text(
	struct cli *c, const char *path, const char *kernel, char **ret_text, size_t *ret_len)
{
	struct choice ch = {.kernel = kernel};
	struct walk w = {.c = c, .path = shown_path(path), .fn = choose_kernel, .user = &ch};
	char *text;
	size_t len;
	int r = cli_read_file(c, path, &text, &len);

	if (r != CLI_OK)
		return r;
	if (is_text(text, len)) {
		r = check_text(c, w.path, text, len);
		ch.text = text;
		ch.len = len;
	} else {
		walk_image(&w, text, len);
		free(text);
		r = w.status;
		if (r == CLI_OK && (!ch.text || (!ch.exact && ch.n_meant > 1)))
			r = no_kernel(c, &ch, w.path);
	}
	choice_finish(&ch);
	if (r != CLI_OK) {
		free(ch.text);
		return r;
	}
	*ret_text = ch.text;
	*ret_len = ch.len;
	return CLI_OK;
}

/* Parses k->text, and finds the kernel in it. */
static int parse_kernel(
	struct cli *c, struct arena *a, const char *path, const char *kernel, struct cli_kernel *k)
{
	struct choice ch = {.kernel = kernel};
	int r;

	k->diags = ARENA_NEW(a, struct diag_list);
	if (!k->diags)
		return cli_error(c, NULL, "out of memory");
	diag_init(k->diags, a, path, k->text, k->len);
	if (ptx_parse(k->text, k->len, 0, k->diags, &k->module))
		return cli_error(c, NULL, "out of memory");
	if (k->diags->errors || cfg_check_limits(k->module, k->diags)) {
		cli_show_diags(k->diags);
		return CLI_FAILED;
	}
	k->f = find_meant(&ch, k->module);
	r = CLI_OK;
	if (!k->f)
		add_names(k->module, true, &ch.names);
	if (!k->f || ch.n_meant > 1)
		r = no_kernel(c, &ch, path);
	choice_finish(&ch);
	return r;
}

int cli_kernel_read(
	struct cli *c, struct arena *a, const char *path, const char *kernel, struct cli_kernel *k)
{
	int r;

	*k = (struct cli_kernel){0};
	r = find_text(c, path, kernel, &k->text, &k->len);
	return r == CLI_OK ? parse_kernel(c, a, path, kernel, k) : r;
}

int cli_kernel_parse(struct cli *c, struct arena *a, const char *path, const char *text, size_t len,
	const char *kernel, struct cli_kernel *k)
{
	*k = (struct cli_kernel){.text = malloc(len + 1), .len = len};
	if (!k->text)
		return cli_error(c, NULL, "out of memory");
	memcpy(k->text, text, len);
	k->text[len] = 0;
	return parse_kernel(c, a, path, kernel, k);
}

void cli_kernel_finish(struct cli_kernel *k)
{
	free(k->text);
	ptx_module_free(k->module);
}

static int add_file(struct cli *c, struct cli_ptx *f, void *user)
{
	if (!f->diags.errors)
		add_names(f->module, false, &c->out);
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

static void emit_output(void *c)
{
	cli_emit(c);
}

void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text)
{
	ptx_print_by(m, text, text == &c->out ? emit_output : NULL, c);
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

/* ---- unknown instructions ---- */

/* Returns the known instruction with the most similar name, or NULL. Only the name before the first
 * dot is compared. */
static const char *find_nearest(const char *text)
{
	size_t len = strcspn(text, ".");

	for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
		const char *name = ptx_ops[i].name;
		size_t n = strcspn(name, "_");

		if (n == len && memcmp(name, text, len) == 0)
			return NULL; /* the opcode is known, so the unknown part is a modifier */
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
			meant = find_nearest(s->mn->text);
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

	cli_json_open(c, &j, 1);
	json_begin_array(&j, "files");
	for (int i = 0; i < c->n_operands; i++) {
		int r = cli_ptx_walk(c, c->operands[i], fn, &j);

		status = status ? status : r;
	}
	json_end(&j, ']');
	json_end(&j, '}');
	return status;
}
