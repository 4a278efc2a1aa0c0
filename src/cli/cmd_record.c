/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle record runs a program under the shim, which writes one launch of each kernel to a folder
 * (shim/launch/record.c). Afterwards it lists the recorded launches, and the kernels that were not
 * recorded, with the reason. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/run_watch.h"
#include "cli/steer.h"
#include "front/cli.h"
#include "job/recording.h"
#include "wire/wire.h"

struct recorder {
	struct cli *c;
	struct arena arena;
	char *folder; /* absolute path of the output folder */
	struct json j;
	unsigned n;       /* number of recorded launches */
	uint64_t bytes;   /* total size of their files */
	unsigned skipped; /* number of kernels that were not recorded */
};

/* ---- the output folder ---- */

static const char *in_folder(struct recorder *x, const char *name)
{
	return arena_printf(&x->arena, "%s/%s", x->folder, name);
}

/* Makes the output folder: the folder given with -o or, by default, the program's name with
 * ".recorded" appended, in the current folder. */
static int make_folder(struct recorder *x)
{
	const char *given = cli_value(x->c, "output"), *program = x->c->operands[0];
	const char *slash = strrchr(program, '/');
	char *here = given && *given == '/' ? strdup("") : getcwd(NULL, 0);

	if (given)
		x->folder = arena_printf(
			&x->arena, "%s%s%s", here ? here : "", *given == '/' ? "" : "/", given);
	else
		x->folder = arena_printf(&x->arena, "%s/%s" RECORDING_FOLDER, here ? here : "",
			slash ? slash + 1 : program);
	if (!here || !x->folder) {
		free(here);
		return cli_error(x->c, NULL, "out of memory");
	}
	free(here);
	if (mkdir(x->folder, 0700) == 0)
		return CLI_OK;
	return cli_error(x->c,
		errno == EEXIST ? "remove it, or name another folder: -o DIR"
				: "name another folder: -o DIR",
		"%s: %s", x->folder, strerror(errno));
}

/* Writes the file that tells the shim which launch and kernel to record. */
static int write_wanted(struct recorder *x, uint64_t launch, const char *kernel)
{
	const char *path = in_folder(x, RECORD_WANTED);
	struct strbuf text = {0};
	int r;

	strbuf_printf(&text, "%" PRIu64 "\n%s\n", launch, kernel);
	r = path ? cli_write_file(x->c, path, "name another folder: -o DIR", &text)
		 : cli_error(x->c, NULL, "out of memory");
	strbuf_finish(&text);
	return r;
}

/* ---- running the program ---- */

static int set_environment(struct recorder *x)
{
	const char *kernel = cli_value(x->c, "kernel");
	uint64_t launch = 1;
	char why[STEER_WHY];
	bool steer = false;
	int r = cli_number(x->c, "launch", 1, 1000000000000, &launch);

	if (r == CLI_OK)
		r = steer_device(x->c, &steer);
	if (r == CLI_OK && !steer)
		r = cli_error(x->c, steer_to_virtual(x->c, why), "no NVIDIA driver was found");
	if (r == CLI_OK && steer_obstacle(x->c, why))
		r = cli_error(x->c, NULL, "%s cannot be recorded: %s", x->c->operands[0], why);
	if (r == CLI_OK)
		r = steer_shim(x->c);
	if (r == CLI_OK)
		r = make_folder(x);
	if (r == CLI_OK)
		r = write_wanted(x, launch, kernel ? kernel : "");
	if (r == CLI_OK && setenv(WIRE_REPORT_ENV, x->folder, 1))
		r = -ENOMEM;
	return r < 0 ? cli_error(x->c, NULL, "out of memory") : r;
}

/* Runs the program and waits for it. heddle ignores SIGINT and SIGQUIT meanwhile: a terminal sends
 * them to the whole process group, and the program decides what to do. */
