/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: fake_daemon SOCKET MODE [SEED]
 * Welcomes one tenant after another and writes to their pages as the mode (listed below) requires.
 * Prints "ready" once it listens, and on SIGTERM a summary of its actions. */
#include "pass/pass.h"
#include "wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Modes:
 *  grant      everything runs; the tenant need not report launches
 *  watch      everything runs; the tenant reports each launch
 *  storm      preempts and grants launches at random, a few thousand times a second
 *  partial    as storm, but gives a launch random quotas instead of preempting it
 *  hold       holds and releases the tenant every few ms
 *  turn       holds the tenant until one of its unmanaged launches waits for its turn
 *  gate       opens and closes the gate of unmanaged launches (turn_gate); shut-gate: leaves it
 *             closed and exits
 *  fill       holds the tenant until a launch finds no slot; prints "filled" and the number of
 *             launches
 *  early      holds the tenant, and grants each launch, with one more round, as soon as it has
 *             arrived
 *  suspend    preempts all launches and never grants; prints "suspended" once a launch has left
 *  late       as suspend, then stalls; once the tenant has closed the connection, preempts all
 *             launches again and never answers; late-alone: its socket is gone, too
 *  back       takes one SM after another from a large launch and gives it back, each time waiting
 *             until all SMs are full of workers again
 *  bound      everything runs; unmanaged work in flight may take 2 ms; hold-bound: also holds and
 *             releases the tenant
 *  pin        preempts a launch that runs longer than loading waits, unless it is pinned
 *  refuse     refuses the tenant; version: speaks another protocol version; mute: never answers
 *  garbage    answers with bytes that are not a message; big: with more than a message may have
 *  order      answers with a message out of order
 *  nofds      welcomes the tenant without the page; badpage: with a page of another size
 *  shut       closes the connection at once; chatter: welcomes the tenant, then sends garbage */

static volatile sig_atomic_t stop;
static const char *socket_path;
static uint64_t preempted, granted, drained, resumed, finished, seen, given, returned, waited,
	early, pins, guards, second, most, gates, held, past, stopped_late;
static uint32_t deepest;
static uint64_t rng = 88172645463325252u;

static void on_term(int sig)
{
	stop = 1;
}

static uint32_t rnd(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % below;
}

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

struct known {
	bool known, arrived, running;
	uint64_t id;
	uint32_t drains, launches;
	uint64_t until_ns; /* when the next word is due */
	uint64_t finished, patience;
	bool taken; /* mode back: an SM is taken */
};

