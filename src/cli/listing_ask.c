/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Asks heddled for its tenants, for ps and top. */
#include "cli/listing.h"
#include "front/ask.h"

#include <errno.h>

int listing_ask(const char *socket, struct listing *ret)
{
	int r = ask_list(socket, listing_add, ret);

	return r == 0 && ret->failed ? -ENOMEM : r;
}
