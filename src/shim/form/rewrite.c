/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a kernel's preemptible form from its PTX: unpack, parse, extract the kernel, replace
 * addresses of module variables, apply the preempt pass, print, then load. The cache on disk keeps
 * the printed form. Its key covers everything that determines the form and its compiled code, such
 * as the module's PTX, the kernel's name, the order of blocks, the driver, the device, and the
 * passes' version. The driver keeps compiled code in a cache of its own, with the text as the key.
 * So the text must not contain anything that differs at the next start: addresses of module
 * variables are filled in after loading (globals.c). */
#include "shim/form/rewrite.h"
#include "shim/core/cache.h"
#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/form/compile.h"
#include "shim/form/globals.h"
#include "shim/form/locals.h"
#include "shim/form/placing.h"
#include "shim/form/remember.h"
#include "shim/form/turns.h"

#include "host/outside.h"
#include "pass/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FORM_VERSION 28u /* version of the cached form (kept.c) and of the emitted code */
#define PTX_MAX      ((size_t)256 << 20)

CUfunction rewrite_closer(struct session *session)
{
	return session->closer->fn;
}

/* Adds the identity of the shim's own file to the key, because another build of the shim may
 * contain other passes. */
static void add_own_file(struct session *session, struct strbuf *b)
{
	struct stat st;
	Dl_info own;

	if (!dladdr((void *)rewrite_kernel, &own) || stat(own.dli_fname, &st) < 0)
		return;
	strbuf_printf(b, "|%lld|%lld|%ld", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
}

static void key_of(struct session *session, const struct kernel *k, const struct code *c,
	uint32_t bound, uint8_t ret[32])
{
	static const char *const caches[] = {"CUDA_CACHE_PATH", "CUDA_CACHE_DISABLE"};
	struct strbuf b = {0};
	int driver = 0;

	if (cu.cuDriverGetVersion)
		cu.cuDriverGetVersion(&driver);
	strbuf_add(&b, (const char *)c->digest, sizeof(c->digest));
	strbuf_printf(&b, "%s|%d|%u|%u|%u|%u|%u|%d|%u", k->name, driver, session->cc, bound,
		CTL_VERSION, FORM_VERSION, (unsigned)sizeof(struct pass_kernel_info),
		(int)dev_kind_of(&cu), session->order);
	/* Add the settings that select the driver's cache, because that cache holds the compiled
	 * code. */
	for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
		const char *value = secure_getenv(caches[i]);

		strbuf_printf(&b, "|%s", value ? value : "");
	}
	add_own_file(session, &b);
	sha256(b.at, b.len, ret);
	strbuf_finish(&b);
}

static bool from_cache(const uint8_t key[32], struct made *m)
{
	struct strbuf b = {0};
	bool ok = cache_get(key, &b) && kept_read(b.at, b.len, FORM_VERSION, m);

	strbuf_finish(&b);
	return ok;
}

/* Writes the preemptible form to a temporary file for the cache on disk. The form enters the cache
 * only once it has compiled. If the cache is not usable, both paths in *ret are empty. */
static void stage_form(const uint8_t key[32], const struct made *m, struct staged *ret)
{
	struct strbuf b = {0};

	kept_write(m, FORM_VERSION, &b);
	if (b.failed || !cache_stage(key, b.at, b.len, ret))
		*ret->tmp = *ret->path = 0;
	strbuf_finish(&b);
}

/* Computes the layout of the kernel's own parameters, then runs the pass. */
static int rewrite_module(struct session *session, struct ptx_module *m, struct kernel *k,
	uint32_t bound, struct diag_list *diags, struct made *out, enum wire_reason *ret_why)
{
	/* Do not claim the next blocks early: that costs a register, and it gains nothing
	 * on the measured kernels (doc/notebook.md). */
	const struct pass_kernel kernel = {.m = m, .name = k->name};
	const struct pass_request rq = {.kernels = &kernel,
		.n = 1,
		.in = m,
		.options = {.no_pull_ahead = true,
			.max_registers = bound,
			.order = (enum pass_order)session->order}};
	const struct ptx_func *f = ptx_find_func(m, k->name);
	struct pass_form form;
	uint32_t bytes;
	int r;

	if (!f || !f->is_entry)
		return -ENOENT;
	out->info.n_params = (uint32_t)f->params.len;
	if (!made_params(out))
		return -ENOMEM;
	r = pass_param_layout(f, &bytes, out->offsets, out->sizes, out->info.n_params);
	if (r < 0)
		return r;
	if (!kernel_hold(session, k))
		return -ECANCELED;
	r = globals_bake(m, k, &out->vars, diags);
	kernel_release(session, k);
	if (r < 0) {
		*ret_why = WIRE_WHY_VARIABLES;
		return r;
	}
	r = pass_run(pass_find("preempt"), &rq, diags, &form);
	if (r < 0) {
		*ret_why = WIRE_WHY_NOT_REWRITTEN;
		return r;
	}
	out->info = form.info;
	if (!made_sane(out))
		return -EINVAL;
	if (out->vars.n && host_leave_const(m) < 0)
		return -ENOMEM;
	if (dev_kind_of(&cu) == DEV_CPU)
		ptx_print_lines(m, &out->text, &out->lines);
	else
		ptx_print(m, &out->text);
	return out->text.failed ? -ENOMEM : 0;
}

