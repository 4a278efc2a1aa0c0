/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program that may be made set-uid: prints how the library that it is linked with handles the
 * environment. */
#include "dev/cu_link.h"

#include <stdio.h>
#include <sys/auxv.h>

int main(void)
{
	int init = (int)cuInit(77), sms = -1;
	CUdevice dev;

	if (cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&dev, 0) == CUDA_SUCCESS)
		cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
	printf("secure %d init %d sms %d\n", getauxval(AT_SECURE) != 0, init, sms);
	return 0;
}
