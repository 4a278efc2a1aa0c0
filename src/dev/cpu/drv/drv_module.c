/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Modules and libraries. A library has one module per device. All contexts on the device share this
 * module until the library is unloaded. The load calls parse PTX without holding the lock; only a
 * library's copy for a further device is parsed under the lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drv_accept.h"
#include "drv_ctx.h"
#include "drv_func.h"
#include "drv_graph.h"
#include "image/image.h"

#define MAX_PTX_BYTES ((size_t)512 << 20)

/* ---- finding the PTX in an image ---- */

static CUresult result_of_image(int e)
{
	return e == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
}

CUresult drv_code_of(const void *image, char **ret_ptx, size_t *ret_len)
{
	struct image_bytes bytes;
	struct image_pick pick;
	unsigned more = 0;
	int r = image_span(image, &bytes, &more);

	if (r)
		return result_of_image(r);
	if (image_is_ptx(bytes)) {
		char *copy = malloc(bytes.len + 1);
		if (!copy)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(copy, bytes.at, bytes.len);
		copy[bytes.len] = 0;
		*ret_ptx = copy;
		*ret_len = bytes.len;
		return CUDA_SUCCESS;
	}
	for (unsigned i = 0;; i++) {
		r = image_pick(bytes, DRV_DEVICE_CC, MAX_PTX_BYTES, &pick);
		if (r)
			return result_of_image(r);
		if (pick.ptx) {
			*ret_ptx = pick.ptx; /* the caller now owns it */
			*ret_len = pick.ptx_len;
			return CUDA_SUCCESS;
		}
		image_pick_finish(&pick);
		if (i >= more || image_prelinked(image, i, &bytes) != 0) {
			drv_say_no_ptx();
			return CUDA_ERROR_NO_BINARY_FOR_GPU;
		}
	}
}

/* ---- JIT options (only the log buffers have an effect) ---- */

struct jit_log {
	char *error, *info;
	unsigned error_bytes, info_bytes;
	void **error_size, **info_size; /* where to store the number of bytes written */
};

static CUresult jit_options(
	unsigned n, const CUjit_option *options, void **values, struct jit_log *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		switch ((int)options[i]) {
		case CU_JIT_ERROR_LOG_BUFFER:
			ret->error = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			ret->error_bytes = (unsigned)(uintptr_t)values[i];
			ret->error_size = &values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER:
			ret->info = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			ret->info_bytes = (unsigned)(uintptr_t)values[i];
			ret->info_size = &values[i];
			break;
		default:
			break;
		}
	}
	return CUDA_SUCCESS;
}

static void fill_log(char *buf, unsigned bytes, void **size, const char *text, size_t len)
{
	size_t n = bytes ? MIN(len, bytes - 1) : 0;

	if (buf && bytes) {
		memcpy(buf, text, n);
		buf[n] = 0;
	}
	if (size)
		*size = (void *)(uintptr_t)(buf ? n : 0);
}

CUresult drv_jit_silent(unsigned n, const CUjit_option *options, void **values)
{
	struct jit_log log;
	CUresult r = jit_options(n, options, values, &log);

	if (r != CUDA_SUCCESS)
		return r;
	fill_log(log.error, log.error_bytes, log.error_size, "", 0);
	fill_log(log.info, log.info_bytes, log.info_size, "", 0);
	return CUDA_SUCCESS;
}

/* Returns true if a file records an earlier simulated crash for this text. Otherwise creates the
 * file and returns false, and the caller crashes. */
static bool has_crashed(const char *path)
{
	char mark[600];
	int fd;

	snprintf(mark, sizeof(mark), "%s.crashed", path);
	if (access(mark, F_OK) == 0)
		return true;
	fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return false;
}

/* Simulates a PTX compiler that takes a certain time, crashes or hangs, as HEDDLE_VGPU demands. If
 * CUDA_CACHE_PATH is set, each text is compiled only once: a file in this folder that contains the
 * text marks it as compiled. */
static void play_compiler(const char *ptx, size_t len)
{
	const struct sm_config *c = &drv.config;
	const char *dir = secure_getenv("CUDA_CACHE_PATH");
	char path[512];
	int fd = -1;

	if (!c->assemble_ms && !*c->crash && !*c->hang)
		return;
	if (dir) {
		snprintf(path, sizeof(path), "%s/%016llx", dir,
			(unsigned long long)hash_bytes(ptx, len, 0));
		if (access(path, F_OK) == 0)
			return;
	}
	if (*c->crash && strstr(ptx, c->crash) && !(c->once && dir && has_crashed(path)))
		abort();
	while (*c->hang && strstr(ptx, c->hang))
		pause();
	usleep((useconds_t)c->assemble_ms * 1000);
	if (dir)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		for (ssize_t n; len && (n = write(fd, ptx, len)) > 0; len -= (size_t)n)
			ptx += n;
		close(fd);
	}
}