/* A parsed module. All threads that make forms of its kernels read the same one. */
struct parsed {
	_Atomic unsigned refs;
	struct ptx_module *module;
	char *text;
	size_t len;
	uint8_t digest[32];
};

static void parsed_put(struct parsed *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	ptx_module_free(p->module);
	free(p->text);
	free(p);
}

/* The module that was parsed last. It is kept because the next kernel is often from the same
 * module. */
static struct parsed *last;
static struct lock last_lock = LOCK_INIT(parsed);

/* Call under the lock. */
static void set_last(struct parsed *p)
{
	parsed_put(last);
	last = p;
}

void rewrite_idle(void)
{
	lock_take(&last_lock);
	set_last(NULL);
	lock_drop(&last_lock);
}

static int parse_code(
	const struct code *c, struct diag_list *diags, struct arena *scratch, struct parsed **ret)
{
	struct parsed *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->refs = 1;
	memcpy(p->digest, c->digest, sizeof(p->digest));
	r = image_unpack(&c->entry, PTX_MAX, &p->text, &p->len);
	if (r == 0) {
		diag_init(diags, scratch, "", p->text, p->len);
		r = ptx_parse(p->text, p->len, 0, diags, &p->module);
	}
	if (r == 0 && diags->errors)
		r = -EINVAL;
	if (r < 0) {
		parsed_put(p);
		return r;
	}
	*ret = p;
	return 0;
}

/* Returns the parsed module, with a reference for the caller. If one thread is parsing the module,
 * the other threads that need it wait. */
static int parsed_get(
	const struct code *c, struct diag_list *diags, struct arena *scratch, struct parsed **ret)
{
	int r = 0;

	lock_take(&last_lock);
	if (last && !memcmp(last->digest, c->digest, sizeof(last->digest))) {
		diag_init(diags, scratch, "", last->text, last->len);
	} else {
		struct parsed *p;

		r = parse_code(c, diags, scratch, &p);
		if (r == 0)
			set_last(p);
	}
	if (r == 0) {
		atomic_fetch_add(&last->refs, 1);
		*ret = last;
	}
	lock_drop(&last_lock);
	return r;
}

static int make_form(struct session *session, struct kernel *k, const struct code *c,
	uint32_t bound, struct made *out, enum wire_reason *ret_why)
{
	struct diag_list *diags = calloc(1, sizeof(*diags));
	struct ptx_module *one = NULL;
	struct parsed *all = NULL;
	bool asks = dev_kind_of(&cu) == DEV_CPU;
	ptx_lines from = {0};
	struct arena scratch;
	int r;

	*ret_why = WIRE_WHY_UNREADABLE;
	if (!diags)
		return -ENOMEM;
	arena_init(&scratch, 0);
	r = parsed_get(c, diags, &scratch, &all);
	if (r == 0)
		r = ptx_extract_lines(all->module, k->name, false, asks ? &from : NULL, &one);
	if (r == 0)
		r = rewrite_module(session, one, k, bound, diags, out, ret_why);
	if (asks)
		ptx_lines_behind(&out->lines, &from);
	VEC_FREE(&from);
	ptx_module_free(one);
	parsed_put(all);
	arena_finish(&scratch);
	free(diags);
	return r;
}

static uint32_t func_attribute(CUfunction fn, CUfunction_attribute which)
{
	int v = 0;

	return cu.cuFuncGetAttribute(&v, which, fn) == CUDA_SUCCESS && v > 0 ? (uint32_t)v : 0;
}

