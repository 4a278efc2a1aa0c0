/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The protocol by which tasks reach a pool's master blocks, and end: a model for Spin (task.sh runs it).
 *
 * A column is one master block: warp 0 schedules, the others execute. It has rows; a row holds one task from its spawning until
 * its end was seen. Words between host and device lie in pinned host memory and have one writer each:
 *   in[r]   host:   generation of the last task spawned in row r, stored behind the descriptor
 *   out[r]  device: generation of the last one that has ended, stored behind all it wrote. in == out: the row is free
 *   ctl     host:   the column shall leave
 *   next[r] device: blocks that were started of a task that is carried over a leaving
 * and, in shared memory,
 *   go[w]   the scheduler stores what executor w shall run when it is 0, the executor 0 when it has
 *   left[i], blocks[r]: warps of a block, blocks of a task that have not ended
 * All that has to last while no column runs is in in, out and next.
 *
 * Why this is less than Pagoda has (its 4.2 and Algorithms 1 and 2): there a descriptor and its flag come in one copy without an
 * order, so each task is told to be ready by the next one's flag, the last by a flush, and a row has four states. A store with
 * release behind the descriptor, and a load with acquire ahead of reading it, give that order in the PTX memory model at system
 * scope: with them two generations are enough. Words that have one writer at a time (go) need no atomics: who is free is a
 * ballot over go == 0, and what an executor leaves behind is freed by the scheduler when it finds left == 0, so the marks for
 * deferred frees go, too. Line 41 of Algorithm 1 tests the wrong way round: whoever counts to zero ends the task.
 *
 * Memory is weak: a plain store stays in a buffer and reaches memory in any order with others to other places, but a release
 * store only behind what came before it. A plain load of a descriptor may give what the SM read there last, but behind an
 * acquire it gives memory's. Within a block, acquire and release on go and left are taken as right: between warps of one
 * block the virtual GPU and races are the check, not this model.
 *
 * Row 0's descriptor (FIRST=1) comes with the look at in[]: nothing orders what one look reads, neither in[] and the words nor these
 * among each other, so each word names its generation, and a look counts that finds in[0]'s in all. (Here a generation is a number, on
 * the device a byte: a word is stored each time, and what a look finds is never older than what the look that the task before came with
 * found, so it is of this generation or of the one before.)
 *
 * BACK=1: there are other columns, which are not modelled. The host gives up having this one leave, which then stays or has left by then;
 * and one that has left comes back while others stay, in another launch. That a column is in one launch at a time is the host's
 * bookkeeping (rt/pool_launch.c), which is not modelled, nor which launches are asked to leave, and when.
 *
 * PLANT=1…13 are faults, each of which must be found (see task.sh). */

#ifndef PLANT
#define PLANT 0
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef PARKS
#define PARKS 1 /* how often the host has the column leave */
#endif
#ifndef EXPIRES
#define EXPIRES 1 /* how often it leaves by itself */
#endif
#ifndef BACK
#define BACK 0
#endif
#define MAX_ROWS  2
#define EXECS     2
#define RECORDS   2
#define MAX_TASKS 4

/* Two sizes, as one that has everything has too many states.
 * WIDE=0: what passes between host and device. Weak memory, two producers for one row, tasks of one warp.
 * WIDE=1: what passes within a column. One producer for two rows, stores that arrive at once, two executors; the first and every second
 * task after it has one block of two warps with a barrier, the others two blocks of one warp. */
#ifndef WIDE
#define WIDE 0
#endif
#ifndef FIRST
#define FIRST 0
#endif
#if WIDE
#define N_BLOCKS(t) (1 + (t) % 2)
#define N_WARPS(t)  (2 - (t) % 2)
#define BARRIER(t)  ((t) % 2 == 0)
#define ALL         3
#else
#define N_BLOCKS(t) 1
#define N_WARPS(t)  1
#define BARRIER(t)  0
#define ALL         1
#endif

