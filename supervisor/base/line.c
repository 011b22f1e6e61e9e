/* SPDX-License-Identifier: MIT */
/*
 * The columns of a line are cells of one code point each, so that overwriting is
 * the same for every character.  `width` may pass LINE_CELLS; then only `beyond`
 * knows what stands there, and an overwritten character there is taken to be as
 * long as the one it covers.
 */
#include "supervisor/base/line.h"

#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

enum {
	REPLACEMENT = 0xfffd,
	PARAMETER_MAX = 65535,
	RUN_STEP = 64,
	COPY_STEP = 16,
};

/* The loop has no way out, so that the compiler makes vectors of it. */
static bool
line_step_is_plain(const unsigned char *s)
{
	unsigned char odd = 0;

	for (size_t i = 0; i < RUN_STEP; i++)
		odd |= (unsigned char)((unsigned char)(s[i] - 0x20) > 0x7e - 0x20) &
		       (unsigned char)(s[i] != '\t');
	return odd == 0;
}

size_t
line_plain_run(const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t at = 0;

	while (n - at >= RUN_STEP && line_step_is_plain(s + at))
		at += RUN_STEP;
	while (at < n && ((s[at] >= 0x20 && s[at] < 0x7f) || s[at] == '\t'))
		at++;
	return at;
}

bool
line_is_sound(const char *bytes, size_t n)
{
	size_t at = 0, len;

	while ((at += line_plain_run(bytes + at, n - at)) < n) {
		len = utf8_sequence(bytes + at, n - at);
		if (len < 2)
			return false;
		if ((unsigned char)bytes[at] == 0xc2 &&
		    (unsigned char)bytes[at + 1] < 0xa0)
			return false;
		at += len;
	}
	return true;
}

