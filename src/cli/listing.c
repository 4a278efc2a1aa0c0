/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Formats the table of tenants. If the table is too wide, it leaves out the least important columns
 * until the table fits, and names them below the table. */
#include "cli/listing.h"
#include "base/demangle.h"
#include "base/table.h"
#include "base/text.h"
#include "front/ask.h"
#include "front/cli.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 10u /* minimum number of columns for names */
#define MAX_NEED  12u

static const char *const states[] = {"idle", "queued", "running", "preempted", "held"};

/* Returns the most frequent reason why launches were not managed, or WIRE_REASONS if there are no
 * such launches. */
static enum wire_reason main_reason(const uint64_t launched[WIRE_REASONS])
{
	enum wire_reason most = WIRE_REASONS;

	for (unsigned i = 0; i < WIRE_REASONS; i++)
		if (wire_reason_rows[i].outcome > WIRE_GUARD && launched[i] &&
			(most == WIRE_REASONS || launched[i] > launched[most]))
			most = i;
	return most;
}

void listing_add(void *user, const struct wire_row *row)
{
	struct listing *l = user;

	if ((row->kind != 0 && !l->rows.len) || !VEC_PUSH(&l->rows, *row))
		l->failed = true;
}

void listing_finish(struct listing *l)
{
	VEC_FREE(&l->rows);
}

static const char *state_name(uint32_t state)
{
	return state < ARRAY_LEN(states) ? states[state] : "?";
}

/* ---- printing text ---- */

enum column {
	TENANT,
	PID,
	USER,
	PRIORITY,
	WEIGHT,
	SHARE,
	STATE,
	LAUNCHES,
	UNMANAGED,
	PREEMPTED,
	DONE,
	RAN,
	WAITED,
	LEFT,
	NAME,
	COLUMNS
};

/* A smaller need means that a column is more important. Columns with needs up to 7 fit in 80
 * columns, or up to 5 if SHARE is shown. */
static const struct {
	const char *head;
	int width; /* negative: the column is aligned to the left */
	unsigned need;
} columns_of[COLUMNS] = {
	[TENANT] = {"TENANT", 6, 1},
	[PID] = {"PID", 7, 4},
	[USER] = {"USER", -8, 7},
	[PRIORITY] = {"PRIORITY", -8, 1},
	[WEIGHT] = {"WEIGHT", 6, 11},
	[SHARE] = {"SHARE(%)", 11, 5},
	[STATE] = {"STATE", -9, 1},
	[LAUNCHES] = {"LAUNCHES", 8, 10},
	[UNMANAGED] = {"UNMANAGED", -20, 12},
	[PREEMPTED] = {"PREEMPTED", 9, 2},
	[DONE] = {"DONE", 6, 6},
	[RAN] = {"RAN(ms)", 9, 8},
	[WAITED] = {"WAITED(ms)", 10, 9},
	[LEFT] = {"LEFT(ms)", 9, 3},
	[NAME] = {"NAME", -1, 0},
};

static void time_text(char *buf, size_t size, uint64_t ns)
{
	if (ns == UINT64_MAX)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f", ns < 100000000000 ? 1 : 0, (double)ns / 1e6);
}

static void user_text(char *buf, size_t size, uint32_t uid)
{
	const struct passwd *p = getpwuid(uid);

	if (p)
		snprintf(buf, size, "%.8s", p->pw_name);
	else
		snprintf(buf, size, "%u", uid);
}

static uint64_t count_launches(const struct wire_row *r)
{
	uint64_t by_outcome[WIRE_OUTCOMES];

	return wire_outcomes(r->launched, by_outcome);
}

/* Formats "66.5/66.6": the share that the tenant had, and the share that its weight entitles it to,
 * in percent. */
static void share_text(char *buf, size_t size, const struct wire_row *r)
{
	if (r->share_wanted != UINT32_MAX && r->share_had != UINT32_MAX)
		snprintf(buf, size, "%.1f/%.1f", r->share_had / 10.0, r->share_wanted / 10.0);
	else if (r->share_wanted != UINT32_MAX)
		snprintf(buf, size, "-/%.1f", r->share_wanted / 10.0);
}

/* Formats the most frequent reason why launches were not managed, such as "12 short". */
static void reason_text(char *buf, size_t size, const uint64_t launched[WIRE_REASONS])
{
	enum wire_reason why = main_reason(launched);

	if (why < WIRE_REASONS)
		snprintf(buf, size, "%llu %s", (unsigned long long)launched[why],
			wire_reason_rows[why].name);
}

/* Formats one cell of the table. Columns that describe tenants are empty in the lines of launches,
 * and vice versa. */
