/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records which tasks failed, how and where, if only the task failed and not the whole pool. A
 * failure is first stored in the `why` of the task's row. Before a thread reuses the row, it
 * copies the failure to a table, where later queries find it. */
#include "base/number.h"
#include "base/text.h"
#include "rt/pool_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool_failed {
	uint64_t id, why; /* id 0: no failure */
	unsigned kernel;
};

static struct pool_failed look_up(struct heddle_tasks *t, uint64_t id)
{
	struct pool_failed f = {0}, *at;

	pthread_mutex_lock(&t->failed_lock);
	at = hash_map_get(&t->failed, id);
	if (at)
		f = *at;
	pthread_mutex_unlock(&t->failed_lock);
	return f;
}

/* Finds the failure of the part in this row, or of a later part of the same task. The result's id
 * is 0 if none of them failed. Another thread may reuse the row at the same time. It stores the new
 * `gen` before it clears `why`. So this reads `why` first and `gen` last: if `gen` has not changed,
 * `why` belongs to this part. */
static struct pool_failed find_out(
	struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen)
{
	uint64_t id = pool_id(t, c, row, gen), at = id, then;
	struct pool_failed f = {0};

	while (!f.id && at) {
		c = pool_of_id(t, at, &row, &gen);
		f.why = pool_why(c, row);
		f.kernel = atomic_load_explicit(&c->row[row].form, memory_order_relaxed);
		then = atomic_load_explicit(&c->row[row].then, memory_order_relaxed) & ~POOL_INNER;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&c->row[row].gen, memory_order_relaxed) != gen) {
			f = look_up(t, at); /* the saved failure also covers all later parts */
			break;
		}
		if (f.why) {
			f.id = at;
			f.kernel = t->form[f.kernel].kernel;
		}
		at = then;
	}
	f.id = f.id ? id : 0;
	return f;
}

/* Puts a failure into the table. Returns false if memory runs out. */
static bool keep_failed(struct heddle_tasks *t, const struct pool_failed *f)
{
	struct pool_failed *at = hash_map_get(&t->failed, f->id);
	bool is_new = !at;

	if (is_new)
		at = malloc(sizeof(*at));
	if (!at)
		return false;
	*at = *f;
	if (!is_new || hash_map_put(&t->failed, f->id, at))
		return true;
	free(at);
	return false;
}

void pool_forget_failed(struct heddle_tasks *t)
{
	const struct hash_map_entry *e = NULL;

	while ((e = hash_map_next(&t->failed, e)))
		free(e->value);
	hash_map_free(&t->failed);
}

/* Records the failure of a task, or of one part of a task that was split. Such a part needs a
 * record of its own, because a call that asks how the task has ended may look up this part before
 * the failure of the whole task is recorded. */
void pool_note_failed(struct heddle_tasks *t, const struct pool_column *c, unsigned row)
{
	uint64_t gen = atomic_load_explicit(&c->row[row].gen, memory_order_relaxed);
	bool inner = atomic_load_explicit(&c->row[row].then, memory_order_relaxed) & POOL_INNER;
	struct pool_failed f = find_out(t, c, row, gen);

	if (!f.id)
		return;
	pthread_mutex_lock(&t->failed_lock);
	if (!keep_failed(t, &f))
		t->failed_lost = true;
	if (!inner) {
		t->last_failed = f.id;
		t->n_failed++;
	}
	pthread_mutex_unlock(&t->failed_lock);
}

/* ---- error text of a failed task ---- */

/* Finds the last statement before s that defines the register. */
static const struct ptx_stmt *find_definition(
	const struct ptx_func *f, const struct ptx_stmt *s, uint32_t reg)
{
	while (s-- > f->body.at)
		if (s->kind == PTX_INSN && s->n == 2 && s->opd[0].kind == PTX_OPD_REG &&
			s->opd[0].reg == reg && !(s->mn->flags & PTX_F_NO_DEST))
			return s;
	return NULL;
}

/* Finds the statement that stores argument `arg` of the call s. */
static const struct ptx_stmt *put_argument(
	const struct ptx_func *f, const struct ptx_stmt *s, const struct ptx_sym *arg)
{
	while (s-- > f->body.at)
		if (s->kind == PTX_INSN && s->mn->op == PTX_OP_st && s->n == 2 &&
			s->opd[0].kind == PTX_OPD_ADDR && s->opd[0].list[0].kind == PTX_OPD_SYM &&
			s->opd[0].list[0].sym == arg)
			return s;
	return NULL;
}

