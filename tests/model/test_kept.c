/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that data about kernels comes back from a store unchanged, and only to the user that owns
 * it. Invalid data in the file must be ignored, and a killed writer or a full disk must not lose
 * existing data. */
#include "unit.h"

#include "model/kept.h"
#include "model/store_inside.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/heddle-kept-XXXXXX", path[64];

/* A kernel with all data set. */
static struct duration_kernel known(uint32_t uid, uint64_t code)
{
	struct duration_owner owner = {
		.uid = uid, .n_sms = 132, .device = "a GPU", .driver = "13000"};
	struct duration_kernel k;
	struct durations *d;
	uint64_t number;

	assert_int_equal(durations_create(&d), 0);
	number = durations_number(d, &owner, code, "kernel");
	for (uint64_t i = 0; i < 40; i++) {
		struct sched_shape s = {.kernel = number,
			.total = 100 + i % 20 * 7,
			.threads = 128,
			.n_sms = 132,
			.input = {(float)(i % 20 * 100)}};

		model_durations.learn(d, &s, 1000 * s.total + code % 1000, false);
		model_durations.learn_cost(d, number, 10 + i);
		model_durations.learn_curve(d, &s, 1 + (uint32_t)i % 8, 10, 1000 + i);
	}
	durations_claim(d, number, 6);
	assert_int_equal(durations_changed(d, &k, 1), 1);
	durations_destroy(d);
	return k;
}

static void put(const struct duration_kernel *k, unsigned n)
{
	struct model_store *s;

	assert_int_equal(model_store_open(path, true, &s), 0);
	if (kept_put(s, k, n) < 0)
		fail_msg("%s", model_store_why());
	model_store_close(s);
}

struct found {
	unsigned n;
	uint64_t codes[8];
	struct duration_kernel last;
};

static void find(void *user, const struct duration_kernel *k)
{
	struct found *f = user;

	if (f->n < ARRAY_LEN(f->codes))
		f->codes[f->n] = k->code;
	f->n++;
	f->last = *k;
	assert_true(duration_is_sane(k));
}

static struct found look(uint32_t uid)
{
	struct found f = {0};
	struct model_store *s;

	assert_int_equal(model_store_open(path, false, &s), 0);
	assert_int_equal(kept_each(s, uid, find, &f), 0);
	model_store_close(s);
	return f;
}

/* Changes the store by SQL statements that heddle itself would never run. */
static void tamper(const char *sql)
{
	struct model_store *s;

	assert_int_equal(model_store_open(path, true, &s), 0);
	assert_int_equal(store_run(s, sql), 0);
	model_store_close(s);
}

static void comes_back(void **state)
{
	struct duration_kernel k[2] = {known(1000, 0xfedcba9876543210), known(1001, 5)};
	struct found f;

	put(k, 2);
	f = look(1000);
	assert_int_equal(f.n, 1);
	assert_memory_equal(&f.last, &k[0], sizeof(k[0]));
	assert_int_equal(look(1001).n, 1);
	assert_int_equal(look(1002).n, 0);
	/* Storing a kernel again replaces its row, which becomes the first. */
	k[0].launches++;
	k[0].n_shapes = 3;
	put(k, 1);
	f = look(DURATION_ANY);
	assert_int_equal(f.n, 2);
	assert_true(f.codes[0] == 0xfedcba9876543210 && f.codes[1] == 5);
	f = look(1000);
	assert_int_equal(f.last.n_shapes, 3);
	assert_int_equal(f.last.launches, 41);
}

/* The first writer updates a store that an older `heddle tune` has written in the first layout. */
static void first_layout(void **state)
{
	struct duration_kernel k = known(1, 1);
	struct model_store *s;
	struct found f = {0};

	put(&k, 1);
	tamper("DROP TABLE shape; DROP TABLE kernel; PRAGMA user_version = 1");
	assert_int_equal(model_store_open(path, false, &s), 0);
	assert_int_equal(kept_each(s, DURATION_ANY, find, &f), -ENOENT);
	model_store_close(s);
	put(&k, 1);
	assert_int_equal(look(1).n, 1);
}

