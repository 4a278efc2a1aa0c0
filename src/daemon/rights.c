/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides the priority and weight that a peer may have. The operating system identifies the peer
 * (SO_PEERCRED, SO_PEERGROUPS); messages are not trusted. A high priority or weight slows other
 * tenants, so only the daemon's owner, root and one configured group may have it. All others get at
 * most the normal ones. */
#include "daemon.h"

#include <grp.h>
#include <unistd.h>

#define PRIORITY_NORMAL 1

static bool in_group(const char *name, const struct ucred *peer, const gid_t *groups, size_t n)
{
	const struct group *g = name[0] ? getgrnam(name) : NULL;

	if (!g)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (groups[i] == g->gr_gid)
			return true;
	}
	return peer->gid == g->gr_gid;
}

void hd_rights(const struct hd_config *c, const struct ucred *peer, const gid_t *groups,
	size_t n_groups, int *io_priority, uint32_t *io_weight)
{
	if (*io_priority <= PRIORITY_NORMAL && *io_weight <= 1)
		return;
	if (peer->uid == 0 || peer->uid == geteuid() ||
		in_group(c->privileged_group, peer, groups, n_groups))
		return;
	*io_priority = MIN(*io_priority, PRIORITY_NORMAL);
	*io_weight = 1;
}