/* Finds the value of the argument: a variable or a number; NULL if unknown. */
static const struct ptx_opd *find_argument(
	const struct ptx_func *f, const struct ptx_stmt *call, const struct ptx_opd *arg)
{
	const struct ptx_stmt *s =
		arg->kind == PTX_OPD_SYM ? put_argument(f, call, arg->sym) : NULL;

	for (unsigned steps = 0; s && s->opd[1].kind == PTX_OPD_REG && steps < 8; steps++) {
		s = find_definition(f, s, s->opd[1].reg);
		if (s && s->mn->op != PTX_OP_mov && s->mn->op != PTX_OP_cvta)
			s = NULL;
	}
	return s ? &s->opd[1] : NULL;
}

/* Decodes a string from the byte values in a variable's initializer. */
static void read_text(const struct ptx_opd *o, char *to, size_t size)
{
	const char *at = o && o->kind == PTX_OPD_SYM && o->sym ? o->sym->init : NULL;
	size_t n = 0;

	while (at && n + 1 < size) {
		struct number c;

		at += strcspn(at, "0123456789");
		c = number_digits(at, SIZE_MAX, 10);
		if (!c.value || c.value > 255)
			break;
		to[n++] = (char)c.value;
		at += c.len;
	}
	to[n] = 0;
	text_plain(to, n, "");
}

static void say_assertion(const struct ptx_func *f, const struct ptx_stmt *s, char *to, size_t size)
{
	const struct ptx_opd *args = NULL, *line;
	char what[160], file[160];

	for (unsigned i = 0; i < s->n; i++)
		if (s->opd[i].kind == PTX_OPD_TUPLE && s->opd[i].n >= 3)
			args = s->opd[i].list;
	if (!args) {
		snprintf(to, size, "an assertion failed");
		return;
	}
	read_text(find_argument(f, s, &args[0]), what, sizeof(what));
	read_text(find_argument(f, s, &args[1]), file, sizeof(file));
	line = find_argument(f, s, &args[2]);
	if (!*what || !*file || !line || line->kind != PTX_OPD_IMM)
		snprintf(to, size, "an assertion failed");
	else
		snprintf(to, size, "the assertion '%s' (%s:%llu) failed", what, file,
			(unsigned long long)line->value);
}

static int say_failed(const struct heddle_tasks *t, const struct pool_failed *failed)
{
	const struct rt_kernel *k = t->kernel[failed->kernel].kernel;
	const struct ptx_func *f = ptx_find_func(k->ptx, k->entry);
	const struct ptx_stmt *s =
		f ? pass_task_site(f, (unsigned)(failed->why >> TASK_WHY_SITE)) : NULL;
	char how[512] = "it met a trap";

	if (s && s->mn->op == PTX_OP_call)
		say_assertion(f, s, how, sizeof(how));
	return pool_fail(-EFAULT,
		"task %llu, of kernel '%s', failed: %s, at line %u of its PTX, in block %llu, "
		"thread %u",
		(unsigned long long)failed->id, k->name, how, s ? s->line & PTX_LINE_MASK : 0,
		(unsigned long long)(failed->why >> TASK_WHY_BLOCK & UINT32_MAX),
		(unsigned)(failed->why >> TASK_WHY_THREAD & 1023));
}

/* ---- answering queries ---- */

int pool_how(struct heddle_tasks *t, struct pool_column *c, unsigned row, uint64_t gen)
{
	struct pool_failed f = find_out(t, c, row, gen);
	bool lost;

	if (f.id)
		return say_failed(t, &f);
	pthread_mutex_lock(&t->failed_lock);
	lost = t->failed_lost;
	pthread_mutex_unlock(&t->failed_lock);
	return lost ? pool_fail(-ENOMEM, "whether this task failed is not known: out of memory")
		    : 0;
}

uint64_t pool_count_failed(struct heddle_tasks *t)
{
	uint64_t n;

	pool_harvest(t);
	pthread_mutex_lock(&t->failed_lock);
	n = t->n_failed;
	pthread_mutex_unlock(&t->failed_lock);
	return n;
}

int pool_tell_failed(struct heddle_tasks *t)
{
	struct pool_failed last = {0}, *at;
	uint64_t more;

	pool_harvest(t);
	pthread_mutex_lock(&t->failed_lock);
	more = t->n_failed - t->told_failed;
	t->told_failed = t->n_failed;
	at = more ? hash_map_get(&t->failed, t->last_failed) : NULL;
	last = at ? *at : last;
	pthread_mutex_unlock(&t->failed_lock);
	if (!more)
		return 0;
	if (!last.id)
		return pool_fail(-EFAULT, "%llu tasks have failed", (unsigned long long)more);
	say_failed(t, &last);
	if (more == 1)
		return -EFAULT;
	return pool_fail_more(-EFAULT, "; and %llu more", (unsigned long long)more - 1);
}
