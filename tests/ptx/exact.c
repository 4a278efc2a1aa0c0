/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: exact [--ptxas PROGRAM] [--reworded] FILE.ptx…
 * Reads each file and prints it. There must be no error; the printed text must have the same tokens
 * as the file; parsing and printing that text must give it again; and the module must be valid,
 * also after each statement was replaced by a copy. With ptxas, file and printed text must also
 * assemble to the same bytes, except for sections that record PTX lines or text; files that ptxas
 * rejects are skipped. --reworded: the parser rewrites parts of these files, so the tokens are not
 * compared. */
#include "elf_same.h"
#include "ptx/ptx.h"
#include "tokens.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	unsigned passed, failed, skipped;
	const char *ptxas;
	bool reworded;
	char dir[64];
} t;

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;
	long len;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	data = malloc((size_t)len + 1);
	if (data && fread(data, 1, (size_t)len, f) != (size_t)len) {
		free(data);
		data = NULL;
	}
	fclose(f);
	*ret_len = (size_t)len;
	return data;
}

static bool write_file(const char *path, const char *data, size_t len)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(data, 1, len, f) == len;

	if (f)
		ok &= fclose(f) == 0;
	return ok;
}

static bool fail(const char *path, const char *what, const char *detail)
{
	printf("%s: %s%s%s\n", path, what, detail ? ": " : "", detail ? detail : "");
	return false;
}

static bool parse(const char *path, const char *text, size_t len, struct ptx_module **ret)
{
	struct diag_list *d = calloc(1, sizeof(*d));
	struct strbuf shown = {0};
	struct arena a;
	bool ok;

	arena_init(&a, 0);
	diag_init(d, &a, path, text, len);
	ok = ptx_parse(text, len, 0, d, ret) == 0;
	if (ok) {
		unsigned errors = d->errors + ptx_validate(*ret, d);

		diag_render(d, &shown);
		if (errors) {
			fail(path, "errors", shown.at);
			ptx_module_free(*ret);
			ok = false;
		}
	} else {
		fail(path, "ptx_parse failed", NULL);
	}
	strbuf_finish(&shown);
	arena_finish(&a);
	free(d);
	return ok;
}

static bool same_tokens(const char *path, const char *text, size_t len, const struct strbuf *out)
{
	token_row a = {0}, b = {0};
	size_t at;

	tokens_read(&a, text, len);
	tokens_read(&b, out->at, out->len);
	at = tokens_differ(&a, &b);
	if (at != SIZE_MAX)
		printf("%s:%u: token %zu of %zu is \"%.*s\", printed (%zu, line %u) \"%.*s\"\n",
			path, at < a.len ? a.at[at].line : 0, at, a.len,
			at < a.len ? (int)a.at[at].len : 0, at < a.len ? a.at[at].s : "", b.len,
			at < b.len ? b.at[at].line : 0, at < b.len ? (int)b.at[at].len : 0,
			at < b.len ? b.at[at].s : "");
	VEC_FREE(&a);
	VEC_FREE(&b);
	return at == SIZE_MAX;
}

static bool is_fixed_point(const char *path, const struct strbuf *out)
{
	struct strbuf again = {0};
	struct ptx_module *m;
	bool ok = false;

	if (parse(path, out->at, out->len, &m)) {
		ptx_print(m, &again);
		ptx_module_free(m);
		ok = again.len == out->len && !memcmp(again.at, out->at, out->len);
		if (!ok)
			fail(path, "printing what was printed changes it", NULL);
	}
	strbuf_finish(&again);
	return ok;
}

/* Replaces each function's body by copies of its statements, as passes make them. The printed text
 * must stay the same. */
