/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a kernel's row of table `kernel` and the kernel's rows of table `shape` together. Values
 * that only heddled uses are stored as bytes in memory format, which is possible because a file
 * stays on its machine. When a record is read, it is checked as a whole (duration_is_sane).
 * Unsigned 64-bit numbers are stored as SQLite's signed ones. */
#include "model/kept.h"
#include "base/trust.h"

#include "model/plain.h"
#include "model/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int kept_default_path(char *buf, size_t size)
{
	char *slash;
	int r = model_default_path(buf, size);

	if (r < 0)
		return r;
	slash = strrchr(buf, '/');
	return snprintf(slash, size - (size_t)(slash - buf), "/heddled.db") <
			       (int)(size - (size_t)(slash - buf))
		       ? 0
		       : -ENAMETOOLONG;
}

/* ---- writing ---- */

static sqlite3_stmt *kept_prepare(struct model_store *s, const char *sql)
{
	sqlite3_stmt *q = NULL;

	return sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) == SQLITE_OK ? q : NULL;
}

/* Binds the key of a kernel to the parameters ?1 to ?5. */
static void bind_key(sqlite3_stmt *q, const struct duration_kernel *k)
{
	sqlite3_bind_int64(q, 1, k->owner.uid);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)k->code);
	sqlite3_bind_text(q, 3, k->owner.device, -1, SQLITE_STATIC);
	sqlite3_bind_int64(q, 4, k->owner.n_sms);
	sqlite3_bind_text(q, 5, k->owner.driver, -1, SQLITE_STATIC);
}

static int forget_kernel(struct model_store *s, const struct duration_kernel *k)
{
	static const char *const sql[] = {
		"DELETE FROM shape WHERE kernel IN (SELECT id FROM kernel WHERE uid = ?1"
		" AND code = ?2 AND device = ?3 AND n_sms = ?4 AND driver = ?5)",
		"DELETE FROM kernel WHERE uid = ?1 AND code = ?2 AND device = ?3 AND n_sms = ?4"
		" AND driver = ?5"};
	int r = 0;

	for (unsigned i = 0; i < ARRAY_LEN(sql) && r == 0; i++) {
		sqlite3_stmt *q = kept_prepare(s, sql[i]);

		if (q)
			bind_key(q, k);
		r = store_step(s, q);
	}
	return r;
}

static int put_shape(struct model_store *s, sqlite3_int64 kernel, const struct duration_shape *at)
{
	sqlite3_stmt *q = kept_prepare(
		s, "INSERT INTO shape VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");

	if (q) {
		sqlite3_bind_int64(q, 1, kernel);
		sqlite3_bind_int64(q, 2, (sqlite3_int64)at->total);
		sqlite3_bind_int64(q, 3, at->threads);
		sqlite3_bind_int64(q, 4, at->shared_bytes);
		sqlite3_bind_blob(q, 5, at->input, sizeof(at->input), SQLITE_STATIC);
		sqlite3_bind_int64(q, 6, (sqlite3_int64)at->n);
		sqlite3_bind_int64(q, 7, (sqlite3_int64)at->mean_ns);
		sqlite3_bind_int64(q, 8, (sqlite3_int64)at->moving_ns);
		sqlite3_bind_int64(q, 9, (sqlite3_int64)at->predicted_ns);
		sqlite3_bind_int64(q, 10, (sqlite3_int64)at->first_ns);
		sqlite3_bind_int64(q, 11, (sqlite3_int64)at->used);
	}
	return store_step(s, q);
}

static int put_kernel(struct model_store *s, const struct duration_kernel *k)
{
	int r = forget_kernel(s, k);
	sqlite3_int64 id;
	sqlite3_stmt *q;

	if (r < 0)
		return r;
	q = kept_prepare(s, "INSERT INTO kernel(uid, code, device, n_sms, driver, name, launches,"
			    " claim, cost_ns, costs, errors, curve_ns, curve_n, ridge, at)"
			    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
			    " (SELECT ifnull(max(at), 0) + 1 FROM kernel))");
	if (q) {
		bind_key(q, k);
		sqlite3_bind_text(q, 6, k->name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 7, (sqlite3_int64)k->launches);
		sqlite3_bind_int64(q, 8, k->claim);
		sqlite3_bind_int64(q, 9, (sqlite3_int64)duration_cost(k));
		sqlite3_bind_blob(q, 10, &k->costs, sizeof(k->costs), SQLITE_STATIC);
		sqlite3_bind_blob(q, 11, &k->errors, sizeof(k->errors), SQLITE_STATIC);
		sqlite3_bind_blob(q, 12, k->curve_ns, sizeof(k->curve_ns), SQLITE_STATIC);
		sqlite3_bind_blob(q, 13, k->curve_n, sizeof(k->curve_n), SQLITE_STATIC);
		sqlite3_bind_blob(q, 14, &k->ridge, sizeof(k->ridge), SQLITE_STATIC);
	}
	r = store_step(s, q);
	id = sqlite3_last_insert_rowid(s->db);
	for (unsigned i = 0; r == 0 && i < k->n_shapes; i++)
		r = put_shape(s, id, &k->shape[i]);
	return r;
}