/* The closer is compiled once, by the thread that needs it first. */
static struct lock closer_lock = LOCK_INIT(closer);

static bool closer_compiled(struct session *session, bool is_kept)
{
	static const struct staged none;
	const char *text = pass_closer_ptx();
	struct shim_inside in;
	bool ok;

	/* A thread that holds this lock may wait in turn_begin. So call turn_end
	 * before waiting for the lock; otherwise two threads could wait for each other. */
	turn_end();
	lock_take(&closer_lock);
	turn_begin();
	ok = session->closer->fn ||
	     compile(session, text, strlen(text), is_kept ? NULL : &none, session->closer);
	if (ok && !session->closer->fn) {
		ok = placing_begin(session, &in);
		if (ok) {
			ok = compiled_place(session->closer, text, CTL_CLOSER);
			if (!ok)
				compiled_drop(session->closer);
			placing_end(session, &in);
		}
	}
	lock_drop(&closer_lock);
	return ok;
}

static uint64_t *find_vars(struct session *session, struct kernel *k, const struct vars *v)
{
	uint64_t *at = NULL;

	if (kernel_hold(session, k)) {
		at = globals_find(k, v);
		kernel_release(session, k);
	}
	return at;
}

/* Call between placing_begin and placing_end. */
static bool place_form(struct session *session, struct kernel *k, const struct made *m,
	struct compiled *on, enum wire_reason *ret_why)
{
	uint64_t *at = NULL;
	bool ok;

	*ret_why = WIRE_WHY_VARIABLES;
	if (m->vars.n && !(at = find_vars(session, k, &m->vars)))
		return false;
	*ret_why = WIRE_WHY_FORM_REFUSED;
	ok = compiled_place(on, m->text.at, k->name);
	if (ok && at) {
		*ret_why = WIRE_WHY_VARIABLES;
		ok = globals_fill(session, on->mod, at, m->vars.n);
	}
	free(at);
	return ok;
}

