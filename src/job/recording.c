/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds, reads and checks recorded launches. Each file is read completely. Before a launch is used,
 * the digest of its file is checked, so a truncated or changed file is refused. */
#include "job/recording.h"
#include "base/text.h"

#include "base/demangle.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREFIX "recorded:"

bool recording_is(const char *word)
{
	return !strncmp(word, PREFIX, strlen(PREFIX));
}

/* ---- reading files ---- */

static int read_failed(const struct cli *c, const char *path, int r, uint32_t version)
{
	if (r == -EBADMSG)
		return cli_error(c, "record the program again: heddle record -- PROG",
			"%s: no recorded launch, or cut or changed since it was recorded", path);
	if (r == -EPROTONOSUPPORT)
		return cli_error(c, "record the program again: heddle record -- PROG",
			"%s: format version %u, this heddle reads version %u", path, version,
			RECORD_VERSION);
	return cli_error(c, NULL, "%s: %s", path, strerror(-r));
}

static int read_launch(
	const struct cli *c, struct arena *a, const char *path, struct recording *ret)
{
	struct strbuf b = {0};
	uint32_t version = 0;
	uint8_t *at;
	int r = file_read(path, false, &b);

	if (r < 0) {
		strbuf_finish(&b);
		return cli_error(c, NULL, "%s: %s", path, strerror(-r));
	}
	at = arena_alloc(a, b.len + 1);
	if (at)
		memcpy(at, b.at, b.len);
	*ret = (struct recording){.path = path, .at = at, .bytes = b.len};
	strbuf_finish(&b);
	r = at ? record_read(a, at, ret->bytes, &ret->r, &version) : -ENOMEM;
	return r < 0 ? read_failed(c, path, r, version) : CLI_OK;
}

static int is_launch(const struct dirent *e)
{
	size_t n = strlen(e->d_name), suffix = strlen(RECORD_SUFFIX);

	return e->d_name[0] != '.' && n > suffix && !strcmp(e->d_name + n - suffix, RECORD_SUFFIX);
}

int recording_each(
	const struct cli *c, struct arena *a, const char *folder, recording_fn *fn, void *user)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, is_launch, alphasort), r = CLI_OK;

	if (n < 0)
		return cli_error(c, NULL, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *path =
			r == CLI_OK ? arena_printf(a, "%s/%s", folder, names[i]->d_name) : NULL;
		struct recording of;

		if (r == CLI_OK && !path)
			r = cli_error(c, NULL, "out of memory");
		if (r == CLI_OK)
			r = read_launch(c, a, path, &of);
		if (r == CLI_OK)
			r = fn(user, &of);
		free(names[i]);
	}
	free(names);
	return r;
}

/* ---- finding the launch that the user names ---- */

struct search {
	const char *kernel; /* NULL: any kernel */
	struct arena *arena;
	struct recording found;
	unsigned n_found, n;
	/* kernel names (demangled), separated by "; ": of all launches, and of the matching ones */
	struct strbuf names, meant;
};

static void add_name(struct strbuf *to, const char *symbol)
{
	if (to->len)
		strbuf_puts(to, "; ");
	if (!demangle(symbol, to))
		strbuf_puts(to, symbol);
}

static int match_recording(void *user, const struct recording *of)
{
	struct search *s = user;

	s->n++;
	add_name(&s->names, of->r.kernel);
	if (s->kernel && !demangle_matches(of->r.kernel, s->kernel))
		return CLI_OK;
	add_name(&s->meant, of->r.kernel);
	s->n_found++;
	s->found = *of;
	return CLI_OK;
}

/* Returns NAME.recorded if that folder exists, because the user may give the program's name NAME
 * instead. Else it returns `where` itself. */
static const char *find_place(struct arena *a, const char *where)
{
	const char *folder = arena_printf(a, "%s" RECORDING_FOLDER, where);
	struct stat st;

	return folder && stat(folder, &st) == 0 && S_ISDIR(st.st_mode) ? folder : where;
}

static int find_launch(const struct cli *c, const char *place, struct search *s)
{
	struct stat st;
	struct recording of;
	int status;

	if (stat(place, &st) < 0)
		return cli_error(c, "heddle record -- PROG makes recordings", "%s: %s", place,
			strerror(errno));
	if (!S_ISDIR(st.st_mode)) {
		status = read_launch(c, s->arena, place, &of);
		return status == CLI_OK ? match_recording(s, &of) : status;
	}
	return recording_each(c, s->arena, place, match_recording, s);
}

