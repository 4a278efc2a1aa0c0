/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records launches, with the contents of memory before and after each. The shim puts the two copies
 * of the memory into the launch's own stream, around the launch. So all earlier work that the
 * kernel may rely on is complete before the first copy, and the kernel is complete before the
 * second. Other streams continue, and a copy may contain what their kernels write.
 *
 * All processes of a program write to one folder, and the size limit is for all files in the
 * folder. So a process locks the folder while it records. If a launch cannot be recorded, the shim
 * notes the reason and the launch runs. */
#include "shim/launch/record.h"

#include "base/demangle.h"
#include "base/number.h"
#include "host/folder.h"
#include "host/record.h"
#include "shim/core/lock.h"
#include "shim/form/globals.h"
#include "shim/form/kernel.h"
#include "shim/launch/admit.h"
#include "shim/launch/managed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARAMS_MOST   1024
#define PARAM_BYTES   65536
#define LEAST_ADDRESS (1u << 20) /* a smaller value is not a pointer */
#define HEADS_BYTES   65536      /* reserved for the file's parts other than PTX and regions */
/* lower bound of a region's size in the file, without contents and name */
#define REGION_BYTES 64
#define REGIONS_MOST 4096
#define NO_REGION    UINT32_MAX
/* a region's search stops after this many words that look like addresses but are none */
#define ASKED_MOST (1u << 16)
/* words are checked only if they lie in the same 2^40-byte window as a known region */
#define WINDOW_BITS 40

static struct {
	pthread_once_t once;
	char folder[4096]; /* empty: the shim records nothing */
	const char *kernel;
	uint64_t launch;
} wanted = {.once = PTHREAD_ONCE_INIT};
static struct lock lock = LOCK_INIT(record); /* held while one launch is recorded */

/* Reads the file with which `heddle record` selects the launch to record. The file has two lines:
 * the launch's number and the kernel's name. Returns false if the folder has no such file. */
