/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stores what the engine decided as control words in the tenants' pages (apply.c, carveout.c). */
#ifndef HEDDLE_DAEMON_APPLY_H
#define HEDDLE_DAEMON_APPLY_H

#include "daemon.h"

void hd_apply(struct hd *d, struct hd_device *dev);
/* Stores a control word with the launch's quotas. */
void hd_store_quotas(struct hd *d, struct hd_slot *s);
/* Asks the tenant to launch one more grid for this launch, with n workers (0: as many as fit on the
 * device). If the launch has not arrived yet, the tenant waits until then. */
void hd_ask_workers(struct hd_slot *s, struct wire_slot *w, uint32_t n);
/* Returns how many more workers must be launched so that `workers` workers and the relay are on the
 * device. The relay is a block that needs the room of one worker. If the device does not have room
 * for so many, returns only the number that fits. Uses the number of present workers that the relay
 * last reported. */
uint32_t hd_missing_workers(const struct hd_slot *s, const struct wire_slot *w, uint32_t workers);
/* carveout.c. hd_carveout_need: call it when a launch becomes known. hd_carveout_tell: informs the
 * tenants; call it after hd_carveout_need, and after a tenant has left. */
void hd_carveout_need(struct hd_tenant *t, const struct hd_slot *s);
void hd_carveout_tell(const struct hd *d, struct hd_device *dev);
/* For the guard form: records how many blocks on an SM the launch may have under these quotas. If
 * the number differs from the present one, the launch will exit, and the tenant will launch it
 * again. */
void hd_note_count(struct hd_slot *s, const uint8_t quota[CTL_MAX_SMS]);

#endif
