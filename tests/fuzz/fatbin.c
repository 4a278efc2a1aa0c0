/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as an image: walks it, unpacks within 4 MiB, picks an entry, lists kernels. */
#include "image/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int name(void *user, const char *s, size_t len)
{
	size_t *sum = user;

	for (size_t i = 0; i < len; i++)
		*sum += (unsigned char)s[i];
	return 0;
}

static int entry(void *user, const struct image_entry *e)
{
	size_t *left = user, len;
	char *out;

	/* The walk itself takes linear time. The limit is for inputs in which thousands of entries
	 * unpack the same bytes. */
	if (*left == 0)
		return 0;
	--*left;
	if (image_unpack(e, 4 << 20, &out, &len) < 0)
		return 0;
	if (e->kind == IMAGE_ELF) {
		size_t sum = 0;

		char *text;

		image_elf_kernels((struct image_bytes){(uint8_t *)out, len}, name, &sum);
		if (image_elf_ptx((struct image_bytes){(uint8_t *)out, len}, &text, &len) == 0)
			free(text);
	}
	free(out);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct image_bytes b = {data, len};
	struct image_pick p;
	size_t left = 16;

	image_walk(b, entry, &left);
	for (uint32_t cc = 75; cc <= 90; cc += 15) {
		if (image_pick(b, cc, 4 << 20, &p) == 0)
			image_pick_finish(&p);
	}
	return 0;
}