/* ---- memory, and stores on their way to it ---- */
byte in[MAX_ROWS], out[MAX_ROWS], taken[MAX_ROWS], next[MAX_ROWS];
byte desc[MAX_ROWS * 2];     /* two words; both name the task */
bool res[MAX_TASKS * 2];    /* what each warp leaves for the host */
bit ctl;
byte in_new[MAX_ROWS], desc_new[MAX_ROWS * 2], out_new[MAX_ROWS];
#if FIRST
byte word_gen[2], word_gen_new[2]; /* stored, and read, with each word */
#define ARRIVES_TOO(w) word_gen[w] = word_gen_new[w]; word_gen_new[w] = 0
#else
#define ARRIVES_TOO(w) skip
#endif
bool in_way[MAX_ROWS], desc_way[MAX_ROWS * 2], out_way[MAX_ROWS], res_way[MAX_TASKS];

#define DESC_WAY(r) (desc_way[(r) * 2] || desc_way[(r) * 2 + 1])
#define ROW_WAY(r)  (in_way[r] || DESC_WAY(r))

/* ---- the host's own ---- */
byte gen[MAX_ROWS], task_of[MAX_ROWS], owner[MAX_ROWS], spawned;
bool held[MAX_ROWS];
mtype = {RUNNING, LEAVING, AWAY};
mtype state = RUNNING;
bool suspended, lock, launched = true, ended;

/* ---- the device's own ---- */
byte mine[MAX_ROWS], cached[MAX_ROWS * 2], started[MAX_ROWS], blocks[MAX_ROWS];
byte go[EXECS], rec_row[RECORDS], rec_block[RECORDS], left[RECORDS], met[RECORDS];
byte dev_task[MAX_ROWS];
bool rec_used[RECORDS], busy[EXECS];
byte ran[MAX_TASKS]; /* the property: each bit is set once */

/* ---- stores arrive ---- */

#define ARRIVES(t) atomic { res_way[t] -> res[t] = true; res_way[t] = false }

active proctype bus()
{
end:
	do
	:: atomic { desc_way[0] -> desc[0] = desc_new[0]; ARRIVES_TOO(0); desc_way[0] = false; desc_new[0] = 0 }
	:: atomic { desc_way[1] -> desc[1] = desc_new[1]; ARRIVES_TOO(1); desc_way[1] = false; desc_new[1] = 0 }
#if PLANT == 1 /* the sequence word overtakes the descriptor */
#define BEHIND_DESC(r) true
#else
#define BEHIND_DESC(r) !DESC_WAY(r)
#endif
	:: atomic { in_way[0] && BEHIND_DESC(0) -> in[0] = in_new[0]; in_way[0] = false; in_new[0] = 0 }
#if PLANT == 3 /* the end of a task overtakes what it left */
#define BEHIND_RES(r) true
#else
#define BEHIND_RES(r) !res_way[dev_task[r]]
#endif
	:: atomic { out_way[0] && BEHIND_RES(0) -> out[0] = out_new[0]; out_way[0] = false; out_new[0] = 0 }
	:: ARRIVES(0) :: ARRIVES(1) :: ARRIVES(2) :: ARRIVES(3) /* what tasks left */
	od
}

/* ---- the host ---- */

inline resume()
{
	atomic {
		ctl = 0;
		state = RUNNING;
		ended = false;
		launched = true
	}
}

/* Without the lock: what others of the pool see of a column that leaves, whoever wanted it. */
inline after_end()
{
	ended;
	atomic { state = AWAY; launched = false };
	if
	:: !suspended && (in[0] != out[0] || in[1] != out[1]) -> resume()
	:: else
	fi
}

/* membarrier: behind it, what each producer stored before it is in memory. */
inline heavy_fence()
{
#if PLANT != 5 /* a producer's store is on its way while it looks at the state */
	!(ROW_WAY(0) && owner[0] == 0) && !(ROW_WAY(1) && owner[1] == 0);
	!(ROW_WAY(0) && owner[0] == 1) && !(ROW_WAY(1) && owner[1] == 1)
#else
	skip
#endif
}

