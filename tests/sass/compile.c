/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles PTX to decoded machine code: ptxas makes a cubin, and nvdisasm its listing. Both stay
 * in a folder (SASS_CACHE), under a hash of text and options, so that each text is compiled
 * once. PTXAS and NVDISASM name the programs (default: those on the PATH). SASS_OPTIONS is one
 * more option for ptxas; the hash includes it, and PTXAS. */
#include "sass.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *setting(const char *name, const char *otherwise)
{
	const char *v = getenv(name);

	return v && *v ? v : otherwise;
}

/* Runs a program; its output goes to the files. */
static int run(char *const argv[], const char *out, const char *err)
{
	posix_spawn_file_actions_t a;
	pid_t pid;
	int status = -1, r;

	posix_spawn_file_actions_init(&a);
	posix_spawn_file_actions_addopen(&a, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&a, 2, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	r = posix_spawnp(&pid, argv[0], &a, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&a);
	if (r)
		return -r;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EINVAL;
}

static int read_file(const char *path, char **ret, size_t *ret_len)
{
	FILE *f = fopen(path, "rbe");
	struct stat st;
	char *buf = NULL;
	int r = -ENOMEM;

	if (!f)
		return -errno;
	if (fstat(fileno(f), &st) == 0)
		buf = malloc((size_t)st.st_size + 1);
	if (buf) {
		*ret_len = fread(buf, 1, (size_t)st.st_size, f);
		buf[*ret_len] = 0;
		*ret = buf;
		r = 0;
	}
	fclose(f);
	return r;
}

static int write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "wbe");
	bool ok = f && fwrite(text, 1, len, f) == len;

	if (f && fclose(f) != 0)
		ok = false;
	return ok ? 0 : -EIO;
}

struct paths {
	char ptx[300], cubin[300], sass[300], tmp_cubin[300], tmp_sass[300], err[300];
};

static int make_files(const struct paths *p, const char *ptx, size_t len, const char **ret_why)
{
	static _Thread_local char why[600];
	char *option = getenv("SASS_OPTIONS"), *said = NULL;
	char *arch = strstr(ptx, ".target sm_90a") ? "-arch=sm_90a" : "-arch=sm_90";
	char *assemble[] = {(char *)(uintptr_t)setting("PTXAS", "ptxas"), arch,
		(char *)(uintptr_t)p->ptx, "-o", (char *)(uintptr_t)p->tmp_cubin,
		option && *option ? option : NULL, NULL};
	char *list[] = {(char *)(uintptr_t)setting("NVDISASM", "nvdisasm"), "-c",
		(char *)(uintptr_t)p->tmp_cubin, NULL};
	size_t n = 0;
	int r = write_file(p->ptx, ptx, len);

	if (!r)
		r = run(assemble, "/dev/null", p->err);
	if (!r)
		r = run(list, p->tmp_sass, p->err);
	if (!r && (rename(p->tmp_sass, p->sass) != 0 || rename(p->tmp_cubin, p->cubin) != 0))
		r = -errno;
	if (r) {
		if (read_file(p->err, &said, &n) != 0)
			said = NULL;
		snprintf(why, sizeof(why), "ptxas or nvdisasm failed (%s): %.400s", strerror(-r),
			said ? said : "");
		free(said);
		*ret_why = why;
	}
	unlink(p->err);
	return r;
}

static int compile_into(struct sass_code *c, const char *ptx, size_t len, const char **ret_why)
{
	const char *dir = setting("SASS_CACHE", "/tmp"), *ptxas = setting("PTXAS", "ptxas");
	const char *option = setting("SASS_OPTIONS", "");
	uint64_t h = hash_bytes(ptx, len, 0);
	struct paths p;
	char *text = NULL;
	size_t n = 0;
	int r = 0;

	h = hash_bytes(ptxas, strlen(ptxas), h);
	h = hash_bytes(option, strlen(option), h);
	snprintf(p.cubin, sizeof(p.cubin), "%s/%016llx.cubin", dir, (unsigned long long)h);
	snprintf(p.sass, sizeof(p.sass), "%s/%016llx.sass", dir, (unsigned long long)h);
	snprintf(p.ptx, sizeof(p.ptx), "%s/%016llx.ptx", dir, (unsigned long long)h);
	snprintf(p.err, sizeof(p.err), "%s/%016llx.%d.err", dir, (unsigned long long)h, getpid());
	snprintf(p.tmp_cubin, sizeof(p.tmp_cubin), "%s/%016llx.%d.cubin", dir,
		(unsigned long long)h, getpid());
	snprintf(p.tmp_sass, sizeof(p.tmp_sass), "%s/%016llx.%d.sass", dir, (unsigned long long)h,
		getpid());
	*ret_why = "its files cannot be read";
	if (access(p.cubin, R_OK) != 0)
		r = make_files(&p, ptx, len, ret_why);
	if (!r)
		r = read_file(p.cubin, (char **)&c->cubin, &n);
	if (!r) {
		*ret_why = "the cubin is not understood";
		r = sass_cubin_parse(c, c->cubin, n);
	}
	if (!r)
		r = read_file(p.sass, &text, &n);
	return r ? r : sass_listing_parse(c, text, ret_why);
}

int sass_compile(const char *ptx, size_t len, struct sass_code **ret, const char **ret_why)
{
	struct sass_code *c = calloc(1, sizeof(*c));
	int r = c ? compile_into(c, ptx, len, ret_why) : -ENOMEM;

	if (r)
		sass_code_free(c);
	else
		*ret = c;
	return r;
}

void sass_code_free(struct sass_code *c)
{
	if (!c)
		return;
	free(c->listing);
	free(c->cubin);
	free(c->insns);
	free(c->sections);
	free(c->labels);
	free(c->elf);
	free(c->symbols);
	free(c->relocs);
	free(c);
}
