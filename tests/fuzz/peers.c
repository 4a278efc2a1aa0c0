/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled among hostile peers. They send well-formed and malformed messages, and pass
 * descriptors of all kinds. They write anything into shared pages, odd bytes as well as
 * plausible words, also while heddled reads them. They write to eventfds long after their
 * connection is gone, and close, shut down or never read connections. The daemon's core,
 * connections and loop are the real ones; its clock comes from the input. At the end no tenant
 * and no descriptor must remain. */
#include "daemon/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERS     12u
#define KINDS     14u /* kinds of descriptors to pass */
#define MAX_OPS   600u
#define HELD_BACK 16u

struct peer {
	int sock, kick, event, page_fd; /* -1 if there is none */
	struct wire_page *page;
};

#define NOBODY                                                     \
	(struct peer)                                              \
	{                                                          \
		.sock = -1, .kick = -1, .event = -1, .page_fd = -1 \
	}

struct input {
	const uint8_t *at, *end;
};

struct world {
	struct server s;
	struct hd_config config;
	struct input in;
	struct peer peer[PEERS];
	int old_kick[HELD_BACK]; /* eventfds of closed connections */
	unsigned n_old;
	uint64_t now;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int passed[KINDS];
static unsigned long long n_twists, n_messages, n_passed, n_tenants, n_again, n_writes, n_porters;

#define must(ok) must_at(ok, __LINE__)

static void must_at(bool ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "peers.c:%d\n", line);
	abort();
}

/* ---- the input, followed by zeros ---- */

static uint8_t byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint64_t bytes_of(struct input *in, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | byte(in);
	return v;
}

/* Takes a number from the input: a small one, a large one, or a limit of the type. */
static uint64_t number(struct input *in)
{
	unsigned how = byte(in);

	switch (how & 7) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - (how >> 3);
	case 2:
		return 1ull << (how >> 3) * 2;
	case 3:
		return bytes_of(in, 8);
	case 4:
		return bytes_of(in, 4);
	default:
		return how >> 3;
	}
}

/* ---- the clock and other services for the daemon ---- */

