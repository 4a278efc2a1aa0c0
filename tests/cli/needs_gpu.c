/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program that the virtual GPU cannot run, as far as its file and its calls go: with
 * UNABLE_RUNTIME one with the CUDA runtime inside (its section, and the private tables it asks
 * for), else one whose fat binary holds a cubin alone. Prints what the driver answers. */
#include "dev/cu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

/* The fields that a reader looks at; the cubin is a bare ELF header of EM_CUDA. */
struct box {
	uint32_t magic, versions;
	uint64_t bytes;
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t padded;
	uint32_t zeros[3], arch, bits, more[7];
	unsigned char elf[64];
};

#define ELF_HEAD                                                                        \
	{                                                                               \
		0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 2, [18] = 190, [20] = 1, [52] = 64 \
	}

#ifdef UNABLE_RUNTIME
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

int main(void)
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
	CUuuid id = {{1}};

	printf("%d", table(&found, &id)); /* before cuInit, too */
	init(0);
	printf(" %d\n", table(&found, &id));
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