static void ask_figures(struct form *f)
{
	CUfunction fn = f->on.fn;
	/* The form has more static shared memory than the original kernel. The code below raises
	 * the form's limit of dynamic shared memory, so that the form can run every launch that the
	 * original kernel allows. */
	uint32_t most = func_attribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

	f->regs = func_attribute(fn, CU_FUNC_ATTRIBUTE_NUM_REGS);
	f->static_shared = func_attribute(fn, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	f->local = func_attribute(fn, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	f->max_threads = func_attribute(fn, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	if (most)
		cu.cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			(int)(most + f->info.added_static_shared_bytes));
}

/* Compiles and loads a preemptible form of the kernel. `s` is the staged cache entry, which is kept
 * once the form has compiled. NULL means that the form came from the cache. */
static struct form *load_form(struct session *session, struct kernel *k, const struct made *m,
	const struct staged *s, enum wire_reason *ret_why)
{
	struct form *f = calloc(1, sizeof(*f));
	struct shim_inside in;
	bool ok;

	*ret_why = WIRE_WHY_FORM_REFUSED;
	if (!f || (m->info.tier == PASS_GUARD && !closer_compiled(session, !s))) {
		if (s)
			cache_unstage(s);
		free(f);
		return NULL;
	}
	dev_tell_lines(&cu, m->text.at, m->text.len, m->lines.at, m->lines.len);
	if (!compile(session, m->text.at, m->text.len, s, &f->on)) {
		free(f);
		return NULL;
	}
	f->info = m->info;
	ok = placing_begin(session, &in);
	if (ok) {
		ok = place_form(session, k, m, &f->on, ret_why);
		if (ok) {
			ask_figures(f);
			locals_make_room(session, f->local);
		} else {
			compiled_drop(&f->on);
		}
		placing_end(session, &in);
	}
	if (!ok) {
		free(f);
		return NULL;
	}
	lock_init(&f->lock, LOCK_form);
	return f;
}

static bool vars_fit(struct session *session, struct kernel *k, const struct vars *v)
{
	bool fit;

	if (!v->n)
		return true;
	if (!kernel_hold(session, k))
		return false;
	fit = globals_fit(session, k, v);
	kernel_release(session, k);
	return fit;
}

/* Gets the kernel's preemptible form from the cache, or makes it, and loads it. A form in the cache
 * is known to compile. `bound` is the largest number of registers per thread; 0 means no limit. */
static int obtain_form(struct session *session, struct kernel *k, const struct code *c,
	uint32_t bound, struct form **ret, enum wire_reason *ret_why)
{
	struct made m = {0};
	struct form *f = NULL;
	struct staged s;
	uint8_t key[32];
	bool is_kept;
	int r = 0;

	key_of(session, k, c, bound, key);
	is_kept = from_cache(key, &m) && vars_fit(session, k, &m.vars);
	if (!is_kept) {
		made_finish(&m);
		m = (struct made){0};
		r = make_form(session, k, c, bound, &m, ret_why);
	}
	if (r == 0) {
		if (!is_kept)
			stage_form(key, &m, &s);
		f = load_form(session, k, &m, is_kept ? NULL : &s, ret_why);
		r = f ? 0 : -ENOEXEC;
	}
	if (f) {
		f->offsets = m.offsets;
		f->sizes = m.sizes;
		m.offsets = m.sizes = NULL;
		*ret = f;
	}
	made_finish(&m);
	return r;
}

/* Returns the registers per thread of the original kernel, or 0 if unknown. Does not load the
 * kernel. */
static uint32_t plain_registers(struct session *session, struct kernel *k)
{
	struct shim_inside in;
	uint32_t regs = 0;
	int v = 0;

	if (!kernel_hold(session, k))
		return 0;
	if (shim_enter(session, &in) == CUDA_SUCCESS) {
		if (!k->in_library)
			regs = func_attribute(k->handle, CU_FUNC_ATTRIBUTE_NUM_REGS);
		else if (cu.cuKernelGetAttribute &&
			 cu.cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_NUM_REGS, k->handle,
				 session->dev) == CUDA_SUCCESS)
			regs = (uint32_t)MAX(v, 0);
	}
	shim_leave(&in);
	kernel_release(session, k);
	return regs;
}

static void drop_form(struct session *session, struct form *f)
{
	struct shim_inside in;

	if (placing_begin(session, &in)) {
		form_unload(session, f);
		placing_end(session, &in);
	}
	form_free(f);
}

/* Chooses between form f and a second one that is limited to the original kernel's registers. If f
 * needs more registers than the original kernel, fewer of its blocks fit on an SM, unless registers
 * suffice for a full SM all the same.
 * - The limited form is better if it spills no more than f; f is then dropped.
 * - If it spills more, either form may be faster: both are kept, and the kernel's launches measure
 *   them. */
static struct form *choose_bounded(
	struct session *session, struct kernel *k, const struct code *c, struct form *f)
{
	const uint32_t step = 8; /* the hardware allocates registers in units of 8 per thread */
	struct form *other = NULL;
	uint32_t plain, bound;
	enum wire_reason why;

	if (round_up(f->regs, step) <= session->free_regs)
		return f;
	plain = plain_registers(session, k);
	bound = (uint32_t)round_up(plain, step);
	if (!plain || round_up(f->regs, step) <= bound ||
		obtain_form(session, k, c, bound, &other, &why) < 0)
		return f;
	if (other->regs > bound) {
		drop_form(session, other);
		return f;
	}
	if (other->local <= f->local) {
		drop_form(session, f);
		return other;
	}
	f->other = other;
	return f;
}

/* Computes the cache key for the measured speeds of all forms of the kernel. */
static void known_key(
	struct session *session, const struct kernel *k, const struct code *c, uint8_t ret[32])
{
	uint8_t forms[32 + 8];

	key_of(session, k, c, 0, forms);
	memcpy(forms + 32, "launches", 8);
	sha256(forms, sizeof(forms), ret);
}

int rewrite_kernel(struct session *session, struct kernel *k, struct code *c, struct form **ret,
	enum wire_reason *ret_why)
{
	struct form *f;
	int r = obtain_form(session, k, c, 0, &f, ret_why);

	if (r < 0)
		return r;
	f = choose_bounded(session, k, c, f);
	f->kernel = k;
	known_key(session, k, c, f->known_key);
	if (f->other) {
		f->other->kernel = k;
		f->other->which = 1;
	}
	remember_recall(f);
	*ret = f;
	return 0;
}

void rewrite_forget(struct session *session, const struct session_ends *ends)
{
	compiled_drop_ended(session->closer);
}

bool rewrite_open(struct session *session)
{
	session->closer = calloc(1, sizeof(*session->closer));
	return session->closer;
}

void rewrite_after_fork(void)
{
	lock_init(&last_lock, LOCK_parsed);
	lock_init(&closer_lock, LOCK_closer);
	last = NULL;
}
