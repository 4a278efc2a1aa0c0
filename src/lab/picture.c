/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs bench/render.py, which draws a picture from the JSON result. */
#include "lab/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/child.h"

#define TIMEOUT_MS 60000
#define HINT       "leave --svg out; bench/render.py draws a picture from --json, too"

/* Runs render.py with python3 on the JSON file input. With input NULL, only checks that both
 * exist. */
static int run_renderer(struct cli *c, const char *kind, const char *input, struct strbuf *ret)
{
	struct child child = {.fd = -1};
	char *script = NULL, status[64];
	int r = cli_find_part("bench/render.py", "bench/render.py", &script), e;

	if (r < 0)
		return cli_error(c, HINT, "--svg: render.py of heddle's benchmarks was not found");
	e = child_start(input ? (char *const[]){"python3", script, "picture", (char *)kind,
					(char *)input, NULL}
			      : (char *const[]){"python3", "-c", "", NULL},
		NULL, NULL, &child);
	free(script);
	if (!e)
		e = child_wait(&child, 1, TIMEOUT_MS);
	if (e)
		r = cli_error(c, HINT, "--svg: python3: %s", strerror(-e));
	else if (child.status)
		r = cli_error(c, HINT, "--svg: python3: %s",
			child_status_text(&child, status, sizeof(status)));
	else
		strbuf_add(ret, child.out.at ? child.out.at : "", child.out.len);
	child_finish(&child);
	return r;
}

int picture_check(struct cli *c)
{
	const char *path = cli_value(c, "svg");
	struct strbuf nothing = {0};
	int r = cli_will_write(c, path, NULL);

	if (path && r == CLI_OK)
		r = run_renderer(c, NULL, NULL, &nothing);
	strbuf_finish(&nothing);
	return r;
}

int picture_draw(struct cli *c, const char *kind)
{
	const char *path = cli_value(c, "svg");
	struct strbuf svg = {0};
	char folder[64], file[96];
	int r;

	if (!path)
		return CLI_OK;
	if (cli_make_folder("picture", folder) < 0)
		return cli_error(c, "TMPDIR says where else", "--svg: no folder for the result");
	snprintf(file, sizeof(file), "%s/result.json", folder);
	r = cli_write_file(c, file, NULL, cli_json_text(c));
	if (r == CLI_OK)
		r = run_renderer(c, kind, file, &svg);
	if (r == CLI_OK)
		r = cli_write_file(c, path, NULL, &svg);
	cli_remove_folder(folder);
	strbuf_finish(&svg);
	return r;
}
