/* SPDX-License-Identifier: MIT */
#include "supervisor/prove/proof_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/text.h"
#include "supervisor/report/lines.h"
#include "supervisor/report/report.h"

#define DASH " \xe2\x80\x94 "

const char *
proof_step_id(const struct prove_view *v, size_t step)
{
	const struct provable *s = &v->steps[step];

	return s->njobs == 1 ? v->plan->jobs[s->first].id : s->step->id;
}

const char *
proof_step_command(const struct prove_view *v, size_t step)
{
	const struct provable *s = &v->steps[step];

	return s->njobs == 1 ? v->plan->jobs[s->first].command : s->step->command;
}

void
proof_lines_size(uint64_t bytes, struct buf *out)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	uint64_t unit = 1000;
	size_t i = 0;

	if (bytes < 1000) {
		buf_printf(out, "%" PRIu64 " B", bytes);
		return;
	}
	/* What would be rounded to 1000.0 is 1.0 of the next. */
	while (bytes / unit >= 1000 ||
	       (bytes % unit) / (unit / 10) + 10 * (bytes / unit) >= 10000) {
		unit *= 1000;
		i++;
	}
	buf_printf(out, "%" PRIu64 ".%" PRIu64 " %s", bytes / unit,
		   (bytes % unit) / (unit / 10), units[i]);
}

/* Text of others on one line. */
static void
add_clean(struct buf *out, const char *text)
{
	char *clean = text_clean(text, strlen(text));

	buf_puts(out, clean);
	free(clean);
}

static void
add_end(struct buf *out, const struct proof *p)
{
	char text[16];

	if (p->signal != 0)
		buf_printf(out, "was ended by %s", signal_to_text(p->signal, text));
	else
		buf_printf(out, "exited %d", p->exit_code);
}

static void
add_evidence(struct buf *out, const char *expect)
{
	buf_putc(out, '"');
	add_clean(out, expect);
	buf_putc(out, '"');
}

static void
add_reason(struct buf *out, const struct proof *p, const struct step *step)
{
	switch (p->reason) {
	case PROOF_NO_REASON:
		buf_printf(out, "the plant made it exit %d and its output carried ",
			   p->exit_code);
		add_evidence(out, step->expect);
		break;
	case PROOF_STAYED_GREEN:
		buf_puts(out, "the plant left it green: it exited 0");
		break;
	case PROOF_NO_EVIDENCE:
		buf_printf(out,
			   "the plant made it exit %d, but its output did not carry ",
			   p->exit_code);
		add_evidence(out, step->expect);
		break;
	case PROOF_STEP_SIGNAL:
		buf_puts(out, "it ");
		add_end(out, p);
		buf_puts(out, ": that is no verdict of its own");
		break;
	case PROOF_PLANT_FAILED:
		buf_puts(out, "the plant itself failed: it ");
		add_end(out, p);
		break;
	case PROOF_NOTHING_CHANGED:
		buf_puts(out, "the plant changed nothing");
		break;
	case PROOF_NOTHING_REACHED:
		buf_puts(out, "the plant reached no workspace that it runs over");
		break;
	case PROOF_RED_BEFORE:
		buf_puts(out, "it was red before the plant: it ");
		add_end(out, p);
		break;
	case PROOF_TREE_TOUCHED:
		buf_puts(out, p->is_guarded ? "the tree was changed meanwhile"
					    : "the tree was written to meanwhile");
		if (p->detail != NULL)
			buf_puts(out, ": ");
		add_clean(out, p->detail != NULL ? p->detail : "");
		break;
	case PROOF_TROUBLE:
		buf_puts(out, "it could not be tried: ");
		add_clean(out, p->detail != NULL ? p->detail : "");
		break;
	}
}

static void
add_part(struct buf *out, const struct proof *p, const struct step *step)
{
	if (p->part == NULL)
		return;
	buf_puts(out, step->per == STEP_PER_SHARD ? " (shard " : " (");
	add_clean(out, p->part);
	buf_putc(out, ')');
}

static void
add_copy(struct buf *out, const struct proof *p)
{
	if (p->copy == COPY_NONE)
		return;
	buf_puts(out, " (copy ");
	proof_lines_size(p->copy_bytes, out);
	buf_putc(out, ')');
}

static void
add_tail(struct buf *out, const struct proof *p)
{
	lines_tail(out, &(struct tail){ p->tail, p->tail_from, p->tail_lines, p->lines });
	if (p->log != NULL) {
		buf_puts(out, "  full output: ");
		add_clean(out, p->log);
		buf_putc(out, '\n');
	}
}

static const char *
outcome_word(enum proof_outcome outcome)
{
	switch (outcome) {
	case PROOF_PROVEN:
		return "PROVEN";
	case PROOF_UNPROVEN:
		return "PASS (unproven)";
	case PROOF_NOT_PROVEN:
		return "NOT PROVEN";
	default:
		return "skip";
	}
}

void
proof_lines_step(const struct prove_view *v, size_t step, struct buf *out)
{
	const struct proof *p = &v->proofs[step];
	const struct step *s = v->steps[step].step;

	buf_printf(out, "%s ", outcome_word(p->outcome));
	add_clean(out, proof_step_id(v, step));
	buf_putc(out, ' ');
	lines_command(out, proof_step_command(v, step));
	buf_puts(out, DASH);
	if (p->outcome == PROOF_UNPROVEN) {
		buf_puts(out,
			 "no proves declared" DASH "nobody has watched this step fail\n");
		return;
	}
	if (p->outcome == PROOF_NOT_RUN) {
		buf_puts(out, "interrupted before it was watched failing\n");
		return;
	}
	add_reason(out, p, s);
	add_part(out, p, s);
	add_copy(out, p);
	buf_putc(out, '\n');
	if (p->outcome == PROOF_NOT_PROVEN)
		add_tail(out, p);
}

void
proof_lines_summary(const struct prove_view *v, struct buf *out)
{
	buf_printf(out, "prove %s: %zu proven, %zu unproven, %zu not proven\n",
		   v->plan->tier->name, prove_count(v, PROOF_PROVEN),
		   prove_count(v, PROOF_UNPROVEN), prove_count(v, PROOF_NOT_PROVEN));
}