static int tell_choice(const struct cli *c, const char *place, const struct search *s)
{
	if (!s->n)
		return cli_error(c, "heddle record -- PROG makes recordings",
			"%s holds no recorded launches", place);
	if (!s->n_found)
		return cli_error(
			c, s->names.at, "%s has no launch of a kernel '%s'", place, s->kernel);
	if (s->kernel)
		return cli_error(c, s->meant.at, "%s has launches of %u kernels called '%s'", place,
			s->n_found, s->kernel);
	return cli_error(c, s->meant.at,
		"%s has launches of %u kernels: which one is to be named behind it", place,
		s->n_found);
}

/* ---- making a specification from a recorded launch ---- */

static const char *region_text(struct spec *s, uint32_t i)
{
	const struct record *r = s->record;
	const char *variable = r->regions[i].variable;
	uint32_t at = UINT32_MAX;

	for (uint32_t p = 0; p < r->n_pointers; p++)
		if (r->pointers[p].region == i)
			at = MIN(at, r->pointers[p].at);
	if (*variable)
		return arena_printf(s->arena, "variable %s", variable);
	if (at == UINT32_MAX)
		return arena_printf(s->arena, "buffer %u, to which memory leads", i + 1);
	return arena_printf(s->arena, "the buffer of the parameter at byte %u", at);
}

static int make_args(const struct cli *c, struct spec *s)
{
	const struct record *r = s->record;
	unsigned n_left_out = 0;

	s->n_args = r->n_regions;
	s->args = ARENA_ARRAY(s->arena, struct spec_arg, r->n_regions + 1);
	if (!s->args)
		return cli_error(c, NULL, "out of memory");
	for (uint32_t i = 0; i < r->n_regions; i++) {
		const struct record_region *g = &r->regions[i];
		const char *text = region_text(s, i);

		if (!text)
			return cli_error(c, NULL, "out of memory");
		spec_from_bytes(
			text, g->had == RECORD_BYTES ? g->before : NULL, g->bytes, &s->args[i]);
		s->args[i].variable = *g->variable ? g->variable : NULL;
		n_left_out += g->had == RECORD_LEFT_OUT;
	}
	if (n_left_out)
		cli_warn(c,
			"%s: %u of %s were left out of the recording: they begin as "
			"zeros, and the kernel may do other work",
			s->file, n_left_out, COUNTED(r->n_regions, "buffer"));
	return CLI_OK;
}

int recording_read(const struct cli *c, const char *word, const char *kernel, struct spec *ret)
{
	const char *place = find_place(ret->arena, word + strlen(PREFIX));
	struct search s = {.kernel = kernel, .arena = ret->arena};
	struct record *r = ARENA_NEW(ret->arena, struct record);
	int status = r ? find_launch(c, place, &s) : cli_error(c, NULL, "out of memory");

	if (status == CLI_OK && s.n_found != 1)
		status = tell_choice(c, place, &s);
	strbuf_finish(&s.names);
	strbuf_finish(&s.meant);
	if (status != CLI_OK)
		return status;
	if (!record_is_whole(s.found.at, s.found.bytes))
		return read_failed(c, s.found.path, -EBADMSG, 0);
	*r = s.found.r;
	ret->record = r;
	ret->file = s.found.path;
	ret->kernel = r->kernel;
	memcpy(ret->shape.grid, r->grid, sizeof(r->grid));
	memcpy(ret->shape.block, r->block, sizeof(r->block));
	ret->shape.shared_bytes = r->shared_bytes;
	return make_args(c, ret);
}

/* ---- comparing the result with the recorded one ---- */

static const uint8_t zeros[8]; /* as large as the widest element */

/* Returns true if element e of the kernel's result equals the recorded element. If the element is
 * an address, the buffers of this process are at other addresses than the recorded ones. So an
 * address also counts as equal if it points to the corresponding place of the corresponding
 * buffer. */
