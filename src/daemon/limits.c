/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counting is cheap beside a join: nothing is kept for it. */
#include "daemon.h"

#define PARTS  4u
#define ALWAYS 32u /* connections, however few there may be in all */

static uint32_t limit(uint32_t given, uint32_t of)
{
	return given ? given : MAX(of / PARTS, 1);
}

static uint32_t tenants_of(const struct hd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct hd_device *dev = d->devices; dev; dev = dev->next) {
		for (const struct hd_tenant *t = dev->tenants; t; t = t->next)
			n += t->cred.uid == uid;
	}
	return n;
}

bool hd_user_may_join(const struct hd *d, uid_t uid)
{
	return tenants_of(d, uid) < limit(d->config.user_tenants, d->config.max_tenants);
}

bool hd_user_may_add_device(const struct hd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct hd_device *dev = d->devices; dev; dev = dev->next)
		n += dev->uid == uid;
	return n < limit(d->config.user_devices, HD_DEVICES);
}

uint32_t hd_user_connections(const struct hd_config *c, uint32_t max)
{
	return MIN(max, c->user_connections ? c->user_connections : MAX(max / PARTS, ALWAYS));
}