static bool read_wanted(const char *folder)
{
	char text[4096], *kernel;
	struct number launch;
	int dir = folder_open(folder), fd = -1;
	ssize_t n = -1;

	if (dir >= 0)
		fd = openat(dir, RECORD_WANTED, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	if (n <= 0)
		return false;
	text[n] = 0;
	launch = number_digits(text, (size_t)n, 10);
	wanted.launch = launch.value;
	kernel = text + launch.len;
	kernel += *kernel == '\n';
	kernel[strcspn(kernel, "\n")] = 0;
	wanted.kernel = *kernel ? strdup(kernel) : NULL;
	return wanted.launch;
}

static void read_environment(void)
{
	const char *folder = secure_getenv(WIRE_REPORT_ENV);

	if (folder && *folder && strlen(folder) < sizeof(wanted.folder) && read_wanted(folder))
		strcpy(wanted.folder, folder);
}

bool record_on(void)
{
	pthread_once(&wanted.once, read_environment);
	return wanted.folder[0];
}

void record_after_fork(void)
{
	lock_init(&lock, LOCK_record);
}

/* ---- files in the folder ---- */

static void note_skipped(int folder, const char *kernel, const char *why)
{
	int fd = openat(folder, RECORD_SKIPPED, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	char line[4096];
	int n = snprintf(line, sizeof(line), "%s\t%s\n", kernel, why);

	if (fd < 0)
		return;
	if (write(fd, line, (size_t)MIN(n, (int)sizeof(line) - 1)) < 0)
		n = 0; /* the failure cannot be reported */
	close(fd);
}

/* Returns the total size of the files in the folder, in bytes. */
static uint64_t bytes_in(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	uint64_t all = 0;
	struct dirent *e;
	struct stat st;

	if (!dir && again >= 0)
		close(again);
	while (dir && (e = readdir(dir)))
		if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			all += (uint64_t)st.st_size;
	if (dir)
		closedir(dir);
	return all;
}

/* Builds a file name from the kernel's name, in which '_' replaces all characters but letters and
 * digits, and from a hash of the kernel's code. */
static void file_name(const struct kernel *k, char *buf, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", k->name);
	for (char *p = name; *p; p++)
		if (!((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
			    (*p >= 'a' && *p <= 'z')))
			*p = '_';
	snprintf(buf, size, "%s-%08x" RECORD_SUFFIX, name, (unsigned)(k->hash >> 32));
}

/* Returns 0 or a negative errno. */
static int write_file(int folder, const char *name, const struct strbuf *b)
{
	char tmp[128];
	int fd, r = 0;

	snprintf(tmp, sizeof(tmp), ".%s", name);
	fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (size_t at = 0; r == 0 && at < b->len;) {
		ssize_t n = write(fd, b->at + at, b->len - at);

		if (n >= 0)
			at += (size_t)n;
		else if (errno != EINTR)
			r = -errno;
	}
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(folder, tmp, folder, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, tmp, 0);
	return r;
}

/* ---- recording one launch ---- */

struct recording {
	const struct launch *l;
	struct kernel *k;
	int folder;
	char *text; /* PTX of its module */
	struct arena arena;
	struct record r;
	uint8_t *params;
	VEC(struct record_region) regions;
	VEC(bool) tried; /* for each region: the shim has tried to copy it */
	VEC(struct record_pointer) pointers;
	uint64_t left; /* how many more bytes the recording may hold */
	const char *why;
};

static bool fail_recording(struct recording *x, const char *why)
{
	x->why = why;
	return false;
}

/* Finds the allocation that contains an address. Returns false if there is none. */
static bool allocation_of(uint64_t v, uint64_t *ret_at, uint64_t *ret_bytes)
{
	size_t bytes = 0;

	if (v < LEAST_ADDRESS || !cu.cuPointerGetAttribute ||
		cu.cuPointerGetAttribute(ret_at, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, v) !=
			CUDA_SUCCESS ||
		cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, v) !=
			CUDA_SUCCESS)
		return false;
	*ret_bytes = bytes;
	return bytes && v >= *ret_at && v - *ret_at < bytes;
}

static bool add_region(struct recording *x, const char *variable, uint64_t at, uint64_t bytes)
{
	if (bytes > RECORD_REGION_BYTES)
		return fail_recording(x, "it uses more than 16 GiB in one piece");
	if (x->regions.len == REGIONS_MOST)
		return fail_recording(x, "its pointers lead to more than 4,096 allocations");
	x->left -= MIN(x->left, REGION_BYTES + strlen(variable));
	if (VEC_PUSH(&x->regions, (struct record_region){.variable = variable,
					  .bytes = bytes,
					  .address = at,
					  .pointer_at = RECORD_NO_POINTER}) &&
		VEC_PUSH(&x->tried, false))
		return true;
	return fail_recording(x, "out of memory");
}

/* Finds the recorded region that contains an address, and adds one if there is none. If the
 * address is not in device memory, sets *ret to NO_REGION. Returns false on failure. */
static bool region_of(struct recording *x, uint64_t v, uint32_t *ret)
{
	uint64_t at, bytes;

	for (uint32_t i = 0; i < x->regions.len; i++) {
		const struct record_region *g = &x->regions.at[i];

		if (v >= g->address && v - g->address < g->bytes) {
			*ret = i;
			return true;
		}
	}
	*ret = NO_REGION;
	if (!allocation_of(v, &at, &bytes))
		return true;
	*ret = (uint32_t)x->regions.len;
	return add_region(x, "", at, bytes);
}

/* If the 8 bytes at this offset of the parameters point into an allocation, records that allocation
 * as a region. */
static bool look_at_word(struct recording *x, uint32_t offset)
{
	uint32_t i;
	uint64_t v;

	memcpy(&v, x->params + offset, sizeof(v));
	if (!region_of(x, v, &i))
		return false;
	if (i == NO_REGION || VEC_PUSH(&x->pointers, (struct record_pointer){offset, i,
							     v - x->regions.at[i].address}))
		return true;
	return fail_recording(x, "out of memory");
}

static bool take_params(struct recording *x, const struct ptx_func *f)
{
	uint32_t offsets[PARAMS_MOST], sizes[PARAMS_MOST], bytes;
	uint32_t n = (uint32_t)f->params.len;

	if (n > ARRAY_LEN(sizes) ||
		pass_param_layout(f, &bytes, offsets, sizes, ARRAY_LEN(sizes)) ||
		bytes > PARAM_BYTES)
		return fail_recording(x, "its parameters have no layout that is known");
	x->params = arena_zalloc(&x->arena, bytes + 8);
	if (!x->params)
		return fail_recording(x, "out of memory");
	if (!launch_params(x->l, n, offsets, sizes, x->params))
		return fail_recording(x, "the driver refuses its parameters");
	x->r.params = x->params;
	x->r.param_bytes = bytes;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t at = (uint32_t)round_up(offsets[i], 8);
			at + 8 <= offsets[i] + sizes[i]; at += 8)
			if (!look_at_word(x, at))
				return false;
	return true;
}

/* Returns true if the module uses textures or surfaces. These are handles of the driver, which have
 * no meaning in another process. */
static bool uses_textures(const struct ptx_module *m)
{
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		for (size_t k = 0; it->kind == PTX_ITEM_FUNC && k < it->func->body.len; k++) {
			const struct ptx_stmt *s = &it->func->body.at[k];

			if (s->kind == PTX_INSN && s->mn->unit == PTX_UNIT_TEX)
				return true;
		}
	}
	return false;
}

