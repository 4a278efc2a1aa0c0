/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: vendor OURS THEIRS
 * Checks that two CUDA runtime libraries, ours and NVIDIA's, give the same name and text for every
 * error code. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { CODES = 11000 };

typedef const char *say_fn(int error);

static say_fn *find(void *library, const char *name)
{
	say_fn *fn;
	void *p = library ? dlsym(library, name) : NULL;

	memcpy(&fn, &p, sizeof(fn));
	return fn;
}

int main(int argc, char **argv)
{
	static const char *const functions[] = {"cudaGetErrorName", "cudaGetErrorString"};
	void *ours, *theirs;
	unsigned differ = 0;

	if (argc != 3)
		return 2;
	ours = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	theirs = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	for (int f = 0; f < 2; f++) {
		say_fn *our = find(ours, functions[f]), *their = find(theirs, functions[f]);
		if (!our || !their) {
			printf("%s: not found: %s\n", functions[f], dlerror());
			return 1;
		}
		for (int code = -1; code < CODES; code++) {
			if (strcmp(our(code), their(code)) == 0)
				continue;
			printf("%s(%d): %s, the vendor's: %s\n", functions[f], code, our(code),
				their(code));
			differ++;
		}
	}
	return differ != 0;
}
