/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures a program's kernels. A separate heddled with policy profile schedules the program. Its
 * events give the duration of each launch and the launch's number of blocks on each SM (its count).
 * The program runs repeatedly until one of these is true:
 * - Every count of every kernel has the wanted number of launches.
 * - More runs do not help.
 * - --runs or --budget-s is used up.
 *
 * After each run the medians are stored. The user's own heddled reads them at its next start. */
#include "cli/profile/measure_program.h"
#include "base/text.h"

#include "base/measure.h"
#include "front/ask.h"
#include "front/progress.h"
#include "job/recording.h"
#include "model/kept.h"
#include "stage/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUNS_MOST     33u   /* default of --runs: the largest device's number of counts, plus one */
#define RECORDED_RUNS "4"   /* number of launches in a run, if the program is a recorded launch */
#define LEAVE_MS      30000 /* time for heddled to notice that a program has ended */
#define USELESS_MOST  2u    /* stop after so many runs in succession without a new measurement */

struct profiler {
	struct cli *c;
	struct program_profile p;
	struct stage stage;
	struct model_store *store;
	uint64_t runs_most, rounds, budget_s;
	double end_ms; /* end of the budget; 0: no limit */
	unsigned useless;
};

/* ---- the store of curves ---- */

/* Finds the path of the store: the one given by --store, or else the one that a heddled started by
 * this user would use by default. Returns 0 or a negative errno. */
static int store_path(const struct cli *c, char *ret, size_t size)
{
	const char *given = cli_value(c, "store");
	char socket[108];

	if (given)
		return snprintf(ret, size, "%s", given) < (int)size ? 0 : -ENAMETOOLONG;
	if (wire_socket_path(socket, sizeof(socket), true) == 0 &&
		!strcmp(socket, WIRE_SYSTEM_SOCKET))
		return snprintf(ret, size, KEPT_SYSTEM_FOLDER "/heddled.db") < (int)size
			       ? 0
			       : -ENAMETOOLONG;
	return kept_default_path(ret, size);
}

/* Without --store, this command writes to the store file of the user's own heddled. A running
 * heddled would later overwrite that file with its own data, so the command refuses to run. */
static int check_daemon(const struct cli *c)
{
	struct wire_status s;

	if (cli_has(c, "store") || ask_status(NULL, &s) < 0)
		return CLI_OK;
	return cli_error(c,
		"stop it, and start it again after the profile; or name another file: "
		"--store FILE",
		"a heddled listens on %s, and would overwrite the profile in its store", s.socket);
}

static int open_store(struct profiler *f)
{
	int r = store_path(f->c, f->p.store, sizeof(f->p.store));

	if (r < 0)
		return cli_error(f->c, "name a file: --store FILE", "no place for the store: %s",
			r == -ENOENT ? "neither XDG_STATE_HOME nor HOME is set" : strerror(-r));
	r = kept_make_private(f->p.store);
	if (r < 0)
		return cli_error(f->c, "name another file: --store FILE", "%s: %s", f->p.store,
			strerror(-r));
	r = model_store_open(f->p.store, true, &f->store);
	return r < 0 ? cli_error(f->c, NULL, "%s", model_store_why()) : CLI_OK;
}

/* ---- storing curves ---- */

struct keeping {
	struct profiler *f;
	VEC(struct duration_kernel) rows;
	bool failed;
};

/* Adds a row for the store. The kernel's identity and device come from heddled's reply, and the
 * curve from heddled's events. */
static void keep_kernel(void *user, const struct wire_kernel *w, const struct wire_shape *s)
{
	struct keeping *g = user;
	struct measured *m = &g->f->p.measured;
	double ns[SCHED_PER_SM + 1];

	for (size_t i = 0; w && !s && i < m->kernels.len; i++) {
		struct measured_kernel *k = &m->kernels.at[i];
		struct duration_kernel row = {
			.owner = {.uid = w->uid, .n_sms = w->n_sms}, .code = w->code};

		if (k->code != w->code || !measured_is_main(m, k))
			continue;
		memcpy(row.owner.device, w->device, sizeof(row.owner.device));
		memcpy(row.owner.driver, w->driver, sizeof(row.owner.driver));
		memcpy(row.name, w->name, sizeof(row.name));
		measured_curve(k, ns);
		for (uint32_t n = 1; n <= k->most; n++) {
			row.curve_ns[n - 1] = (float)(ns[n] * (double)MIN(k->n_sms, k->blocks) /
						      (double)k->blocks);
			row.curve_n[n - 1] = (uint32_t)k->ns[n].len;
		}
		g->failed |= !VEC_PUSH(&g->rows, row);
	}
}