/* Applies the limit for each user, and the limit for all users together. */
static int drop_oldest(struct model_store *s)
{
	char sql[512];
	int r;

	snprintf(sql, sizeof(sql),
		"DELETE FROM kernel WHERE id IN (SELECT id FROM (SELECT id,"
		" row_number() OVER (PARTITION BY uid ORDER BY at DESC) AS of_user,"
		" row_number() OVER (ORDER BY at DESC) AS of_all FROM kernel)"
		" WHERE of_user > %u OR of_all > %u)",
		KEPT_OF_USER, KEPT_KERNELS);
	r = store_run(s, sql);
	if (r == 0 && sqlite3_changes(s->db))
		r = store_run(s, "DELETE FROM shape WHERE kernel NOT IN (SELECT id FROM kernel)");
	return r;
}

struct kept_batch {
	const struct duration_kernel *k;
	unsigned n;
};

static int put_batch(struct model_store *s, void *user)
{
	const struct kept_batch *b = user;
	int r = 0;

	for (unsigned i = 0; i < b->n && r == 0; i++)
		r = put_kernel(s, &b->k[i]);
	return r == 0 ? drop_oldest(s) : r;
}

int kept_put(struct model_store *s, const struct duration_kernel *k, unsigned n)
{
	struct kept_batch b = {k, n};

	return n ? store_in_one(s, put_batch, &b) : 0;
}

int kept_make_private(const char *path)
{
	char problem[8];
	struct stat st;
	int fd, r = 0;

	model_make_folders(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	/* A file that others can write to stays as it is, so that model_store_open says so. */
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (trust_file(&st, problem, sizeof(problem)) == 0)
		fchmod(fd, 0600);
	close(fd);
	return r;
}

/* ---- reading ---- */

static bool take_text(sqlite3_stmt *q, int column, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return text && snprintf(ret, size, "%s", text) < (int)size;
}

static bool take_blob(sqlite3_stmt *q, int column, void *ret, size_t size)
{
	const void *at = sqlite3_column_blob(q, column);

	if (!at || sqlite3_column_bytes(q, column) != (int)size)
		return false;
	memcpy(ret, at, size);
	return true;
}

/* Reads a number. Returns false if it does not fit in 32 bits. */
static bool take_32(sqlite3_stmt *q, int column, uint32_t *ret)
{
	sqlite3_int64 v = sqlite3_column_int64(q, column);

	*ret = (uint32_t)v;
	return v >= 0 && v <= UINT32_MAX;
}

static uint64_t take_64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

/* Reads the current row of the table `kernel`. */
static bool take_kernel(sqlite3_stmt *q, struct duration_kernel *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->code = take_64(q, 2);
	ret->launches = take_64(q, 7);
	return take_32(q, 1, &ret->owner.uid) &&
	       take_text(q, 3, ret->owner.device, sizeof(ret->owner.device)) &&
	       take_32(q, 4, &ret->owner.n_sms) &&
	       take_text(q, 5, ret->owner.driver, sizeof(ret->owner.driver)) &&
	       take_text(q, 6, ret->name, sizeof(ret->name)) && take_32(q, 8, &ret->claim) &&
	       take_blob(q, 9, &ret->costs, sizeof(ret->costs)) &&
	       take_blob(q, 10, &ret->errors, sizeof(ret->errors)) &&
	       take_blob(q, 11, ret->curve_ns, sizeof(ret->curve_ns)) &&
	       take_blob(q, 12, ret->curve_n, sizeof(ret->curve_n)) &&
	       take_blob(q, 13, &ret->ridge, sizeof(ret->ridge));
}

static bool take_shape(sqlite3_stmt *q, struct duration_shape *ret)
{
	*ret = (struct duration_shape){
		.total = take_64(q, 0),
		.n = take_64(q, 4),
		.mean_ns = take_64(q, 5),
		.moving_ns = take_64(q, 6),
		.predicted_ns = take_64(q, 7),
		.first_ns = take_64(q, 8),
		.used = take_64(q, 9),
	};
	return take_32(q, 1, &ret->threads) && take_32(q, 2, &ret->shared_bytes) &&
	       take_blob(q, 3, ret->input, sizeof(ret->input));
}

/* Returns 0, with *io_ok false if a row is invalid, or -EIO. */
static int read_shapes(
	struct model_store *s, sqlite3_int64 kernel, struct duration_kernel *ret, bool *io_ok)
{
	sqlite3_stmt *q = kept_prepare(s,
		"SELECT total, threads, shared_bytes, input, n, mean_ns, moving_ns, predicted_ns,"
		" first_ns, used FROM shape WHERE kernel = ?1 ORDER BY used");
	int step;

	if (!q)
		return store_failed(s);
	sqlite3_bind_int64(q, 1, kernel);
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		*io_ok = *io_ok && ret->n_shapes < DURATION_SHAPES &&
			 take_shape(q, &ret->shape[ret->n_shapes]);
		ret->n_shapes += *io_ok;
	}
	sqlite3_finalize(q);
	return step == SQLITE_DONE ? 0 : store_failed(s);
}

