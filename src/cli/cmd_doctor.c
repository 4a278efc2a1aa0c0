/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle doctor prints what this machine supports and what heddle can do for a program, one finding
 * on each line. The command only inspects: it does not run the given program. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/environment.h"
#include "base/text.h"
#include "cli/loader.h"
#include "cli/program.h"
#include "dev/dev.h"
#include "front/ask.h"
#include "front/cli.h"
#include "front/progress.h"
#include "pass/pass.h"
#include "wire/unreached.h"

#define MAX_PTX_BYTES (64u << 20)

enum level { OK, NOTE, BAD };
static const char *const level_names[] = {"ok", "note", "bad"};

struct doctor {
	struct cli *c;
	struct json j;
	unsigned bad, kernels, tiers[3], elf_only;
	uint32_t cc;
};

/* Prints a finding. On a terminal the line is wrapped between words, and continuation lines are
 * indented. */
static void HD_PRINTF(3, 4) show_line(struct doctor *d, unsigned indent, const char *fmt, ...)
{
	struct strbuf out = {0};
	char text[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_wrap(text, terminal_columns(STDOUT_FILENO), indent, &out);
	cli_show(d->c, "%s", out.at ? out.at : "");
	strbuf_finish(&out);
}

static void HD_PRINTF(4, 5)
	say(struct doctor *d, enum level level, const char *what, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->bad += level == BAD;
	show_line(d, 19, "%-4s  %-12s %s", level_names[level], what, text);
	json_begin_object(&d->j, NULL);
	json_str(&d->j, "level", level_names[level]);
	json_str(&d->j, "what", what);
	json_str(&d->j, "text", text);
	json_end(&d->j, '}');
}

/* ---- examining the machine ---- */

static int get_attribute(const struct cu_api *cu, CUdevice_attribute a, CUdevice dev)
{
	int v = 0;

	return cu->cuDeviceGetAttribute && cu->cuDeviceGetAttribute(&v, a, dev) == CUDA_SUCCESS ? v
												: 0;
}

static void check_compiler(struct doctor *d, int version)
{
	int major = version / 1000, minor = version % 1000 / 10;

	switch (dev_compiler(version)) {
	case DEV_COMPILER_RIGHT:
		say(d, OK, "compiler", "the driver's, of CUDA %d.%d: no fault is known", major,
			minor);
		break;
	case DEV_COMPILER_FAULTY:
		say(d, OK, "compiler",
			"the driver's, of CUDA %d.%d: wrong code for some kernels that state no "
			"bound on "
			"registers; heddle states one in all that it makes",
			major, minor);
		break;
	case DEV_COMPILER_NOT_SEEN:
		say(d, NOTE, "compiler",
			"the driver's, of CUDA %d.%d: heddle was tried with those of 12.0 to 13.5; "
			"compare a result with and without heddle",
			major, minor);
		break;
	}
}

static uint32_t compute_capability(const struct cu_api *cu, CUdevice dev)
{
	return (uint32_t)(get_attribute(cu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev) *
				  10 +
			  get_attribute(cu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev));
}

/* Prints a line about a device. number is the device's number for --device if there are several
 * devices, else negative. */
static void say_device(struct doctor *d, const char *what, enum dev_kind kind,
	const struct cu_api *cu, CUdevice dev, int number, int version)
{
	char name[128] = "?", as[24] = "1 x ";

	if (number >= 0)
		snprintf(as, sizeof(as), "%s:%d, ", kind == DEV_CPU ? "cpu" : "cuda", number);
	if (cu->cuDeviceGetName)
		cu->cuDeviceGetName(name, sizeof(name), dev);
	say(d, OK, what, "%s%s, sm_%u, %d SMs, driver API %d.%d%s", as, name,
		compute_capability(cu, dev),
		get_attribute(cu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev), version / 1000,
		version % 1000 / 10,
		kind == DEV_CPU ? ": runs PTX of programs of the driver API, and of the CUDA "
				  "runtime if built with -cudart shared"
				: "");
}

static void check_device(struct doctor *d, const char *what, enum dev_kind kind)
{
	int n = 0, version = 0;
	struct cu_api cu;
	CUdevice dev;

	if (dev_open(kind, NULL, &cu) < 0) {
		say(d, NOTE, what, "%s",
			kind == DEV_CPU ? "the virtual GPU's libcuda.so.1 was not found"
					: "no NVIDIA driver: heddle run needs --device cpu, the "
					  "virtual GPU");
		return;
	}
	if (!cu.cuInit || cu.cuInit(0) != CUDA_SUCCESS || !cu.cuDeviceGetCount ||
		cu.cuDeviceGetCount(&n) != CUDA_SUCCESS || n == 0 ||
		cu.cuDeviceGet(&dev, 0) != CUDA_SUCCESS) {
		say(d, NOTE, what, "a driver without a device");
		dev_close(&cu);
		return;
	}
	if (cu.cuDriverGetVersion)
		cu.cuDriverGetVersion(&version);
	d->cc = compute_capability(&cu, dev);
	for (int i = 0; i < n; i++)
		if (cu.cuDeviceGet(&dev, i) == CUDA_SUCCESS)
			say_device(d, what, kind, &cu, dev, n == 1 ? -1 : i, version);
	if (kind == DEV_CUDA)
		check_compiler(d, version);
	dev_close(&cu);
}

static void check_shim(struct doctor *d)
{
	char *lib = NULL;

	if (cli_find_part("shim/libcuda.so.1", "src/shim/libcuda.so.1", &lib) < 0)
		say(d, BAD, "shim", "libcuda.so.1 was not found: install heddle as a whole");
	else
		say(d, OK, "shim", "%s", lib);
	free(lib);
}

static void check_daemon(struct doctor *d)
{
	const char *socket = cli_value(d->c, "socket");
	struct wire_status s;
	char path[108] = "";
	struct stat st;
	struct wire_unreached u;
	int r = ask_status(socket, &s);

	ask_path(socket, path, sizeof(path));
	if (r < 0) {
		ask_explain(socket, r, &u);
		if (u.is_none)
			say(d, NOTE, "daemon", "%s: none (%s): programs run natively", path,
				strerror(-r));
		else
			say(d, BAD, "daemon", "%s: %s; programs run natively until then", u.what,
				u.todo);
		return;
	}
	say(d, OK, "daemon", "heddled %s on %s, policy %s", s.version, s.socket, s.policy);
	if (strcmp(s.mps, WIRE_MPS_SILENT) == 0)
		say(d, NOTE, "MPS",
			"%s: programs that start now run without it, and heddled starts it again",
			s.mps);
	else if (strcmp(s.mps, "on") == 0)
		say(d, OK, "MPS", "on: a fault of one tenant reaches all");
	else
		say(d, OK, "MPS", "off: tenants take turns");
	if (geteuid() == 0 || (stat(path, &st) == 0 && st.st_uid == geteuid()))
		say(d, OK, "priorities", "high, normal, low, and weights");
	else
		say(d, NOTE, "priorities",
			"normal and low, unless heddled's privileged_group has "
			"this user");
}

static void say_environment(void *user, enum env_variable which, const char *line)
{
	bool refused = which == ENV_PRIORITY || which == ENV_DEVICE;

	/* heddle run stops at this value, so do not print the rest, which says what it falls back
	 * to */
	if (refused)
		say(user, BAD, "environment", "%.*s; heddle run refuses it",
			(int)strcspn(line, ";"), line);
	else
		say(user, NOTE, "environment", "%s", line);
}

static void check_cache(struct doctor *d)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char dir[4096];

	if (xdg && *xdg == '/')
		snprintf(dir, sizeof(dir), "%s", xdg);
	else if (home && *home)
		snprintf(dir, sizeof(dir), "%s/.cache", home);
	else {
		say(d, NOTE, "cache", "no home folder: kernels are rewritten in every process");
		return;
	}
	/* The shim creates the cache folder on demand, so the check tests the nearest parent folder
	 * that exists. */
	for (char *slash; access(dir, F_OK) < 0 && (slash = strrchr(dir, '/')) && slash != dir;)
		*slash = 0;
	if (access(dir, W_OK) == 0)
		say(d, OK, "cache", "%s can be written", dir);
	else
		say(d, NOTE, "cache", "%s: %s: kernels are rewritten in every process", dir,
			strerror(errno));
}