struct search {
	const struct duration_kernel *row;
	/* the store has the kernel: for this device, for another device (elsewhere) */
	bool here, there;
	struct profile_elsewhere elsewhere;
};

static void search_row(void *user, const struct duration_kernel *k)
{
	struct search *s = user;
	const struct duration_owner *a = &k->owner, *b = &s->row->owner;

	if (k->code != s->row->code)
		return;
	if (!strcmp(a->device, b->device) && !strcmp(a->driver, b->driver) &&
		a->n_sms == b->n_sms) {
		s->here = true;
		return;
	}
	s->there = true;
	s->elsewhere = (struct profile_elsewhere){.code = k->code, .n_sms = a->n_sms};
	memcpy(s->elsewhere.device, a->device, sizeof(a->device));
	memcpy(s->elsewhere.driver, a->driver, sizeof(a->driver));
}

/* Finds the measured kernels whose only profiles in the store come from another device, driver or
 * number of SMs, and adds them to f->p.elsewhere. Call it after the program's first run, before
 * that run's rows are stored. */
static void note_elsewhere(struct profiler *f, struct keeping *g)
{
	for (size_t i = 0; i < g->rows.len; i++) {
		struct search s = {.row = &g->rows.at[i]};

		if (kept_each(f->store, s.row->owner.uid, search_row, &s) == 0 && s.there &&
			!s.here)
			g->failed |= !VEC_PUSH(&f->p.elsewhere, s.elsewhere);
	}
}

static int keep_profile(struct profiler *f)
{
	struct keeping g = {.f = f};
	char socket[128];
	int r;

	snprintf(socket, sizeof(socket), "%s/heddled.sock", f->stage.dir);
	r = ask_profile(socket, keep_kernel, &g);
	if (r < 0)
		r = ask_failed(f->c, socket, r);
	if (r == CLI_OK && f->p.runs == 1)
		note_elsewhere(f, &g);
	if (r == CLI_OK && kept_put_curves(f->store, g.rows.at, (unsigned)g.rows.len) < 0)
		r = cli_error(f->c, "name another file: --store FILE", "%s", model_store_why());
	if (r == CLI_OK && (g.failed || f->p.measured.failed))
		r = cli_error(f->c, NULL, "out of memory");
	VEC_FREE(&g.rows);
	return r;
}

/* ---- running the program once ---- */

static void read_text(const char *path, long from, struct strbuf *out)
{
	FILE *file = fopen(path, "rb");
	char buf[65536];
	size_t n;

	if (file && !fseek(file, from, SEEK_SET))
		while ((n = fread(buf, 1, sizeof(buf), file)) > 0)
			strbuf_add(out, buf, n);
	if (file)
		fclose(file);
}

/* Reads the events of the run. First waits until all its tenants have left, at most LEAVE_MS. */
static void read_events(const struct profiler *f, long from, struct strbuf *out)
{
	double end = clock_ms() + LEAVE_MS;
	unsigned joined, left;
	char path[128];

	snprintf(path, sizeof(path), "%s/events", f->stage.dir);
	for (;;) {
		read_text(path, from + (long)out->len, out);
		measured_count(out->at ? out->at : "", &joined, &left);
		if (joined == left || clock_ms() > end)
			return;
		usleep(10000);
	}
}

/* Returns the last line that the program, or heddle run, wrote to standard error; "" if there is
 * none. */
static void last_line(const struct profiler *f, char *ret, size_t size)
{
	struct strbuf text = {0};
	char path[128];
	size_t at;

	snprintf(path, sizeof(path), "%s/program.err", f->stage.dir);
	read_text(path, 0, &text);
	while (text.len && text.at[text.len - 1] == '\n')
		text.at[--text.len] = 0;
	for (at = text.len; at && text.at[at - 1] != '\n';)
		at--;
	snprintf(ret, size, "%s", text.len ? text.at + at : "");
	cli_plain(ret, strlen(ret));
	strbuf_finish(&text);
}