int kept_each(struct model_store *s, uint32_t uid, durations_fn *fn, void *user)
{
	struct duration_kernel *k = malloc(sizeof(*k));
	sqlite3_stmt *q = NULL;
	int r = 0, step = SQLITE_ROW;

	if (s->layout < STORE_LAYOUT)
		r = -ENOENT;
	else if (!k)
		r = -ENOMEM;
	else if (!(q = kept_prepare(s,
			   "SELECT id, uid, code, device, n_sms, driver, name, launches,"
			   " claim, costs, errors, curve_ns, curve_n, ridge"
			   " FROM kernel WHERE ?1 < 0 OR uid = ?1 ORDER BY at DESC")))
		r = store_failed(s);
	if (r == 0)
		sqlite3_bind_int64(q, 1, uid == DURATION_ANY ? -1 : (sqlite3_int64)uid);
	while (r == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
		bool ok = take_kernel(q, k);

		r = read_shapes(s, sqlite3_column_int64(q, 0), k, &ok);
		if (r == 0 && ok && duration_is_sane(k))
			fn(user, k);
	}
	if (r == 0 && step != SQLITE_DONE)
		r = store_failed(s);
	sqlite3_finalize(q);
	free(k);
	return r;
}

/* ---- curves alone ---- */

/* Reads the kernel's curve from its row. The curve is empty if there is no row, or if the curve in
 * the row is not valid. Returns 1 if there is a row, 0 if there is none, or -EIO. */
static int find_curve(
	struct model_store *s, const struct duration_kernel *k, struct duration_kernel *ret)
{
	sqlite3_stmt *q = kept_prepare(s,
		"SELECT curve_ns, curve_n FROM kernel WHERE uid = ?1 AND code = ?2 AND device = ?3"
		" AND n_sms = ?4 AND driver = ?5");
	int step;

	if (!q)
		return store_failed(s);
	bind_key(q, k);
	step = sqlite3_step(q);
	if (step == SQLITE_ROW && (!take_blob(q, 0, ret->curve_ns, sizeof(ret->curve_ns)) ||
					  !take_blob(q, 1, ret->curve_n, sizeof(ret->curve_n)) ||
					  !duration_is_sane(ret)))
		*ret = (struct duration_kernel){0};
	sqlite3_finalize(q);
	return step == SQLITE_ROW ? 1 : step == SQLITE_DONE ? 0 : store_failed(s);
}

static int update_curve(struct model_store *s, const struct duration_kernel *k)
{
	sqlite3_stmt *q = kept_prepare(s,
		"UPDATE kernel SET curve_ns = ?6, curve_n = ?7,"
		" at = (SELECT ifnull(max(at), 0) + 1 FROM kernel) WHERE uid = ?1 AND code = ?2"
		" AND device = ?3 AND n_sms = ?4 AND driver = ?5");

	if (q) {
		bind_key(q, k);
		sqlite3_bind_blob(q, 6, k->curve_ns, sizeof(k->curve_ns), SQLITE_STATIC);
		sqlite3_bind_blob(q, 7, k->curve_n, sizeof(k->curve_n), SQLITE_STATIC);
	}
	return store_step(s, q);
}

/* whole: a buffer for one record. */
static int put_curve(
	struct model_store *s, const struct duration_kernel *k, struct duration_kernel *whole)
{
	int r;

	memset(whole, 0, sizeof(*whole));
	r = find_curve(s, k, whole);
	if (r < 0)
		return r;
	whole->owner = k->owner;
	whole->code = k->code;
	memcpy(whole->name, k->name, sizeof(whole->name));
	for (unsigned i = 0; i < SCHED_PER_SM; i++) {
		if (!k->curve_n[i])
			continue;
		whole->curve_ns[i] = k->curve_ns[i];
		whole->curve_n[i] = k->curve_n[i];
	}
	return r ? update_curve(s, whole) : put_kernel(s, whole);
}

static int put_curves(struct model_store *s, void *user)
{
	struct duration_kernel *whole = malloc(sizeof(*whole));
	const struct kept_batch *b = user;
	int r = whole ? 0 : -ENOMEM;

	for (unsigned i = 0; i < b->n && r == 0; i++)
		r = put_curve(s, &b->k[i], whole);
	free(whole);
	return r == 0 ? drop_oldest(s) : r;
}

int kept_put_curves(struct model_store *s, const struct duration_kernel *k, unsigned n)
{
	struct kept_batch b = {k, n};

	return n ? store_in_one(s, put_curves, &b) : 0;
}