static size_t
point_bytes(uint32_t point)
{
	return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

static size_t
least_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Make room to write at the cursor: what was jumped over is blank. */
static void
line_fill(struct line *l)
{
	if (l->cells == NULL)
		l->cells = xmalloc(LINE_CELLS * sizeof(*l->cells));
	for (; l->width < l->column; l->width++) {
		if (l->width < LINE_CELLS)
			l->cells[l->width] = 0;
		else
			l->beyond++;
	}
}

static inline void
line_reach(struct line *l)
{
	if (l->cells == NULL || l->width < l->column)
		line_fill(l);
}

static void
line_put(struct line *l, uint32_t point)
{
	line_reach(l);
	if (l->column < LINE_CELLS)
		l->cells[l->column] = point;
	else if (l->column == l->width)
		l->beyond += point_bytes(point);
	l->column++;
	if (l->width < l->column)
		l->width = l->column;
}

/* The same for many characters of one byte each. */
static void
line_put_plain(struct line *l, const char *bytes, size_t n)
{
	size_t held = 0, fresh;

	line_reach(l);
	if (l->column < LINE_CELLS)
		held = least_size(n, LINE_CELLS - l->column);
	for (size_t i = 0; i < held; i++)
		l->cells[l->column + i] = (unsigned char)bytes[i];
	l->column += n;
	if (l->column <= l->width)
		return;
	fresh = l->column - (l->width > LINE_CELLS ? l->width : LINE_CELLS);
	if (l->column > LINE_CELLS)
		l->beyond += fresh;
	l->width = l->column;
}

static void
line_move(struct line *l, size_t column)
{
	size_t most = l->width > LINE_SCREEN - 1 ? l->width : LINE_SCREEN - 1;

	l->column = least_size(column, most);
}

static void
line_erase_end(struct line *l)
{
	if (l->column >= l->width)
		return;
	l->width = l->column;
	if (l->width <= LINE_CELLS)
		l->beyond = 0;
}

static void
line_erase_start(struct line *l)
{
	size_t end = least_size(l->column + 1, l->width);

	if (end == l->width) {
		l->width = 0;
		l->beyond = 0;
		return;
	}
	for (size_t i = 0; i < end && i < LINE_CELLS; i++)
		l->cells[i] = 0;
}

static void
line_erase(struct line *l, unsigned how)
{
	if (how == 0)
		line_erase_end(l);
	else if (how == 1)
		line_erase_start(l);
	else if (how == 2) {
		l->width = 0;
		l->beyond = 0;
	}
}

/* A CSI is whole: do what concerns this line. */
static void
line_control(struct line *l, unsigned char final)
{
	unsigned n = l->parameter;
	unsigned count = n > 0 ? n : 1;

	if (l->private || l->intermediate)
		return;
	switch (final) {
	case 'K':
		line_erase(l, n);
		break;
	case 'J':
		/* The whole screen's end; its other forms are for the lines above. */
		if (n == 0)
			line_erase_end(l);
		break;
	case 'C':
		line_move(l, l->column + count);
		break;
	case 'D':
		line_move(l, l->column - least_size(l->column, count));
		break;
	case 'G':
	case '`':
		line_move(l, count - 1);
		break;
	default:
		break;
	}
}

static void
line_begin(struct line *l, enum line_state state)
{
	l->state = state;
	l->intermediate = false;
	l->private = false;
	l->first = true;
	l->parameter = 0;
	l->last = 0;
}

/* A character that is whole. */
static void
line_point(struct line *l, uint32_t point)
{
	if (point == 0x9b)
		line_begin(l, LINE_CONTROL);
	else if (point >= 0x80 && point < 0xa0)
		line_put(l, REPLACEMENT);
	else
		line_put(l, point);
}

/* A byte of 0x80 and more that begins a character, or none. */
static void
line_lead(struct line *l, unsigned char c)
{
	if (c < 0xc2 || c > 0xf4) {
		line_put(l, REPLACEMENT);
		return;
	}
	l->wants = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	l->point = c & (c < 0xe0 ? 0x1fu : c < 0xf0 ? 0x0fu : 0x07u);
	/* Overlong forms, surrogates and what lies past U+10FFFF show in the second. */
	l->least = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	l->most = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
}

/* Does the byte go on with the character that is open?  If not, that one is over. */
static bool
line_continue(struct line *l, unsigned char c)
{
	if (c < l->least || c > l->most) {
		l->wants = 0;
		line_put(l, REPLACEMENT);
		return false;
	}
	l->point = l->point << 6 | (c & 0x3fu);
	l->least = 0x80;
	l->most = 0xbf;
	if (--l->wants == 0)
		line_point(l, l->point);
	return true;
}

static void
line_text_byte(struct line *l, unsigned char c)
{
	if (l->wants > 0 && line_continue(l, c))
		return;
	if (c >= 0x80)
		line_lead(l, c);
	else if (c == 0x1b)
		line_begin(l, LINE_ESCAPE);
	else if (c == '\r')
		l->column = 0;
	else if (c == '\b')
		l->column -= l->column > 0;
	else
		line_put(l, (c < 0x20 && c != '\t') || c == 0x7f ? REPLACEMENT : c);
}

/*
 * The bytes of a sequence.  Each says whether the byte is part of it; one that is
 * not ends the sequence and is text.
 */
static bool
line_escape_byte(struct line *l, unsigned char c)
{
	if (c >= 0x20 && c < 0x30) {
		l->intermediate = true;
		return true;
	}
	l->state = LINE_TEXT;
	if (c < 0x30 || c > 0x7e)
		return c == 0x7f;
	if (l->intermediate)
		return true;
	if (c == '[')
		line_begin(l, LINE_CONTROL);
	else if (c == ']')
		line_begin(l, LINE_COMMAND);
	else if (c == 'P' || c == 'X' || c == '^' || c == '_')
		line_begin(l, LINE_STRING);
	return true;
}

static bool
line_control_byte(struct line *l, unsigned char c)
{
	if (c >= 0x40 && c < 0x7f) {
		l->state = LINE_TEXT;
		line_control(l, c);
	} else if (c >= '0' && c <= '9') {
		if (l->first && l->parameter < PARAMETER_MAX)
			l->parameter = l->parameter * 10 + (c - '0');
	} else if (c == ';' || c == ':') {
		l->first = false;
	} else if (c >= 0x3c && c < 0x40) {
		l->private = true;
	} else if (c >= 0x20 && c < 0x30) {
		l->intermediate = true;
	} else if (c != 0x7f) {
		l->state = LINE_TEXT;
		return false;
	}
	return true;
}

static bool
line_string_byte(struct line *l, unsigned char c)
{
	if (c == 0x07 && l->state == LINE_COMMAND)
		l->state = LINE_TEXT;
	if (c == 0x9c && l->last == 0xc2)
		l->state = LINE_TEXT;
	l->last = c;
	return true;
}

static void
line_byte(struct line *l, unsigned char c)
{
	bool taken = false;

	if (l->state != LINE_TEXT && c == 0x1b) {
		line_begin(l, LINE_ESCAPE);
		return;
	}
	if (l->state != LINE_TEXT && (c == 0x18 || c == 0x1a)) {
		l->state = LINE_TEXT;
		return;
	}
	if (l->state == LINE_ESCAPE)
		taken = line_escape_byte(l, c);
	else if (l->state == LINE_CONTROL)
		taken = line_control_byte(l, c);
	else if (l->state != LINE_TEXT)
		taken = line_string_byte(l, c);
	if (!taken)
		line_text_byte(l, c);
}

void
line_finish(struct line *l)
{
	if (l->wants > 0)
		line_put(l, REPLACEMENT);
	l->wants = 0;
	l->state = LINE_TEXT;
}

static bool
byte_is_plain(char c)
{
	return (c >= 0x20 && c < 0x7f) || c == '\t';
}

size_t
line_feed(struct line *l, const char *bytes, size_t n, bool *ret_ended)
{
	size_t at = 0, run;

	*ret_ended = false;
	while (at < n && bytes[at] != '\n') {
		if (l->state == LINE_TEXT && l->wants == 0 && byte_is_plain(bytes[at])) {
			run = line_plain_run(bytes + at, n - at);
			line_put_plain(l, bytes + at, run);
			at += run;
		} else {
			line_byte(l, (unsigned char)bytes[at++]);
		}
	}
	if (at == n)
		return n;
	line_finish(l);
	*ret_ended = true;
	return at + 1;
}

/* Cells that show something: erased ones at the end do not. */
static size_t
line_shown(const struct line *l)
{
	size_t n = least_size(l->width, LINE_CELLS);

	if (l->width > LINE_CELLS)
		return n;
	while (n > 0 && l->cells[n - 1] == 0)
		n--;
	return n;
}

bool
line_is_empty(const struct line *l)
{
	return line_shown(l) == 0;
}

uint64_t
line_bytes(const struct line *l)
{
	size_t n = line_shown(l);
	uint64_t bytes = l->beyond;

	for (size_t i = 0; i < n; i++)
		bytes += point_bytes(l->cells[i]);
	return bytes;
}

static size_t
point_write(uint32_t point, char *text)
{
	size_t n = point_bytes(point);
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	if (n == 1) {
		text[0] = point == 0 ? ' ' : (char)point;
		return 1;
	}
	for (size_t i = n - 1; i > 0; i--) {
		text[i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	text[0] = (char)(lead[n] | point);
	return n;
}

/* Cells of one byte each, COPY_STEP of them: are they that, and their bytes. */
static bool
line_copy_step(const uint32_t *cells, char *text)
{
	unsigned odd = 0;

	for (size_t i = 0; i < COPY_STEP; i++) {
		odd |= cells[i] - 1 >= 0x7f;
		text[i] = (char)(cells[i] & 0x7f);
	}
	return odd == 0;
}

size_t
line_copy(const struct line *l, char *text, size_t size)
{
	size_t n = line_shown(l), at = 0;

	for (size_t i = 0; i < n; i++) {
		while (n - i >= COPY_STEP && size - at >= COPY_STEP &&
		       line_copy_step(l->cells + i, text + at)) {
			i += COPY_STEP;
			at += COPY_STEP;
		}
		if (i == n)
			break;
		if (point_bytes(l->cells[i]) > size - at)
			break;
		at += point_write(l->cells[i], text + at);
	}
	return at;
}

void
line_clear(struct line *l)
{
	uint32_t *cells = l->cells;

	*l = (struct line)LINE_INIT;
	l->cells = cells;
}

void
line_release(struct line *l)
{
	free(l->cells);
	*l = (struct line)LINE_INIT;
}