static uint64_t world_now(void *user)
{
	struct server *s = user;

	return CONTAINER_OF(s, struct world, s)->now;
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void say_how_many(void)
{
	printf("%llu messages, %llu descriptors passed, %llu tenants, %llu that came back, "
	       "%llu writes into pages, %llu porters, %llu twists\n",
		n_messages, n_passed, n_tenants, n_again, n_writes, n_porters, n_twists);
}

/* A memory file of a page's size. */
static int memory(int seals)
{
	size_t bytes = round_up(sizeof(struct wire_page), (uint64_t)sysconf(_SC_PAGESIZE));
	int fd = memfd_create("passed", MFD_ALLOW_SEALING);

	must(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static bool send_one(int sock, int fd)
{
	struct wire_head m;

	wire_head_init(&m, WIRE_LIST, sizeof(m));
	return wire_send(sock, &m, &fd, 1) == 0;
}

static void open_passed(void)
{
	int ends[2], pair[2];

	if (passed[0])
		return;
	must(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	passed[0] = eventfd(0, EFD_NONBLOCK);
	passed[1] = memfd_create("passed", 0);
	passed[2] = open("/dev/null", O_RDWR);
	passed[3] = ends[0];
	passed[4] = pair[0];
	passed[5] = epoll_create1(0);
	passed[6] = memory(0);
	passed[7] = memory(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	passed[8] = memory(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE);
	passed[9] = open("/", O_RDONLY | O_DIRECTORY);
	passed[10] = open("/", O_PATH);
	passed[11] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	passed[12] = ends[1];
	passed[13] = pair[1];
	/* Sends descriptors in messages over a socket that is itself passed as a descriptor. */
	for (unsigned i = 0; i < 5; i++)
		must(send_one(pair[i % 2], passed[i ? 4 + i % 2 * 9 : 0]));
	atexit(say_how_many);
}

/* Runs a turn of the daemon's loop, then waits for each porter (a child process of heddled that
 * receives descriptors from peers), and runs a turn after each. */
static void turn(struct world *w)
{
	uint64_t next;

	must(loop_turn(&w->s, false, &next) == 0);
	while (w->s.porters) {
		pid_t pid = waitpid(-1, NULL, 0);

		must(pid > 0);
		n_porters++;
		porter_ended(&w->s, pid);
		must(loop_turn(&w->s, false, &next) == 0);
	}
}

static void begin(struct world *w)
{
	struct hd_io io = {world_now, conn_wake, &w->s};
	unsigned how = byte(&w->in);

	w->config = (struct hd_config){.policy = how & 1 ? &sched_policy_none : &sched_policy_hpf,
		.gates = how & 2,
		.mps = how & 4,
		.temporal = how & 8,
		.within_srt = how & 16,
		.opaque_ns = how & 32 ? 1000000 : 0,
		.opaque_auto = how & 64,
		.max_tenants = 9,
		.user_tenants = 8,
		.user_devices = 3,
		.user_connections = 10,
		.silence_ns = 5000000000,
		.still_ns = 1000000};
	w->s = (struct server){.config = &w->config,
		.max_conns = 11,
		.expiry_ns = UINT64_MAX,
		.listener.fd = -1,
		.epoll = epoll_create1(EPOLL_CLOEXEC)};
	w->now = 1000000000;
	for (unsigned i = 0; i < PEERS; i++)
		w->peer[i] = NOBODY;
	must(w->s.epoll >= 0 && hd_create(&w->config, &io, &w->s.hd) == 0);
}

/* ---- actions of peers ---- */

static void welcomed(struct world *w, struct peer *p)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct wire_head head;
	int fds[3], r;
	unsigned n = 0;

	turn(w);
	r = wire_recv(p->sock, msg, sizeof(msg), fds, 3, &n);
	if (r <= 0)
		return;
	must(wire_check(msg, (size_t)r) == 0);
	memcpy(&head, msg, sizeof(head));
	must((head.type == WIRE_WELCOME) == (n == 3));
	if (n != 3)
		return;
	n_tenants++;
	must(!p->page && wire_page_map(fds[0], &p->page) == 0);
	p->page_fd = fds[0];
	p->kick = fds[1];
	p->event = fds[2];
}

static void connect_peer(struct world *w, struct peer *p)
{
	int ends[2];

	if (p->sock >= 0)
		return;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	p->sock = ends[0];
	conn_add(&w->s, ends[1]);
}

/* Closes a peer's connection; with keeps_kick it keeps the eventfd that heddled gave it. */
static void leave(struct world *w, struct peer *p, bool keeps_kick)
{
	if (p->sock >= 0)
		close(p->sock);
	if (p->event >= 0)
		close(p->event);
	if (p->kick >= 0 && keeps_kick && w->n_old < HELD_BACK)
		w->old_kick[w->n_old++] = p->kick;
	else if (p->kick >= 0)
		close(p->kick);
	wire_page_unmap(p->page);
	if (p->page_fd >= 0)
		close(p->page_fd);
	*p = NOBODY;
}

static void send_with(struct world *w, struct peer *p, const void *msg, size_t bytes)
{
	unsigned n = byte(&w->in) % (WIRE_MAX_FDS + 4);
	int fds[WIRE_MAX_FDS];

	n = n > WIRE_MAX_FDS ? 0 : n;
	for (unsigned i = 0; i < n; i++)
		fds[i] = passed[byte(&w->in) % KINDS];
	if (p->sock < 0)
		return;
	n_messages++;
	n_passed += n;
	if (n) {
		struct iovec iov = {(void *)msg, bytes};
		union {
			char room[CMSG_SPACE(sizeof(fds))];
			struct cmsghdr align;
		} c = {{0}};
		struct msghdr m = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = c.room,
			.msg_controllen = CMSG_SPACE(n * sizeof(int))};
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
		if (sendmsg(p->sock, &m, MSG_NOSIGNAL) >= 0)
			return;
	}
	if (send(p->sock, msg, bytes, MSG_NOSIGNAL) < 0)
		return; /* the other end has closed */
}

/* A tenant changes every property it can of a descriptor from heddled: flags, offset, size,
 * seals, locks, content. */
static void twist(struct world *w, const struct peer *p)
{
	int fd = (int[]){p->kick, p->event, p->page_fd, p->sock}[byte(&w->in) % 4];
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	unsigned how = byte(&w->in);

	if (fd < 0)
		return;
	n_twists++;
	switch (how % 8) {
	case 0: /* this process must not wait for itself */
		if (fd == p->kick || fd == p->event)
			must(fcntl(fd, F_SETFL, how & 8 ? O_NONBLOCK | O_ASYNC : O_NONBLOCK) == 0);
		break;
	case 1:
		if (fd == p->event && write(fd, &(uint64_t){UINT64_MAX - 1}, 8) < 0)
			return; /* the counter is full */
		break;
	case 2:
		if (ftruncate(fd, (off_t)number(&w->in)) == 0)
			must(fd == p->page_fd); /* the size stays the same */
		break;
	case 3:
		if (lseek(fd, (off_t)(number(&w->in) >> 1), SEEK_SET) < 0)
			return; /* the descriptor has no offset */
		break;
	case 4:
		must(fcntl(fd, F_ADD_SEALS, (int)byte(&w->in)) < 0);
		break;
	case 5:
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || fcntl(fd, F_OFD_SETLK, &whole) == 0)
			return;
		break;
	case 6: /* the page then reads as zeros */
		if (fd == p->page_fd && p == &w->peer[0])
			must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
				     8192) == 0);
		break;
	default:
		if (epoll_ctl(passed[5], EPOLL_CTL_ADD, fd, &ev) == 0)
			must(epoll_ctl(passed[5], EPOLL_CTL_DEL, fd, NULL) == 0);
	}
}

