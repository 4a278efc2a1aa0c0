/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads policies from files, and protects heddled from a policy that crashes it.
 * - Before any of a policy's code runs, heddled writes the path of the policy's file to a note on
 *   disk (policy_note.h). The note also says in which call into the policy heddled is.
 * - heddled removes the note when it unloads the policy, after the last call into the policy's code
 *   has returned.
 * - If heddled is to load a policy and finds a note with this policy's path, the earlier heddled ended
 *   while the policy was loaded. If the policy's code ended it, heddled does not load the file. If
 *   heddled was killed, it loads the file once more: not each kill (out of memory, a power cut) is
 *   the policy's fault. */
#include "policies.h"
#include "log.h"
#include "policy_calls.h"
#include "policy_file.h"
#include "policy_note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_loaded {
	struct sched_policy policy; /* what the engines use */
	struct sched_policy_watch watch;
	struct policy_file file;
	char *options, *note;
	/* how many heddleds in a row were killed while they had this policy loaded */
	uint32_t kills;
};

/* ---- opening and checking the file ---- */

/* Opens the file. Logs an error on failure. */
static int open_file(const char *given, struct policy_file *ret)
{
	struct strbuf err = {0};
	int r = strchr(given, '/') ? policy_file_open(given, ret, &err)
				   : policy_file_open_own(given, ret, &err);

	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "%s", err.at);
	strbuf_finish(&err);
	return r;
}

/* Loads the policy, which runs its code. Logs an error on failure. */
static int load_file(struct policy_file *file)
{
	struct strbuf err = {0};
	int r = policy_file_load(file, &err);

	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "%s", err.at);
	strbuf_finish(&err);
	return r;
}

/* Checks the options. Logs an error on failure. */
static int check_options(const struct sched_policy *p, const char *options)
{
	char why[256];
	int r = sched_policy_check(p, options, why, sizeof(why));

	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "%s", why);
	return r;
}

int policy_check(const struct hd_config *c)
{
	struct policy_file file;
	int r = 0;

	if (!c->policy_file[0])
		return check_options(c->policy, c->policy_options);
	if (open_file(c->policy_file, &file) < 0)
		return -EINVAL;
	/* A check runs no code of a policy that is not part of heddle. */
	if (!strchr(c->policy_file, '/'))
		r = load_file(&file);
	if (file.table)
		r = check_options(&(struct sched_policy){.table = file.table}, c->policy_options);
	policy_file_close(&file);
	return r;
}

/* ---- loading ---- */

/* The name of the policy that the note names, the same pointer as in its calls. While a policy replaces
 * another one, the calls of the old one must not mark the note of the new one. */
static const char *noted;

static void on_file_enter(const char *name, const char *call)
{
	if (name == noted)
		note_mark_call(policy_call_of(call));
	policy_calls_enter(name, call);
}

static void on_file_leave(void)
{
	policy_calls_leave();
	note_mark_call(POLICY_CALL_NONE);
}

static void on_enter(void *user, const char *call)
{
	const struct policy_loaded *p = user;

	on_file_enter(p->file.name, call);
}

static void on_leave(void *user)
{
	(void)user;
	on_file_leave();
}

static void on_end(const char *name, const char *call, const char *how)
{
	if (!call) {
		hd_log_last("heddled %s, outside of policy %s", how, name);
		return;
	}
	if (name == noted)
		note_mark_ended();
	hd_log_last("policy %s: %s %s: heddled ends; programs run on without it", name, call, how);
}

static void on_fault(void *user, const char *what)
{
	const struct policy_loaded *p = user;

	hd_log("policy %s: %s", p->file.name, what);
}

/* Loads the policy's table: the first time that code of the policy runs. */
static int load_table(struct policy_loaded *p)
{
	int r = load_file(&p->file);

	if (r < 0)
		return r;
	p->watch = (struct sched_policy_watch){
		.enter = on_enter, .leave = on_leave, .say = on_fault, .user = p};
	p->policy = (struct sched_policy){.name = p->file.name,
		.table = p->file.table,
		.options = p->options,
		.watch = &p->watch};
	on_file_enter(p->file.name, "check");
	r = check_options(&p->policy, p->options);
	on_file_leave();
	return r;
}

static void free_loaded(struct policy_loaded *p)
{
	policy_file_close(&p->file);
	free(p->options);
	free(p->note);
	free(p);
}