static void format_cell(const struct wire_row *r, enum column c, char *buf, size_t size)
{
	bool tenant = r->kind == 0;

	*buf = 0;
	if (tenant && c == TENANT)
		snprintf(buf, size, "%u", r->tenant);
	else if (tenant && c == PID)
		snprintf(buf, size, "%u", r->pid);
	else if (tenant && c == USER)
		user_text(buf, size, r->uid);
	else if (tenant && c == PRIORITY)
		snprintf(buf, size, "%s", ask_priority_name(r->priority, (char[16]){0}, 16));
	else if (tenant && c == WEIGHT)
		snprintf(buf, size, "%u", r->weight);
	else if (tenant && c == SHARE)
		share_text(buf, size, r);
	else if (c == STATE)
		snprintf(buf, size, "%s", state_name(r->state));
	else if (tenant && c == LAUNCHES)
		snprintf(buf, size, "%llu", (unsigned long long)count_launches(r));
	else if (tenant && c == UNMANAGED)
		reason_text(buf, size, r->launched);
	else if (c == PREEMPTED)
		snprintf(buf, size, "%u", r->preemptions);
	else if (!tenant && c == DONE && r->total)
		snprintf(buf, size, "%.1f%%", 100.0 * (double)r->finished / (double)r->total);
	else if (c == RAN)
		time_text(buf, size, r->ran_ns);
	else if (c == WAITED)
		time_text(buf, size, r->waited_ns);
	else if (!tenant && c == LEFT)
		time_text(buf, size, r->remaining_ns);
	else if (c == NAME && tenant && r->group[0])
		snprintf(buf, size, "%s [%s]", r->name, r->group);
	else if (c == NAME && tenant)
		snprintf(buf, size, "%s", r->name);
	else if (c == NAME)
		snprintf(buf, size, "  %s", demangle_name(r->name, (char[300]){0}, 300));
	if (c == NAME && tenant && r->launched[WIRE_WHY_UNSEEN])
		snprintf(buf + strlen(buf), size - strlen(buf), " (%llu unseen)",
			(unsigned long long)r->launched[WIRE_WHY_UNSEEN]);
	cli_plain(buf, strlen(buf));
}

/* A table's layout. */
struct layout {
	unsigned columns; /* width of the terminal; 0: no limit */
	unsigned worst;   /* columns with a need up to this are shown */
	bool shares;      /* whether SHARE is shown, too */
};

static bool is_shown(const struct layout *y, enum column c)
{
	return columns_of[c].need <= y->worst && (c != SHARE || y->shares);
}

static unsigned width_of(const struct layout *y)
{
	unsigned n = NAME_ROOM;

	for (unsigned c = 0; c < NAME; c++)
		if (is_shown(y, c))
			n += (unsigned)abs(columns_of[c].width) + 1;
	return n;
}

/* Chooses the columns that fit. SHARE is empty unless the policy divides time by shares. A terminal
 * of limited width has no room for an empty column. */
static struct layout choose_layout(const struct listing *l, unsigned columns)
{
	struct layout y = {.columns = columns, .worst = MAX_NEED, .shares = !columns};

	for (size_t i = 0; i < l->rows.len && !y.shares; i++)
		y.shares = l->rows.at[i].kind == 0 && l->rows.at[i].share_wanted != UINT32_MAX;
	while (columns && y.worst > 1 && width_of(&y) > columns)
		y.worst--;
	return y;
}

static void add_row(struct table *t, const struct wire_row *r, const struct layout *y)
{
	char buf[320];

	table_row(t);
	for (unsigned c = 0; c < COLUMNS; c++)
		if (is_shown(y, c)) {
			format_cell(r, c, buf, sizeof(buf));
			table_cell(t, "%s", buf);
		}
}

/* Adds the names of the columns that do not fit. */
static void add_missing(const struct layout *y, struct strbuf *out)
{
	struct strbuf text = {0};
	unsigned n = 0;

	for (unsigned c = 0; c < COLUMNS; c++) {
		if (columns_of[c].need <= y->worst || (c == SHARE && !y->shares))
			continue;
		strbuf_printf(&text, "%s%.*s",
			n++ ? ", " : "(not shown: ", (int)strcspn(columns_of[c].head, "("),
			columns_of[c].head);
	}
	strbuf_printf(&text, "; a wider terminal or --json has %s)", n == 1 ? "it" : "them");
	if (n && text.at)
		text_wrap(text.at, y->columns, 0, out);
	strbuf_finish(&text);
}

