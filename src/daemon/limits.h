/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How much of the daemon one user may take. Who may connect is trusted with a part of it, not with
 * the whole: no user, whatever its programs say or leave unsaid, shuts the others out. Where the
 * configuration names no number it is a quarter of what there is. */
#ifndef HEDDLE_DAEMON_LIMITS_H
#define HEDDLE_DAEMON_LIMITS_H

#include "config.h"

#include <sys/types.h>

#define HD_DEVICES 256u

struct hd;
bool hd_user_may_join(const struct hd *d, uid_t uid);
bool hd_user_may_add_device(const struct hd *d, uid_t uid);
/* How many connections, where there may be max in all. */
uint32_t hd_user_connections(const struct hd_config *c, uint32_t max);

#endif
