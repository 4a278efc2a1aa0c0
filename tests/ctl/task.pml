/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A model for Spin (task.sh runs it) of the protocol by which tasks reach a pool's master blocks, and end.
 *
 * A column is one master block: warp 0 is the scheduler, the other warps are executors. A column has rows; a row holds one task from its
 * spawning until the host has seen its end. Words between host and device lie in pinned host memory, and each has one writer:
 *   in[r]   host:   generation of the last task spawned in row r, stored after the descriptor
 *   out[r]  device: generation of the last task that has ended, stored after everything that it wrote. in == out: the row is free
 *   ctl     host:   asks the column to exit
 *   next[r] device: number of started blocks of a task that continues after the column's exit
 * Words in shared memory:
 *   go[w]   the scheduler stores what executor w must run when it is 0, and the executor stores 0 when it has finished
 *   left[i], blocks[r]: warps of a block, blocks of a task that have not ended
 * All state that must outlast a column is in in, out and next.
 *
 * Why this needs less than Pagoda (its 4.2 and Algorithms 1 and 2): there a descriptor and its flag arrive in one copy without an
 * order. So each task is known to be ready only by the next task's flag, the last one by a flush, and a row has four states. Here a
 * release store after the descriptor, and an acquire load before reading it, give that order in the PTX memory model at system scope,
 * so two generations are enough. Words with one writer at a time (go) need no atomics: free executors are a ballot over go == 0. The
 * scheduler frees what an executor used when it finds left == 0, so the marks for deferred frees are not needed either. Line 41 of
 * Algorithm 1 has its test reversed: the executor that counts to zero ends the task.
 *
 * Memory is weak: a plain store stays in a buffer, and stores to different places reach memory in any order; a release store only
 * reaches it after the stores before it. A plain load of a descriptor may return the value that the SM read there last; after an
 * acquire it returns the value in memory. Within a block, the model takes acquire and release on go and left as correct: the virtual
 * GPU and its race checks test these, not this model.
 *
 * With FIRST=1, row 0's descriptor is read together with in[]. Nothing orders the reads of one look, neither in[] and the words nor the
 * words themselves. So each word names its generation, and a look counts only if all words have in[0]'s generation. (A generation is a
 * number here, and a byte on the device: each word is stored every time, and a look never finds anything older than the look that found
 * the previous task. So every generation found is this one or the one before.)
 *
 * BACK=1: there are other columns, which are not modelled. The host withdraws its request to exit, and the column then stays or has
 * exited already. A column that has exited comes back in another launch while others stay. The host's bookkeeping ensures that a column
 * is in one launch at a time (rt/pool_launch.c); it is not modelled, nor is the choice of launches that must exit, and when.
 *
 * PLANT=1…13 plant faults, each of which Spin must find (see task.sh). */

#ifndef PLANT
#define PLANT 0
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef PARKS
#define PARKS 1 /* how often the host makes the column exit */
#endif
#ifndef EXPIRES
#define EXPIRES 1 /* how often the column exits by itself */
#endif
#ifndef BACK
#define BACK 0
#endif
#define MAX_ROWS  2
#define EXECS     2
#define RECORDS   2
#define MAX_TASKS 4

/* Two models, since a single one would have too many states.
 * WIDE=0: between host and device. Weak memory, two producers for one row, tasks of one warp.
 * WIDE=1: within a column. One producer for two rows, stores that arrive at once, two executors. The first task, and every second one
 * after it, has one block of two warps with a barrier; the other tasks have two blocks of one warp. */
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

/* ---- memory, and pending stores ---- */
byte in[MAX_ROWS], out[MAX_ROWS], taken[MAX_ROWS], next[MAX_ROWS];
byte desc[MAX_ROWS * 2];     /* two words, which both name the task */
bool res[MAX_TASKS * 2];    /* each warp's result for the host */
bit ctl;
byte in_new[MAX_ROWS], desc_new[MAX_ROWS * 2], out_new[MAX_ROWS];
#if FIRST
byte word_gen[2], word_gen_new[2]; /* stored and read together with each word */
#define ARRIVES_TOO(w) word_gen[w] = word_gen_new[w]; word_gen_new[w] = 0
#else
#define ARRIVES_TOO(w) skip
#endif
bool in_way[MAX_ROWS], desc_way[MAX_ROWS * 2], out_way[MAX_ROWS], res_way[MAX_TASKS];

#define DESC_WAY(r) (desc_way[(r) * 2] || desc_way[(r) * 2 + 1])
#define ROW_WAY(r)  (in_way[r] || DESC_WAY(r))

/* ---- state of the host ---- */
byte gen[MAX_ROWS], task_of[MAX_ROWS], owner[MAX_ROWS], spawned;
bool held[MAX_ROWS];
mtype = {RUNNING, LEAVING, AWAY};
mtype state = RUNNING;
bool suspended, lock, launched = true, ended;

