/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* image_list FILE…: prints one line for each entry, then the entry that a device of compute
 * capability 9.0 would load. */
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int kernel(void *user, const char *name, size_t len)
{
	printf(" kernel=%.*s", (int)len, name);
	return 0;
}

/* Prints whether the PTX in the cubin's debug sections contains this kernel. */
static void debug(struct image_bytes cubin)
{
	char *text;
	size_t len;

	if (image_elf_ptx(cubin, &text, &len) < 0)
		return;
	printf(" debug=%d", strstr(text, ".entry kern(") != NULL);
	free(text);
}

static int show(void *user, const struct image_entry *e)
{
	char *data;
	size_t len;
	int r = image_unpack(e, 0, &data, &len);

	printf("%s %u%.1s", e->kind == IMAGE_PTX ? "ptx" : "elf", e->arch,
		e->variant ? &e->variant : "");
	if (r == 0) {
		if (e->kind == IMAGE_PTX)
			printf(" version=%d", strstr(data, ".version") != NULL);
		if (e->kind == IMAGE_ELF) {
			image_elf_kernels((struct image_bytes){(uint8_t *)data, len}, kernel, NULL);
			debug((struct image_bytes){(uint8_t *)data, len});
		}
		free(data);
	} else {
		printf(" error=%d", r);
	}
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *data = malloc(64 << 20);
		struct image_bytes b = {data, f ? fread(data, 1, 64 << 20, f) : 0};
		struct image_pick p = {0};
		int r = image_walk(b, show, NULL);

		if (r == 0)
			r = image_pick(b, 90, 0, &p);
		printf("pick %d ptx=%u sass=%d\n", r, p.ptx_arch, p.has_sass);
		image_pick_finish(&p);
		free(data);
		if (f)
			fclose(f);
	}
	return 0;
}