static void fill_hello(struct world *w, struct wire_hello *ret)
{
	unsigned how = byte(&w->in);
	struct wire_hello h = {
		.priority = how & 3,
		.weight = 1 + (how >> 2 & 1),
		.n_sms = how & 8 ? 1 + byte(&w->in) : 4,
		.is_cpu_device = how >> 4 & 1,
	};

	wire_head_init(&h.head, WIRE_HELLO, sizeof(h));
	snprintf(h.device, sizeof(h.device), "GPU-%u", how >> 5);
	snprintf(h.name, sizeof(h.name), "peer\n\x9b%u", how);
	*ret = h;
}

static void say_hello(struct world *w, struct peer *p)
{
	struct wire_hello h;

	fill_hello(w, &h);
	send_with(w, p, &h, sizeof(h));
	if (p->sock >= 0 && !p->page)
		welcomed(w, p);
}

/* Reconnects with a page that this peer or another one has or had; its owner may still be
 * connected. */
static void come_back(struct world *w, struct peer *p)
{
	const struct peer *of = &w->peer[byte(&w->in) % PEERS];
	int fd = of->page_fd >= 0 ? dup(of->page_fd) : -1;
	struct wire_hello h;

	if (fd < 0)
		return;
	fill_hello(w, &h);
	leave(w, p, byte(&w->in) & 1);
	connect_peer(w, p);
	n_messages++;
	if (wire_send(p->sock, &h, &fd, 1) == 0)
		welcomed(w, p);
	n_again += p->page != NULL;
	close(fd);
}

/* Sends any message type, with the right size or another, and any bytes. */
static void say_anything(struct world *w, struct peer *p)
{
	static const uint16_t sizes[] = {sizeof(struct wire_hello), sizeof(struct wire_head),
		sizeof(struct wire_status), sizeof(struct wire_welcome), sizeof(struct wire_row),
		sizeof(struct wire_set), 0, 1, 15, WIRE_MAX_BYTES, WIRE_MAX_BYTES + 1};
	static _Alignas(8) char msg[WIRE_MAX_BYTES + 1];
	uint16_t bytes = sizes[byte(&w->in) % ARRAY_LEN(sizes)];
	unsigned how = byte(&w->in), n = byte(&w->in);
	struct wire_head head;

	memset(msg, (int)(how & 128 ? 0xff : 0), sizeof(msg));
	for (unsigned i = 0; i < n; i++)
		msg[(sizeof(head) + i * (how & 16 ? 7 : 1)) % sizeof(msg)] = (char)byte(&w->in);
	wire_head_init(&head, (enum wire_type)(how & 15), bytes);
	if (how & 32)
		head.protocol = byte(&w->in);
	if (how & 64)
		head.bytes = (uint32_t)number(&w->in);
	memcpy(msg, &head, sizeof(head));
	send_with(w, p, msg, bytes);
}

