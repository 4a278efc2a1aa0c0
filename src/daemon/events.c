/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The event log: one JSON object on each line (doc/events.md). It has heddled's events, and all inputs
 * of the engines, which their journal records (sched/engine/journal.h). While heddled makes decisions,
 * it normally only copies events. It formats and writes the lines after it has stored all control
 * words, or when it has 4096 of them. If the file cannot be written, for example because the disk
 * is full, heddled logs one message and ends the event log. */
#include "events.h"
#include "base/json.h"
#include "daemon.h"
#include "sched/engine/input.h"
#include "sched/engine/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_SCHEMA 2
#define KEEP_RECORDS  4096u
#define KEEP_BYTES    65536u /* maximum length of the buffer between writes */

struct record {
	uint64_t t_ns;
	const char *what; /* a string literal */
	bool of_launch, leaves;
	/* fields of a tenant event */
	uint32_t tenant, weight;
	int pid, priority;
	char group[32], device[64];
	uint32_t device_sms;
	uint64_t launched[WIRE_REASONS]; /* used only when a tenant leaves */
	/* fields of a launch event */
	uint64_t launch, total, submit_ns, store_ns;
	uint32_t sms, blocks_per_sm, preemptions, seq, drained_seq, present, rounds,
		hardware_blocks;
	uint64_t arrived_ns, seen_ns, drained_ns, done_ns;
	uint64_t handover_ns;
	struct sched_info info;
	/* the fields from here to `guard` are written only with the event "submit" */
	uint64_t code;
	uint32_t threads, shared_bytes, counts;
	bool guard;
	char name[64]; /* name of the program or of the kernel */
};

struct hd_events {
	int fd;
	struct sched_journal *journal;
	VEC(struct record) records;
	struct strbuf out;
};

static void journal_full(void *user)
{
	hd_events_flush(user);
}

int hd_events_open(const char *path, struct hd_events **ret)
{
	struct hd_events *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0640);
	r = e->fd < 0 ? -errno : sched_journal_create(journal_full, e, &e->journal);
	if (r < 0) {
		if (e->fd >= 0)
			close(e->fd);
		free(e);
		return r;
	}
	strbuf_printf(&e->out, "{\"schema\": %d, \"log\": \"heddled-events\", \"inputs\": %d}\n",
		EVENTS_SCHEMA, SCHED_INPUTS_VERSION);
	*ret = e;
	return 0;
}

static void tenant_fields(struct json *j, const struct record *r)
{
	json_int(j, "pid", r->pid);
	json_str(j, "name", r->name);
	json_str(j, "priority", hd_priority_name(r->priority, (char[16]){0}));
	json_uint(j, "weight", r->weight);
	json_str(j, "group", r->group);
	json_str(j, "device", r->device);
	json_uint(j, "device_sms", r->device_sms);
	if (!r->leaves)
		return;
	wire_reasons_json(r->launched, j);
}

/* Writes an array of the numbers of the bits that are set. */
static void counts_field(struct json *j, uint32_t counts)
{
	json_begin_array(j, "counts");
	for (uint32_t n = 1; n < 32; n++) {
		if (counts >> n & 1)
			json_uint(j, NULL, n);
	}
	json_end(j, ']');
}

static void launch_fields(struct json *j, const struct record *r)
{
	char code[24];

	json_uint(j, "launch", r->launch);
	json_str(j, "kernel", r->name);
	if (!strcmp(r->what, "submit")) {
		snprintf(code, sizeof(code), "%016llx", (unsigned long long)r->code);
		json_str(j, "code", code);
		json_uint(j, "threads", r->threads);
		json_uint(j, "shared_bytes", r->shared_bytes);
		json_bool(j, "guard", r->guard);
		if (r->guard)
			counts_field(j, r->counts);
	}
	json_uint(j, "total", r->total);
	json_uint(j, "finished", r->info.finished);
	json_uint(j, "sms", r->sms);
	json_uint(j, "workers", r->info.workers);
	json_uint(j, "blocks_per_sm", r->blocks_per_sm);
	json_uint(j, "preemptions", r->preemptions);
	json_uint(j, "seq", r->seq);
	json_uint(j, "present", r->present);
	json_uint(j, "rounds", r->rounds);
	json_uint(j, "hardware_blocks", r->hardware_blocks);
	json_uint(j, "submit_ns", r->submit_ns);
	json_uint(j, "store_ns", r->store_ns);
	if (r->info.predicted_ns != SCHED_UNKNOWN)
		json_uint(j, "predicted_ns", r->info.predicted_ns);
	if (r->info.remaining_ns != SCHED_UNKNOWN)
		json_uint(j, "remaining_ns", r->info.remaining_ns);
	json_uint(j, "waited_ns", r->info.waited_ns);
	json_uint(j, "ran_ns", r->info.ran_ns);
	json_uint(j, "cost_ns", r->info.cost_ns);
	if (r->handover_ns)
		json_uint(j, "handover_ns", r->handover_ns);
	json_uint(j, "drained_seq", r->drained_seq);
	json_uint(j, "device_arrived_ns", r->arrived_ns);
	json_uint(j, "device_seen_ns", r->seen_ns);
	json_uint(j, "device_drained_ns", r->drained_ns);
	json_uint(j, "device_done_ns", r->done_ns);
}

/* Appends the JSON text without the line breaks and the indentation that the JSON writer adds.
 * (Newlines inside strings are already escaped.) */
