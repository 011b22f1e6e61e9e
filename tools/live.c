/* SPDX-License-Identifier: MIT */
#include "tools/live.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "ipc/clock.h"
#include "ipc/mem.h"
#include "supervisor/report/lines.h"

enum {
	LIVE_COLUMNS = 80, /* where the terminal does not say */
	LIVE_ROWS = 24,
	LIVE_LINES_MAX = 12,
	LIVE_COMMAND_COLUMNS = 40,
};

/* A blank first: tmux takes an erasing that begins in the screen's first cell for a
 * `clear`, and keeps all that was there as history, each time. */
#define ERASE_BELOW "\r \033[J\r"
#define WRAP_OFF "\033[?7l"
#define WRAP_ON "\033[?7h"

static bool
variable_is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

void
live_open(struct live *l)
{
	const char *term = getenv("TERM");

	l->is_on = isatty(STDOUT_FILENO) && !variable_is_set("NO_COLOR") &&
		   !variable_is_set("CI") && term != NULL && *term != '\0' &&
		   strcmp(term, "dumb") != 0;
	/* For the width of characters; our text is UTF-8 whatever the locale is. */
	if (l->is_on)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static void
terminal_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize ws = { 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws);
	*ret_columns = ws.ws_col > 0 ? ws.ws_col : LIVE_COLUMNS;
	*ret_rows = ws.ws_row > 0 ? ws.ws_row : LIVE_ROWS;
}

/* Append what fits into so many columns; returns how many it took. */
static unsigned
add_columns(struct buf *out, const char *text, unsigned columns)
{
	mbstate_t state = { 0 };
	size_t left = strlen(text);
	unsigned used = 0;

	while (left > 0) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, left, &state);
		int width;

		if (n == 0 || n > left)
			break;
		width = c == L'\t' ? 1 : wcwidth(c);
		if (width < 0)
			width = 0;
		else if (used + (unsigned)width > columns)
			break;
		else
			buf_append(out, c == L'\t' ? " " : text, n);
		used += (unsigned)width;
		text += n;
		left -= n;
	}
	return used;
}

static void
live_add_activity(struct live *l, const struct plan *p, const struct run_activity *a)
{
	const struct job *job = &p->jobs[a->job];
	struct buf command = BUF_INIT;

	lines_command(&command, job->command);
	buf_puts(&l->lines, a->is_waiting ? "wait " : "run  ");
	lines_id(&l->lines, job);
	buf_putc(&l->lines, ' ');
	(void)add_columns(&l->lines, buf_text(&command), LIVE_COMMAND_COLUMNS);
	buf_printf(&l->lines, " (%lld s)",
		   (long long)((clock_now_ms() - a->since_ms) / 1000));
	if (a->last_line[0] != '\0')
		buf_printf(&l->lines, " %s%s", a->is_waiting ? "for a slot: " : "| ",
			   a->last_line);
	buf_putc(&l->lines, '\n');
	buf_release(&command);
}

void
live_clear(struct live *l)
{
	buf_clear(&l->lines);
}

void
live_fill(struct live *l, const struct plan *p, const struct run_activity *a, size_t n)
{
	size_t shown = n <= LIVE_LINES_MAX ? n : LIVE_LINES_MAX - 1;
	size_t i;

	live_clear(l);
	for (i = 0; i < shown; i++)
		live_add_activity(l, p, &a[i]);
	if (shown < n)
		buf_printf(&l->lines, "and %zu more\n", n - shown);
}

/*
 * The region as the terminal's present size has it: a line that wrapped, or a region
 * higher than the screen, would put the way back to its first cell out.  So nothing is
 * wrapped while it is drawn: the size may be told late, and the width of a character is
 * the terminal's own opinion.
 */
static void
live_draw(const struct live *l, struct buf *out)
{
	const char *line = buf_text(&l->lines);
	unsigned columns, rows, drawn;

	terminal_size(&columns, &rows);
	buf_puts(out, WRAP_OFF);
	for (drawn = 0; *line != '\0' && drawn + 1 < rows; drawn++) {
		size_t n = strcspn(line, "\n");
		char *copy = xstrndup(line, n);

		if (drawn > 0)
			buf_puts(out, "\r\n");
		/* One column less: the last one makes some terminals wrap at once. */
		(void)add_columns(out, copy, columns > 1 ? columns - 1 : 1);
		free(copy);
		line += n + 1;
	}
	if (drawn > 1)
		buf_printf(out, "\033[%uA", drawn - 1);
	buf_puts(out, "\r" WRAP_ON);
}

void
live_print(const struct live *l, const char *text, size_t n, struct buf *out)
{
	if (!l->is_on) {
		buf_append(out, text, n);
		return;
	}
	buf_puts(out, ERASE_BELOW);
	buf_append(out, text, n);
	if (l->lines.len > 0)
		live_draw(l, out);
}

void
live_release(struct live *l)
{
	buf_release(&l->lines);
}
