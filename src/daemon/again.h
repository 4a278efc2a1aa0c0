/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants that come back, with the page that they had of an earlier daemon (again.c). */
#ifndef HEDDLE_DAEMON_AGAIN_H
#define HEDDLE_DAEMON_AGAIN_H

struct hd;
struct hd_tenant;
struct wire_page;

/* Ahead of hd_tenant_add: what that daemon told is taken back, as far as a new tenant begins with
 * something else. Launches under way are told anew once they are seen. */
void hd_page_renew(struct wire_page *page);
/* Of t, whose page and joined_ns are set: who has been a tenant goes on as that, with its number,
 * if it is free, its age and figures. */
void hd_tenant_recall(struct hd *d, struct hd_tenant *t);

#endif