static void rooms(void **state)
{
	static struct duration_kernel many[256];
	uint64_t code = 0;

	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; i < ARRAY_LEN(many); i++)
			many[i] = (struct duration_kernel){.owner = {.uid = 7, .n_sms = 1},
				.code = ++code,
				.n_shapes = 1,
				.shape = {{.total = 1,
					.n = 1,
					.mean_ns = 1,
					.moving_ns = 1,
					.first_ns = 1}}};
		put(many, ARRAY_LEN(many));
	}
	put(&(struct duration_kernel){.owner = {.uid = 8, .n_sms = 1}, .code = 1}, 1);
	assert_int_equal(look(7).n, KEPT_OF_USER);
	assert_true(look(7).codes[0] > code - ARRAY_LEN(many));
	assert_int_equal(look(8).n, 1);
}

/* Any column of the file may contain an invalid value. */
static void nonsense(void **state)
{
	static const char *const columns[] = {"uid", "device", "n_sms", "driver", "name",
		"launches", "claim", "costs", "errors", "curve_ns", "curve_n", "ridge"};
	static const char *const of_shapes[] = {"total", "threads", "shared_bytes", "input", "n",
		"mean_ns", "moving_ns", "predicted_ns", "first_ns", "used"};
	static const char *const values[] = {"''", "-1", "1e300", "zeroblob(10)", "x'ff'",
		"9223372036854775807", "randomblob(208)", "randomblob(264)", "randomblob(128)",
		"hex(randomblob(100))"};
	struct duration_kernel k = known(3, 3), other = known(4, 4);
	char sql[256], ridge[96];

	snprintf(ridge, sizeof(ridge), "UPDATE OR IGNORE kernel SET ridge = randomblob(%zu)",
		sizeof(struct ridge));
	/* removes the many rows of an earlier test */
	tamper("DELETE FROM shape; DELETE FROM kernel");
	for (unsigned c = 0; c < ARRAY_LEN(columns) + ARRAY_LEN(of_shapes); c++) {
		for (unsigned i = 0; i < 4; i++) {
			const char *value = values[(4 * c + i) % ARRAY_LEN(values)];
			bool shape = c >= ARRAY_LEN(columns);

			put(&k, 1);
			snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = %s",
				shape ? "shape" : "kernel",
				shape ? of_shapes[c - ARRAY_LEN(columns)] : columns[c], value);
			tamper(sql);
			look(DURATION_ANY);
		}
	}
	put(&k, 1);
	tamper(ridge);
	assert_int_equal(look(3).n, 0);
	put(&other, 1); /* a valid row beside invalid ones is found */
	assert_int_equal(look(4).n, 1);
	tamper("DELETE FROM shape; DELETE FROM kernel");
}

static void put_curves(const struct duration_kernel *k, unsigned n)
{
	struct model_store *s;

	assert_int_equal(model_store_open(path, true, &s), 0);
	assert_int_equal(kept_put_curves(s, k, n), 0);
	model_store_close(s);
}

/* A profile changes points of a curve and nothing else. */
static void curves(void **state)
{
	struct duration_kernel k = known(1000, 21), expect = k,
			       p = {.owner = k.owner, .code = 21, .name = "profiled"}, other = p;
	struct found f;

	tamper("DELETE FROM shape; DELETE FROM kernel");
	put(&k, 1);
	p.curve_ns[1] = expect.curve_ns[1] = 77;
	p.curve_n[1] = expect.curve_n[1] = 3;
	p.curve_ns[4] = 5; /* ignored, because it has no launches */
	p.curve_ns[30] = expect.curve_ns[30] = 88;
	p.curve_n[30] = expect.curve_n[30] = 1;
	put_curves(&p, 1);
	f = look(1000);
	assert_int_equal(f.n, 1);
	assert_memory_equal(&f.last, &expect, sizeof(expect));
	/* If the profiled kernel is not in the store, it gets a row without launches, which a
	 * daemon reads unchanged. */
	snprintf(other.owner.device, sizeof(other.owner.device), "another GPU");
	other.curve_ns[0] = 9;
	other.curve_n[0] = 4;
	put_curves(&other, 1);
	f = look(1000);
	assert_int_equal(f.n, 2);
	other.code = 22;
	put_curves((const struct duration_kernel[]){other, p}, 2);
	f = look(1000);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.codes[0], 21);
	assert_int_equal(f.codes[1], 22);
	assert_memory_equal(&f.last.curve_ns, &other.curve_ns, sizeof(other.curve_ns));
	assert_true(f.last.launches == 0 && f.last.n_shapes == 0);
	assert_string_equal(f.last.name, "profiled");
	/* An invalid curve is replaced as a whole. */
	tamper("UPDATE kernel SET curve_ns = randomblob(3)");
	put_curves(&p, 1);
	f = look(1000);
	assert_int_equal(f.n, 1);
	assert_true(f.last.curve_ns[0] == 0 && f.last.curve_ns[1] == 77);
	tamper("DELETE FROM shape; DELETE FROM kernel");
}

