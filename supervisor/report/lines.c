/* SPDX-License-Identifier: MIT */
/*
 * Whatever comes from outside (commands, paths, lines of output) is made to stay on
 * its own line here: a step must not be able to print a verdict.
 */
#include "supervisor/report/lines.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/text.h"
#include "supervisor/report/report.h"

#define DASH " \xe2\x80\x94 "
#define DOTS "\xe2\x80\xa6"
#define ENVIRONMENT "environment failure, not a code fault: "

static const char blanks[] = " \t\n\v\f\r";

/* Newlines and tabs, which text_clean would make unreadable. */
static void
text_flatten(struct buf *out, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (s[i] == '\n')
			buf_puts(out, "\\n");
		else if (s[i] == '\t')
			buf_putc(out, ' ');
		else
			buf_putc(out, s[i]);
	}
}

/* Bytes of the first `max` characters of clean UTF-8. */
static size_t
text_span(const char *s, size_t n, size_t max)
{
	size_t at = 0;

	for (; at < n && max > 0; max--) {
		size_t len = utf8_sequence(s + at, n - at);

		at += len > 0 ? len : 1;
	}
	return at;
}

/* On one line, at most `max` characters, 0 for all. */
static void
add_line(struct buf *out, const char *s, size_t max)
{
	size_t n, cut;
	struct buf flat = BUF_INIT;
	char *clean;

	s += strspn(s, blanks);
	n = strlen(s);
	while (n > 0 && strchr(blanks, s[n - 1]) != NULL)
		n--;
	text_flatten(&flat, s, n);
	clean = text_clean(buf_text(&flat), flat.len);
	n = strlen(clean);
	cut = max > 0 ? text_span(clean, n, max) : n;
	buf_append(out, clean, cut);
	if (cut < n)
		buf_puts(out, DOTS);
	free(clean);
	buf_release(&flat);
}

void
lines_command(struct buf *out, const char *command)
{
	add_line(out, command, LINES_COMMAND_MAX);
}

void
lines_id(struct buf *out, const struct job *job)
{
	add_line(out, job->id, 0);
}

void
lines_budget(struct buf *out, unsigned jobs, const char *bound)
{
	buf_printf(out, "budget: %u job%s (", jobs, jobs == 1 ? "" : "s");
	add_line(out, bound, 0);
	buf_puts(out, ")\n");
}

/* The lines that the tail leaves out at one end. */
static void
add_cut(struct buf *out, uint64_t n, const char *where)
{
	if (n > 0)
		buf_printf(out, "  " DOTS " %" PRIu64 " line%s %s\n", n,
			   n == 1 ? "" : "s", where);
}

void
lines_tail(struct buf *out, const struct tail *t)
{
	const char *s = t->text != NULL ? t->text : "";
	uint64_t above = t->from > 0 ? t->from - 1 : 0;
	uint64_t shown = above + t->lines;

	if (*s == '\0' && t->all_lines == 0)
		return;
	add_cut(out, above, "above");
	while (*s != '\0') {
		size_t n = strcspn(s, "\n");

		buf_puts(out, "  ");
		buf_append(out, s, n);
		buf_putc(out, '\n');
		s += n + (s[n] == '\n');
	}
	add_cut(out, t->all_lines > shown ? t->all_lines - shown : 0, "below");
}

static void
add_note(struct buf *out, const char *label, const char *text)
{
	if (text == NULL)
		return;
	buf_printf(out, "  %s", label);
	add_line(out, text, 0);
	buf_putc(out, '\n');
}

/* What a red step with nothing to show did. */
static void
add_silence(struct buf *out, const struct result *r)
{
	if (r->lines == 0 && r->exit_code > 0 && r->signal == 0 && !r->interrupted)
		buf_printf(out, "  no output; exit code %d\n", r->exit_code);
}

static void
add_red(struct buf *out, const struct result *r)
{
	char text[16];

	lines_tail(out, &(struct tail){ r->tail, r->tail_from, r->tail_lines, r->lines });
	add_silence(out, r);
	add_note(out, "full output: ", r->log);
	add_note(out, ENVIRONMENT, r->environment);
	if (r->timed_out)
		buf_printf(out, "  timed out at load average %.2f on %d cores\n",
			   r->load_average, r->cores);
	if (r->signal > 0)
		buf_printf(out, "  killed by %s\n", signal_to_text(r->signal, text));
	if (r->interrupted)
		buf_puts(out, "  interrupted before it ended\n");
	add_note(out, "error: ", r->error);
}