/* ---- examining a program ---- */

static void say_kernel(struct doctor *d, const char *name, enum pass_tier tier, const char *why)
{
	d->kernels++;
	d->tiers[tier]++;
	show_line(d, 15, "      %-8s %s%s%s", pass_tier_name(tier),
		demangle_name(name, (char[300]){0}, 300), why ? ": " : "", why ? why : "");
	json_begin_object(&d->j, NULL);
	json_str(&d->j, "name", name);
	json_str(&d->j, "tier", pass_tier_name(tier));
	json_str(&d->j, "reason", why);
	json_end(&d->j, '}');
}

static void classify_kernels(struct doctor *d, const char *text, size_t len)
{
	struct ptx_module *m = NULL;
	struct diag_list diags;
	struct arena a;

	arena_init(&a, 0);
	diag_init(&diags, &a, "PTX", text, len);
	if (ptx_parse(text, len, 1u << 30, &diags, &m) == 0) {
		for (size_t i = 0; i < m->items.len; i++) {
			const struct ptx_item *item = &m->items.at[i];
			struct pass_verdict v = {0};

			if (item->kind != PTX_ITEM_FUNC || !item->func->is_entry ||
				!item->func->has_body)
				continue;
			pass_classify(m, item->func, &v, NULL);
			say_kernel(d, item->func->sym->name, v.tier, v.reason);
		}
	}
	if (m)
		ptx_module_free(m);
	arena_finish(&a);
}

struct best {
	/* of the PTX that the driver would compile for the device; limit: the device's
	 * architecture */
	uint32_t limit, arch;
	bool any_ptx, any_elf;
};

