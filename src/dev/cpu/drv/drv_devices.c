/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's devices. cuInit opens them, and the end of the process closes them.
 * CUDA_VISIBLE_DEVICES selects and orders them; a CUdevice is an index among the visible devices.
 * All devices share one address space, but each has its own SMs and workers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "drv.h"

void drv_device_uuid(unsigned number, CUuuid *ret)
{
	uint64_t h = hash_bytes(drv.config.name, strlen(drv.config.name), 1);

	memcpy(ret->bytes, "heddle\0\1", 8);
	ret->bytes[6] = (char)number;
	memcpy(ret->bytes + 8, &h, 8);
}

/* ---- parsing CUDA_VISIBLE_DEVICES ---- */

/* Returns true if the word is a prefix of the UUID's text form ("GPU-" and dashes included) that is
 * longer than "GPU-". Upper and lower case are the same. */
static bool begins_uuid(const char *word, size_t len, const CUuuid *uuid)
{
	char text[48] = "GPU-";
	size_t n = 4;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[n++] = '-';
		n += (size_t)snprintf(text + n, 3, "%02x", (unsigned char)uuid->bytes[i]);
	}
	return len > 4 && len <= n && !strncasecmp(word, text, len);
}

/* Returns the only device of n whose UUID has this prefix, or -1 if there is none or more than
 * one. */
static int named_by_uuid(const char *word, size_t len, unsigned n)
{
	int found = -1;

	for (unsigned i = 0; i < n; i++) {
		CUuuid uuid;
		drv_device_uuid(i, &uuid);
		if (!begins_uuid(word, len, &uuid))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

/* Returns the index of the device that a word names, or -1. Parses the word as NVIDIA's driver
 * does: blanks, then a number with any suffix, or a prefix of a UUID. */
static int named_by(const char *word, size_t len, unsigned n)
{
	while (len && isspace((unsigned char)*word)) {
		word++;
		len--;
	}
	while (len && isspace((unsigned char)word[len - 1]))
		len--;
	if (len && isdigit((unsigned char)*word)) {
		uint64_t i = number_digits(word, len, 10).value;

		return i < n ? (int)i : -1;
	}
	return named_by_uuid(word, len, n);
}

/* Lists the devices of n that the text selects. A word that names no device ends the list, and a
 * device that is named twice makes the list empty. */
static unsigned list_visible(const char *text, unsigned n, unsigned ret[SM_MAX_DEVICES])
{
	unsigned count = 0;

	for (const char *word = text; word;) {
		size_t len = strcspn(word, ",");
		int number = named_by(word, len, n);
		if (number < 0)
			break;
		for (unsigned i = 0; i < count; i++)
			if (ret[i] == (unsigned)number)
				return 0;
		ret[count++] = (unsigned)number;
		word = word[len] ? word + len + 1 : NULL;
	}
	return count;
}

/* ---- opening and closing devices ---- */

static int open_one(struct drv_device *d, unsigned number)
{
	struct sm_config c = drv.config;
	int r = 0;

	d->number = c.device = number;
	d->sm = drv.first;
	if (number)
		r = sm_open(&c, &d->sm);
	if (r)
		d->sm = NULL;
	return r ? r : vgpu_pool_create(&c, d->sm, &drv.lock, &d->pool);
}

void drv_devices_close(void)
{
	for (unsigned i = 0; i < drv.n_devices; i++)
		if (drv.device[i].pool)
			vgpu_pool_destroy(drv.device[i].pool);
	for (unsigned i = 0; i < drv.n_devices; i++)
		if (drv.device[i].sm && drv.device[i].sm != drv.first)
			sm_close(drv.device[i].sm);
	sm_close(drv.first);
	memset(drv.device, 0, sizeof(drv.device));
	drv.n_devices = 0;
	drv.first = NULL;
}

int drv_devices_open(void)
{
	const char *shown = secure_getenv("CUDA_VISIBLE_DEVICES");
	uint32_t asked = drv.config.devices;
	unsigned number[SM_MAX_DEVICES];
	int r = sm_open(&drv.config, &drv.first);

	if (r)
		return r;
	if (asked && asked != drv.config.devices)
		drv_report("virtual GPU: HEDDLE_VGPU=devices=%u: processes that share '%s' have %u "
			   "already, and so has this one; HEDDLE_VGPU=NAME,devices=%u is a GPU of "
			   "its own: any other NAME\n",
			asked, drv.config.name, drv.config.devices, asked);
	unsigned n = drv.config.devices;
	for (unsigned i = 0; i < n; i++)
		number[i] = i;
	if (shown)
		n = list_visible(shown, n, number);
	if (!n)
		drv_report("virtual GPU: CUDA_VISIBLE_DEVICES=%s shows none of its %u device%s\n",
			shown, drv.config.devices, PLURAL(drv.config.devices, "s"));
	for (unsigned i = 0; i < n && !r; i++) {
		drv.n_devices++;
		r = open_one(&drv.device[i], number[i]);
	}
	if (r || !n)
		drv_devices_close();
	return r;
}
