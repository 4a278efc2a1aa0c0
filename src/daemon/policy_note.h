/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The note that heddled keeps on disk while a policy from a file is loaded. It survives a kill of
 * heddled, and so says which policy was loaded then, and whether its code was running.
 *
 * The first line is the path of the policy's file. The second one has three characters: how many
 * heddleds in a row were killed while they had the policy loaded (at most 9), the number of the
 * present call (enum policy_call), and '!' if the policy's code has ended heddled, else '-'. heddled
 * changes the second line in place, by a mapping of the file: a store for each call.
 *
 * The note is in the service manager's state folder, or else beside the socket. */
#ifndef HEDDLE_DAEMON_POLICY_NOTE_H
#define HEDDLE_DAEMON_POLICY_NOTE_H

#include "policy_calls.h"

struct note_found {
	uint32_t kills;        /* number of kills before the last end of heddled */
	enum policy_call call; /* the call in which heddled ended */
	bool ended;            /* the policy's code ended heddled */
};

/* Returns the note's path, which the caller frees, or NULL if out of memory. */
char *note_path(const char *socket);
/* Returns true if the note is this user's and names this policy. A note of an earlier version has no second line, and
 * counts as a kill. */
bool note_read(const char *note, const char *policy, struct note_found *ret);
/* Writes the note; it is on disk when this returns. The marks refer to it from now on. Returns 0 or a
 * negative errno. */
int note_write(const char *note, const char *policy, uint32_t kills);
void note_remove(const char *note);
/* Mark the note that was written last. They do nothing without one. */
void note_mark_call(enum policy_call call);
void note_mark_ended(void);

#endif