/* Ends of a row's task that were seen: here, what is promised. */
inline row_ended(r)
{
	d_step {
		assert(ran[task_of[r]] == ALL);
		assert(res[task_of[r]]);
		held[r] = false; owner[r] = 0; task_of[r] = 0
	}
}

#if PLANT == 4 /* a row is used again when its task was only begun */
#define ROW_FREE(r) (out[r] == gen[r] || taken[r] == gen[r])
#else
#define ROW_FREE(r) (out[r] == gen[r])
#endif

proctype producer(byte me)
{
	byte r, t;

	do
	:: atomic {
		spawned < TASKS -> t = spawned; spawned++;
		/* A row: one that nobody has, or one whose task has ended; else that is waited for. */
		if
		:: !held[0] -> r = 0
		:: WIDE && !held[1] -> r = 1
		:: held[0] && !ROW_WAY(0) && ROW_FREE(0) -> r = 0; row_ended(0)
		:: held[1] && !ROW_WAY(1) && ROW_FREE(1) -> r = 1; row_ended(1)
		fi;
		held[r] = true; owner[r] = me; task_of[r] = t;
		gen[r]++;
#if WIDE
		desc[r * 2] = t; desc[r * 2 + 1] = t; in[r] = gen[r]
#else
		desc_new[r * 2] = t; desc_way[r * 2] = true;
		desc_new[r * 2 + 1] = t; desc_way[r * 2 + 1] = true;
		in_new[r] = gen[r]; in_way[r] = true
#if FIRST
		; word_gen_new[0] = gen[0]; word_gen_new[1] = gen[0]
#endif
#endif
	   }
	   /* wake */
	   if
	   :: state == RUNNING
	   :: else ->
		atomic { !lock -> lock = true };
		if
		:: state == AWAY && !suspended -> resume()
		:: else
		fi;
		lock = false
	   fi
	:: atomic { spawned == TASKS -> break }
	od;
	/* All that is not seen to have ended is waited for, by whoever comes first. */
	atomic { !held[0] || (!ROW_WAY(0) && out[0] == gen[0]) -> if :: held[0] -> row_ended(0) :: else fi };
	atomic { !held[1] || (!ROW_WAY(1) && out[1] == gen[1]) -> if :: held[1] -> row_ended(1) :: else fi }
}

/* Parks the pool, at any time, for whatever reason; and finds out when the column left by itself. */
active proctype monitor()
{
	byte n = 0;

end:
	do
	:: n < PARKS ->
		n++;
		atomic { !lock -> lock = true };
		if
		:: state == RUNNING ->
			if
			:: suspended = true
			:: suspended = false
			fi;
			state = LEAVING;
			heavy_fence();
			ctl = 1;
			if
			:: after_end()
#if BACK
			:: atomic { ctl = 0; state = RUNNING; suspended = false }
#endif
			fi;
			lock = false;
			if
			:: suspended ->
				atomic { !lock -> lock = true };
				suspended = false;
				resume();
				lock = false
			:: else
			fi
		:: else -> lock = false
		fi
#if BACK
	:: atomic { ended && state == RUNNING && !lock -> ctl = 0; ended = false }
#endif
	:: atomic { ended && state == RUNNING && !lock -> lock = true };
		state = LEAVING;
		heavy_fence();
		after_end();
		lock = false
	od
}

/* ---- the device ---- */

#define FREE(w)     (go[w] == 0)
#define CAN(w)      ((WIDE || w == 0) && FREE(w))
#define GO(i, warp) (1 + (i) * 2 + (warp))