static bool copies_print_alike(const char *path, struct ptx_module *m, const struct strbuf *out)
{
	struct strbuf copy = {0};
	bool ok;

	for (size_t i = 0; i < m->items.len; i++) {
		struct ptx_func *f = m->items.at[i].func;
		ptx_body body = {0};

		if (m->items.at[i].kind != PTX_ITEM_FUNC)
			continue;
		for (size_t k = 0; k < f->body.len; k++)
			VEC_PUSH(&body, ptx_copy_stmt(m, &f->body.at[k]));
		VEC_FREE(&f->body);
		f->body = body;
	}
	ptx_print(m, &copy);
	ok = copy.len == out->len && !memcmp(copy.at, out->at, out->len);
	strbuf_finish(&copy);
	return ok || fail(path, "a copy prints differently", NULL);
}

/* Returns the architecture ("sm_90a") for ptxas; ones that it no longer supports become the
 * oldest that it does. */
static void pick_arch(const struct ptx_module *m, char *buf, size_t size)
{
	const char *s = m->target ? strstr(m->target, "sm_") : NULL;
	size_t n = s ? strcspn(s, ", \n") : 0;

	if (!s || m->sm < 75)
		snprintf(buf, size, "sm_75");
	else
		snprintf(buf, size, "%.*s", (int)n, s);
}

static int assemble(const char *arch, const char *name, const char *text, size_t len)
{
	char ptx[128], cubin[128];
	int status;
	pid_t pid;

	snprintf(ptx, sizeof(ptx), "%s/x.ptx", t.dir);
	snprintf(cubin, sizeof(cubin), "%s/%s.cubin", t.dir, name);
	unlink(cubin);
	if (!write_file(ptx, text, len))
		return -1;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		execlp(t.ptxas, t.ptxas, "-c", "-arch", arch, ptx, "-o", cubin, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns 1: same, 0: different, -1: the original does not assemble. */
static int same_cubin(const char *path, const struct ptx_module *m, const char *text, size_t len,
	const struct strbuf *out)
{
	char a[128], b[128], arch[32];
	const char *why;

	pick_arch(m, arch, sizeof(arch));
	snprintf(a, sizeof(a), "%s/a.cubin", t.dir);
	snprintf(b, sizeof(b), "%s/b.cubin", t.dir);
	if (assemble(arch, "a", text, len) != 0)
		return -1;
	if (assemble(arch, "b", out->at, out->len) != 0)
		return fail(path, "the printed text does not assemble", NULL);
	why = elf_differ(a, b);
	return why ? fail(path, "assembles differently", why) : 1;
}

static void check(const char *path)
{
	size_t len = 0;
	char *text = read_file(path, &len);
	struct strbuf out = {0};
	struct ptx_module *m;
	int same = 1;
	bool ok = false;

	if (!text) {
		fail(path, "cannot be read", NULL);
	} else if (parse(path, text, len, &m)) {
		ptx_print(m, &out);
		ok = t.reworded || same_tokens(path, text, len, &out);
		ok &= is_fixed_point(path, &out);
		ok &= copies_print_alike(path, m, &out);
		if (ok && t.ptxas)
			same = same_cubin(path, m, text, len, &out);
		ptx_module_free(m);
	}
	if (ok && same < 0)
		printf("%s: skipped: ptxas does not take it\n", path);
	t.failed += !ok || same == 0;
	t.skipped += ok && same < 0;
	t.passed += ok && same > 0;
	strbuf_finish(&out);
	free(text);
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--ptxas")) {
		t.ptxas = argv[2];
		i = 3;
		snprintf(t.dir, sizeof(t.dir), "/tmp/heddle-exact.XXXXXX");
		if (!mkdtemp(t.dir))
			return 1;
	}
	if (i < argc && !strcmp(argv[i], "--reworded")) {
		t.reworded = true;
		i++;
	}
	for (; i < argc; i++)
		check(argv[i]);
	printf("%u files %s, %u differ, %u skipped\n", t.passed,
		t.ptxas ? "assemble to the same bytes" : "keep their tokens", t.failed, t.skipped);
	if (t.ptxas) {
		static const char *const names[] = {"x.ptx", "a.cubin", "b.cubin"};
		char path[128];

		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			snprintf(path, sizeof(path), "%s/%s", t.dir, names[k]);
			unlink(path);
		}
		rmdir(t.dir);
	}
	return t.failed ? 1 : t.passed ? 0 : 77;
}
