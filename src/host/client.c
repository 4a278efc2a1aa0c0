/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Only tenants of the same device compete, so a HELLO has the device's UUID. */
#include "host/client.h"

#include "base/environment.h"
#include "base/number.h"
#include "wire/unreached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Reads the priority from the environment: "low", "normal", "high", or a number of up to three
 * digits. The default is normal. */
static int asked_priority(void)
{
	static const char *const names[] = {"low", "normal", "high"};
	const char *s = secure_getenv("HEDDLE_PRIORITY");
	uint64_t n;

	for (int i = 0; s && i < 3; i++) {
		if (!strcmp(s, names[i]))
			return i;
	}
	return s && number_parse(s, 0, 999, &n) == 0 ? (int)n : 1;
}

uint32_t host_attribute(const struct cu_api *cu, CUdevice dev, CUdevice_attribute which)
{
	int v = 0;

	if (cu->cuDeviceGetAttribute(&v, which, dev) != CUDA_SUCCESS || v < 0)
		return 0;
	return (uint32_t)v;
}

static void program_name(char *ret, size_t size)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash;

	if (n <= 0)
		return;
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(ret, size, "%.63s", slash ? slash + 1 : path);
}

void host_hello(const struct cu_api *cu, CUdevice dev, struct wire_hello *h)
{
	const char *group = secure_getenv("HEDDLE_CLASS");
	CUuuid id = {{0}};
	int version = 0;
	char hex[33];

	*h = (struct wire_hello){0};
	wire_head_init(&h->head, WIRE_HELLO, sizeof(*h));
	h->priority = asked_priority();
	h->weight = (uint32_t)env_number(ENV_WEIGHT);
	h->n_sms = host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	h->threads_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	h->blocks_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	h->regs_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
	h->shared_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	h->is_cpu_device = dev_kind_of(cu) == DEV_CPU;
	if (cu->cuDeviceGetUuid)
		cu->cuDeviceGetUuid(&id, dev);
	hex_encode((uint8_t *)id.bytes, 16, hex);
	snprintf(h->device, sizeof(h->device), "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		hex + 12, hex + 16, hex + 20);
	if (cu->cuDeviceGetName)
		cu->cuDeviceGetName(h->device_name, sizeof(h->device_name) - 1, dev);
	if (cu->cuDriverGetVersion && cu->cuDriverGetVersion(&version) == CUDA_SUCCESS)
		snprintf(h->driver, sizeof(h->driver), "%d", version);
	program_name(h->name, sizeof(h->name));
	if (group)
		snprintf(h->group, sizeof(h->group), "%.31s", group);
}

void host_client_init(struct host_client *c)
{
	*c = (struct host_client){.sock.fd = -1, .kick.fd = -1, .wake.fd = -1, .page_fd.fd = -1};
}

int host_client_find(struct host_client *c)
{
	int r = wire_socket_path(c->where, sizeof(c->where), false);

	c->by_folder = r < 0;
	return r;
}

/* Receives the reply to a HELLO. Returns 0 if it is a WELCOME. After an error no descriptor that
 * came with it is left open. */
static int await_answer(int sock, struct host_greeting *g)
{
	unsigned n = 0;
	int r = wire_recv(sock, &g->m, sizeof(g->m), g->fds, 3, &n);

	if (r > 0 && wire_check(&g->m, (size_t)r) < 0)
		r = -EPROTO;
	if (r > 0)
		wire_plain(&g->m);
	if (r > 0 && g->m.head.type == WIRE_WELCOME && n == 3)
		return 0;
	if (r == 0)
		r = -ECONNRESET;
	else if (r > 0)
		r = g->m.head.type == WIRE_REFUSED ? -EACCES : -EPROTO;
	for (unsigned i = 0; i < n; i++)
		close(g->fds[i]);
	return r;
}

int host_greet(
	const char *where, const struct wire_hello *h, int timeout_ms, struct host_greeting *ret)
{
	int r, sock = wire_connect(where, timeout_ms);

	if (sock == -EACCES) /* an error of the system; EACCES is for a refusal by heddled */
		return -EPERM;
	if (sock < 0)
		return sock;
	host_fd_take(&ret->sock, sock);
	r = wire_send(ret->sock.fd, h, NULL, 0);
	if (r >= 0 || r == -EPIPE) /* -EPIPE: heddled has refused already */
		r = await_answer(ret->sock.fd, ret);
	if (r < 0)
		host_fd_close(&ret->sock);
	return r;
}

void host_greeting_drop(struct host_greeting *g)
{
	for (unsigned i = 0; i < 3; i++)
		close(g->fds[i]);
	host_fd_close(&g->sock);
}

/* Takes over the connection and all descriptors except that of the page. */
static void take_connection(struct host_client *c, const struct host_greeting *g)
{
	host_fd_take(&c->sock, g->sock.fd);
	host_fd_take(&c->kick, g->fds[1]);
	host_fd_take(&c->wake, g->fds[2]);
}

int host_client_accept(struct host_client *c, struct host_greeting *g)
{
	int r = host_fd_is(&g->sock) ? 0 : -EBADF; /* the program may have closed the socket */

	if (r == 0 && wire_page_map(g->fds[0], &c->page) < 0)
		r = -EPROTO;
	if (r < 0) {
		host_greeting_drop(g);
		return r;
	}
	c->welcome = g->m.welcome;
	take_connection(c, g);
	host_fd_take(&c->page_fd, g->fds[0]);
	return 0;
}

bool host_client_ring(const struct host_client *c, const struct host_fd *eventfd)
{
	uint64_t one = 1;

	if (!host_fd_is(&c->sock) || !host_fd_is(eventfd))
		return false;
	if (write(eventfd->fd, &one, sizeof(one)) < 0)
		return true; /* if it is full, a wake-up is pending */
	return true;
}

bool host_client_is_over(const struct host_client *c, bool *ret_woken)
{
	char byte;
	ssize_t n;

	*ret_woken = false;
	/* The program may close the socket's descriptor meanwhile, and the same number may then
	 * belong to another file of the program. So peek first: this consumes nothing from such a
	 * file. */
	do {
		n = recv(c->sock.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
		if (!host_fd_is(&c->sock))
			return true;
		if (n > 0)
			n = recv(c->sock.fd, &byte, 1, MSG_DONTWAIT);
		*ret_woken |= n > 0;
	} while (n > 0);
	return n == 0 || (errno != EAGAIN && errno != EINTR);
}

bool host_client_is_silent(struct host_client *c, uint64_t now_ns, bool waited_for)
{
	return silence_too_long(&c->silence, __atomic_load_n(&c->page->alive_ms, __ATOMIC_ACQUIRE),
		(uint32_t)(now_ns / 1000000), waited_for);
}

/* ---- reconnecting to the next daemon ---- */

int host_client_reconnect(const struct host_client *c, struct host_fd *ret)
{
	int sock;

	if (!host_fd_is(&c->page_fd))
		return -EBADF;
	sock = wire_connect(c->where, -1);
	if (sock < 0)
		return sock;
	host_fd_take(ret, sock);
	return 0;
}

int host_client_bring_page(const struct host_client *c, const struct host_fd *sock)
{
	struct wire_hello h = c->hello;
	int r;

	/* Asks for what was granted, or what `heddle set` has changed since. */
	h.priority = (int)MIN(
		__atomic_load_n(&c->page->priority, __ATOMIC_ACQUIRE), WIRE_PRIORITIES - 1);
	h.weight = MIN(MAX(__atomic_load_n(&c->page->weight, __ATOMIC_ACQUIRE), 1), 1000);
	r = wire_send(sock->fd, &h, &c->page_fd.fd, 1);
	return r == -EPIPE ? 0 : r; /* the reply has the reason */
}

int host_client_answered(
	const struct host_client *c, const struct host_fd *sock, struct host_greeting *ret)
{
	uint64_t ours = 0, theirs = 0;
	int r;

	if (!host_fd_is(sock))
		return -EBADF;
	r = await_answer(sock->fd, ret);
	if (r < 0)
		return r;
	/* If the page in the reply is not the page that this tenant brought, the daemon has not
	 * adopted the tenant, and does not know it. */
	if (!host_fd_is(&c->page_fd) || wire_page_number(ret->fds[0], &theirs) < 0 ||
		wire_page_number(c->page_fd.fd, &ours) < 0 || ours != theirs) {
		for (unsigned i = 0; i < 3; i++)
			close(ret->fds[i]);
		return -EPROTO;
	}
	ret->sock = *sock;
	return 0;
}

void host_client_replace(struct host_client *c, struct host_greeting *g, struct host_fd ret_old[3])
{
	ret_old[0] = c->sock;
	ret_old[1] = c->kick;
	ret_old[2] = c->wake;
	close(g->fds[0]);
	take_connection(c, g);
}

const char *host_client_why(const struct host_client *c, int error, char buf[HOST_FAILED])
{
	struct wire_unreached u;

	if (error == -ENODEV)
		return "the device could not be asked";
	if (error == -EACCES && !c->by_folder) {
		snprintf(buf, HOST_FAILED, "heddled refused this program: %s", c->refusal);
		return buf;
	}
	wire_unreached(c->where, c->by_folder, error, &u);
	if (u.is_none)
		return "heddled does not run, so nothing is shared (\"heddled &\" starts it)";
	snprintf(buf, HOST_FAILED, "%s: %s", u.what, u.todo);
	return buf;
}