static const char *
verdict_word(const struct result *r)
{
	if (r->state == RESULT_SKIPPED)
		return "skip";
	return r->ok ? "ok" : "FAIL";
}

void
lines_step(struct buf *out, const struct job *job, const struct result *r)
{
	bool skipped = r->state == RESULT_SKIPPED;

	buf_printf(out, "%s ", verdict_word(r));
	lines_id(out, job);
	buf_putc(out, ' ');
	lines_command(out, job->command);
	buf_printf(out, " (%" PRId64 " ms)", r->ms);
	if (!skipped && job->step->plant == NULL)
		buf_puts(out, " (unproven)");
	if (r->ran_nothing != NULL) {
		buf_puts(out, DASH "ran nothing: ");
		add_line(out, r->ran_nothing, 0);
	}
	buf_putc(out, '\n');
	if (!skipped && !r->ok)
		add_red(out, r);
	if (r->leaked > 0)
		buf_printf(out, "  %u process%s outlived the step's shell and %s ended\n",
			   r->leaked, r->leaked == 1 ? "" : "es",
			   r->leaked == 1 ? "was" : "were");
	if (r->stayed > 0)
		buf_printf(
		    out,
		    "  %u of them could not be ended (somebody else's, or stuck in "
		    "the kernel)\n",
		    r->stayed);
	lines_log_error(out, job, r);
}

void
lines_log_error(struct buf *out, const struct job *job, const struct result *r)
{
	if (r->log_error == NULL)
		return;
	buf_puts(out, "WARN: log of ");
	lines_id(out, job);
	buf_puts(out, ": ");
	add_line(out, r->log_error, 0);
	buf_putc(out, '\n');
}

void
lines_retry(struct buf *out, const struct job *job, unsigned retry, unsigned limit,
	    const char *line)
{
	buf_puts(out, "retry ");
	lines_id(out, job);
	buf_printf(out, " (%u of %u): " ENVIRONMENT, retry, limit);
	add_line(out, line, 0);
	buf_putc(out, '\n');
}

void
lines_wait(struct buf *out, const struct job *job, const char *reason)
{
	buf_puts(out, "wait");
	if (job != NULL) {
		buf_putc(out, ' ');
		lines_id(out, job);
	}
	buf_puts(out, ": ");
	add_line(out, reason, 0);
	buf_putc(out, '\n');
}

void
lines_interrupted(struct buf *out, int signal)
{
	char text[16];

	buf_printf(out, "interrupted by %s\n", signal_to_text(signal, text));
}

void
lines_over_budget(struct buf *out, const char *tier, int64_t budget_ms, int64_t ms)
{
	if (budget_ms >= 0 && ms > budget_ms)
		buf_printf(out,
			   "WARN: %s took %" PRId64 " ms, over its budget of %" PRId64
			   " ms (D-042); the verdict stands\n",
			   tier, ms, budget_ms);
}

static bool
ran_unproven(const struct plan *p, const struct result *results)
{
	size_t i;

	for (i = 0; i < p->njobs; i++)
		if (results[i].state != RESULT_SKIPPED && p->jobs[i].step->plant == NULL)
			return true;
	return false;
}

void
lines_legend(struct buf *out, const struct plan *p, const struct result *results)
{
	const struct step *last = NULL;
	const char *glue = "";
	size_t i;

	if (!ran_unproven(p, results))
		return;
	buf_puts(out, "(unproven): nobody has watched these steps fail; "
		      "declare proves: { plant, expect } at ");
	/* A step's jobs stand together in the plan: it is named once. */
	for (i = 0; i < p->njobs; i++) {
		const struct step *step = p->jobs[i].step;

		if (step->plant != NULL || step == last)
			continue;
		buf_printf(out, "%s%s.proves", glue, step->path);
		glue = ", ";
		last = step;
	}
	buf_putc(out, '\n');
}