/* Loads PTX, and checks the limits that a device's compiler would check. */
static int load_code(const char *ptx, size_t len, struct diag_list *diags, struct vgpu_module **ret)
{
	struct vgpu_module *m;
	int e = vgpu_module_load(drv.mem, ptx, len, diags, &m);

	if (e)
		return e;
	drv_lines_give(ptx, len, m);
	e = vgpu_module_limits(m, diags);
	if (e)
		vgpu_module_free(m);
	else
		*ret = m;
	return e;
}

/* Decodes an image. If ret_ptx is not NULL, *ret_ptx is its PTX, which the caller frees. */
static CUresult decode_image(const void *image, struct jit_log *log, struct vgpu_module **ret,
	char **ret_ptx, size_t *ret_len)
{
	char *ptx;
	size_t len;
	CUresult r = drv_code_of(image, &ptx, &len);

	if (r != CUDA_SUCCESS) {
		fill_log(log->error, log->error_bytes, log->error_size, "", 0);
		return r;
	}
	struct arena arena;
	struct diag_list *diags = malloc(sizeof(*diags));
	struct strbuf text = {0};
	arena_init(&arena, (size_t)64 << 20);
	int e = -ENOMEM;
	if (diags) {
		diag_init(diags, &arena, "ptx", ptx, len);
		r = drv_accept_ptx(ptx, diags);
		e = -EINVAL;
	}
	if (diags && r == CUDA_SUCCESS) {
		play_compiler(ptx, len);
		e = load_code(ptx, len, diags, ret);
	}
	if (diags)
		diag_render(diags, &text);
	fill_log(e ? log->error : log->info, e ? log->error_bytes : log->info_bytes,
		e ? log->error_size : log->info_size, text.at ? text.at : "", text.len);
	fill_log(e ? log->info : log->error, e ? log->info_bytes : log->error_bytes,
		e ? log->info_size : log->error_size, "", 0);
	strbuf_finish(&text);
	arena_finish(&arena);
	free(diags);
	if (ret_ptx && e == 0) {
		*ret_ptx = ptx;
		*ret_len = len;
	} else {
		free(ptx);
	}
	if (e == 0 || r != CUDA_SUCCESS)
		return r;
	return e == -EINVAL ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- lifetime of modules ---- */

void drv_module_destroy(struct drv_module *m)
{
	for (unsigned i = 0; i < m->n_funcs; i++) {
		struct drv_func *f = m->funcs[i];
		drv_obj_remove_at(&f->kernel, &f->kernel);
		drv_obj_remove(&f->obj);
		free(f->old_params);
		free(f);
	}
	free(m->funcs);
	drv_obj_remove(&m->obj);
	vgpu_module_free(m->code);
	free(m);
}

/* Sets the default attributes of a new kernel. */
static void set_attributes(struct drv_func *f)
{
	f->max_dynamic_shared = 48 * 1024 - (int)MIN(f->info.static_shared_bytes, 48 * 1024);
	f->carveout = -1;
	for (unsigned i = 0; i < 3; i++)
		f->cluster[i] = (int)f->info.cluster[i];
	f->large_clusters = 0;
	f->cluster_policy = CU_CLUSTER_SCHEDULING_POLICY_DEFAULT;
	f->cache = CU_FUNC_CACHE_PREFER_NONE;
}

static struct drv_func *func_new(struct drv_module *m, struct vgpu_kernel *k)
{
	struct drv_func *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->module = m;
	f->index = m->n_funcs;
	f->code = k;
	vgpu_kernel_info(k, &f->info);
	set_attributes(f);
	drv_obj_add(&f->obj, OBJ_FUNC, NULL);
	f->obj.ctx = m->obj.ctx;
	f->kernel.kind = OBJ_KERNEL;
	drv_obj_add_at(&f->kernel, &f->kernel);
	return f;
}

static CUresult module_new(struct drv_ctx *c, struct vgpu_module *code, struct drv_module **ret)
{
	struct drv_module *m = calloc(1, sizeof(*m));
	unsigned n = vgpu_module_kernels(code, NULL, 0);
	struct vgpu_kernel **at = calloc(n + 1, sizeof(*at));

	if (m)
		m->funcs = calloc(n + 1, sizeof(*m->funcs));
	if (!m || !at || !m->funcs) {
		if (m)
			free(m->funcs);
		free(m);
		free(at);
		vgpu_module_free(code);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->code = code;
	drv_obj_add(&m->obj, OBJ_MODULE, c);
	vgpu_module_kernels(code, at, n);
	for (unsigned i = 0; i < n; i++) {
		struct drv_func *f = func_new(m, at[i]);
		if (!f) {
			free(at);
			drv_module_destroy(m);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		m->funcs[m->n_funcs++] = f;
	}
	free(at);
	*ret = m;
	return CUDA_SUCCESS;
}

static struct drv_func *find_func(const struct drv_module *m, const char *name)
{
	for (unsigned i = 0; i < m->n_funcs; i++)
		if (!strcmp(m->funcs[i]->info.name, name))
			return m->funcs[i];
	return NULL;
}

struct drv_func *drv_func_of(const void *handle)
{
	struct drv_func *f = drv_get(handle, OBJ_FUNC);
	struct obj *k = f ? NULL : drv_get(handle, OBJ_KERNEL);

	return k ? CONTAINER_OF(k, struct drv_func, kernel) : f;
}

static bool loads_lazily(void)
{
	const char *asked = secure_getenv("CUDA_MODULE_LOADING");

	return !asked || strcmp(asked, "EAGER");
}

/* ---- cuModule* ---- */

CUresult cuModuleLoadDataEx(
	CUmodule *mod, const void *image, unsigned int n, CUjit_option *options, void **values)
{
	struct jit_log log;
	struct vgpu_module *code;
	struct drv_module *m;
	DRV_ENTER(c);
	uint64_t ctx_id = c->id;
	CUresult r =
		mod && image ? jit_options(n, options, values, &log) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		r = capture_unsafe(c);
	drv_leave(r);
	if (r == CUDA_SUCCESS)
		r = decode_image(image, &log, &code, NULL, NULL);
	if (r != CUDA_SUCCESS)
		return r;
	r = drv_enter(&c);
	if (r == CUDA_SUCCESS && c->id != ctx_id)
		r = drv_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
	if (r == CUDA_SUCCESS)
		drv_wait_alone(c);
	if (r != CUDA_SUCCESS) {
		vgpu_module_free(code);
		return r;
	}
	vgpu_module_belongs(code, (unsigned)c->dev);
	r = module_new(c, code, &m);
	if (r == CUDA_SUCCESS)
		*mod = (CUmodule)m;
	return drv_leave(r);
}

CUresult cuModuleLoadData(CUmodule *mod, const void *image)
{
	return cuModuleLoadDataEx(mod, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *mod, const void *image)
{
	return cuModuleLoadDataEx(mod, image, 0, NULL, NULL);
}

static CUresult read_file(const char *path, char **ret)
{
	FILE *f = fopen(path, "rbe");
	size_t len = 0, cap = 0;
	char *buf = NULL;

	if (!f)
		return CUDA_ERROR_FILE_NOT_FOUND;
	for (;;) {
		if (len + 65536 > cap) {
			cap = cap ? cap * 2 : 1 << 17;
			char *more = cap <= MAX_PTX_BYTES ? realloc(buf, cap) : NULL;
			if (!more) {
				free(buf);
				fclose(f);
				return CUDA_ERROR_OUT_OF_MEMORY;
			}
			buf = more;
		}
		size_t n = fread(buf + len, 1, cap - len - 64, f);
		len += n;
		if (!n)
			break;
	}
	fclose(f);
	/* the PTX text needs a final NUL; image headers need readable bytes after short data */
	memset(buf + len, 0, 64);
	*ret = buf;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoad(CUmodule *mod, const char *file)
{
	char *image;
	CUresult r = mod && file ? read_file(file, &image) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS) {
		r = cuModuleLoadData(mod, image);
		free(image);
	}
	return r;
}

CUresult cuModuleUnload(CUmodule mod)
{
	DRV_ENTER(c);
	struct drv_module *m = drv_get(mod, OBJ_MODULE);

	if (!m || m->library)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	CUresult r = drv_wait_ctx(c);
	if (drv_get(mod, OBJ_MODULE) == m)
		drv_module_destroy(m);
	return drv_leave(r);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = loads_lazily() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name)
{
	DRV_ENTER(c);
	struct drv_module *m = drv_get(mod, OBJ_MODULE);

	if (!fn || !name)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!m)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	struct drv_func *f = find_func(m, name);
	if (f)
		*fn = (CUfunction)&f->obj;
	return drv_leave(f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	DRV_ENTER(c);
	struct drv_module *m = drv_get(mod, OBJ_MODULE);

	if (!count || !m)
		return drv_leave(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*count = m->n_funcs;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuModuleEnumerateFunctions(CUfunction *fns, unsigned int n, CUmodule mod)
{
	DRV_ENTER(c);
	struct drv_module *m = drv_get(mod, OBJ_MODULE);

	if (!fns || !m)
		return drv_leave(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	for (unsigned i = 0; i < n && i < m->n_funcs; i++)
		fns[i] = (CUfunction)&m->funcs[i]->obj;
	return drv_leave(CUDA_SUCCESS);
}

static CUresult get_global(
	const struct drv_module *m, const char *name, CUdeviceptr *ptr, size_t *bytes)
{
	uint64_t addr, len;

	if (vgpu_module_global(m->code, name, &addr, &len) != 0)
		return CUDA_ERROR_NOT_FOUND;
	if (ptr)
		*ptr = addr;
	if (bytes)
		*bytes = len;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUmodule mod, const char *name)
{
	DRV_ENTER(c);
	struct drv_module *m = drv_get(mod, OBJ_MODULE);

	if (!m)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	return drv_leave(name && (ptr || bytes) ? get_global(m, name, ptr, bytes)
						: CUDA_ERROR_INVALID_VALUE);
}

/* ---- cuLibrary* ---- */

static struct drv_library *libraries;

static void library_destroy(struct drv_library *l)
{
	struct drv_library **at = &libraries;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	for (unsigned i = 0; i < drv.n_devices; i++)
		if (l->module[i])
			drv_module_destroy(l->module[i]);
	drv_obj_remove(&l->obj);
	free(l->ptx);
	VEC_FREE(&l->placed);
	free(l);
}

/* Returns the library's module on a device, and loads it at the first call. Each device has its own
 * variables, except managed ones. Returns NULL on failure. */
static struct drv_module *library_on(struct drv_library *l, CUdevice dev)
{
	struct vgpu_module *code = NULL;
	struct diag_list *diags;
	struct arena arena;

	if (l->module[dev])
		return l->module[dev];
	diags = malloc(sizeof(*diags));
	if (!diags)
		return NULL;
	arena_init(&arena, (size_t)64 << 20);
	diag_init(diags, &arena, "ptx", l->ptx, l->ptx_len);
	if (vgpu_module_load(drv.mem, l->ptx, l->ptx_len, diags, &code) == 0) {
		drv_lines_give(l->ptx, l->ptx_len, code);
		vgpu_module_belongs(code, (unsigned)dev);
		vgpu_module_share(code, l->module[0]->code);
		if (module_new(NULL, code, &l->module[dev]) == CUDA_SUCCESS)
			l->module[dev]->library = l;
	}
	arena_finish(&arena);
	free(diags);
	return l->module[dev];
}

struct drv_func *drv_func_on(CUdevice dev, const void *handle)
{
	struct drv_func *f = drv_func_of(handle);
	struct drv_library *l = f ? f->module->library : NULL;

	if (!l || !drv_device_of(dev) || f->module == l->module[dev])
		return f;
	struct drv_module *m = library_on(l, dev);
	return m ? m->funcs[f->index] : NULL;
}

static bool is_placed(const struct drv_library *l, const struct drv_ctx *c)
{
	for (size_t i = 0; i < l->placed.len; i++)
		if (l->placed.at[i] == c->id)
			return true;
	return false;
}

CUresult drv_place(struct drv_ctx *c, struct drv_library *l)
{
	if (!l || is_placed(l, c))
		return CUDA_SUCCESS;
	if (!VEC_PUSH(&l->placed, c->id))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return drv_wait_alone(c);
}

/* Removes the library from a context. Returns true if the context had the library's code and no
 * other context on this device has it. */
static bool unplace_library(struct drv_library *l, const struct drv_ctx *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->placed.len; i++)
		if (l->placed.at[i] != c->id)
			l->placed.at[kept++] = l->placed.at[i];
	if (l->placed.len == kept)
		return false;
	l->placed.len = kept;
	for (unsigned i = 0; i < drv.n_contexts; i++)
		if (drv.contexts[i]->dev == c->dev && is_placed(l, drv.contexts[i]))
			return false;
	return true;
}

void drv_unplace_all(struct drv_ctx *c)
{
	for (struct drv_library *l = libraries; l; l = l->next) {
		struct drv_module *m = l->module[c->dev];

		if (!unplace_library(l, c) || !m)
			continue;
		vgpu_module_reset(m->code, l->placed.len == 0);
		for (unsigned i = 0; i < m->n_funcs; i++)
			set_attributes(m->funcs[i]);
	}
}

static CUresult place_everywhere(struct drv_library *l)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < drv.n_contexts && r == CUDA_SUCCESS; i++)
		r = drv_place(drv.contexts[i], l);
	return r;
}

CUresult cuLibraryLoadData(CUlibrary *lib, const void *code_image, CUjit_option *jit,
	void **jit_values, unsigned int n_jit, CUlibraryOption *options, void **values,
	unsigned int n)
{
	struct jit_log log;
	struct vgpu_module *code;
	char *ptx;
	size_t len;
	DRV_ENTER_INIT();
	drv_leave(CUDA_SUCCESS);
	CUresult r = lib && code_image && (!n || (options && values))
			     ? jit_options(n_jit, jit, jit_values, &log)
			     : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		r = decode_image(code_image, &log, &code, &ptx, &len);
	if (r != CUDA_SUCCESS)
		return r;
	struct drv_library *l = calloc(1, sizeof(*l));
	r = l ? drv_enter_init() : CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		vgpu_module_free(code);
		free(ptx);
		free(l);
		return r;
	}
	vgpu_module_belongs(code, 0);
	r = module_new(NULL, code, &l->module[0]);
	if (r != CUDA_SUCCESS) {
		free(ptx);
		free(l);
		return drv_leave(r);
	}
	l->module[0]->library = l;
	l->ptx = ptx;
	l->ptx_len = len;
	drv_obj_add(&l->obj, OBJ_LIBRARY, NULL);
	l->next = libraries;
	libraries = l;
	*lib = (CUlibrary)l;
	return drv_leave(loads_lazily() ? CUDA_SUCCESS : place_everywhere(l));
}

CUresult cuLibraryLoadFromFile(CUlibrary *lib, const char *file, CUjit_option *jit,
	void **jit_values, unsigned int n_jit, CUlibraryOption *options, void **values,
	unsigned int n)
{
	char *image;
	CUresult r = lib && file ? read_file(file, &image) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS) {
		r = cuLibraryLoadData(lib, image, jit, jit_values, n_jit, options, values, n);
		free(image);
	}
	return r;
}

CUresult cuLibraryUnload(CUlibrary lib)
{
	DRV_ENTER_INIT();
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!l)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	for (unsigned i = 0; i < drv.n_contexts; i++)
		if (is_placed(l, drv.contexts[i]))
			drv_wait_alone(drv.contexts[i]);
	if (drv_get(lib, OBJ_LIBRARY) == l)
		library_destroy(l);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary lib, const char *name)
{
	DRV_ENTER_INIT();
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!kernel || !name)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!l)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	struct drv_func *f = find_func(l->module[0], name);
	if (f)
		*kernel = (CUkernel)&f->kernel;
	return drv_leave(f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	DRV_ENTER_INIT();
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!count || !l)
		return drv_leave(l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*count = l->module[0]->n_funcs;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary lib)
{
	DRV_ENTER_INIT();
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!kernels || !l)
		return drv_leave(l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	for (unsigned i = 0; i < n && i < l->module[0]->n_funcs; i++)
		kernels[i] = (CUkernel)&l->module[0]->funcs[i]->kernel;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuLibraryGetModule(CUmodule *mod, CUlibrary lib)
{
	DRV_ENTER(c);
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!mod || !l)
		return drv_leave(l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	struct drv_module *m = library_on(l, c->dev);
	if (!m)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*mod = (CUmodule)m;
	return drv_leave(drv_place(c, l));
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary lib, const char *name)
{
	DRV_ENTER(c);
	struct drv_library *l = drv_get(lib, OBJ_LIBRARY);

	if (!l)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!name || (!ptr && !bytes))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_module *m = library_on(l, c->dev);
	CUresult r = m ? drv_place(c, l) : CUDA_ERROR_OUT_OF_MEMORY;
	return drv_leave(r == CUDA_SUCCESS ? get_global(m, name, ptr, bytes) : r);
}

CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary lib, const char *name)
{
	return cuLibraryGetGlobal(ptr, bytes, lib, name);
}

CUresult cuLibraryGetUnifiedFunction(void **fn, CUlibrary lib, const char *symbol)
{
	return CUDA_ERROR_NOT_FOUND;
}
