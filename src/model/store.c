/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The store is one file with four tables:
 * - sets of kernels, by the digest of their description
 * - the ways in which each set was run
 * - kernels, by user and device
 * - the shapes of these kernels' launches (kept.c)
 *
 * user_version is the version of the layout. A file with a later version is not changed; a file
 * with an earlier version is updated by its first writer. `heddle tune` and heddled use separate
 * files with the same layout.
 *
 * The file uses a rollback journal, not a write-ahead log, because to switch a file to a
 * write-ahead log needs exclusive access and fails at once if there is another writer. After a
 * writer was killed, the next reader rolls back the writer's transaction, so readers open the file
 * for writing as well. */
#include "model/store.h"
#include "base/trust.h"

#include "model/plain.h"
#include "model/store_inside.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_MS 5000

static char why[4096 + 512];

const char *model_store_why(void)
{
	return why;
}

static int set_why(int r, const char *path, const char *text)
{
	snprintf(why, sizeof(why), "%s: %s", path, text);
	return r;
}

int store_failed(const struct model_store *s)
{
	return set_why(-EIO, sqlite3_db_filename(s->db, "main"), sqlite3_errmsg(s->db));
}

int model_store_path(char *buf, size_t size)
{
	int r = model_default_path(buf, size);

	if (r == -ENOENT)
		return set_why(r, "measured.db", "neither XDG_STATE_HOME nor HOME names a folder");
	return r < 0 ? set_why(r, "measured.db", "the path is too long") : 0;
}

/* ---- layout of the tables ---- */
static int layout_of(struct model_store *s, int *ret)
{
	sqlite3_stmt *q;
	int r = sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL);

	if (r != SQLITE_OK)
		return store_failed(s);
	r = sqlite3_step(q);
	*ret = r == SQLITE_ROW ? sqlite3_column_int(q, 0) : 0;
	sqlite3_finalize(q);
	return r == SQLITE_ROW ? 0 : store_failed(s);
}