static void ask(struct world *w, struct peer *p, enum wire_type type)
{
	struct wire_status q = {0};
	size_t bytes = type == WIRE_STATUS ? sizeof(q) : sizeof(q.head);

	wire_head_init(&q.head, type, bytes);
	send_with(w, p, &q, bytes);
}

static void set_priority(struct world *w, struct peer *p)
{
	struct wire_set m = {0};

	m.tenant = byte(&w->in) % 16;
	m.priority = (int)(number(&w->in) % 5) - 1;
	wire_head_init(&m.head, WIRE_SET, sizeof(m));
	send_with(w, p, &m, sizeof(m));
}

static void take_answers(struct peer *p, unsigned n)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];

	while (n-- && p->sock >= 0) {
		int r = wire_recv(p->sock, msg, sizeof(msg), NULL, 0, NULL);

		if (r <= 0)
			return;
		must(wire_check(msg, (size_t)r) == 0);
	}
}

static void scribble(struct world *w, struct peer *p)
{
	size_t at = bytes_of(&w->in, 3), n = byte(&w->in);

	for (size_t i = 0; p->page && i < n; i++)
		((volatile uint8_t *)p->page)[(at + i) % sizeof(*p->page)] = byte(&w->in);
	n_writes += n;
}

/* Publishes a launch in the slot as a shim does, except that some fields have arbitrary values. */
static void submit(struct world *w, struct wire_slot *s)
{
	s->gen = (uint32_t)number(&w->in);
	s->id = number(&w->in);
	s->kernel = byte(&w->in) & 3;
	s->total = number(&w->in);
	s->block[0] = (uint32_t)number(&w->in);
	s->block[1] = s->block[2] = 1;
	s->workers_per_sm = (uint32_t)number(&w->in);
	s->shared_bytes = (uint32_t)number(&w->in);
	s->priority = byte(&w->in) & 15;
	s->launches = byte(&w->in) & 3;
	s->guard = byte(&w->in) & 3;
	s->counts = s->guard * (uint32_t)s->id; /* an arbitrary value */
	memset(s->name, 'k', sizeof(s->name));  /* not terminated */
	__atomic_store_n(&s->state, WIRE_SLOT_SUBMITTED, __ATOMIC_RELEASE);
}

static void write_slot(struct world *w, struct peer *p)
{
	unsigned which = byte(&w->in), what = byte(&w->in);
	struct wire_slot *s;

	if (!p->page)
		return;
	s = &p->page->slots[which < 192 ? which % 6 : which];
	n_writes++;
	switch (what % 10) {
	case 0:
	case 1:
		submit(w, s);
		break;
	case 2:
		s->host.began = what & 64 ? p->page->begin.seq : (uint32_t)number(&w->in);
		s->host.arrived_ns = what & 128 ? w->now : number(&w->in);
		s->host.arrived = s->gen + 1;
		break;
	case 3:
		s->host.finished = number(&w->in);
		break;
	case 4:
		s->host.rounds = (uint32_t)number(&w->in);
		s->host.drains++;
		break;
	case 5:
		s->host.done_ns = what & 128 ? w->now : number(&w->in);
		s->host.done = s->gen + 1;
		break;
	case 6:
		s->state = byte(&w->in) & 3;
		break;
	case 7:
		s->idle = what >> 4 & 1;
		s->host.seen_ns = number(&w->in);
		break;
	case 8:
		s->host.present = (uint32_t)number(&w->in);
		s->host.ticket = number(&w->in);
		break;
	default:
		s->id++;
	}
}

static void write_head(struct world *w, struct peer *p)
{
	uint32_t *const words[] = {&p->page->opaque_submitted, &p->page->opaque_completed,
		&p->page->opaque_waiting, &p->page->opaque_waited, &p->page->pin,
		&p->page->allowed};
	unsigned what = byte(&w->in);

	if (!p->page)
		return;
	n_writes++;
	if (what & 128)
		p->page->kick_ns = p->page->copied_ns = p->page->last_copy_ns = number(&w->in);
	else if (what & 64)
		*words[what % ARRAY_LEN(words)] += 1;
	else
		*words[what % ARRAY_LEN(words)] = (uint32_t)number(&w->in);
}

static void kick(int fd)
{
	uint64_t one = 1;

	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;
}