static bool is_same(const struct job_kernel *k, const struct spec_arg *arg, const uint8_t *have,
	const uint8_t *want, uint64_t e)
{
	size_t width = arg->bytes / arg->count, at = e * width & ~(size_t)7;
	uint64_t is, was;

	if (!memcmp(have + e * width, want ? want + e * width : zeros, width))
		return true;
	if (!want || at + sizeof(was) > arg->bytes)
		return false;
	memcpy(&is, have + at, sizeof(is));
	memcpy(&was, want + at, sizeof(was));
	return is == record_relocate(k->spec->record, k->buffers, was);
}

/* Compares the elements of the kernel's result with the recorded ones. want NULL means that all
 * recorded elements are zero. */
static bool compare_words(
	const struct job_kernel *k, unsigned i, const uint8_t *have, const uint8_t *want)
{
	const struct spec_arg *arg = &k->spec->args[i];
	size_t width = arg->bytes / arg->count;
	uint64_t others = 0, first = 0;
	struct strbuf is = {0}, was = {0};

	for (uint64_t e = arg->count; e-- > 0;)
		if (!is_same(k, arg, have, want, e)) {
			others++;
			first = e;
		}
	if (!others)
		return true;
	spec_print_element(arg, have, first, &is);
	spec_print_element(arg, want ? want + first * width : zeros, 0, &was);
	cli_error(k->c, NULL,
		"kernel '%s': %s: %" PRIu64 " of %" PRIu64
		" words are not what the recorded launch left; the first is number %" PRIu64
		": %s, not %s",
		k->spec->kernel, arg->text, others, arg->count, first, is.at, was.at);
	strbuf_finish(&is);
	strbuf_finish(&was);
	return false;
}

static bool compare_digest(
	const struct job_kernel *k, unsigned i, const uint8_t *have, const uint8_t *want)
{
	const struct spec_arg *arg = &k->spec->args[i];
	uint8_t digest[RECORD_DIGEST_BYTES];

	sha256(have, arg->bytes, digest);
	if (!memcmp(digest, want, sizeof(digest)))
		return true;
	cli_error(k->c, NULL,
		"kernel '%s': %s is not what the recorded launch left, of which only a digest is "
		"recorded",
		k->spec->kernel, arg->text);
	return false;
}

/* Compares a region of memory. *ret_known is false if the recording lacks the region's result. */
static int compare_region(
	struct job_kernel *k, const struct cu_api *cu, unsigned i, bool *ret_known, bool *io_same)
{
	const struct record_region *g = &k->spec->record->regions[i];
	const struct spec_arg *arg = &k->spec->args[i];
	enum record_contents is = g->left == RECORD_SAME ? g->had : g->left;
	const uint8_t *want = g->left == RECORD_SAME ? g->before : g->after;
	uint8_t *have;

	*ret_known = is != RECORD_LEFT_OUT;
	if (!*ret_known)
		return CLI_OK;
	have = malloc(arg->bytes);
	if (!have)
		return job_out_of_memory(k->c);
	if (cu->cuMemcpyDtoH(have, k->buffers[i], arg->bytes) != CUDA_SUCCESS) {
		free(have);
		return cli_error(k->c, NULL, "%s could not be copied back", arg->text);
	}
	*io_same &= is == RECORD_DIGEST
			    ? compare_digest(k, i, have, want)
			    : compare_words(k, i, have, is == RECORD_ZERO ? NULL : want);
	free(have);
	return CLI_OK;
}

int recording_compare(struct job_kernel *k, const struct cu_api *cu, bool *ret_same)
{
	const struct record *r = k->spec->record;
	unsigned unknown = 0;
	int status = CLI_OK;

	if (!r->finished)
		return cli_error(k->c, NULL,
			"%s: the recorded launch ended in an error: it left nothing to compare "
			"with",
			k->spec->file);
	*ret_same = true;
	for (uint32_t i = 0; i < r->n_regions; i++)
		if (r->regions[i].had == RECORD_LEFT_OUT)
			return cli_error(k->c, NULL,
				"%s: %s was left out of the recording: results cannot be compared",
				k->spec->file, k->spec->args[i].text);
	for (uint32_t i = 0; status == CLI_OK && i < r->n_regions; i++) {
		bool known;

		status = compare_region(k, cu, i, &known, ret_same);
		unknown += !known;
	}
	if (status == CLI_OK && unknown)
		cli_warn(k->c,
			"%s: what %u of %s held after the launch was left out of the "
			"recording, and is not compared",
			k->spec->file, unknown, COUNTED(r->n_regions, "buffer"));
	return status;
}
