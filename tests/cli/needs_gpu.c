/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program that the virtual GPU cannot run, judging by its file and its calls. Built with
 * UNABLE_RUNTIME, it looks like a program with the CUDA runtime linked in: it has the runtime's
 * section and requests the runtime's private tables from the driver, the optional ones before the
 * required one. Otherwise its fat binary holds only a cubin. Built with UNABLE_LIBRARY, it is a
 * library with the function inside(), which the program built with UNABLE_USER calls. Prints the
 * driver's results. */
#include "dev/cu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The fields that a reader checks. The cubin is an EM_CUDA ELF header with unreadable sections, so
 * readers must assume that it has kernels. */
struct box {
	uint32_t magic, versions;
	uint64_t bytes;
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t padded;
	uint32_t zeros[3], arch, bits, more[7];
	unsigned char elf[64];
};

#define ELF_HEAD                                                                          \
	{                                                                                 \
		0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 190, [20] = 1, [40] = 255, \
					      [52] = 64, [58] = 64, [60] = 1              \
	}

#if defined(UNABLE_USER)
#elif defined(UNABLE_RUNTIME)
__attribute__((section(".nvFatBinSegment"), used)) static uint32_t segment[4] = {0x466243b1, 1};
#else
__attribute__((section(".nv_fatbin"), used, aligned(8))) static struct box box = {
	.magic = 0xba55ed50,
	.versions = 0x100001,
	.bytes = 64 + 64,
	.kind = 2,
	.version = 0x101,
	.header_bytes = 64,
	.padded = 64,
	.arch = 90,
	.bits = 64,
	.elf = ELF_HEAD,
};
#endif

#ifdef UNABLE_USER
int inside(void);

int main(void)
{
	return inside();
}
#else

#ifdef UNABLE_LIBRARY
__attribute__((visibility("default"))) int inside(void);
int inside(void)
#else
int main(void)
#endif
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned) = driver ? dlsym(driver, "cuInit") : NULL;

	if (!init) {
		printf("no driver\n");
		return 1;
	}
#ifdef UNABLE_RUNTIME
	CUresult (*table)(const void **, const CUuuid *) = dlsym(driver, "cuGetExportTable");
	const void *found;
	/* Optional tables: one of NVRTC, and the one that CUDA 13's runtime requests first. */
	CUuuid optional[] = {
		{{(char)0xda, (char)0x91, 0x51, (char)0xd3, 0x3a, (char)0xe6, (char)0xcc, 0x41,
			(char)0xa5, (char)0xc0, 0x4f, 0x26, (char)0xd5, 0x33, (char)0xe3, 0x28}},
		{{(char)0xf8, (char)0xcf, (char)0xf9, 0x51, 0x21, 0x46, (char)0x8b, 0x4e,
			(char)0xb9, (char)0xe2, (char)0xfb, 0x46, (char)0x9e, 0x7c, 0x0d,
			(char)0xd9}}};
	/* The table that every runtime needs. */
	CUuuid id = {
		{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7, 0x4a, (char)0x89,
			(char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd, (char)0x9d, (char)0xf9}};

	for (int i = 0; i < 2; i++)
		table(&found, &optional[i]);
	if (getenv("ONLY_OPTIONAL"))
		return 0;
	printf("%d", table(&found, &id)); /* before cuInit, too */
	init(0);
	printf(" %d\n", table(&found, &id));
	fflush(stdout);
#else
	CUresult (*load)(CUlibrary *, const void *, CUjit_option *, void **, unsigned,
		CUlibraryOption *, void **, unsigned) = dlsym(driver, "cuLibraryLoadData");
	CUlibrary lib;

	init(0);
	for (int i = 0; i < 2; i++)
		printf("%d\n", load(&lib, &box, NULL, NULL, 0, NULL, NULL, 0));
#endif
	return 0;
}
#endif