static int start_program(struct profiler *f, struct child *ret)
{
	char socket[128], err[128], name[64], **operands = f->c->operands;
	char *env[] = {"HEDDLE_FORM_WAIT_MS=60000", NULL, NULL};
	char *head[] = {f->stage.heddle, "run", "--socket", socket, "--device",
		f->stage.spec.device == DEV_CPU ? "cpu" : "cuda", "--"};
	/* A recorded launch is run as a tenant by heddle exec. */
	char *exec[] = {
		f->stage.heddle, "exec", "--device", "tenant", "--repeat", RECORDED_RUNS, "--"};
	size_t n = 0, n_exec = recording_is(operands[0]) ? ARRAY_LEN(exec) : 0;
	char **argv = calloc(
		ARRAY_LEN(head) + ARRAY_LEN(exec) + (size_t)f->c->n_operands + 1, sizeof(*argv));
	int r;

	if (!argv)
		return cli_error(f->c, NULL, "out of memory");
	snprintf(socket, sizeof(socket), "%s/heddled.sock", f->stage.dir);
	snprintf(err, sizeof(err), "%s/program.err", f->stage.dir);
	snprintf(name, sizeof(name), "HEDDLE_VGPU=profile%s", strrchr(f->stage.dir, '-'));
	if (!getenv("HEDDLE_VGPU"))
		env[1] = name;
	memcpy(argv, head, sizeof(head));
	n = ARRAY_LEN(head);
	memcpy(argv + n, exec, n_exec * sizeof(*argv));
	n += n_exec;
	memcpy(argv + n, operands, (size_t)f->c->n_operands * sizeof(*argv));
	unlink(err);
	r = child_start(argv, env, err, ret);
	free(argv);
	return r < 0 ? cli_error(f->c, NULL, "%s: %s", f->stage.heddle, strerror(-r)) : CLI_OK;
}

static int explain_failure(struct profiler *f, const struct child *program)
{
	char status[64], line[512];

	last_line(f, line, sizeof(line));
	return cli_error(f->c,
		f->p.runs > 1 ? "what earlier runs measured is kept: heddle profile KERNEL shows it"
			      : "a profile needs runs that succeed",
		"%s: %s in run %u%s%s", f->p.program,
		child_status_text(program, status, sizeof(status)), f->p.runs, *line ? ": " : "",
		line);
}

static int run_program(struct profiler *f)
{
	long from = stage_events_end(&f->stage);
	struct child program = {.fd = -1};
	double left_ms = f->end_ms ? MAX(f->end_ms - clock_ms(), 1) : 0;
	struct strbuf events = {0};
	int r = start_program(f, &program), ended;

	if (r != CLI_OK)
		return r;
	f->p.runs++;
	ended = child_wait(&program, 1, f->end_ms ? (int)left_ms : INT32_MAX);
	f->p.out_of_time = ended == -ETIMEDOUT;
	if (ended == -EINTR)
		r = CLI_FAILED; /* the signal ends this process after the cleanup */
	else if (ended == 0 && program.status)
		r = explain_failure(f, &program);
	child_finish(&program);
	if (r == CLI_OK) {
		read_events(f, from, &events);
		measured_add(&f->p.measured, events.at ? events.at : "");
	}
	strbuf_finish(&events);
	return r;
}

/* ---- running the program repeatedly ---- */

/* Reports that nothing was measured and, as far as known, why. */
static int explain_nothing(struct profiler *f)
{
	const struct measured *m = &f->p.measured;
	uint64_t launches = 0, most = 0;
	unsigned why = 0;
	char line[512];

	for (unsigned i = 0; i < WIRE_REASONS; i++) {
		launches += m->launched[i];
		if (m->launched[i] > most) {
			most = m->launched[i];
			why = i;
		}
	}
	if (f->p.out_of_time)
		return cli_error(f->c, "give it more: --budget-s N",
			"%s: no launch ended within the %llu s of --budget-s", f->p.program,
			(unsigned long long)f->budget_s);
	last_line(f, line, sizeof(line));
	if (!m->joined)
		return cli_error(f->c, "heddle run -v -- PROG ARG... says more",
			"%s did not become a tenant%s%s", f->p.program, *line ? ": " : "", line);
	if (!launches)
		return cli_error(f->c, NULL, "%s launched no kernel", f->p.program);
	return cli_error(f->c, NULL, "%s: none of %s was managed; heddle says of %" PRIu64 ": %s",
		f->p.program, COUNTED(launches, "launch"), most, wire_reason_rows[why].text);
}

