/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds the command lines and environments of programs in a stage, and parses their output. */
#include "stage/stage_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *stage_command_say(struct stage_command *k, const char *fmt, ...)
{
	char *p = k->text[k->n_text++];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, sizeof(k->text[0]), fmt, ap);
	va_end(ap);
	return p;
}

void stage_command_add(struct stage_command *k, const char *option, const char *value)
{
	k->argv[k->n_argv++] = (char *)option;
	k->argv[k->n_argv++] = (char *)value;
}

static void command_arrange(
	const struct stage *s, const char *option, const char *value, struct stage_command *k)
{
	if (s->spec.device == DEV_CPU)
		k->env[k->n_env++] =
			stage_command_say(k, "HEDDLE_VGPU=stage%s", strrchr(s->dir, '-'));
	if (s->spec.device == DEV_CPU) /* the stage's own virtual GPU is the only device */
		k->env[k->n_env++] = "CUDA_VISIBLE_DEVICES=0";
	/* The benchmark measures forms (rewritten kernels), so even the first launches must wait
	 * until the form is compiled. */
	if (s->spec.managed) {
		k->env[k->n_env++] = "HEDDLE_FORM_WAIT_MS=60000";
		stage_command_add(k, s->heddle, "run");
		stage_command_add(k, "--socket", stage_command_say(k, "%s/heddled.sock", s->dir));
		stage_command_add(k, "--device", s->spec.device == DEV_CPU ? "cpu" : "cuda");
		stage_command_add(k, option, value);
		k->argv[k->n_argv++] = "--";
	} else if (s->spec.device == DEV_CPU) {
		k->env[k->n_env++] = s->cpu_libraries;
	} else {
		k->env[k->n_env++] = stage_command_say(
			k, "CUDA_MPS_PIPE_DIRECTORY=%s/%s", s->dir, s->spec.mps ? "mps" : "none");
	}
}

int stage_command_begin(struct stage *s, const struct stage_run *run, const struct stage_program *p,
	const char *option, const char *value, struct stage_command *k)
{
	char path[128];
	const char *folder = !run->runtime               ? "examples"
			     : s->spec.device == DEV_CPU ? "examples/rt/shared"
							 : "examples/rt";

	*k = (struct stage_command){0};
	snprintf(path, sizeof(path), "%s/%s", folder, p->name);
	if (cli_find_part(path, path, &k->program))
		return cli_error(s->c, "heddle builds them where a compiler for kernels is",
			"the example program %s was not found", path);
	command_arrange(s, option, value, k);
	k->argv[k->n_argv++] = k->program;
	stage_command_add(k, "--size", p->size);
	stage_command_add(
		k, "--scale", stage_command_say(k, "%.6g", p->scale > 0 ? p->scale : 1.0));
	stage_command_add(k, "--check", run->check ? run->check : "each");
	k->argv[k->n_argv++] = "--json";
	if (p->slices) {
		stage_command_add(k, "--ptx", p->ptx);
		stage_command_add(k, "--slices", stage_command_say(k, "%u", p->slices));
	}
	if (run->reference)
		stage_command_add(k, "--reference", run->reference);
	return CLI_OK;
}

int stage_command_start(struct stage *s, struct stage_command *k, bool listening, struct child *ret)
{
	int e = listening ? child_start_listening(k->argv, k->env, NULL, ret)
			  : child_start(k->argv, k->env, NULL, ret);
	int r = e ? cli_error(s->c, NULL, "%s: %s", k->program, strerror(-e)) : CLI_OK;

	free(k->program);
	k->program = NULL;
	return r;
}

void stage_each_line(char *text, void (*fn)(void *user, const json_t *o), void *user)
{
	for (char *save = NULL, *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		json_t *o = json_loads(line, 0, NULL);

		if (json_is_object(o))
			fn(user, o);
		json_decref(o);
	}
}

uint64_t stage_get_u64(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

bool stage_read_verdict(const json_t *o, struct stage_verdict *ret)
{
	const char *v = json_string_value(json_object_get(o, "verdict"));

	if (!json_object_get(o, "verdict"))
		return false;
	*ret = (struct stage_verdict){.passed = v && !strcmp(v, "pass"),
		.checked = (unsigned)stage_get_u64(o, "checked"),
		.wrong = (unsigned)stage_get_u64(o, "wrong"),
		.blocks = stage_get_u64(o, "blocks")};
	return true;
}
