/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Wraps cuInit for programs that `heddle run` made clients of heddled's MPS server. heddled ends an
 * MPS server that does not respond. In a program that is just starting, cuInit then returns an
 * error, which would not happen without heddle. So the shim calls cuInit again, first with the next
 * server, then without MPS. */
#include "shim/core/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PIPE_ENV "CUDA_MPS_PIPE_DIRECTORY"
/* wait before the second attempt; another MPS server should run by then */
#define AGAIN_NS 1000000000l

/* Returns true for errors of the MPS server, or of the connection to it. The program may still run
 * without MPS. */
static bool is_mps_error(CUresult r)
{
	return r >= CUDA_ERROR_MPS_CONNECTION_FAILED && r <= CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED;
}

/* Returns true if the MPS folder in the environment is the folder mps-pipe beside heddled's socket.
 * Then `heddle run` chose it, not the user. */
static bool is_heddles(void)
{
	const char *pipe = secure_getenv(PIPE_ENV);
	char socket[108], folder[sizeof(socket) + 16];
	struct stat theirs, ours;
	char *slash;

	if (!pipe || wire_socket_path(socket, sizeof(socket), false) < 0)
		return false;
	slash = strrchr(socket, '/');
	snprintf(folder, sizeof(folder), "%.*s/mps-pipe", slash ? (int)(slash - socket) : 1,
		slash ? socket : ".");
	return stat(pipe, &theirs) == 0 && stat(folder, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

SHIM_API CUresult cuInit(unsigned int flags);
CUresult cuInit(unsigned int flags)
{
	const struct timespec again = {AGAIN_NS / 1000000000, AGAIN_NS % 1000000000};
	CUresult r;

	SHIM_DRIVER(cuInit);
	r = cu.cuInit(flags);
	if (!is_mps_error(r) || !is_heddles()) {
		shim_count_devices();
		return r;
	}
	nanosleep(&again, NULL);
	r = cu.cuInit(flags);
	if (!is_mps_error(r)) {
		shim_count_devices();
		return r;
	}
	shim_say("heddled's MPS refuses this program, which runs without it: ", cu_result_name(r));
	unsetenv(PIPE_ENV);
	r = cu.cuInit(flags);
	shim_count_devices();
	return r;
}
