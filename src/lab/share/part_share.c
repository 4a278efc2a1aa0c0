/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share repeats the evaluation of "Adaptive simultaneous multi-tenancy" (section 4) on
 * this device. Every program compares its results with a computation on the host. */
#include "base/text.h"
#include "front/progress.h"
#include "lab/lab.h"
#include "lab/picture.h"
#include "lab/share/bench_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_options(struct share *s)
{
	struct cli *c = s->b.c;
	uint64_t rounds = s->b.quick ? 1 : 3;
	int r = cli_number(c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK && s->by_sm && (s->predict || cli_has(c, "store")))
		r = cli_usage(c, "--by-sm: leave --store and --predict out, which are for other "
				 "arrangements");
	if (r == CLI_OK)
		r = share_choose(s);
	s->b.rounds = (unsigned)rounds;
	return r;
}

/* Checks that this heddled has the pair model, which the key `predict` turns on. Under policy
 * greedy, a heddled without the model ignores the key, so its results would wrongly count as those
 * of the model. A heddled with the model refuses an unknown value of the key, so this function
 * passes such a value. */
static int check_predict(struct share *s)
{
	struct child child = {.fd = -1};
	char *heddled = NULL;
	bool refuses = false;

	if (!s->predict)
		return CLI_OK;
	if (!cli_find_part(NULL, "heddled", &heddled) &&
		!child_start((char *const[]){heddled, "--check-config", "--config-root",
				     "/nonexistent", "--policy", "greedy", "--set",
				     SHARE_PREDICT_KEY "pairs=unknown", NULL},
			NULL, "/dev/null", &child) &&
		!child_wait(&child, 1, 20000))
		refuses = child.status != 0;
	child_finish(&child);
	free(heddled);
	return refuses ? CLI_OK
		       : cli_error(s->b.c, "leave --predict out",
				 "greedy+predict: policy greedy of this heddled has no option "
				 "pairs");
}

static void begin_json(struct share *s, struct json *j)
{
	cli_json_open(s->b.c, j, 2);
	json_str(j, "device", s->b.device_name);
	json_uint(j, "sms", s->b.sms);
	json_str(j, "size", s->large ? "large" : "small");
	json_uint(j, "rounds", s->b.rounds);
	json_uint(j, "warm_rounds", s->b.device == DEV_CPU ? 1 : STAGE_SEARCH_ROUNDS);
	s->b.j = j;
	cli_show(s->b.c, "device: %s, %u SMs; %s inputs, %s in each order, medians\n",
		s->b.device_name, s->b.sms, s->large ? "large" : "small",
		COUNTED(s->b.rounds, "round"));
}

static int show_tables(struct share *s)
{
	int r = share_read_registers(s);

	if (r == CLI_OK)
		r = share_show_programs(s);
	if (r != CLI_OK)
		return r;
	share_show_pairs(s);
	if (cli_has(s->b.c, "oracle"))
		r = share_oracle(s);
	if (r != CLI_OK)
		return r;
	samples_finish(&s->b.samples, s->b.j);
	json_uint(s->b.j, "failures", s->b.failures);
	json_end(s->b.j, '}');
	return picture_draw(s->b.c, "share");
}

static int run_all(struct share *s)
{
	const char *size = cli_value(s->b.c, "size");
	struct json j;
	int r = read_options(s);

	if (r == CLI_OK)
		r = picture_check(s->b.c);
	if (r == CLI_OK)
		r = samples_check(s->b.c);
	if (r == CLI_OK)
		r = check_predict(s);
	if (r == CLI_OK)
		r = stage_device(s->b.c, cli_value(s->b.c, "device"), &s->b.device,
			s->b.device_name, &s->b.sms);
	if (r == CLI_OK)
		r = share_read_store(s);
	if (r == CLI_OK)
		r = share_choose_arrangements(s);
	if (r != CLI_OK)
		return r;
	s->large = size ? !strcmp(size, "large") : s->b.device == DEV_CUDA;
	share_scale(s);
	snprintf(s->b.options, sizeof(s->b.options), "%s, %s inputs", COUNTED(s->b.rounds, "round"),
		s->large ? "large" : "small");
	r = samples_open(&s->b.samples, s->b.c, s->b.device_name, s->b.options);
	if (r == CLI_OK)
		r = share_list(s);
	if (r != CLI_OK)
		return r;
	begin_json(s, &j);
	progress_begin(cases_steps(&s->cs));
	r = cases_measure(&s->cs);
	progress_clear();
	return r == CLI_OK ? show_tables(s) : r;
}

int lab_share(struct cli *c)
{
	struct share *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return cli_error(c, NULL, "out of memory");
	s->b = (struct bench){.c = c, .quick = cli_has(c, "quick")};
	s->predict = cli_has(c, "predict");
	s->by_sm = cli_has(c, "by-sm");
	s->store = cli_value(c, "store");
	arena_init(&s->b.arena, 0);
	child_catch_signals();
	cli_make_folder("reference", s->b.reference);
	r = run_all(s);
	if (r == CLI_OK && s->b.failures)
		r = CLI_FAILED;
	samples_close(&s->b.samples);
	if (s->b.reference[0])
		cli_remove_folder(s->b.reference);
	arena_finish(&s->b.arena);
	free(s);
	return r;
}