static void add_line(struct strbuf *out, const struct strbuf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		if (text->at[i] != '\n') {
			strbuf_add(out, &text->at[i], 1);
			continue;
		}
		while (i + 1 < text->len && (text->at[i + 1] == ' ' || text->at[i + 1] == '\t'))
			i++;
		if (out->len && out->at[out->len - 1] == ',')
			strbuf_add(out, " ", 1);
	}
	strbuf_add(out, "\n", 1);
}

static void format_record(struct strbuf *out, const struct record *r)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text);
	json_begin_object(&j, NULL);
	json_uint(&j, "t_ns", r->t_ns);
	json_str(&j, "event", r->what);
	json_uint(&j, "tenant", r->tenant);
	if (r->of_launch)
		launch_fields(&j, r);
	else
		tenant_fields(&j, r);
	json_end(&j, '}');
	add_line(out, &text);
	strbuf_finish(&text);
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			errno = done ? errno : ENOSPC;
			return false;
		}
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* Returns false if the text is incomplete, and then ends the log: what follows would make no sense. */
static bool write_out(struct hd_events *e)
{
	errno = ENOMEM;
	if (!e->out.failed && write_all(e->fd, e->out.at, e->out.len))
		return true;
	hd_log("cannot write the event log, which ends: %s", strerror(errno));
	close(e->fd);
	e->fd = -1;
	sched_journal_stop(e->journal);
	return false;
}

/* last: also writes the inputs that a later input could replace. */
static void flush_all(struct hd_events *e, bool last)
{
	for (size_t i = 0; i < e->records.len; i++)
		format_record(&e->out, &e->records.at[i]);
	e->records.len = 0;
	sched_journal_write(e->journal, last, &e->out);
	if (e->out.len && write_out(e) && e->out.cap <= KEEP_BYTES)
		e->out.len = 0;
	else
		strbuf_finish(&e->out);
}

void hd_events_flush(struct hd_events *e)
{
	if (e && e->fd >= 0)
		flush_all(e, false);
}

struct sched_journal *hd_events_journal(const struct hd_events *e)
{
	return e ? e->journal : NULL;
}

void hd_events_close(struct hd_events *e)
{
	if (!e)
		return;
	if (e->fd >= 0)
		flush_all(e, true);
	if (e->fd >= 0)
		close(e->fd);
	sched_journal_destroy(e->journal);
	strbuf_finish(&e->out);
	VEC_FREE(&e->records);
	free(e);
}

static void add_record(struct hd_events *e, const struct record *r)
{
	if (e->records.len >= KEEP_RECORDS)
		hd_events_flush(e);
	VEC_PUSH(&e->records, *r);
}

void hd_event_tenant(struct hd *d, const char *what, const struct hd_tenant *t)
{
	struct record r = {.what = what};

	if (!d->events || d->events->fd < 0)
		return;
	r.t_ns = d->now_ns;
	r.tenant = t->id;
	r.pid = t->cred.pid;
	r.priority = t->priority;
	r.weight = t->weight;
	memcpy(r.name, t->hello.name, sizeof(r.name));
	memcpy(r.group, t->hello.group, sizeof(r.group));
	memcpy(r.device, t->device->name, sizeof(r.device));
	r.device_sms = t->device->n_sms;
	r.leaves = !strcmp(what, "leave");
	if (r.leaves)
		hd_launched(t, r.launched);
	add_record(d->events, &r);
}

void hd_event_launch(struct hd *d, const char *what, const struct hd_slot *s, uint32_t n_sms)
{
	const struct hd_tenant *t = s->tenant;
	const struct wire_slot *w = &t->page->slots[s - t->slots];
	const struct ctl_host *h = &w->host;
	struct record r = {.what = what, .of_launch = true};

	if (!d->events || d->events->fd < 0)
		return;
	r.t_ns = d->now_ns;
	r.tenant = t->id;
	r.launch = s->id;
	r.total = s->total;
	r.code = s->kernel;
	r.threads = s->threads;
	r.shared_bytes = s->shared_bytes;
	r.guard = s->guard;
	r.counts = s->counts;
	r.submit_ns = s->submit_ns;
	r.store_ns = s->store_ns;
	r.sms = n_sms;
	r.blocks_per_sm = s->workers_per_sm;
	r.preemptions = s->preemptions;
	r.seq = s->seq;
	r.handover_ns = s->handover_ns;
	r.drained_seq = __atomic_load_n(&h->drained_seq, __ATOMIC_ACQUIRE);
	r.present = __atomic_load_n(&h->present, __ATOMIC_RELAXED);
	r.rounds = __atomic_load_n(&w->launches, __ATOMIC_RELAXED);
	r.rounds -= r.rounds > 0;
	r.hardware_blocks = __atomic_load_n(&w->hardware_blocks, __ATOMIC_RELAXED);
	r.arrived_ns = __atomic_load_n(&h->arrived_ns, __ATOMIC_RELAXED);
	r.seen_ns = __atomic_load_n(&h->seen_ns, __ATOMIC_RELAXED);
	r.drained_ns = __atomic_load_n(&h->drained_ns, __ATOMIC_RELAXED);
	r.done_ns = __atomic_load_n(&h->done_ns, __ATOMIC_RELAXED);
	memcpy(r.name, s->name, sizeof(r.name));
	sched_launch_state(t->device->sched, r.t_ns, s->launch, &r.info);
	add_record(d->events, &r);
}
