/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts a user's tenants each time that a program becomes a tenant, unless all tenants together are
 * few enough for one user. Counting takes little time compared with that, so no counters are
 * stored. */
#include "daemon.h"

#define PARTS  4u
#define ALWAYS 32u /* minimum number of connections that a user may have, if max allows it */

static uint32_t limit_or_part(uint32_t given, uint32_t of)
{
	return given ? given : MAX(of / PARTS, 1);
}

static uint32_t count_user_tenants(const struct hd *d, uid_t uid)
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
	uint32_t limit = limit_or_part(d->config.user_tenants, d->config.max_tenants);

	return d->n_tenants < limit || count_user_tenants(d, uid) < limit;
}

bool hd_user_may_add_device(const struct hd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct hd_device *dev = d->devices; dev; dev = dev->next)
		n += dev->uid == uid;
	return n < limit_or_part(d->config.user_devices, HD_DEVICES);
}

uint32_t hd_user_connections(const struct hd_config *c, uint32_t max)
{
	return MIN(max, c->user_connections ? c->user_connections : MAX(max / PARTS, ALWAYS));
}