struct tenant {
	int sock, kick, wake;
	struct wire_page *page;
	struct known slot[WIRE_SLOTS];
	uint32_t n_sms;
	uint64_t under_way; /* number of managed launches in flight when the slots were last read */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void wake(struct tenant *t)
{
	struct wire_head m;

	__atomic_fetch_add(&t->page->seq, 1, __ATOMIC_RELEASE);
	wire_head_init(&m, WIRE_WAKE, sizeof(m));
	if (wire_send(t->sock, &m, NULL, 0) < 0)
		stop = 1;
}

static bool suspends(const char *mode)
{
	return !strcmp(mode, "suspend") || !strncmp(mode, "late", 4);
}

static void word(struct tenant *t, struct wire_slot *w, struct known *k, const char *mode)
{
	bool run = !k->running;

	if (suspends(mode))
		run = false;
	if (!strcmp(mode, "partial")) {
		for (uint32_t sm = 0; sm < CTL_MAX_SMS; sm++)
			w->host.quota[sm] = (uint8_t)(rnd(2) ? rnd(3) : CTL_NO_QUOTA);
		w->host.quota[rnd(t->n_sms)] = CTL_NO_QUOTA;
		run = true;
		store(&w->grow, load(&w->grow) + 1);
	} else {
		memset(w->host.quota, run ? CTL_NO_QUOTA : 0, sizeof(w->host.quota));
	}
	store(&w->host.seq, load(&w->host.seq) + 1);
	k->running = run;
	/* The launch must make progress. So it may run for longer than a round of workers needs to
	 * start, and for even longer if it made no progress since the last word (on a machine with
	 * other load). */
	if (!run) {
		k->patience = w->host.finished == k->finished ? MIN(k->patience + 1, 6) : 0;
		k->finished = w->host.finished;
	}
	k->until_ns = now_ns() + rnd(run ? 6000000 << k->patience : 1000000);
	if (run) {
		store(&w->granted, 1);
		granted++;
		wake(t);
	} else {
		store(&w->granted, 0);
		w->preemptions++;
		preempted++;
	}
}

static void grant_early(struct tenant *t, struct wire_slot *w, struct known *k)
{
	if (k->running)
		return;
	early += load(&w->host.drains) == 0;
	store(&w->grow, load(&w->grow) + 1);
	memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
	store(&w->host.seq, load(&w->host.seq) + 1);
	store(&w->granted, 1);
	granted++;
	k->running = true;
	wake(t);
}

/* Takes an SM from the launch and gives it back. After taking it, waits until its workers have
 * left, and until as many blocks have ended as queued workers need to start and leave, too. After
 * giving it back, waits until all SMs are full again. */
static void take_and_give_back(struct tenant *t, struct wire_slot *w, struct known *k)
{
	uint32_t full = t->n_sms * w->workers_per_sm, present = load(&w->host.present);

	if (w->total < 4 * full || load(&w->host.arrived) != w->gen + 1)
		return;
	if (!k->taken && present == full) {
		returned = given;
		w->host.quota[given % t->n_sms] = 0;
		store(&w->host.seq, load(&w->host.seq) + 1);
		w->preemptions++;
		k->taken = true;
	} else if (k->taken && present > full - w->workers_per_sm + 1) { /* its relay stays */
		k->finished = load64(&w->host.finished);
	} else if (k->taken && load64(&w->host.finished) >= k->finished + 100) {
		memset(w->host.quota, CTL_NO_QUOTA, sizeof(w->host.quota));
		store(&w->host.seq, load(&w->host.seq) + 1);
		store(&w->grow, load(&w->grow) + 1);
		wake(t);
		given++;
		k->taken = false;
	}
}

/* Answers a pin after 0.3 s, to test that loading waits for the answer. */
static void answer_pin(struct tenant *t)
{
	static uint64_t since_ns;
	uint32_t pin = load(&t->page->pin);

	if (pin == load(&t->page->pinned))
		return;
	if (!since_ns)
		since_ns = now_ns();
	if (now_ns() - since_ns < 300000000 && pin % 2)
		return;
	since_ns = 0;
	pins += pin % 2;
	store(&t->page->pinned, pin);
}

static void preempt_unpinned(struct tenant *t, struct wire_slot *w, struct known *k)
{
	if (!k->until_ns)
		k->until_ns = now_ns() + (k->running ? 2400000000u : 100000000u);
	if (now_ns() < k->until_ns || (k->running && load(&t->page->pinned) % 2))
		return;
	word(t, w, k, "storm");
	k->until_ns = 0;
}

/* Counts launches that use the second form of their kernel, that is, fewer registers than other
 * launches of the kernel. */
static void note_form(const struct wire_slot *w)
{
	static struct {
		uint64_t kernel;
		uint32_t regs;
	} most[64];
	unsigned i = 0;

	while (i < 64 && most[i].kernel && most[i].kernel != w->kernel)
		i++;
	if (i == 64)
		return;
	most[i].kernel = w->kernel;
	second += w->regs < most[i].regs;
	if (w->regs > most[i].regs)
		most[i].regs = w->regs;
}

static void look(struct tenant *t, unsigned i, const char *mode)
{
	struct wire_slot *w = &t->page->slots[i];
	struct known *k = &t->slot[i];
	uint32_t state = load(&w->state);

	if (state == WIRE_SLOT_CLOSED) {
		store(&w->granted, 0);
		store(&w->state, WIRE_SLOT_FREE);
		if (k->known && k->id == w->id)
			resumed += load(&w->launches) - k->launches;
		if (!k->known || k->id != w->id)
			note_form(w);
		finished += k->known || load(&w->host.done) == w->gen + 1;
		memset(k, 0, sizeof(*k));
		return;
	}
	if (state != WIRE_SLOT_SUBMITTED)
		return;
	if (!k->known || k->id != w->id) {
		*k = (struct known){.known = true, .id = w->id, .launches = 1};
		store(&w->granted, 1);
		note_form(w);
		seen++;
		guards += w->guard;
	}
	if (load(&w->host.done) == w->gen + 1)
		return;
	t->under_way++;
	if (!k->arrived) {
		if (load(&w->host.arrived) != w->gen + 1)
			return; /* needs no word */
		k->arrived = true;
		k->running = !load(&w->host.began);
		store(&w->granted, k->running);
	}
	if (load(&w->host.drains) != k->drains) {
		k->drains = load(&w->host.drains);
		if (!drained++ && suspends(mode)) {
			puts("suspended");
			fflush(stdout);
		}
		if (k->running)
			wake(t);
	}
	if (load(&w->launches) != k->launches) {
		resumed += load(&w->launches) - k->launches;
		k->launches = load(&w->launches);
	}
	if (!strcmp(mode, "early"))
		grant_early(t, w, k);
	else if (!strcmp(mode, "back"))
		take_and_give_back(t, w, k);
	else if (!strcmp(mode, "pin"))
		preempt_unpinned(t, w, k);
	else if ((!strcmp(mode, "storm") || !strcmp(mode, "partial")) && now_ns() >= k->until_ns)
		word(t, w, k, mode);
	else if (suspends(mode) && k->running)
		word(t, w, k, mode);
	else if ((strstr(mode, "hold") || !strcmp(mode, "turn") || !strcmp(mode, "fill")) &&
		 !load(&t->page->hold) && !k->running)
		word(t, w, k, mode);
}

/* Sends an invalid answer. Returns false if mode is not one of these. */
static bool answer_badly(int conn, const char *mode, struct wire_welcome *w)
{
	struct wire_status s = {.tenants = 1};
	static char big[4 * WIRE_MAX_BYTES];
	int fds[3];

	if (!strcmp(mode, "garbage") || !strcmp(mode, "big")) {
		memset(big, 0x5a, sizeof(big));
		send(conn, big, *mode == 'b' ? sizeof(big) : 100, 0);
	} else if (!strcmp(mode, "order")) {
		wire_head_init(&s.head, WIRE_STATUS, sizeof(s));
		wire_send(conn, &s, NULL, 0);
	} else if (!strcmp(mode, "nofds")) {
		wire_send(conn, w, NULL, 0);
	} else if (!strcmp(mode, "badpage")) {
		for (int i = 0; i < 3; i++)
			fds[i] = memfd_create("page", 0);
		if (ftruncate(fds[0], 4096) == 0)
			wire_send(conn, w, fds, 3);
		for (int i = 0; i < 3; i++)
			close(fds[i]);
	} else {
		return !strcmp(mode, "shut");
	}
	return true;
}

/* Sets the quotas with which the tenant's launches begin. */
static void begin(struct tenant *t, bool held)
{
	static uint32_t seq;

	memset(t->page->begin.quota, held ? 0 : CTL_NO_QUOTA, sizeof(t->page->begin.quota));
	store(&t->page->begin.seq, held ? ++seq : 0);
}

static void release(struct tenant *t)
{
	begin(t, false);
	store(&t->page->hold, 0);
	wake(t);
}

/* Opens and closes the gate for 20 ms each. A program that waits for each launch has at most one
 * launch in flight when the gate closes, and one more that has ended but is not counted yet. No
 * further launch may end while the gate is closed. for_good: once a launch waits behind the closed
 * gate, the daemon exits. */
static void turn_gate(struct tenant *t, bool for_good)
{
	static uint64_t since_ns;
	static uint32_t held_at;
	struct wire_page *p = t->page;
	uint32_t ended = load(&p->opaque_completed);

	if (!gates++)
		since_ns = now_ns();
	if (now_ns() - since_ns < 20000000)
		return;
	if (load(&p->hold)) {
		bool holds = load(&p->opaque_submitted) != ended;

		held += holds;
		past += ended - held_at > 2;
		if (holds && for_good) {
			stop = 1;
			return;
		}
		store(&p->allowed, load(&p->opaque_submitted) + WIRE_FAR_AHEAD);
		store(&p->hold, 0);
		wake(t);
		since_ns = now_ns();
	} else if (load(&p->opaque_submitted) != ended) {
		store(&p->allowed, ended - WIRE_FAR_AHEAD);
		store(&p->hold, 1);
		held_at = ended;
		since_ns = now_ns();
	}
}

static void serve(struct tenant *t, const char *mode)
{
	bool quiet = !strcmp(mode, "grant"), fill = !strcmp(mode, "fill");
	uint64_t kicks = seen;
	unsigned round = 0;

	store(&t->page->watch, !quiet);
	store(&t->page->follow, !quiet);
	while (!stop && !(drained && !strncmp(mode, "late", 4))) {
		struct pollfd p[2] = {{t->kick, POLLIN, 0}, {t->sock, POLLIN, 0}};
		struct timespec ts = {0, quiet ? 5000000 : 100000};
		uint64_t n = 0;
		char byte;

		ppoll(p, 2, &ts, NULL);
		if (p[0].revents && read(t->kick, &n, sizeof(n)) < 0)
			break;
		kicks += n;
		if (p[1].revents && recv(t->sock, &byte, 1, MSG_DONTWAIT) == 0)
			break;
		clock_gettime(CLOCK_MONOTONIC, &ts);
		store(&t->page->alive_ms, (uint32_t)(ts.tv_sec * 1000 + ts.tv_nsec / 1000000));
		if (!strcmp(mode, "chatter"))
			send(t->sock, "chatter", 7, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (strstr(mode, "hold") && round++ % 50 == 0) {
			begin(t, !load(&t->page->hold));
			store(&t->page->hold, !load(&t->page->hold));
			wake(t);
		}
		if ((fill || !strcmp(mode, "turn")) && load(&t->page->hold) &&
			load(&t->page->opaque_waiting)) {
			waited++;
			release(t);
		}
		if (strstr(mode, "gate"))
			turn_gate(t, !strcmp(mode, "shut-gate"));
		deepest = MAX(deepest,
			load(&t->page->opaque_submitted) - load(&t->page->opaque_completed));
		answer_pin(t);
		t->under_way = 0;
		for (unsigned i = 0; i < WIRE_SLOTS; i++)
			look(t, i, mode);
		/* Each launch kicks once, for its slot. So an additional kick means that a launch
		 * has found no slot. */
		if (fill && load(&t->page->hold) && kicks > seen) {
			printf("filled %llu\n", (unsigned long long)seen);
			fflush(stdout);
			release(t);
		}
		most = MAX(most, t->under_way);
	}
}

/* Plays a daemon that stalled before it could send its words, and sends them now. */
static void stop_late(struct tenant *t, const char *socket)
{
	struct pollfd p = {t->sock, POLLIN, 0};

	if (socket)
		unlink(socket);

	poll(&p, 1, -1);
	for (unsigned round = 0; round < 2; round++) {
		/* first before the tenant asks to reconnect, then after that */
		nanosleep(&(struct timespec){.tv_nsec = round ? 300000000 : 1000000}, NULL);
		begin(t, true);
		store(&t->page->hold, 1);
		for (unsigned i = 0; i < WIRE_SLOTS; i++) {
			struct wire_slot *w = &t->page->slots[i];
			uint8_t zeros[CTL_MAX_SMS] = {0};

			if (load(&w->state) != WIRE_SLOT_SUBMITTED || !load(&w->host.seq))
				continue;
			ctl_tell(w->host.quota, &w->host.word, load(&w->host.seq) + 1, zeros);
			store(&w->granted, 0);
			stopped_late++;
		}
	}
	while (!stop)
		pause();
}

/* Counts launches that should have been managed but were not, for lack of a slot, a channel or
 * memory, or because they were refused. */
static unsigned unlucky(const struct wire_page *p)
{
	return (unsigned)(p->launched[WIRE_WHY_CHANNEL] + p->launched[WIRE_WHY_SLOT] +
			  p->launched[WIRE_WHY_PARAMETERS] + p->launched[WIRE_WHY_REFUSED]);
}

/* Prints counts such as "launched 12: 10 workers, 2 graph". */
static void print_reasons(const struct wire_page *p)
{
	uint64_t by_outcome[WIRE_OUTCOMES];
	const char *between = ":";

	printf("launched %llu", (unsigned long long)wire_outcomes(p->launched, by_outcome));
	for (unsigned i = 0; i < WIRE_REASONS; i++) {
		if (!p->launched[i])
			continue;
		printf("%s %llu %s", between, (unsigned long long)p->launched[i],
			wire_reason_rows[i].name);
		between = ",";
	}
	printf("\n");
}

static void greet(int conn, const char *mode)
{
	struct tenant t = {.sock = conn};
	char buf[WIRE_MAX_BYTES];
	struct wire_hello *h = (struct wire_hello *)buf;
	struct wire_welcome w = {.tenant = 1, .mps = getenv("FAKE_MPS") != NULL};
	struct wire_refused no = {.error = EPERM, .why = "told to"};
	unsigned n_fds;
	int fd, r;

	r = wire_recv(conn, buf, sizeof(buf), NULL, 0, &n_fds);
	if (r <= 0 || wire_check(buf, (size_t)r) < 0 || h->head.type != WIRE_HELLO)
		return;
	t.n_sms = h->n_sms;
	if (!strcmp(mode, "refuse")) {
		wire_head_init(&no.head, WIRE_REFUSED, sizeof(no));
		wire_send(conn, &no, NULL, 0);
		return;
	}
	if (!strcmp(mode, "mute")) {
		while (!stop)
			pause();
		return;
	}
	wire_head_init(&w.head, WIRE_WELCOME, sizeof(w));
	if (answer_badly(conn, mode, &w) || wire_page_create(1, &t.page, &fd) < 0)
		return;
	t.kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w.page_bytes = t.page->bytes;
	w.priority = h->priority;
	w.weight = h->weight;
	store(&t.page->priority, getenv("FAKE_PRIORITY") ? (uint32_t)atoi(getenv("FAKE_PRIORITY"))
							 : (uint32_t)w.priority);
	if (getenv("FAKE_MIN_NS"))
		w.min_managed_ns = (uint32_t)atoi(getenv("FAKE_MIN_NS"));
	store(&t.page->hold,
		!strcmp(mode, "turn") || !strcmp(mode, "fill") || !strcmp(mode, "early"));
	begin(&t, load(&t.page->hold));
	/* in time for the first launch, even if this process does not run again soon */
	store(&t.page->watch, strcmp(mode, "grant") != 0);
	store(&t.page->follow, strcmp(mode, "grant") != 0);
	store(&t.page->bound_us, strstr(mode, "bound") ? 2000 : 0);
	store(&t.page->allowed, WIRE_FAR_AHEAD);
	store(&t.page->gates, strstr(mode, "gate") != NULL);
	if (!strcmp(mode, "version"))
		w.head.protocol++;
	if (wire_send(conn, &w, (int[]){fd, t.kick, t.wake}, 3) >= 0)
		serve(&t, mode);
	if (!stop && !strncmp(mode, "late", 4))
		stop_late(&t, strchr(mode, '-') ? socket_path : NULL);
	printf("native %u opaque %u of %u\n", unlucky(t.page), t.page->opaque_completed,
		t.page->opaque_submitted);
	print_reasons(t.page);
	fflush(stdout);
	close(fd);
	close(t.kick);
	close(t.wake);
	wire_page_unmap(t.page);
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), conn;
	struct sigaction sa = {.sa_handler = on_term};

	if (argc < 3)
		return 2;
	if (argc > 3)
		rng ^= strtoull(argv[3], NULL, 0) * 0x9e3779b97f4a7c15u;
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", argv[1]);
	unlink(argv[1]);
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s, 8) < 0) {
		perror(argv[1]);
		return 1;
	}
	socket_path = argv[1];
	puts("ready");
	fflush(stdout);
	while (!stop && (conn = accept(s, NULL, NULL)) >= 0) {
		greet(conn, argv[2]);
		close(conn);
		if (!strcmp(argv[2], "suspend"))
			break;
	}
	printf("seen %llu finished %llu preempted %llu granted %llu drained %llu resumed %llu\n",
		(unsigned long long)seen, (unsigned long long)finished,
		(unsigned long long)preempted, (unsigned long long)granted,
		(unsigned long long)drained, (unsigned long long)resumed);
	printf("given back %llu in use again %llu waited %llu early %llu pins %llu guards %llu "
	       "second %llu\n"
	       "at once %llu\n"
	       "held %llu past %llu\n"
	       "deep %u\n"
	       "late %llu\n",
		(unsigned long long)given, (unsigned long long)returned, (unsigned long long)waited,
		(unsigned long long)early, (unsigned long long)pins, (unsigned long long)guards,
		(unsigned long long)second, (unsigned long long)most, (unsigned long long)held,
		(unsigned long long)past, deepest, (unsigned long long)stopped_late);
	unlink(argv[1]);
	return 0;
}
