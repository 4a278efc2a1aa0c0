/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the configuration again while tenants run. If it contains an error, no setting changes. A
 * new socket, state folder, use of MPS or mps_stays takes effect only when heddled is restarted, and
 * heddled logs this. A restart costs tenants little. */
#include "server.h"

#include <stdio.h>
#include <string.h>

/* Logs which changed keys take effect only after a restart, once for each value. */
static void log_ignored_keys(const struct server *s, const struct hd_config *now)
{
	const struct hd_config *given = s->given, *read = &s->read;
	const struct {
		const char *key;
		bool is_new;
	} keys[] = {
		{"mps", now->mps != given->mps && now->mps != read->mps},
		{"mps_stays",
			now->mps_stays != given->mps_stays && now->mps_stays != read->mps_stays},
		{"socket", strcmp(now->socket, given->socket) != 0 &&
				   strcmp(now->socket, read->socket) != 0},
		{"state", strcmp(now->state, given->state) != 0 &&
				  strcmp(now->state, read->state) != 0},
	};
	char names[64];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].is_new)
			n += (size_t)snprintf(
				names + n, sizeof(names) - n, "%s%s", n ? ", " : "", keys[i].key);
	}
	if (n)
		hd_log("%s: takes effect when heddled is restarted", names);
}

/* Chooses the policy of the new configuration. The socket does not change, so the note's path stays
 * the same. */
static int choose_policy(
	const struct server *s, struct hd_config *io_now, struct policy_loaded **ret)
{
	struct hd_config here = *io_now;
	int r;

	memcpy(here.socket, s->config->socket, sizeof(here.socket));
	r = policy_choose(&here, s->policy, ret);
	io_now->policy = here.policy;
	return r;
}

void server_reload(struct server *s)
{
	struct policy_loaded *policy = NULL;
	struct hd_config now;
	bool regroup;

	if (!s->reread)
		return;
	notify("RELOADING=1\n");
	if (s->reread(&now, s->reread_user) < 0 || choose_policy(s, &now, &policy) < 0) {
		hd_log_at(HD_LOG_ERROR, "the configuration is unchanged");
		notify("READY=1\n");
		return;
	}
	log_ignored_keys(s, &now);
	s->read = now;
	regroup = strcmp(now.group, s->config->group) != 0;
	now.mps = s->config->mps;
	now.mps_stays = s->config->mps_stays;
	memcpy(now.mps_pipe, s->config->mps_pipe, sizeof(now.mps_pipe));
	memcpy(now.socket, s->config->socket, sizeof(now.socket));
	memcpy(now.events, s->config->events, sizeof(now.events));
	memcpy(now.state, s->config->state, sizeof(now.state));
	*s->config = now;
	hd_log_set_level(now.log_level);
	if (regroup && !s->activated)
		listen_give_rights(s->config);
	hd_reconfigure(s->hd, s->config);
	if (policy != s->policy)
		policy_unload(s->policy, policy != NULL);
	s->policy = policy;
	hd_log_at(HD_LOG_INFO, "the configuration was read again: policy %s", now.policy->name);
	notify("READY=1\n");
}