static bool is_same_policy(const struct policy_loaded *old, const struct policy_loaded *p)
{
	return old && old->file.st.st_dev == p->file.st.st_dev &&
	       old->file.st.st_ino == p->file.st.st_ino && strcmp(old->options, p->options) == 0;
}

/* Returns true if the policy must not run, because of the note of an earlier heddled. A note about
 * the policy that is loaded now does not count. */
static bool is_suspect_policy(const struct policy_loaded *old, struct policy_loaded *p)
{
	struct note_found n;
	const char *in;

	if ((old && strcmp(old->file.path, p->file.path) == 0) ||
		!note_read(p->note, p->file.path, &n))
		return false;
	in = policy_call_text(n.call);
	if (!n.ended && n.kills == 0) {
		hd_log("policy: %s: an earlier heddled was killed %s%s while this policy was "
		       "loaded; it runs once more",
			p->file.path, in ? "in its " : "outside of its code", in ? in : "");
		p->kills = 1;
		return false;
	}
	hd_log("policy: %s: an earlier heddled ended%s%s while this policy was loaded%s, so policy "
	       "none runs; to try it again, remove %s and send heddled SIGHUP",
		p->file.path, in ? " in its " : "", in ? in : "", n.ended ? "" : ", twice in a row",
		p->note);
	return true;
}

/* Returns NULL on failure, after logging it. */
static struct policy_loaded *open_policy(const struct hd_config *c)
{
	struct policy_loaded *p = calloc(1, sizeof(*p));

	if (!p) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: not loaded: out of memory", c->policy_file);
		return NULL;
	}
	if (open_file(c->policy_file, &p->file) < 0) {
		free(p);
		return NULL;
	}
	p->file.enter = on_file_enter;
	p->file.leave = on_file_leave;
	p->options = strdup(c->policy_options);
	p->note = note_path(c->socket);
	if (p->options && p->note)
		return p;
	hd_log_at(HD_LOG_ERROR, "policy: %s: not loaded: out of memory", c->policy_file);
	free_loaded(p);
	return NULL;
}

static int start_policy(struct policy_loaded *p, const struct policy_loaded *old)
{
	int r = note_write(p->note, p->file.path, p->kills);

	if (r < 0) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: not loaded, because its note %s cannot be written: %s",
			p->file.path, p->note, strerror(-r));
	} else if (!old && (r = policy_calls_watch(on_end)) < 0) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: not loaded, because its watchdog cannot start: %s",
			p->file.path, strerror(-r));
		note_remove(p->note);
	} else {
		noted = p->file.name;
		r = load_table(p);
	}
	return r < 0 ? -EINVAL : 0;
}

/* Cleans up after a policy that could not be loaded, and restores the note of the old one. */
static void discard_policy(struct policy_loaded *p, const struct policy_loaded *old)
{
	char *note = strdup(p->note);
	int r = 0;

	free_loaded(p);
	noted = old ? old->file.name : NULL;
	if (!note)
		return;
	if (old)
		r = note_write(note, old->file.path, old->kills);
	else
		note_remove(note);
	if (r < 0)
		hd_log("policy: %s: cannot write its note %s: %s", old->file.path, note,
			strerror(-r));
	if (!old)
		policy_calls_stop();
	free(note);
}

int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret)
{
	struct policy_loaded *p;

	*ret = NULL;
	if (!c->policy_file[0])
		return check_options(c->policy, c->policy_options);
	p = open_policy(c);
	if (!p)
		return -EINVAL;
	if (is_same_policy(old, p)) {
		free_loaded(p);
		*ret = old;
		c->policy = &old->policy;
		return 0;
	}
	if (is_suspect_policy(old, p)) {
		free_loaded(p);
		c->policy = &sched_policy_none;
		return 0;
	}
	if (start_policy(p, old) < 0) {
		discard_policy(p, old);
		return -EINVAL;
	}
	hd_log_at(HD_LOG_INFO, "policy %s: loaded from %s", p->file.name, p->file.path);
	c->policy = &p->policy;
	*ret = p;
	return 0;
}

void policy_unload(struct policy_loaded *p, bool keep_note)
{
	char *note;

	if (!p)
		return;
	note = p->note;
	p->note = NULL;
	free_loaded(p);
	if (!keep_note && note)
		note_remove(note);
	if (!keep_note)
		policy_calls_stop();
	free(note);
}
