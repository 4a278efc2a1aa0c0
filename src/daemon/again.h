/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants that return with the page of an earlier daemon (again.c). */
#ifndef HEDDLE_DAEMON_AGAIN_H
#define HEDDLE_DAEMON_AGAIN_H

struct hd;
struct hd_tenant;
struct wire_page;

/* Call it before hd_tenant_add. Clears the words of the earlier daemon that a new tenant begins
 * without. Launches under way get new words once this daemon sees them. */
void hd_page_renew(struct wire_page *page);
/* Restores a returning tenant: its id, if that is free, its age and its totals. t->page and
 * t->joined_ns must be set. */
void hd_tenant_recall(struct hd *d, struct hd_tenant *t);

#endif
