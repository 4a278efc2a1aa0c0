/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Starts and ends a stage: a temporary folder, and heddled, MPS or neither. The stage is isolated
 * from the user's own heddled and MPS, because it has its own socket, its own MPS pipes, and a
 * virtual GPU with a name of its own. */
#include "stage/stage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "model/kept.h"
#include "wire/wire.h"

int stage_device(
	struct cli *c, const char *want, enum dev_kind *ret, char ret_name[128], unsigned *ret_sms)
{
	enum dev_kind kind = DEV_AUTO;
	struct cu_api cu;
	CUdevice device;
	int sms;

	if (want && !dev_kind_parse(want, &kind))
		return cli_usage(c, "--device is auto, cpu or cuda, not '%s'", want);
	if (dev_open(kind, NULL, &cu) || cu.cuInit(0) || cu.cuDeviceGet(&device, 0) ||
		cu.cuDeviceGetName(ret_name, 128, device) ||
		cu.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
		return cli_error(c, "heddle doctor says what this machine has", "no device");
	*ret = dev_kind_of(&cu);
	*ret_sms = (unsigned)sms;
	return CLI_OK;
}

/* ---- MPS for the unmanaged baseline (heddled starts its own MPS) ---- */

static void mps_env(const struct stage *s, char env[2][128])
{
	snprintf(env[0], 128, "CUDA_MPS_PIPE_DIRECTORY=%s/mps", s->dir);
	snprintf(env[1], 128, "CUDA_MPS_LOG_DIRECTORY=%s/mps-log", s->dir);
}

static int mps_command(struct stage *s, char *const argv[])
{
	char vars[2][128];
	char *env[] = {vars[0], vars[1], NULL};
	char err[128];
	struct child mps;
	int r;

	mps_env(s, vars);
	snprintf(err, sizeof(err), "%s/mps.err", s->dir);
	r = child_start(argv, env, err, &mps);
	if (r == 0)
		r = child_wait(&mps, 1, 20000);
	if (r == 0 && mps.status)
		r = -EIO;
	child_finish(&mps);
	return r;
}

static int mps_start(struct stage *s)
{
	char path[128];
	char *argv[] = {"nvidia-cuda-mps-control", "-d", NULL};

	snprintf(path, sizeof(path), "%s/mps", s->dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/mps-log", s->dir);
	mkdir(path, 0700);
	if (mps_command(s, argv))
		return cli_error(s->c, "is another MPS daemon running, or the tool missing?",
			"nvidia-cuda-mps-control did not start");
	s->mps_running = true;
	return CLI_OK;
}

static void mps_stop(struct stage *s)
{
	char *argv[] = {"sh", "-c", "echo quit | nvidia-cuda-mps-control", NULL};

	if (s->mps_running)
		mps_command(s, argv);
	s->mps_running = false;
}

/* ---- starting and ending heddled ---- */

static int await_socket(struct stage *s, const char *path)
{
	for (int i = 0; i < 2000; i++) {
		int fd = wire_connect(path, 100);

		if (fd >= 0) {
			close(fd);
			return CLI_OK;
		}
		if (s->daemon.pid > 0 && kill(s->daemon.pid, 0))
			break;
		usleep(5000);
	}
	return cli_error(s->c, NULL, "heddled did not start (%s/heddled.err)", s->dir);
}

struct stage_copy {
	struct model_store *to;
	int error;
};

static void copy_kernel(void *user, const struct duration_kernel *k)
{
	struct stage_copy *copy = user;

	if (!copy->error)
		copy->error = kept_put(copy->to, k, 1);
}

/* Copies the kernels of the given store into the folder that the stage's heddled reads at its
 * start. */
static int copy_store(struct stage *s)
{
	struct stage_copy copy = {0};
	struct model_store *from = NULL;
	char path[128];
	int e = model_store_open(s->spec.store, false, &from);

	snprintf(path, sizeof(path), "%s/state/heddled.db", s->dir);
	if (!e)
		e = model_store_open(path, true, &copy.to);
	if (!e)
		e = kept_each(from, DURATION_ANY, copy_kernel, &copy);
	model_store_close(copy.to);
	model_store_close(from);
	return e || copy.error ? cli_error(s->c, NULL, "%s: %s", s->spec.store, model_store_why())
			       : CLI_OK;
}

static int heddled_start(struct stage *s)
{
	char socket[108], events[128], err[128], state[96] = "state=off";
	char *argv[28];
	unsigned n = 0;
	int r = s->spec.store ? copy_store(s) : CLI_OK;

	if (r != CLI_OK)
		return r;
	if (s->spec.store)
		snprintf(state, sizeof(state), "state=%s/state", s->dir);
	snprintf(socket, sizeof(socket), "%s/heddled.sock", s->dir);
	snprintf(events, sizeof(events), "%s/events", s->dir);
	snprintf(err, sizeof(err), "%s/heddled.err", s->dir);
	argv[n++] = s->heddled;
	argv[n++] = "--socket";
	argv[n++] = socket;
	argv[n++] = "--events";
	argv[n++] = events;
	argv[n++] = "--policy";
	argv[n++] = (char *)(s->spec.policy ? s->spec.policy : "hpf");
	argv[n++] = "--mps";
	argv[n++] = s->spec.mps ? "on" : "off";
	argv[n++] = "--set";
	/* end MPS with heddled, because the folder with its pipes is removed */
	argv[n++] = "mps_stays=off";
	argv[n++] = "--set";
	argv[n++] = state; /* keep measurements of other runs out of this one */
	for (unsigned i = 0; i < ARRAY_LEN(s->spec.options) && s->spec.options[i]; i++)
		argv[n++] = (char *)s->spec.options[i];
	argv[n] = NULL;
	r = child_start(argv, NULL, err, &s->daemon);
	if (r)
		return cli_error(s->c, NULL, "%s: %s", s->heddled, strerror(-r));
	return await_socket(s, socket);
}

/* Sets LD_LIBRARY_PATH to the folders of the virtual GPU's driver and of heddle's CUDA runtime, as
 * heddle run does. */
static int find_cpu_libraries(struct stage *s)
{
	char *driver = NULL, *runtime = NULL;
	int r = CLI_OK;

	if (cli_find_part("cpu/libcuda.so.1", "src/dev/cpu/libcuda.so.1", &driver))
		r = cli_error(s->c, "build or install heddle as a whole",
			"the virtual GPU's libcuda.so.1 was not found");
	else if (cli_find_part("cudart/libcudart.so.13", "src/cudart/libcudart.so.13", &runtime))
		r = cli_error(s->c, "build or install heddle as a whole",
			"the virtual GPU's libcudart.so.13 was not found");
	else if (asprintf(&s->cpu_libraries, "LD_LIBRARY_PATH=%.*s:%.*s",
			 (int)(strrchr(driver, '/') - driver), driver,
			 (int)(strrchr(runtime, '/') - runtime), runtime) < 0)
		r = cli_error(s->c, NULL, "%s", strerror(ENOMEM));
	free(driver);
	free(runtime);
	return r;
}

static int find_parts(struct stage *s)
{
	if (s->spec.managed && (cli_find_part(NULL, "heddle", &s->heddle) ||
				       cli_find_part(NULL, "heddled", &s->heddled)))
		return cli_error(
			s->c, "build or install heddle as a whole", "heddled was not found");
	return s->spec.device == DEV_CPU ? find_cpu_libraries(s) : CLI_OK;
}

int stage_open(struct cli *c, const struct stage_spec *spec, struct stage *ret)
{
	struct stage s = {.c = c, .spec = *spec, .daemon = {.fd = -1}};
	int r;

	child_catch_signals();
	r = cli_make_folder("stage", s.dir);
	if (r < 0)
		return cli_error(
			c, "TMPDIR says where else", "a temporary folder: %s", strerror(-r));
	r = find_parts(&s);
	if (r == CLI_OK && spec->managed)
		r = heddled_start(&s);
	else if (r == CLI_OK && spec->mps)
		r = mps_start(&s);
	if (r == CLI_OK)
		*ret = s;
	else
		stage_close(&s);
	return r;
}

void stage_close(struct stage *s)
{
	child_finish(&s->daemon);
	mps_stop(s);
	if (*s->dir)
		cli_remove_folder(s->dir);
	free(s->heddle);
	free(s->heddled);
	free(s->cpu_libraries);
	*s = (struct stage){.daemon = {.fd = -1}};
}
