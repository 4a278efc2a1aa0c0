/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Unpacks one entry of a container. The entry states its unpacked size, which is untrusted: no more
 * memory than this is used, and an entry that unpacks to another size is refused. */
#include "image/image.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define DEFAULT_MAX ((size_t)256 << 20)

static int unpack_lz4(const struct image_bytes *in, char *out, size_t full)
{
	int n;

	if (in->len > LZ4_MAX_INPUT_SIZE || full > LZ4_MAX_INPUT_SIZE)
		return -E2BIG;
	n = LZ4_decompress_safe((const char *)in->at, out, (int)in->len, (int)full);
	return n >= 0 && (size_t)n == full ? 0 : -EBADMSG;
}

static int unpack_zstd(const struct image_bytes *in, char *out, size_t full)
{
	size_t n = ZSTD_decompress(out, full, in->at, in->len);

	return !ZSTD_isError(n) && n == full ? 0 : -EBADMSG;
}

int image_unpack(const struct image_entry *e, size_t max_bytes, char **ret, size_t *ret_len)
{
	size_t full = (size_t)e->full_bytes;
	char *out;
	int r = 0;

	if (e->packing == IMAGE_PACKED_OLD)
		return -ENOTSUP;
	if (e->full_bytes > (max_bytes ? max_bytes : DEFAULT_MAX))
		return -E2BIG;
	/* LZ4 compresses by a factor of at most 255. A larger claimed size is wrong and would waste
	 * memory. */
	if (e->packing == IMAGE_LZ4 && full / 256 > e->bytes.len)
		return -EBADMSG;
	out = malloc(full + 1);
	if (!out)
		return -ENOMEM;
	if (e->packing == IMAGE_LZ4)
		r = unpack_lz4(&e->bytes, out, full);
	else if (e->packing == IMAGE_ZSTD)
		r = unpack_zstd(&e->bytes, out, full);
	else
		memcpy(out, e->bytes.at, full);
	if (r < 0) {
		free(out);
		return r;
	}
	out[full] = '\0';
	*ret = out;
	*ret_len = e->kind == IMAGE_PTX ? strlen(out) : full;
	return 0;
}
