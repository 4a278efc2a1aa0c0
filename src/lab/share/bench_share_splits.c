/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share --by-sm compares two divisions of the device for each pair: the best measured
 * split, whose quotas differ by SM, and the uniform quotas of policy greedy. "Adaptive simultaneous
 * multi-tenancy" leaves splits that differ by SM as future work (sections 3.8 and 6). A split can
 * be the best of several partly by luck, so the table also marks noisy figures. */
#include "lab/share/bench_share.h"

#include <math.h>

struct best_split {
	enum share_arrangement k;
	struct share_figures f;
	bool noisy;
	/* STP computed from makespans; NaN: policy greedy was not measured */
	double greedy, over_greedy;
};

/* Finds the pair's best split; one with noisy figures is chosen only if all are noisy. Returns
 * false if no split was measured. */
static bool find_best(const struct share *s, const struct share_pair *p, struct best_split *ret)
{
	struct share_figures f, greedy;
	bool found = false;
	char why[96];

	for (enum share_arrangement k = SHARE_WHOLE_25; k < SHARE_ARRANGEMENTS; k++) {
		bool noisy;

		if (!share_figures_of(s, p, k, &f))
			continue;
		noisy = share_noise(&f, k, why, sizeof(why)) != NULL;
		if (found &&
			(noisy != ret->noisy ? noisy : f.f.stp_makespan <= ret->f.f.stp_makespan))
			continue;
		*ret = (struct best_split){.k = k, .f = f, .noisy = noisy};
		found = true;
	}
	if (!found)
		return false;
	ret->greedy = share_figures_of(s, p, SHARE_GREEDY, &greedy) ? greedy.f.stp_makespan : NAN;
	ret->over_greedy = ret->f.f.stp_makespan / ret->greedy;
	return true;
}

void share_json_best(struct share *s, const struct share_pair *p)
{
	struct json *j = s->b.j;
	struct best_split best;
	char why[96];

	if (!find_best(s, p, &best)) {
		json_str(j, "best_split", NULL);
		return;
	}
	json_begin_object(j, "best_split");
	json_str(j, "name", share_arrangement_name(s, best.k));
	json_num(j, "stp_makespan", best.f.f.stp_makespan);
	json_num(j, "greedy", best.greedy);
	json_num(j, "over_greedy", best.over_greedy);
	json_str(j, "noise", share_noise(&best.f, best.k, why, sizeof(why)));
	json_end(j, '}');
}

void share_text_best(struct share *s)
{
	struct table t = {0};

	table_column(&t, -1, "pair");
	table_column(&t, -1, "best split");
	table_column(&t, 0, "STP");
	table_column(&t, 0, "greedy");
	table_column(&t, 0, "gain");
	for (unsigned i = 0; i < s->n_pairs; i++) {
		const struct share_pair *p = &s->pairs[i];
		struct best_split best;

		table_row(&t);
		table_cell(&t, "%s + %s", s->programs[p->program[0]], s->programs[p->program[1]]);
		if (!find_best(s, p, &best)) {
			table_cell(&t, "-");
			continue;
		}
		table_cell(&t, "%s", share_arrangement_name(s, best.k));
		table_cell(&t, "%s%.3f", best.noisy ? "~" : "", best.f.f.stp_makespan);
		table_number(&t, 3, best.greedy, "");
		table_number(&t, 1, (best.over_greedy - 1) * 100, " %");
	}
	cli_show(s->b.c, "\nthe best split by SM of each pair\n");
	cli_show_table(s->b.c, &t);
}
