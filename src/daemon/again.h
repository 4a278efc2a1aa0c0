/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants that return with the page of an earlier daemon (again.c). */
#ifndef HEDDLE_DAEMON_AGAIN_H
#define HEDDLE_DAEMON_AGAIN_H

struct hd;
struct hd_tenant;
struct wire_page;

/* Clears the control fields of the page, which start at 0 for a new tenant. Call this before
 * hd_tenant_add. Running launches get new control words once this daemon has found them. */
void hd_page_renew(struct wire_page *page);
/* Restores the totals and the age of a returning tenant, and its id if no other tenant has that id.
 * t->page and t->joined_ns must be set. */
void hd_tenant_recall(struct hd *d, struct hd_tenant *t);

#endif
