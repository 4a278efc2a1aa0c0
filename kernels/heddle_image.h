/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Points of an image of bytes: beyond the border is the border. */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "heddle_cuda.h"

HD int point(const unsigned char *image, int x, int y, int width, int height)
{
	x = x < 0 ? 0 : x;
	y = y < 0 ? 0 : y;
	x = x < width ? x : width - 1;
	y = y < height ? y : height - 1;
	return image[y * width + x];
}

#endif