static int run_program(struct recorder *x, int *ret_status)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN}, interrupt, quit;
	pid_t child;

	fflush(NULL);
	sigaction(SIGINT, &ignored, &interrupt);
	sigaction(SIGQUIT, &ignored, &quit);
	child = fork();
	if (child == 0) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		_exit(run_exec(x->c));
	}
	while (child > 0 && waitpid(child, ret_status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return child < 0 ? cli_error(x->c, NULL, "fork: %s", strerror(errno)) : CLI_OK;
}

/* ---- listing what was recorded ---- */

struct summary {
	unsigned left_out, without_result, with_pointers; /* numbers of memory regions */
};

static struct summary summarise_record(const struct record *r)
{
	struct summary s = {0};

	for (uint32_t i = 0; i < r->n_regions; i++) {
		s.left_out += r->regions[i].had == RECORD_LEFT_OUT;
		s.without_result += r->regions[i].left == RECORD_LEFT_OUT;
		s.with_pointers += r->regions[i].pointer_at != RECORD_NO_POINTER;
	}
	return s;
}

static void json_dims(struct json *j, const char *key, const uint32_t dims[3])
{
	json_begin_array(j, key);
	for (unsigned i = 0; i < 3; i++)
		json_uint(j, NULL, dims[i]);
	json_end(j, ']');
}

static void json_launch(struct json *j, const char *name, const struct recording *of)
{
	const struct record *r = &of->r;
	struct summary s = summarise_record(r);

	json_begin_object(j, NULL);
	json_str(j, "file", of->path);
	json_str(j, "kernel", r->kernel);
	json_str(j, "name", name);
	json_str(j, "device", r->device);
	json_uint(j, "launch", r->launch);
	json_dims(j, "grid", r->grid);
	json_dims(j, "block", r->block);
	json_uint(j, "shared_bytes", r->shared_bytes);
	json_uint(j, "bytes", of->bytes);
	json_uint(j, "regions", r->n_regions);
	json_uint(j, "left_out", s.left_out);
	json_uint(j, "without_result", s.without_result);
	json_uint(j, "with_pointers", s.with_pointers);
	json_bool(j, "finished", r->finished);
	json_end(j, '}');
}

static void tell_launch(const char *name, const struct record *r, size_t bytes)
{
	struct summary s = summarise_record(r);
	const uint32_t *g = r->grid, *b = r->block;

	fprintf(stderr,
		"heddle record: %s: launch %" PRIu64 ", grid %u,%u,%u, block %u,%u,%u, %.1f KiB\n",
		name, r->launch, g[0], g[1], g[2], b[0], b[1], b[2], (double)bytes / 1024);
	if (s.with_pointers)
		fprintf(stderr,
			"  %u of %s hold addresses of device memory, which become others "
			"when it is run again\n",
			s.with_pointers, COUNTED(r->n_regions, "buffer"));
	if (s.left_out)
		fprintf(stderr,
			"  %u of %s were left out, as a recording takes %u MiB at most: "
			"they begin as zeros when it is run again\n",
			s.left_out, COUNTED(r->n_regions, "buffer"), RECORD_MOST_BYTES >> 20);
	if (!r->finished)
		fprintf(stderr, "  it ended in an error: there is no result to compare with\n");
	else if (s.without_result > s.left_out)
		fprintf(stderr, "  the results of %u of %s were left out\n", s.without_result,
			COUNTED(r->n_regions, "buffer"));
}

static int show_launch(void *user, const struct recording *of)
{
	struct recorder *x = user;
	struct strbuf name = {0};

	x->n++;
	x->bytes += of->bytes;
	if (!demangle(of->r.kernel, &name))
		strbuf_puts(&name, of->r.kernel);
	json_launch(&x->j, name.at, of);
	if (!x->c->json && name.at)
		tell_launch(name.at, &of->r, of->bytes);
	strbuf_finish(&name);
	return CLI_OK;
}

static void remove_file(struct recorder *x, const char *name)
{
	const char *path = in_folder(x, name);

	if (path)
		unlink(path);
}

/* Prints each line that the shim wrote once, and removes the shim's file. */
static void show_skipped(struct recorder *x)
{
	const char *path = in_folder(x, RECORD_SKIPPED);
	struct strbuf b = {0};
	char *rest, *line;

	json_begin_array(&x->j, "skipped");
	if (path && file_read(path, false, &b) == 0) {
		rest = b.at;
		while ((line = strsep(&rest, "\n")) && rest) {
			char *why = strchr(line, '\t');

			if (!why)
				continue;
			*why++ = 0;
			x->skipped++;
			json_begin_object(&x->j, NULL);
			json_str(&x->j, "kernel", *line ? line : NULL);
			json_str(&x->j, "why", why);
			json_end(&x->j, '}');
			if (!x->c->json)
				fprintf(stderr, "heddle record: %s%snot recorded: %s\n", line,
					*line ? " is " : "", why);
		}
	}
	remove_file(x, RECORD_SKIPPED);
	json_end(&x->j, ']');
	strbuf_finish(&b);
}

static int report_records(struct recorder *x, int status)
{
	struct cli *c = x->c;
	const char *program = c->operands[0];
	bool failed = !WIFEXITED(status) || WEXITSTATUS(status);
	int r;

	cli_json_open(c, &x->j, 1);
	json_str(&x->j, "program", program);
	json_str(&x->j, "folder", x->folder);
	json_begin_array(&x->j, "launches");
	r = recording_each(c, &x->arena, x->folder, show_launch, x);
	json_end(&x->j, ']');
	show_skipped(x);
	remove_file(x, RECORD_WANTED);
	json_end(&x->j, '}');
	if (c->json) {
		fputs(c->out.at ? c->out.at : "", stderr);
		strbuf_finish(&c->out);
	}
	if (r != CLI_OK)
		return r;
	if (failed)
		r = WIFEXITED(status)
			    ? cli_error(c, NULL, "%s: exit status %d", program, WEXITSTATUS(status))
			    : cli_error(c, NULL, "%s: killed by %s", program,
				      strsignal(WTERMSIG(status)));
	if (!x->n) {
		rmdir(x->folder);
		return cli_error(c,
			x->skipped || failed ? NULL
					     : "does it use the GPU? heddle run -v -- PROG tells",
			"nothing was recorded");
	}
	if (!c->json)
		fprintf(stderr, "heddle record: %u launch%s, %.1f KiB, in %s\n", x->n,
			x->n == 1 ? "" : "es", (double)x->bytes / 1024, x->folder);
	return r;
}

static int run_record(struct cli *c)
{
	struct recorder x = {.c = c};
	int r, status = 0;

	arena_init(&x.arena, 0);
	r = set_environment(&x);
	if (r == CLI_OK)
		r = run_program(&x, &status);
	if (r == CLI_OK)
		r = report_records(&x, status);
	arena_finish(&x.arena);
	return r;
}

static const struct cli_option options[] = {
	{'o', "output", "DIR", "the folder to make (default: PROG.recorded, here)"},
	{0, "kernel", "NAME", "only this kernel"},
	{0, "launch", "N", "the N-th launch of each kernel (default: 1)"},
	{0, "device", "cpu|cuda|auto",
		"the virtual GPU, or the GPU (default: the GPU); cuda:1: the second one"},
	{0},
};

const struct cli_verb cli_verb_record = {
	.name = "record",
	.operands = "-- PROG [ARG...]",
	.summary = "write the kernels that a program launches to files",
	.details =
		"Runs the program, and writes the first launch of each of its kernels to a folder: "
		"the kernel's PTX, its shape and arguments, the buffers that the arguments point "
		"to and the variables of its module, before and after the launch. recorded:PROG "
		"KERNEL is then a kernel specification for heddle exec, corun, tune and profile; "
		"recorded:FOLDER names another folder; KERNEL may be left out if there is only "
		"one. The recorded program is no tenant of heddled, and waits for each launch that "
		"is recorded.\nA recording takes at most 64 MiB, in files that only its user can "
		"read. Buffers that do not fit are left out, the largest first, and contain zeros "
		"when the launch is run again. Addresses of device memory in buffers are replaced "
		"by those of the new buffers; heddle finds them by their values alone. Launches of "
		"graphs, cooperative launches, kernels without PTX and kernels that read textures "
		"are not recorded. Standard error lists the recorded launches, and why others were "
		"not recorded. Exit status 1: nothing was recorded, or the program failed.",
	.json = "after the program's end, on standard error: program, folder; launches, an array "
		"of file, kernel, name (in C++), device, launch, grid, block, shared_bytes, bytes "
		"(of the file), regions (buffers and variables), and of these left_out, "
		"without_result (what the launch left is not known) and with_pointers, finished "
		"(false: it ended in an error); skipped, an array of kernel (null: graphs) and "
		"why. Else nothing: the output is the program's.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST | CLI_TEXT_ERRORS | CLI_NO_ENVIRONMENT,
	.run = run_record,
};