static void look_at_time(struct profiler *f, uint64_t before)
{
	struct program_profile *p = &f->p;

	p->missing = measured_missing(&p->measured, p->rounds, &p->unmeasured);
	f->useless = p->missing < before ? 0 : f->useless + 1;
	p->out_of_time |= f->end_ms && clock_ms() >= f->end_ms;
}

static int run_all(struct profiler *f)
{
	struct program_profile *p = &f->p;
	int r = CLI_OK;

	progress_begin((unsigned)f->runs_most);
	p->missing = UINT64_MAX;
	while (r == CLI_OK && p->missing && p->runs < f->runs_most && !p->out_of_time &&
		f->useless < USELESS_MOST) {
		if (p->runs)
			progress_step("%s: %llu more launches of its kernels are wanted",
				p->program, (unsigned long long)p->missing);
		else
			progress_step("%s", p->program);
		r = run_program(f);
		if (r == CLI_OK && !p->measured.kernels.len)
			r = explain_nothing(f);
		if (r == CLI_OK)
			look_at_time(f, p->missing);
		if (r == CLI_OK)
			r = keep_profile(f);
	}
	progress_clear();
	return r;
}

static int read_options(struct profiler *f)
{
	struct cli *c = f->c;
	int r = cli_number(c, "runs", 1, 10000, &f->runs_most);

	if (r == CLI_OK)
		r = cli_number(c, "rounds", 1, 1000, &f->rounds);
	if (r == CLI_OK)
		r = cli_number(c, "budget-s", 1, 1000000, &f->budget_s);
	if (r == CLI_OK && cli_has(c, "socket"))
		r = cli_usage(c, "--socket: a program is profiled by a heddled of its own");
	f->p.rounds = (unsigned)f->rounds;
	return r;
}

/* Finds the device. The virtual GPU is used only if the user requests it. */
static int find_device(struct profiler *f, enum dev_kind *ret)
{
	const char *want = cli_value(f->c, "device");
	struct cu_api cu;
	unsigned n_sms;
	bool is_cpu;

	if (!want)
		want = getenv("HEDDLE_DEVICE");
	if (want && *want && strcmp(want, "cpu") && strcmp(want, "cuda") && strcmp(want, "auto"))
		return cli_usage(f->c, "HEDDLE_DEVICE: '%s' is not one of cpu|cuda|auto", want);
	is_cpu = want && !strcmp(want, "cpu");
	if (!is_cpu && dev_open(DEV_CUDA, NULL, &cu) < 0)
		return cli_error(f->c, "--device cpu is the virtual GPU",
			"no NVIDIA driver was found to run %s", f->p.program);
	if (!is_cpu)
		dev_close(&cu);
	return stage_device(f->c, is_cpu ? "cpu" : "cuda", ret, f->p.device, &n_sms);
}

static int profile_in_stage(struct profiler *f)
{
	struct stage_spec spec = {.name = "profile",
		.managed = true,
		.policy = "profile",
		.options = {"--set", "min_managed_us=1", "--set", "gates=off"}};
	int r = find_device(f, &spec.device);

	if (r == CLI_OK)
		r = check_daemon(f->c);
	if (r == CLI_OK)
		r = open_store(f);
	if (r == CLI_OK)
		r = stage_open(f->c, &spec, &f->stage);
	if (r != CLI_OK)
		return r;
	f->end_ms = f->budget_s ? clock_ms() + 1e3 * (double)f->budget_s : 0;
	r = run_all(f);
	stage_close(&f->stage);
	child_end_if_interrupted();
	return r;
}

int profile_program(struct cli *c)
{
	struct profiler f = {.c = c,
		.p.program = c->operands[0],
		.runs_most = RUNS_MOST,
		.rounds = 3,
		.stage = {.daemon = {.fd = -1}}};
	int r = read_options(&f);

	if (r == CLI_OK)
		r = profile_in_stage(&f);
	if (r == CLI_OK)
		profile_program_show(c, &f.p);
	model_store_close(f.store);
	measured_finish(&f.p.measured);
	VEC_FREE(&f.p.elsewhere);
	return r;
}