/* Returns whether another device has the same name; UUIDs then tell the devices apart. */
static bool name_is_shared(const struct listing *l, const struct wire_row *r)
{
	for (size_t i = 0; i < l->rows.len; i++)
		if (l->rows.at[i].kind == 0 && strcmp(l->rows.at[i].device, r->device) != 0 &&
			!strcmp(l->rows.at[i].device_name, r->device_name))
			return true;
	return false;
}

static void device_text(const struct listing *l, const struct wire_row *r, char *buf, size_t size)
{
	if (!r->device_name[0])
		snprintf(buf, size, "on %s", r->device);
	else if (name_is_shared(l, r))
		snprintf(buf, size, "on %s (%s)", r->device_name, r->device);
	else
		snprintf(buf, size, "on %s", r->device_name);
}

void listing_text(const struct listing *l, unsigned columns, struct strbuf *out)
{
	struct layout y = choose_layout(l, columns);
	const struct wire_row *before = NULL;
	struct table t = {.limit = columns};

	if (!l->rows.len) {
		strbuf_puts(out, "no tenants\n");
		return;
	}
	for (unsigned c = 0; c < COLUMNS; c++)
		if (is_shown(&y, c))
			table_column(&t, columns_of[c].width, columns_of[c].head);
	for (size_t i = 0; i < l->rows.len; i++) {
		const struct wire_row *r = &l->rows.at[i];

		if (r->kind == 0 && (!before || strcmp(before->device, r->device) != 0)) {
			char head[160];

			device_text(l, r, head, sizeof(head));
			cli_plain(head, strlen(head));
			table_line(&t, head);
			before = r;
		}
		add_row(&t, r, &y);
	}
	table_print(&t, out);
	table_finish(&t);
	add_missing(&y, out);
}

/* ---- printing JSON ---- */

static void time_or_null(struct json *j, const char *key, uint64_t ns)
{
	if (ns == UINT64_MAX)
		json_num(j, key, 0.0 / 0.0);
	else
		json_uint(j, key, ns);
}

static void percent_or_null(struct json *j, const char *key, uint32_t permille)
{
	json_num(j, key, permille == UINT32_MAX ? 0.0 / 0.0 : permille / 10.0);
}

void listing_json_launches(const uint64_t launched[WIRE_REASONS], struct json *j)
{
	uint64_t by_outcome[WIRE_OUTCOMES];

	wire_outcomes(launched, by_outcome);
	for (unsigned i = 0; i < WIRE_OUTCOMES; i++)
		json_uint(j, wire_outcome_names[i], by_outcome[i]);
	wire_reasons_json(launched, j);
}

static void json_tenant(struct json *j, const struct wire_row *r)
{
	char buf[16];
	char user[16];

	user_text(user, sizeof(user), r->uid);
	json_uint(j, "tenant", r->tenant);
	json_uint(j, "pid", r->pid);
	json_uint(j, "uid", r->uid);
	json_str(j, "user", user);
	json_str(j, "priority", ask_priority_name(r->priority, buf, sizeof(buf)));
	json_uint(j, "weight", r->weight);
	percent_or_null(j, "share_wanted", r->share_wanted);
	percent_or_null(j, "share_had", r->share_had);
	json_str(j, "class", r->group);
	json_str(j, "device", r->device);
	json_str(j, "device_name", r->device_name);
	json_uint(j, "age_ns", r->age_ns);
	json_uint(j, "launched", count_launches(r));
	listing_json_launches(r->launched, j);
}

void listing_json(const struct listing *l, struct json *j)
{
	json_begin_array(j, "tenants");
	for (size_t i = 0; i < l->rows.len; i++) {
		const struct wire_row *r = &l->rows.at[i];

		json_begin_object(j, NULL);
		if (r->kind == 0) {
			json_tenant(j, r);
		} else {
			json_uint(j, "launch", r->id);
			json_uint(j, "blocks", r->total);
			json_uint(j, "finished", r->finished);
			time_or_null(j, "predicted_ns", r->predicted_ns);
			time_or_null(j, "remaining_ns", r->remaining_ns);
		}
		json_str(j, "name", r->name);
		json_str(j, "state", state_name(r->state));
		json_uint(j, "preemptions", r->preemptions);
		time_or_null(j, "ran_ns", r->ran_ns);
		time_or_null(j, "waited_ns", r->waited_ns);
		if (r->kind == 0)
			json_begin_array(j, "launches");
		else
			json_end(j, '}');
		if (l->rows.len == i + 1 || l->rows.at[i + 1].kind == 0) {
			json_end(j, ']');
			json_end(j, '}');
		}
	}
	json_end(j, ']');
}