/* ---- state of the device ---- */
byte mine[MAX_ROWS], cached[MAX_ROWS * 2], started[MAX_ROWS], blocks[MAX_ROWS];
byte go[EXECS], rec_row[RECORDS], rec_block[RECORDS], left[RECORDS], met[RECORDS];
byte dev_task[MAX_ROWS];
bool rec_used[RECORDS], busy[EXECS];
byte ran[MAX_TASKS]; /* the checked property: each bit is set once */

/* ---- pending stores reach memory ---- */

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
#if PLANT == 3 /* the end of a task overtakes its results */
#define BEHIND_RES(r) true
#else
#define BEHIND_RES(r) !res_way[dev_task[r]]
#endif
	:: atomic { out_way[0] && BEHIND_RES(0) -> out[0] = out_new[0]; out_way[0] = false; out_new[0] = 0 }
	:: ARRIVES(0) :: ARRIVES(1) :: ARRIVES(2) :: ARRIVES(3) /* results of tasks */
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

/* Waits until the column has exited, for whatever reason, and resumes it if tasks are left and the pool is not suspended. */
inline after_end()
{
	ended;
	atomic { state = AWAY; launched = false };
	if
	:: !suspended && (in[0] != out[0] || in[1] != out[1]) -> resume()
	:: else
	fi
}

/* membarrier: after it, memory has everything that each producer stored before it. */
inline heavy_fence()
{
#if PLANT != 5 /* a producer's store is pending while it reads the state */
	!(ROW_WAY(0) && owner[0] == 0) && !(ROW_WAY(1) && owner[1] == 0);
	!(ROW_WAY(0) && owner[0] == 1) && !(ROW_WAY(1) && owner[1] == 1)
#else
	skip
#endif
}

/* The host has seen the end of a row's task: asserts what the protocol promises. */
inline row_ended(r)
{
	d_step {
		assert(ran[task_of[r]] == ALL);
		assert(res[task_of[r]]);
		held[r] = false; owner[r] = 0; task_of[r] = 0
	}
}

#if PLANT == 4 /* a row is reused when its task has only begun */
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
		/* Picks a row that is unused, or whose task has ended; otherwise waits for one. */
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
	   /* wakes the column */
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
	/* Waits for all tasks that are not known to have ended; the first waiter records each end. */
	atomic { !held[0] || (!ROW_WAY(0) && out[0] == gen[0]) -> if :: held[0] -> row_ended(0) :: else fi };
	atomic { !held[1] || (!ROW_WAY(1) && out[1] == gen[1]) -> if :: held[1] -> row_ended(1) :: else fi }
}

/* Parks the pool at any time, and notices when the column has exited by itself. */
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

/* Reads the descriptor of row r's new task, after an acquire. */
inline take(r)
{
	atomic {
		if
#if PLANT == 2 /* no acquire: a word may have the value that was read there before */
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
/* One look: three reads in any order, with steps of other processes between them. */
#if PLANT == 11 /* the words are assumed to have in's generation */
#define WORDS_FIT true
#elif PLANT == 12 /* only one of the words is checked */
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

/* Only one block is partly placed at a time: two blocks at barriers would each hold warps that the other needs. */
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
#if PLANT == 7 /* a task spawned while the column was away is taken for finished */
			mine[r] = in[r];
#else
			mine[r] = out[r];
#endif
			if
#if PLANT != 10 /* a task that has begun starts again */
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
	   /* Frees the record of a block that has ended. */
	   :: atomic { rec_used[0] && !left[0] -> rec_used[0] = false; met[0] = 0; rec_row[0] = 0; rec_block[0] = 0 }
	   :: atomic { rec_used[1] && !left[1] -> rec_used[1] = false; met[1] = 0; rec_row[1] = 0; rec_block[1] = 0 }
	   :: atomic { !leaving && ctl -> leaving = true }
	   :: atomic { !leaving && expires -> expires--; leaving = true }
#if BACK
	   :: atomic { leaving && !ctl -> leaving = false }
#endif
	   :: atomic { leaving &&
#if PLANT == 9 /* an executor that has not begun yet is sent away */
		!want[0] && !want[1] ->
		if :: !busy[0] -> go[0] = 0 :: else fi;
		if :: !busy[1] -> go[1] = 0 :: else fi;
#else
		!rec_used[0] && !rec_used[1] && FREE(0) && FREE(1) ->
#endif
		break }
	   od;
	   /* The executors have finished, and memory has all their stores: the column reports its exit after a fence, or the kernel ends. */
#if PLANT == 13 /* it reports its exit without a fence */
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
#if PLANT == 8 /* the record is read when it may belong to another block */
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
