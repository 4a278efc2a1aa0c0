/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Unloads and frees forms. */
#include "shim/form/form.h"

#include <stdlib.h>

void form_free(struct form *f)
{
	free(f->offsets);
	free(f->sizes);
	lock_finish(&f->lock);
	free(f);
}

/* Frees a form that was never launched and has no second form. */
void form_free_ended(struct form *f)
{
	if (f->other) {
		compiled_drop_ended(&f->other->on);
		form_free(f->other);
	}
	compiled_drop_ended(&f->on);
	free((void *)f->known); /* both forms share it */
	form_free(f);
}

void form_unload(struct session *session, struct form *f)
{
	struct shim_inside in;

	/* Free only the code. The record of the form's last launches may still be read. */
	if (session->ctx && shim_enter(session, &in) == CUDA_SUCCESS) {
		compiled_drop(&f->on);
		if (f->other)
			compiled_drop(&f->other->on);
	}
	shim_leave(&in);
}