static int find_best(void *user, const struct image_entry *e)
{
	struct best *b = user;

	b->any_elf |= e->kind == IMAGE_ELF;
	if (e->kind != IMAGE_PTX)
		return 0;
	b->any_ptx = true;
	if (e->arch <= b->limit && e->arch > b->arch && (!e->variant || e->arch == b->limit))
		b->arch = e->arch;
	return 0;
}

static int classify_entry(void *user, const struct image_entry *e)
{
	struct doctor *d = user;
	size_t len;
	char *text;

	if (e->kind != IMAGE_PTX || e->arch != d->cc)
		return 0;
	if (image_unpack(e, MAX_PTX_BYTES, &text, &len) < 0)
		return 0;
	classify_kernels(d, text, len);
	free(text);
	return 0;
}

static int say_elf_kernel(void *user, const char *name, size_t len)
{
	struct doctor *d = user;
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)MIN(len, 200), name);
	say_kernel(d, text, PASS_HELD, "no PTX");
	return 0;
}

static int list_elf_entry(void *user, const struct image_entry *e)
{
	size_t len;
	char *cubin;

	if (e->kind != IMAGE_ELF || image_unpack(e, MAX_PTX_BYTES, &cubin, &len) < 0)
		return 0;
	image_elf_kernels((struct image_bytes){(const uint8_t *)cubin, len}, say_elf_kernel, user);
	free(cubin);
	return 0;
}

static void check_kernels(struct doctor *d, const struct program *p)
{
	struct best b = {.limit = d->cc ? d->cc : 999};

	json_end(&d->j, ']');
	json_begin_array(&d->j, "kernels");
	image_walk(p->file, find_best, &b);
	d->cc = b.arch;
	if (b.arch)
		image_walk(p->file, classify_entry, d);
	else if (b.any_elf)
		image_walk(p->file, list_elf_entry, d);
	if (d->kernels)
		show_line(d, 6, "      %u kernel%s: %u managed, %u guard, %u held", d->kernels,
			PLURAL(d->kernels, "s"), d->tiers[0], d->tiers[1], d->tiers[2]);
	else
		show_line(d, 6,
			"      no kernels in the file itself: libraries that it loads may "
			"hold some");
}

static void check_program(struct doctor *d, const char *name)
{
	struct program p;
	const char *needs;
	char why[6400];
	int r = program_open(name, &p);

	if (r < 0) {
		say(d, BAD, "program", "%s: %s", name, strerror(-r));
		return;
	}
	if (program_obstacle(&p, why, sizeof(why)))
		say(d, BAD, "program", "%s: %s", p.path, why);
	else if (!p.is_elf64)
		say(d, NOTE, "program", "%s: no 64-bit executable; what it starts is looked at",
			p.path);
	else if (p.names_libcuda_path)
		say(d, NOTE, "program",
			"%s: names a libcuda.so.1 with its folder: what it loads by that is not "
			"heddle's",
			p.path);
	else
		say(d, OK, "program", "%s: %s", p.path,
			p.needs_libcuda       ? "linked with libcuda.so.1"
			: p.libcudart         ? "linked with the shared CUDA runtime"
			: p.has_static_cudart ? "with the CUDA runtime inside"
			: p.names_libcuda     ? "loads libcuda.so.1 by itself"
					      : "names no libcuda.so.1: its libraries may");
	needs = program_needs_gpu(&p);
	if (needs)
		say(d, NOTE, "virtual GPU", "cannot run %s%s: %s",
			p.has_static_cudart ? "all of " : "", p.path, needs);
	else if (p.is_elf64 && loader_finds_runtime(&p, why, sizeof(why)))
		say(d, NOTE, "virtual GPU",
			"cannot run all of %s: %.300s has NVIDIA's CUDA runtime inside, and calls "
			"of "
			"that need NVIDIA's driver",
			p.path, why);
	check_kernels(d, &p);
	program_close(&p);
}

static int run_doctor(struct cli *c)
{
	struct doctor d = {.c = c};

	cli_json_open(c, &d.j, 1);
	json_begin_array(&d.j, "findings");
	check_device(&d, "virtual GPU", DEV_CPU);
	check_device(&d, "GPU", DEV_CUDA);
	check_shim(&d);
	check_daemon(&d);
	env_check(say_environment, &d);
	check_cache(&d);
	if (c->n_operands)
		check_program(&d, c->operands[0]);
	json_end(&d.j, ']');
	json_uint(&d.j, "bad", d.bad);
	json_end(&d.j, '}');
	return d.bad ? CLI_FAILED : CLI_OK;
}

static const struct cli_option options[] = {
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_doctor = {
	.name = "doctor",
	.operands = "[-- PROG [ARG...]]",
	.summary = "say what this machine, or a program, supports",
	.details =
		"One finding a line: ok; note (works, but less well); bad (does not work; exit "
		"status 1). With a program, also how it loads the driver, and for each kernel in "
		"its file how heddle can steer it, and why not better. The program is not run.",
	.json = "findings, an array of level (ok, note, bad), what, text; with a program that can "
		"be read kernels, an array of name, tier (managed, guard, held) and reason (null "
		"for "
		"managed); bad, the number of such findings.",
	.options = options,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST | CLI_NO_ENVIRONMENT,
	.run = run_doctor,
};
