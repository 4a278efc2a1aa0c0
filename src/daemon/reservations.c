/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The GPUs that this heddled has reserved: those of its tenants. */
#include "reserve.h"
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct reservation {
	/* next in server.reservations; freed when its GPU has no tenants */
	struct reservation *next;
	struct watch asked; /* fd -1: no socket listens */
	char gpu[64];
};

static struct reservation *find_reservation(const struct server *s, const char *gpu)
{
	struct reservation *c = s->reservations;

	while (c && strcmp(c->gpu, gpu) != 0)
		c = c->next;
	return c;
}

int reservations_add(struct server *s, const struct wire_hello *h, char *ret_why, size_t max)
{
	struct ucred holder = {0};
	struct reservation *c;
	int fd, r;

	if (h->is_cpu_device || find_reservation(s, h->device))
		return 0;
	r = gpu_reserve(h->device, &fd, &holder);
	if (r == -EBUSY)
		snprintf(ret_why, max, "heddled %d of uid %u serves this GPU", (int)holder.pid,
			(unsigned)holder.uid);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c || (fd >= 0 && loop_watch(s, &c->asked, WATCH_CLAIM, fd, EPOLLIN) < 0)) {
		if (fd >= 0)
			close(fd);
		free(c);
		return -ENOMEM;
	}
	if (fd < 0)
		c->asked.fd = -1;
	memcpy(c->gpu, h->device, sizeof(c->gpu));
	c->next = s->reservations;
	s->reservations = c;
	return 0;
}

void reservations_asked(struct server *s, const struct watch *w)
{
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) /* any user may connect, and may already have sent descriptors */
		porter_close(s, fd, 0);
}

static bool has_tenants(const struct server *s, const struct reservation *c)
{
	for (const struct hd_device *d = s->hd->devices; d; d = d->next) {
		if (!d->is_cpu && strcmp(d->name, c->gpu) == 0)
			return true;
	}
	return false;
}

void reservations_reap(struct server *s)
{
	for (struct reservation **at = &s->reservations, *c = *at; c; c = *at) {
		if (has_tenants(s, c)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		loop_unwatch(s, &c->asked);
		free(c);
	}
}
