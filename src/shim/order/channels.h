/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The hardware channels that streams use (channels.c). */
#ifndef HEDDLE_SHIM_CHANNELS_H
#define HEDDLE_SHIM_CHANNELS_H

#include "shim/order/stream.h"

/* Returns true if launches on s can be managed without exhausting the hardware's channels. Counts s
 * as a used stream. */
bool stream_admits(struct session *session, struct stream *s);
/* Call it before any work is put on the stream. */
void stream_use(struct session *session, struct stream *s);
/* stream_use by handle, if there is a daemon. Calls for events call this as well: a stream that
 * waits for an event occupies a channel, like a stream with launches. Returns the session of the
 * stream's device. */
struct session *stream_touch(struct session *session, CUstream handle);

#endif