/* Records the module variables that the kernel, or a function that it calls, refers to. */
static bool take_variables(struct recording *x, const struct ptx_module *m)
{
	struct ptx_module *alone;
	bool ok;

	if (ptx_extract(m, x->k->name, true, &alone) < 0)
		return fail_recording(x, "out of memory");
	ok = !uses_textures(alone) || fail_recording(x, "it reads textures or surfaces");
	for (size_t i = 0; ok && i < alone->items.len; i++) {
		const struct ptx_item *it = &alone->items.at[i];
		const char *name;
		CUdeviceptr at;
		size_t bytes = 0;

		if (it->kind != PTX_ITEM_VAR ||
			(it->sym->space != PTX_GLOBAL && it->sym->space != PTX_CONST))
			continue;
		name = arena_strndup(&x->arena, it->sym->name, it->sym->name_len);
		if (!name)
			ok = fail_recording(x, "out of memory");
		else if (!globals_address(x->k, name, &at, &bytes))
			ok = fail_recording(
				x, "the driver does not tell where its module's variables are");
		else if (bytes)
			ok = add_region(x, name, at, bytes);
	}
	ptx_module_free(alone);
	return ok;
}

static bool read_ptx(struct recording *x)
{
	struct ptx_module *m = NULL;
	struct diag_list diags;
	const struct ptx_func *f;
	struct code *c;
	size_t len = 0;
	bool ok;
	int r;

	lock_take(&kernel_lock);
	c = x->k->code;
	code_get(c);
	lock_drop(&kernel_lock);
	if (!c)
		return fail_recording(x, "its module has no PTX");
	r = image_unpack(&c->entry, 0, &x->text, &len);
	code_put(c);
	if (r < 0)
		return fail_recording(x, "its PTX cannot be unpacked");
	if (len > x->left)
		return fail_recording(x, "its PTX does not fit: a recording takes 64 MiB at most");
	x->left -= len;
	x->r.ptx = x->text;
	x->r.ptx_len = len;
	diag_init(&diags, &x->arena, "", x->text, len);
	if (ptx_parse(x->text, len, 0, &diags, &m) < 0)
		return fail_recording(x, "out of memory");
	f = diags.errors ? NULL : ptx_find_func(m, x->k->name);
	ok = f && f->is_entry && f->has_body ? take_variables(x, m) && take_params(x, f)
					     : fail_recording(x, "its PTX cannot be read");
	ptx_module_free(m);
	return ok;
}

/* ---- copying memory ---- */

static bool copy_out(const struct recording *x, uint64_t at, void *to, uint64_t bytes)
{
	return cu.cuMemcpyDtoHAsync(to, at, bytes, x->l->stream) == CUDA_SUCCESS &&
	       cu.cuStreamSynchronize(x->l->stream) == CUDA_SUCCESS;
}

static bool is_zero(const uint8_t *at, uint64_t n)
{
	return !n || (!at[0] && !memcmp(at, at + 1, n - 1));
}

/* Returns true if the value is near a known address. Only then is it worth asking the driver
 * whether it points into an allocation. */
static bool is_near(const struct recording *x, uint64_t v)
{
	for (size_t g = 0; v >= LEAST_ADDRESS && g < x->regions.len; g++)
		if (v >> WINDOW_BITS == x->regions.at[g].address >> WINDOW_BITS)
			return true;
	return false;
}