/* Row r's new task: its descriptor, behind an acquire. */
inline take(r)
{
	atomic {
		if
#if PLANT == 2 /* no acquire: a word may be what was read there before */
		:: cached_a = cached[(r) * 2]
		:: cached_b = cached[(r) * 2 + 1]
#endif
		:: cached_a = desc[(r) * 2]; cached_b = desc[(r) * 2 + 1]
		fi;
		cached[(r) * 2] = desc[(r) * 2]; cached[(r) * 2 + 1] = desc[(r) * 2 + 1];
		assert(cached_a == cached_b && cached_a == task_of[r]);
		dev_task[r] = cached_a;
		mine[r] = in[r]; taken[r] = in[r];
		blocks[r] = N_BLOCKS(dev_task[r]); started[r] = 0;
		cached_a = 0; cached_b = 0
	}
}

#if FIRST
/* One look: what it reads is read at three times, in any order, and others go on between them. */
#if PLANT == 11 /* the words are taken for those of in's generation */
#define WORDS_FIT true
#elif PLANT == 12 /* one of them is looked at */
#define WORDS_FIT (look_gen[0] == look_in)
#else
#define WORDS_FIT (look_gen[0] == look_in && look_gen[1] == look_in)
#endif

inline take_first()
{
	assert(look_word[0] == look_word[1] && look_word[0] == task_of[0]);
	dev_task[0] = look_word[0];
	mine[0] = look_in; taken[0] = look_in;
	blocks[0] = N_BLOCKS(dev_task[0]); started[0] = 0
}
#define LOOKS \
	:: atomic { !leaving && !blocks[0] && !(got & 1) -> look_in = in[0]; got = got | 1 } \
	:: atomic { !leaving && !blocks[0] && !(got & 2) -> look_word[0] = desc[0]; look_gen[0] = word_gen[0]; got = got | 2 } \
	:: atomic { !leaving && !blocks[0] && !(got & 4) -> look_word[1] = desc[1]; look_gen[1] = word_gen[1]; got = got | 4 } \
	:: atomic { got == 7 -> \
		if \
		:: !leaving && look_in != mine[0] && WORDS_FIT -> take_first() \
		:: else \
		fi; \
		got = 0; look_in = 0; look_word[0] = 0; look_word[1] = 0; look_gen[0] = 0; look_gen[1] = 0 }
#else
#define LOOKS :: !leaving && !blocks[0] && in[0] != mine[0] -> take(0)
#endif

/* Only one block is partly placed at a time: two that wait at barriers would hold the warps that each of them wants. */
#if PLANT == 6
#define MAY_BEGIN (!rec_used[0] || !rec_used[1])
#else
#define MAY_BEGIN ((!rec_used[0] || !rec_used[1]) && !want[0] && !want[1])
#endif
#define BEGINS(r) (!leaving && blocks[r] && started[r] < N_BLOCKS(dev_task[r]) && MAY_BEGIN)

inline begin(r)
{
	i = (rec_used[0] -> 1 : 0);
	rec_used[i] = true; rec_row[i] = r; rec_block[i] = started[r];
	left[i] = N_WARPS(dev_task[r]); want[i] = left[i];
	started[r]++; i = 0
}

inline place(i, w)
{
	want[i]--;
	go[w] = GO(i, want[i])
}

