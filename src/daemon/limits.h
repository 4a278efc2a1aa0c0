/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Limits how much of heddled one user can use, so that a user's programs cannot exclude other
 * users, whatever they do. The configuration sets the limits. The default of each limit is a
 * quarter of the total (for connections, at least 32). */
#ifndef HEDDLE_DAEMON_LIMITS_H
#define HEDDLE_DAEMON_LIMITS_H

#include "config.h"

#include <sys/types.h>

#define HD_DEVICES 256u

struct hd;
bool hd_user_may_join(const struct hd *d, uid_t uid);
bool hd_user_may_add_device(const struct hd *d, uid_t uid);
/* Returns how many of the max connections this user may have. */
uint32_t hd_user_connections(const struct hd_config *c, uint32_t max);

#endif