static void op(struct world *w)
{
	unsigned what = byte(&w->in);
	struct peer *p = &w->peer[byte(&w->in) % PEERS];

	switch (what & 31) {
	case 0:
	case 1:
	case 2:
		connect_peer(w, p);
		break;
	case 3:
	case 4:
	case 5:
		connect_peer(w, p);
		say_hello(w, p);
		break;
	case 6:
	case 7:
		say_anything(w, p);
		break;
	case 8:
		ask(w, p, WIRE_LIST);
		break;
	case 9:
		ask(w, p, WIRE_STATUS);
		break;
	case 10:
		leave(w, p, what & 32);
		break;
	case 11:
		take_answers(p, byte(&w->in));
		break;
	case 12:
	case 13:
		scribble(w, p);
		break;
	case 14:
		if (p->page)
			write_head(w, p);
		break;
	case 15:
		if (w->n_old)
			kick(w->old_kick[byte(&w->in) % w->n_old]);
		break;
	case 16:
		w->now += 1ull << byte(&w->in) % 34;
		break;
	case 17:
		if (p->sock >= 0)
			shutdown(p->sock, (int)(byte(&w->in) % 3));
		break;
	case 18:
	case 19:
	case 20:
		kick(p->kick);
		break;
	case 21:
	case 22:
		set_priority(w, p);
		break;
	case 23:
	case 24:
		come_back(w, p);
		break;
	case 25:
		twist(w, p);
		break;
	default:
		write_slot(w, p);
	}
	w->now += what >> 5;
	if (!(what & 64))
		turn(w);
}

/* ---- a thread that writes to a page all the time ---- */

struct scribbler {
	struct wire_page *page;
	uint64_t seed;
	bool stop;
	pthread_t thread;
};

static void *scribbling(void *arg)
{
	struct scribbler *sc = arg;
	uint32_t *words = (uint32_t *)sc->page;

	/* Spares the head, which states the page's size. */
	for (uint64_t i = 0; !__atomic_load_n(&sc->stop, __ATOMIC_RELAXED); i++) {
		uint64_t r = random_bits(sc->seed, i);
		size_t at = 64 + r % (offsetof(struct wire_page, slots[6]) / 4 - 64);

		__atomic_store_n(&words[at],
			r & 1ull << 40 ? (uint32_t)(r >> 60) : (uint32_t)(r >> 32),
			__ATOMIC_RELAXED);
	}
	return NULL;
}

static void end(struct world *w)
{
	struct wire_status st;

	for (unsigned i = 0; i < PEERS; i++)
		leave(w, &w->peer[i], true);
	for (unsigned i = 0; i < w->n_old; i++)
		kick(w->old_kick[i]);
	for (unsigned i = 0; i < 20; i++)
		turn(w);
	hd_status(w->s.hd, &st);
	must(!w->s.conns && !w->s.n_conns && st.tenants == 0 && !w->s.hd->devices);
	for (unsigned i = 0; i < w->n_old; i++)
		close(w->old_kick[i]);
	porters_finish(&w->s);
	hd_destroy(w->s.hd);
	close(w->s.epoll);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* assigned anew for each input, so that no pointer to a page outlives its input */
	static struct world w;
	struct scribbler sc = {0};
	unsigned fds;

	open_passed();
	hd_log_set_level(HD_LOG_ERROR); /* such peers would cause many log lines */
	fds = count_fds();
	w = (struct world){.in = {data, data + len}};
	begin(&w);
	if (byte(&w.in) & 1) { /* two peers share the first peer's page */
		connect_peer(&w, &w.peer[0]);
		say_hello(&w, &w.peer[0]);
	}
	if (w.peer[0].page) {
		sc.seed = len;
		sc.page = mmap(NULL, sizeof(*sc.page), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		must(sc.page != MAP_FAILED);
		must(mremap(w.peer[0].page, 0, sizeof(*sc.page), MREMAP_MAYMOVE | MREMAP_FIXED,
			     sc.page) == sc.page);
		must(pthread_create(&sc.thread, NULL, scribbling, &sc) == 0);
	}
	for (unsigned i = 0; i < MAX_OPS && w.in.at < w.in.end; i++)
		op(&w);
	end(&w);
	if (sc.page) {
		__atomic_store_n(&sc.stop, true, __ATOMIC_RELAXED);
		pthread_join(sc.thread, NULL);
		munmap(sc.page, sizeof(*sc.page));
	}
	must(count_fds() == fds);
	return 0;
}