/* With corrupted bytes in the file, reading gives an error or valid rows. */
static void broken_file(void **state)
{
	struct duration_kernel k[3] = {known(1, 1), known(1, 2), known(2, 3)};
	static unsigned char good[1 << 20], bad[1 << 20];
	size_t len;
	FILE *f;

	put(k, 3);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(good, 1, sizeof(good), f);
	fclose(f);
	for (uint64_t round = 0; round < 150; round++) {
		struct model_store *s;
		struct found found = {0};

		memcpy(bad, good, len);
		for (uint64_t i = 0; i < 1 + round % 40; i++)
			bad[random_bits(round, 2 * i) % len] =
				(unsigned char)random_bits(round, 2 * i + 1);
		f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(bad, 1, len, f), len);
		fclose(f);
		if (model_store_open(path, true, &s) < 0)
			continue;
		(void)kept_each(s, DURATION_ANY, find, &found);
		(void)kept_put(s, k, 3);
		model_store_close(s);
	}
	unlink(path);
}

static void killed(void **state)
{
	struct duration_kernel k[2] = {known(1, 1), known(1, 2)};

	put(k, 2);
	for (unsigned i = 0; i < 10; i++) {
		struct found f;
		int status;
		pid_t pid = fork();

		for (uint64_t n = 100; pid == 0; n++) {
			k[0].launches = k[1].launches = n;
			k[0].n_shapes = k[1].n_shapes = 1 + n % 20;
			put(k, 2);
		}
		usleep(5000 + 3700 * i);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		f = look(1);
		assert_int_equal(f.n, 2);
		if (f.last.launches > 40) /* both puts of one round */
			assert_int_equal(f.last.n_shapes, 1 + f.last.launches % 20);
	}
}

static void full_disk(void **state)
{
	static struct duration_kernel many[64];
	struct duration_kernel k = known(1, 1);
	struct rlimit was, small = {.rlim_cur = 200000};
	struct model_store *s;
	int r;

	unlink(path);
	put(&k, 1);
	for (unsigned i = 0; i < ARRAY_LEN(many); i++) {
		many[i] = k;
		many[i].code = 100 + i;
	}
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	assert_int_equal(model_store_open(path, true, &s), 0);
	setrlimit(RLIMIT_FSIZE, &small);
	r = kept_put(s, many, ARRAY_LEN(many));
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(r, -EIO);
	assert_true(strlen(model_store_why()) > strlen(path));
	assert_int_equal(kept_put(s, many, 1), 0); /* there is room again */
	model_store_close(s);
	assert_int_equal(look(1).n, 2);
}

static void default_path(void **state)
{
	char buf[256];

	setenv("XDG_STATE_HOME", "/somewhere", 1);
	assert_int_equal(kept_default_path(buf, sizeof(buf)), 0);
	assert_string_equal(buf, "/somewhere/heddle/heddled.db");
	assert_int_equal(kept_default_path(buf, 10), -ENAMETOOLONG);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(kept_default_path(buf, sizeof(buf)), -ENOENT);
}

static int begin(void **state)
{
	snprintf(path, sizeof(path), "%s/heddled.db", folder);
	return 0;
}

static int end(void **state)
{
	unlink(path);
	rmdir(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(first_layout),
		cmocka_unit_test(rooms),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(curves),
		cmocka_unit_test(broken_file),
		cmocka_unit_test(killed),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(default_path),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, begin, end);
}