/* Searches the memory of region i (a recorded allocation) for addresses, and adds a region for each
 * allocation that such an address points into. Also records the offset of the first address found.
 * Stops early after ASKED_MOST values that looked like addresses and were none. */
static bool follow_pointers(struct recording *x, size_t i)
{
	const uint8_t *at = x->regions.at[i].before;
	uint64_t bytes = x->regions.at[i].bytes, v;
	unsigned asked = 0;

	for (uint64_t w = 0; w + 8 <= bytes && asked < ASKED_MOST; w += 8) {
		uint32_t to;

		memcpy(&v, at + w, sizeof(v));
		if (!is_near(x, v))
			continue;
		if (!region_of(x, v, &to))
			return false;
		asked += to == NO_REGION;
		if (to != NO_REGION)
			x->regions.at[i].pointer_at = MIN(x->regions.at[i].pointer_at, w);
	}
	return true;
}

static bool take_before(struct recording *x, size_t i)
{
	struct record_region *g = &x->regions.at[i];
	uint8_t *p = g->bytes <= x->left ? malloc(g->bytes) : NULL;

	x->tried.at[i] = true;
	if (!p || !copy_out(x, g->address, p, g->bytes)) {
		free(p);
		return true;
	}
	if (is_zero(p, g->bytes)) {
		free(p);
		g->had = RECORD_ZERO;
		return true;
	}
	g->had = RECORD_BYTES;
	g->before = p;
	x->left -= g->bytes;
	return follow_pointers(x, i);
}

/* Copies the content of all regions before the launch. Takes the smallest region first, so that a
 * region that exceeds the limit excludes no other region. */
static bool take_all_before(struct recording *x)
{
	for (;;) {
		size_t least = SIZE_MAX;

		for (size_t i = 0; i < x->regions.len; i++)
			if (!x->tried.at[i] &&
				(least == SIZE_MAX ||
					x->regions.at[i].bytes < x->regions.at[least].bytes))
				least = i;
		if (least == SIZE_MAX)
			return true;
		if (!take_before(x, least))
			return false;
	}
}

/* Returns true if these bytes contain addresses of regions. Such bytes differ from run to run. */
static bool leads_anywhere(const struct recording *x, const uint8_t *at, uint64_t bytes)
{
	uint64_t v;

	for (uint64_t w = 0; w + 8 <= bytes; w += 8) {
		memcpy(&v, at + w, sizeof(v));
		for (size_t i = 0; v >= LEAST_ADDRESS && i < x->regions.len; i++)
			if (v - x->regions.at[i].address < x->regions.at[i].bytes)
				return true;
	}
	return false;
}

static void take_after(struct recording *x, size_t i)
{
	uint8_t digest[RECORD_DIGEST_BYTES];
	struct record_region *g = &x->regions.at[i];
	uint8_t *p = g->had != RECORD_LEFT_OUT ? malloc(MAX(g->bytes, sizeof(digest))) : NULL;

	if (!p || !copy_out(x, g->address, p, g->bytes))
		g->left = RECORD_LEFT_OUT;
	else if (g->had == RECORD_BYTES && !memcmp(p, g->before, g->bytes))
		g->left = RECORD_SAME;
	else if (is_zero(p, g->bytes))
		g->left = RECORD_ZERO;
	else if (g->bytes <= x->left)
		g->left = RECORD_BYTES;
	else if (!leads_anywhere(x, p, g->bytes))
		g->left = RECORD_DIGEST;
	if (g->left == RECORD_BYTES) {
		x->left -= g->bytes;
	} else if (g->left == RECORD_DIGEST) {
		sha256(p, g->bytes, digest);
		memcpy(p, digest, sizeof(digest));
	} else {
		free(p);
		p = NULL;
	}
	g->after = p;
}

/* ---- the whole recording ---- */

static const char *device_name(struct recording *x)
{
	CUdevice dev = 0;
	char name[128] = "", *kept;

	if (cu.cuCtxGetDevice(&dev) == CUDA_SUCCESS)
		cu.cuDeviceGetName(name, sizeof(name), dev);
	kept = arena_strndup(&x->arena, name, strnlen(name, sizeof(name)));
	return kept ? kept : "";
}

/* Does the part of a recording that comes before the launch. Returns false if the launch cannot be
 * recorded, with the reason in x->why. */