static const char tables[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS together("
	"  id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, what TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS way("
	"  together INTEGER NOT NULL REFERENCES together(id), name TEXT NOT NULL,"
	"  ms REAL NOT NULL, spread REAL NOT NULL, runs INTEGER NOT NULL, at INTEGER NOT NULL,"
	"  chosen INTEGER NOT NULL,"
	"  PRIMARY KEY(together, name)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS kernel("
	"  id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, code INTEGER NOT NULL,"
	"  device TEXT NOT NULL, n_sms INTEGER NOT NULL, driver TEXT NOT NULL, name TEXT NOT NULL,"
	"  launches INTEGER NOT NULL, claim INTEGER NOT NULL, cost_ns INTEGER NOT NULL,"
	"  costs BLOB NOT NULL, errors BLOB NOT NULL, curve_ns BLOB NOT NULL,"
	"  curve_n BLOB NOT NULL, ridge BLOB NOT NULL, at INTEGER NOT NULL,"
	"  UNIQUE(uid, code, device, n_sms, driver));"
	"CREATE INDEX IF NOT EXISTS kernel_at ON kernel(at);"
	"CREATE TABLE IF NOT EXISTS shape("
	"  kernel INTEGER NOT NULL REFERENCES kernel(id), total INTEGER NOT NULL,"
	"  threads INTEGER NOT NULL, shared_bytes INTEGER NOT NULL, input BLOB NOT NULL,"
	"  n INTEGER NOT NULL, mean_ns INTEGER NOT NULL, moving_ns INTEGER NOT NULL,"
	"  predicted_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL, used INTEGER NOT NULL,"
	"  PRIMARY KEY(kernel, total, threads, shared_bytes, input)) WITHOUT ROWID;"
	"PRAGMA user_version = 2;"
	"COMMIT;";

int store_run(struct model_store *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_failed(s);
}

int store_in_one(struct model_store *s, int (*fn)(struct model_store *s, void *user), void *user)
{
	int r = store_run(s, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = fn(s, user);
	if (r == 0)
		r = store_run(s, "COMMIT");
	if (r < 0) /* the error text is already stored */
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int prepare_layout(struct model_store *s, bool write)
{
	int layout = 0, r;

	sqlite3_busy_timeout(s->db, WAIT_MS);
	r = layout_of(s, &layout);
	if (r < 0)
		return r;
	if (layout > STORE_LAYOUT)
		return set_why(-EPROTO, sqlite3_db_filename(s->db, "main"),
			"written by a later version of heddle");
	s->layout = layout;
	if (!write)
		return layout ? 0
			      : set_why(-ENOENT, sqlite3_db_filename(s->db, "main"),
					"holds nothing yet");
	if (layout < STORE_LAYOUT) {
		r = store_run(s, tables);
		if (r < 0) /* the failed statement left a transaction open */
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		layout = STORE_LAYOUT;
	}
	s->layout = layout;
	return r;
}

/* The rows of a store decide how programs run, so others must not be able to write them. */
static int check_trust(const char *path, const struct stat *st)
{
	char problem[256];

	if (trust_file(st, problem, sizeof(problem)) < 0 ||
		trust_folder_of(path, problem, sizeof(problem)) < 0)
		return set_why(-EPERM, path, problem);
	return 0;
}

int model_store_open(const char *path, bool write, struct model_store **ret)
{
	struct model_store *s = calloc(1, sizeof(*s));
	int flags = SQLITE_OPEN_READWRITE | (write ? SQLITE_OPEN_CREATE : 0);
	char own[4096];
	struct stat st;
	int r = s ? 0 : -ENOMEM;

	if (r == 0 && !path) {
		r = model_store_path(own, sizeof(own));
		path = own;
	}
	if (r == 0 && stat(path, &st) == 0)
		r = check_trust(path, &st);
	else if (r == 0 && !write)
		r = set_why(-ENOENT, path, "nothing has been measured yet");
	if (r == 0 && write)
		model_make_folders(path);
	if (r == 0 && sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK)
		r = set_why(-EIO, path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
	if (r == 0)
		r = prepare_layout(s, write);
	if (r < 0)
		model_store_close(s);
	else
		*ret = s;
	return r;
}

int model_store_can_write(struct model_store *s)
{
	/* Writes a page, because SQLite opens a file for reading only if this user may not write it,
	 * and makes its journal at the first write. */
	int r = store_run(s, "BEGIN IMMEDIATE; PRAGMA user_version = 2; ROLLBACK");

	if (r < 0) /* the failed statement left a transaction open */
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

void model_store_close(struct model_store *s)
{
	if (s)
		sqlite3_close(s->db);
	free(s);
}

/* ---- identity of a set of kernels ---- */
struct key {
	struct strbuf text;
	uint8_t digest[32];
};

static int make_key(const struct model_together *t, struct key *ret)
{
	*ret = (struct key){0};
	model_describe(t, &ret->text);
	if (ret->text.failed)
		return set_why(-ENOMEM, "measured.db", "out of memory");
	sha256(ret->text.at, ret->text.len, ret->digest);
	return 0;
}

/* ---- statements ---- */

/* Prepares a statement and binds the key to its first parameter. Returns NULL on failure. */
static sqlite3_stmt *with_key(struct model_store *s, const struct key *k, const char *sql)
{
	sqlite3_stmt *q = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK ||
		sqlite3_bind_blob(q, 1, k->digest, sizeof(k->digest), SQLITE_STATIC) != SQLITE_OK) {
		sqlite3_finalize(q);
		return NULL;
	}
	return q;
}

int store_step(struct model_store *s, sqlite3_stmt *q)
{
	int r = q ? sqlite3_step(q) : SQLITE_ERROR;

	sqlite3_finalize(q);
	return r == SQLITE_DONE ? 0 : store_failed(s);
}

static int put_way(struct model_store *s, const struct key *k, const struct model_way *way)
{
	sqlite3_stmt *q = with_key(s, k,
		"INSERT INTO way SELECT id, ?2, ?3, ?4, ?5, unixepoch(), ?6 FROM together"
		" WHERE key = ?1");

	if (q) {
		sqlite3_bind_text(q, 2, way->name, -1, SQLITE_STATIC);
		sqlite3_bind_double(q, 3, way->ms);
		sqlite3_bind_double(q, 4, way->spread);
		sqlite3_bind_int64(q, 5, way->runs);
		sqlite3_bind_int(q, 6, way->chosen);
	}
	return store_step(s, q);
}

struct putting {
	struct key key;
	const struct model_way *ways;
	unsigned n;
};

static int put_all(struct model_store *s, void *user)
{
	const struct putting *p = user;
	const struct key *k = &p->key;
	sqlite3_stmt *q =
		with_key(s, k, "INSERT OR IGNORE INTO together(key, what) VALUES(?1, ?2)");
	int r;

	if (q)
		sqlite3_bind_text(q, 2, k->text.at, -1, SQLITE_STATIC);
	r = store_step(s, q);
	if (r == 0)
		r = store_step(s, with_key(s, k,
					  "DELETE FROM way WHERE together IN"
					  " (SELECT id FROM together WHERE key = ?1)"));
	for (unsigned i = 0; r == 0 && i < p->n; i++)
		r = put_way(s, k, &p->ways[i]);
	return r;
}

int model_ways_put(struct model_store *s, const struct model_together *t,
	const struct model_way *ways, unsigned n)
{
	struct putting p = {.ways = ways, .n = n};
	int r = make_key(t, &p.key);

	if (r == 0)
		r = store_in_one(s, put_all, &p);
	strbuf_finish(&p.key.text);
	return r;
}

int model_ways_chosen(struct model_store *s, const struct model_together *t, struct model_way *ret)
{
	sqlite3_stmt *q;
	struct key k;
	int r = make_key(t, &k), step = SQLITE_ERROR;

	if (r < 0)
		return r;
	q = with_key(s, &k,
		"SELECT name, ms, spread, runs FROM way JOIN together ON together = id"
		" WHERE key = ?1 AND chosen");
	if (q)
		step = sqlite3_step(q);
	if (step == SQLITE_ROW) {
		snprintf(ret->name, sizeof(ret->name), "%s",
			(const char *)sqlite3_column_text(q, 0));
		ret->ms = sqlite3_column_double(q, 1);
		ret->spread = sqlite3_column_double(q, 2);
		ret->runs = (unsigned)sqlite3_column_int64(q, 3);
		ret->chosen = true;
	} else if (step == SQLITE_DONE) {
		r = set_why(-ENOENT, sqlite3_db_filename(s->db, "main"),
			"these kernels, launched so, have not been measured on this device");
	} else {
		r = store_failed(s);
	}
	sqlite3_finalize(q);
	strbuf_finish(&k.text);
	return r;
}