void
lines_verdict(struct buf *out, const char *tier, bool ok, const char *report_path,
	      const char *note)
{
	buf_printf(out, "verify %s" DASH "%s" DASH, ok ? "PASS" : "FAIL", tier);
	add_line(out, report_path, 0);
	if (note != NULL) {
		buf_puts(out, " (");
		add_line(out, note, 0);
		buf_putc(out, ')');
	}
	buf_putc(out, '\n');
}

void
lines_green(struct buf *out, const char *tier, const char *inputs, const char *since,
	    const char *flags)
{
	bool has_flags = *flags != '\0';

	buf_printf(out, "green %s already green on this tree %.12s since %s%s%s%s", tier,
		   inputs, since, has_flags ? " (" : "", flags, has_flags ? ")" : "");
	buf_puts(out, " \xe2\x80\x94 nothing re-run; --fresh runs it again\n");
}

void
lines_scope(struct buf *out, const struct scope *s)
{
	size_t n = 0, i;

	for (i = 0; i < s->workspaces.nitems; i++)
		n += s->is_selected[i];
	if (n == s->workspaces.nitems)
		buf_puts(out, "affected: every workspace");
	else if (n == 0)
		buf_puts(out, "affected: no workspace");
	else
		buf_printf(out, "affected: %zu of %zu workspaces", n,
			   s->workspaces.nitems);
	if (s->against != NULL)
		buf_printf(out, ", against %s", s->against);
	if (s->reason != NULL)
		buf_printf(out, ": %s", s->reason);
	buf_putc(out, '\n');
	for (i = 0; i < s->workspaces.nitems; i++) {
		if (s->why[i] == NULL)
			continue;
		buf_puts(out, "  ");
		lines_command(out, s->workspaces.items[i].path);
		buf_printf(out, ": %s\n", s->why[i]);
	}
}

void
lines_work_missing(struct buf *out, const char *path)
{
	buf_puts(
	    out,
	    "require-work: every test runner ran nothing, and code changed without a "
	    "test of its own: ");
	add_line(out, path, 0);
	buf_putc(out, '\n');
}

void
lines_asked(struct buf *out, const char *why)
{
	buf_printf(out, "git was asked about this tree: %s\n", why);
}

void
lines_error(struct buf *out, const char *text)
{
	buf_puts(out, "geonosis: ");
	add_line(out, text, 0);
	buf_putc(out, '\n');
}

void
lines_warn(struct buf *out, const char *text)
{
	buf_puts(out, "WARN: ");
	add_line(out, text, 0);
	buf_putc(out, '\n');
}

static void
add_indent(struct buf *out, unsigned depth)
{
	while (depth-- > 0)
		buf_puts(out, "  ");
}

static void
add_node(struct buf *out, const struct plan *p, const struct node *n, unsigned depth,
	 bool in_group)
{
	size_t i;

	if (n->kind == NODE_JOB) {
		const struct job *job = &p->jobs[n->job];

		add_indent(out, depth);
		lines_id(out, job);
		buf_putc(out, ' ');
		add_line(out, job->command, 0);
		if (job->nothing != NULL) {
			buf_puts(out, DASH "nothing to run: ");
			add_line(out, job->nothing, 0);
		}
		buf_putc(out, '\n');
		return;
	}
	if (n->kind == NODE_WAIT) {
		add_indent(out, depth);
		buf_printf(out, "after %s, which is planned above\n",
			   p->config->tiers[n->tier - 1].name);
		return;
	}
	/* A sequence is worth a line of its own only as a lane of a group. */
	if (n->kind == NODE_GROUP || in_group) {
		add_indent(out, depth++);
		buf_puts(out, n->kind == NODE_GROUP ? "at once:\n" : "in order:\n");
	}
	for (i = 0; i < n->nchildren; i++)
		add_node(out, p, &n->children[i], depth, n->kind == NODE_GROUP);
}

void
lines_plan(struct buf *out, const struct plan *p)
{
	size_t i;

	buf_printf(out, "plan of %s: %zu job%s, none is run\n", p->tier->name, p->njobs,
		   p->njobs == 1 ? "" : "s");
	add_node(out, p, &p->root, 1, false);
	for (i = 0; i < p->nrepeats; i++)
		buf_printf(out,
			   "%s: already planned above, runs once (named again in %s)\n",
			   p->repeats[i].tier->name, p->repeats[i].in->name);
}