static bool begin_recording(struct session *session, struct recording *x)
{
	const struct launch *l = x->l;
	uint64_t used = bytes_in(x->folder) + HEADS_BYTES;

	x->left = used < RECORD_MOST_BYTES ? RECORD_MOST_BYTES - used : 0;
	memcpy(x->r.grid, l->grid, sizeof(x->r.grid));
	memcpy(x->r.block, l->block, sizeof(x->r.block));
	x->r.shared_bytes = l->shared;
	x->r.launch = wanted.launch;
	x->r.kernel = x->k->name;
	x->r.program = program_invocation_short_name;
	x->r.device = device_name(x);
	if (!launch_is_ordinary(l))
		return fail_recording(x, "launched with attributes that a file has no place for");
	if (stream_capturing(session, l->stream))
		return fail_recording(x, "launched while its stream is captured into a graph");
	return read_ptx(x) && take_all_before(x);
}

/* Finishes the recording after the launch. */
static void end_recording(struct recording *x)
{
	struct strbuf out = {0};
	char name[112];
	int failed;

	x->r.finished = cu.cuStreamSynchronize(x->l->stream) == CUDA_SUCCESS;
	for (size_t i = 0; x->r.finished && i < x->regions.len; i++)
		take_after(x, i);
	x->r.regions = x->regions.at;
	x->r.n_regions = (uint32_t)x->regions.len;
	x->r.pointers = x->pointers.at;
	x->r.n_pointers = (uint32_t)x->pointers.len;
	record_write(&x->r, &out);
	file_name(x->k, name, sizeof(name));
	failed = out.failed ? -ENOMEM : write_file(x->folder, name, &out);
	if (failed < 0)
		note_skipped(x->folder, x->k->name, strerror(-failed));
	strbuf_finish(&out);
}

static void free_recording(struct recording *x)
{
	for (size_t i = 0; i < x->regions.len; i++) {
		free((void *)x->regions.at[i].before);
		free((void *)x->regions.at[i].after);
	}
	VEC_FREE(&x->regions);
	VEC_FREE(&x->tried);
	VEC_FREE(&x->pointers);
	free(x->text);
	arena_finish(&x->arena);
}

static CUresult launch_recorded(struct session *session, const struct launch *l, struct kernel *k,
	int folder, CUresult (*as_is)(const struct launch *l))
{
	struct recording x = {.l = l, .k = k, .folder = folder};
	struct shim_inside in;
	CUresult r;
	bool begun;

	arena_init(&x.arena, 0);
	flock(folder, LOCK_EX);
	shim_enter(session, &in);
	begun = begin_recording(session, &x);
	shim_leave(&in);
	if (!begun)
		note_skipped(folder, k->name, x.why);
	r = as_is(l);
	shim_enter(session, &in);
	if (begun && r == CUDA_SUCCESS)
		end_recording(&x);
	else if (begun)
		note_skipped(folder, k->name, "the driver refused the launch");
	shim_leave(&in);
	flock(folder, LOCK_UN);
	free_recording(&x);
	return r;
}

/* Counts a launch of the kernel. Returns true if this launch is the one to record. */
static bool is_wanted(struct kernel *k)
{
	return k && (!wanted.kernel || demangle_matches(k->name, wanted.kernel)) &&
	       atomic_fetch_add(&k->launches, 1) + 1 == wanted.launch;
}

CUresult record_launch(
	struct session *session, const struct launch *l, CUresult (*as_is)(const struct launch *l))
{
	struct kernel *k = kernel_of(session, (void *)l->fn);
	int folder = -1;
	CUresult r;

	if (!is_wanted(k))
		return as_is(l);
	lock_take(&lock);
	folder = folder_open(wanted.folder);
	r = folder < 0 ? as_is(l) : launch_recorded(session, l, k, folder, as_is);
	if (folder >= 0)
		close(folder);
	lock_drop(&lock);
	return r;
}

void record_skip(struct session *session, CUfunction fn, const char *why)
{
	static atomic_flag graphs = ATOMIC_FLAG_INIT;
	struct kernel *k = fn ? kernel_of(session, (void *)fn) : NULL;
	int folder;

	if (fn ? !is_wanted(k) : atomic_flag_test_and_set(&graphs))
		return;
	folder = folder_open(wanted.folder);
	if (folder < 0)
		return;
	note_skipped(folder, k ? k->name : "", why);
	close(folder);
}