active proctype scheduler()
{
	byte r, i, cached_a, cached_b, expires = EXPIRES;
	byte want[RECORDS];
	bool leaving;
#if FIRST
	byte got, look_in, look_word[2], look_gen[2];
#endif

end:
	do
	:: atomic { launched && !ended ->
		r = 0;
		do
		:: r < MAX_ROWS ->
#if PLANT == 7 /* what was spawned while the column was away is taken for done */
			mine[r] = in[r];
#else
			mine[r] = out[r];
#endif
			if
#if PLANT != 10 /* a task that was begun starts anew */
			:: next[r] ->
				mine[r] = in[r]; dev_task[r] = desc[r * 2]; started[r] = next[r];
				blocks[r] = N_BLOCKS(dev_task[r]) - next[r]
#endif
			:: else
			fi;
			r++
		:: else -> break
		od;
		r = 0
	   }
endturn:
	   do
	   LOOKS
	   :: !leaving && !blocks[1] && in[1] != mine[1] -> take(1)
	   :: atomic { BEGINS(0) -> begin(0) }
	   :: atomic { BEGINS(1) -> begin(1) }
	   :: atomic { want[0] && CAN(0) -> place(0, 0) }
	   :: atomic { want[0] && CAN(1) -> place(0, 1) }
	   :: atomic { want[1] && CAN(0) -> place(1, 0) }
	   :: atomic { want[1] && CAN(1) -> place(1, 1) }
	   /* What a block leaves behind. */
	   :: atomic { rec_used[0] && !left[0] -> rec_used[0] = false; met[0] = 0; rec_row[0] = 0; rec_block[0] = 0 }
	   :: atomic { rec_used[1] && !left[1] -> rec_used[1] = false; met[1] = 0; rec_row[1] = 0; rec_block[1] = 0 }
	   :: atomic { !leaving && ctl -> leaving = true }
	   :: atomic { !leaving && expires -> expires--; leaving = true }
#if BACK
	   :: atomic { leaving && !ctl -> leaving = false }
#endif
	   :: atomic { leaving &&
#if PLANT == 9 /* who has not begun yet is sent away */
		!want[0] && !want[1] ->
		if :: !busy[0] -> go[0] = 0 :: else fi;
		if :: !busy[1] -> go[1] = 0 :: else fi;
#else
		!rec_used[0] && !rec_used[1] && FREE(0) && FREE(1) ->
#endif
		break }
	   od;
	   /* Executors are gone, and all that was stored is in memory: the column says so behind a fence, or the kernel ends. */
#if PLANT == 13 /* it says so without */
#define BEHIND_OUT true
#else
#define BEHIND_OUT (!out_way[0] && !out_way[1])
#endif
	   atomic { FREE(0) && FREE(1) && BEHIND_OUT ->
		next[0] = (blocks[0] -> started[0] : 0); next[1] = (blocks[1] -> started[1] : 0);
		mine[0] = 0; mine[1] = 0; blocks[0] = 0; blocks[1] = 0; started[0] = 0; started[1] = 0;
		rec_used[0] = false; rec_used[1] = false; leaving = false; ended = true
#if FIRST
		; got = 0; look_in = 0; look_word[0] = 0; look_word[1] = 0; look_gen[0] = 0; look_gen[1] = 0
#endif
	   }
	od
}

proctype executor(byte w)
{
	byte i, warp, r, t, b;

end:
	do
	:: atomic { go[w] -> busy[w] = true;
		i = (go[w] - 1) / 2; warp = (go[w] - 1) % 2;
		r = rec_row[i]; b = rec_block[i]; t = dev_task[r];
		b = b * N_WARPS(t) + warp;
		assert(!(ran[t] & (1 << b)));
		ran[t] = ran[t] | (1 << b);
		met[i]++
	   }
	   atomic {
		if
		:: BARRIER(t) -> met[i] == N_WARPS(t)
		:: else
		fi;
#if WIDE
		res[t] = true;
#else
		res_way[t] = true;
#endif
		left[i]--; warp = (left[i] == 0)
	   }
#if PLANT == 8 /* the record is read when it may be another block's */
	   r = rec_row[i];
#endif
	   if
	   :: warp ->
		atomic {
			blocks[r]--;
			if
			:: !blocks[r] ->
#if WIDE
				out[r] = mine[r]
#else
				out_new[r] = mine[r]; out_way[r] = true
#endif
			:: else
			fi
		}
	   :: else
	   fi;
	   atomic { go[w] = 0; busy[w] = false; i = 0; warp = 0; r = 0; t = 0; b = 0 }
	od
}

init
{
	atomic {
		run producer(0); run executor(0);
#if WIDE
		run executor(1)
#else
		run producer(1)
#endif
	}
}
