/* SPDX-License-Identifier: MIT */
/*
 * The last lines are slots, the line of number n in slot n % BOARD_LINES.  A slot's
 * stamp is that number: 0 while it is written.  Most lines are short and lie in the
 * slot itself, longer ones in a room of their own, so that a page is touched only
 * for what was printed.
 *
 * The last text is read while it is written: there are some, taken in turn, and a
 * version says which of them stands.  A writer killed or put to sleep in the middle
 * holds up no one; a reader that was overtaken tries again.  Their bytes are atomic
 * words, for a plain copy would be a race.
 */
#include "supervisor/base/board.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

enum {
	NOTE_BYTES = 64,
	ROOM_BYTES = BOARD_LINE_BYTES + NOTE_BYTES,
	SHORT_BYTES = 240,
	LAST_WORDS = BOARD_LAST_SIZE / 8,
	LAST_TEXTS = 8,
	READ_TRIES = 100,
};

struct board_slot {
	_Atomic uint64_t stamp;
	uint32_t n;
	char text[SHORT_BYTES + 4];
};

struct board_pane {
	_Atomic uint32_t count;
	uint32_t ends[BOARD_LINES]; /* of each line in the text */
	uint64_t first;		    /* number of the first line */
	char text[(size_t)BOARD_LINES * ROOM_BYTES];
};

struct board {
	_Atomic uint32_t used; /* anything but zeros may stand here */
	_Atomic uint32_t flags;
	_Atomic uint64_t lines;
	_Atomic uint32_t version; /* of the last text: last[version % LAST_TEXTS] */
	_Atomic uint32_t environment_n;
	_Atomic uint64_t last[LAST_TEXTS][LAST_WORDS];
	struct board_slot slots[BOARD_LINES];
	char environment[ROOM_BYTES];
	char rooms[BOARD_LINES][ROOM_BYTES];
	struct board_pane panes[BOARD_WINDOWS];
};

_Static_assert(sizeof(struct board_slot) == 256, "a slot is four cache lines");
_Static_assert(sizeof(struct board) < 1024UL * 1024, "a board is small");

int
board_new(struct board **ret_board, struct error *err)
{
	void *p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return error_system(err, "shared memory for a step's output");
	*ret_board = p;
	return 0;
}

void
board_free(struct board *b)
{
	if (b != NULL)
		(void)munmap(b, sizeof(*b));
}

void
board_reset(struct board *b)
{
	if (atomic_load(&b->used) == 0)
		return;
	/* Gives the memory back, too; a kernel that cannot leaves it to us. */
	if (madvise(b, sizeof(*b), MADV_REMOVE) < 0)
		memset((void *)b, 0, sizeof(*b));
}

static void
board_use(struct board *b)
{
	if (atomic_load_explicit(&b->used, memory_order_relaxed) == 0)
		atomic_store(&b->used, 1);
}

/* At most `most` bytes of valid UTF-8 that end with a whole character. */
static size_t
text_cut(const char *text, size_t n, size_t most)
{
	if (n <= most)
		return n;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

/* Write a line into ROOM_BYTES; returns how many it took. */
static size_t
line_write(char *room, const struct board_line *line)
{
	size_t n = text_cut(line->text, line->n, BOARD_LINE_BYTES);
	int note = 0;

	memcpy(room, line->text, n);
	if (line->bytes > n)
		note =
		    snprintf(room + n, NOTE_BYTES, "\xe2\x80\xa6 (%llu bytes left out)",
			     (unsigned long long)(line->bytes - n));
	return n + (size_t)(note > 0 ? note : 0);
}

void
board_push(struct board *b, uint64_t number, const struct board_line *line)
{
	size_t at = (size_t)(number % BOARD_LINES);
	struct board_slot *slot = &b->slots[at];

	board_use(b);
	atomic_store_explicit(&slot->stamp, 0, memory_order_relaxed);
	/* What a killed writer did is the start of its program, in the program's order.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (line->bytes <= SHORT_BYTES) {
		memcpy(slot->text, line->text, line->n);
		slot->n = (uint32_t)line->n;
	} else {
		slot->n = (uint32_t)line_write(b->rooms[at], line);
	}
	atomic_store_explicit(&slot->stamp, number, memory_order_release);
}

void
board_count(struct board *b, uint64_t lines)
{
	board_use(b);
	atomic_store_explicit(&b->lines, lines, memory_order_release);
}

void
board_append(struct board *b, enum board_window which, uint64_t number,
	     const struct board_line *line)
{
	struct board_pane *pane = &b->panes[which];
	uint32_t count = atomic_load_explicit(&pane->count, memory_order_relaxed);
	uint32_t start = 0;

	if (count >= BOARD_LINES)
		return;
	board_use(b);
	if (count == 0)
		pane->first = number;
	else
		start = pane->ends[count - 1];
	pane->ends[count] = start + (uint32_t)line_write(pane->text + start, line);
	atomic_store_explicit(&pane->count, count + 1, memory_order_release);
}

bool
board_is_full(const struct board *b, enum board_window which)
{
	return atomic_load_explicit(&b->panes[which].count, memory_order_relaxed) >=
	       BOARD_LINES;
}

void
board_set_environment(struct board *b, const struct board_line *line)
{
	size_t n;

	board_use(b);
	n = line_write(b->environment, line);
	atomic_store_explicit(&b->environment_n, (uint32_t)n, memory_order_release);
}

void
board_set_flag(struct board *b, enum board_flag flag)
{
	board_use(b);
	(void)atomic_fetch_or(&b->flags, (uint32_t)flag);
}

void
board_set_last(struct board *b, const char *text, size_t n)
{
	uint64_t words[LAST_WORDS] = { 0 };
	uint32_t next = atomic_load_explicit(&b->version, memory_order_relaxed) + 1;

	n = text_cut(text, n, BOARD_LAST_SIZE - 1);
	memcpy(words, text, n);
	if (text_is_blank((const char *)words))
		return;
	board_use(b);
	/* Released each: who sees one of them sees that the text before stands no more.
	 */
	for (size_t i = 0; i <= n / 8; i++)
		atomic_store_explicit(&b->last[next % LAST_TEXTS][i], words[i],
				      memory_order_release);
	atomic_store_explicit(&b->version, next, memory_order_release);
}

static const char *
slot_text(const struct board *b, uint64_t number)
{
	size_t at = (size_t)(number % BOARD_LINES);

	return b->slots[at].n <= SHORT_BYTES ? b->slots[at].text : b->rooms[at];
}

void
board_show(struct board *b, uint64_t number)
{
	board_set_last(b, slot_text(b, number), b->slots[number % BOARD_LINES].n);
}

void
board_last(const struct board *b, char *text, size_t size)
{
	uint64_t words[LAST_WORDS];
	const char *last = (const char *)words;
	uint32_t version, passed;
	size_t n;
	int tries = 0;

	do {
		version = atomic_load_explicit(&b->version, memory_order_acquire);
		for (size_t w = 0; w < LAST_WORDS; w++)
			words[w] = atomic_load_explicit(&b->last[version % LAST_TEXTS][w],
							memory_order_acquire);
		passed =
		    atomic_load_explicit(&b->version, memory_order_relaxed) - version;
		/* The next to be written is never the one that stands. */
	} while (passed > LAST_TEXTS - 2 && ++tries < READ_TRIES);
	n = strnlen(last, sizeof(words));
	if (size == 0)
		return;
	if (tries == READ_TRIES || n == sizeof(words) || !utf8_valid(last, n))
		n = 0;
	n = text_cut(last, n, size - 1);
	memcpy(text, last, n);
	text[n] = '\0';
}

/* Nothing of it is trusted: the writer may have been killed at any instant. */
static char *
line_read(const char *line, size_t n)
{
	if (utf8_valid(line, n) && memchr(line, '\n', n) == NULL)
		return xstrndup(line, n);
	return text_clean(line, n);
}

static void
part_add(struct board_part *part, struct buf *text, const char *line, size_t n)
{
	char *sound = line_read(line, n);

	if (part->lines++ > 0)
		buf_putc(text, '\n');
	buf_puts(text, sound);
	free(sound);
}

static uint64_t
slot_stamp(const struct board *b, uint64_t number)
{
	return atomic_load_explicit(&b->slots[number % BOARD_LINES].stamp,
				    memory_order_acquire);
}

/* The highest number that a slot has. */
static uint64_t
board_newest(const struct board *b)
{
	uint64_t newest = 0;

	if (atomic_load(&b->used) == 0)
		return 0;
	for (uint64_t i = 0; i < BOARD_LINES; i++)
		if (slot_stamp(b, i) > newest && slot_stamp(b, i) % BOARD_LINES == i)
			newest = slot_stamp(b, i);
	return newest;
}

uint64_t
board_lines(const struct board *b)
{
	uint64_t lines = atomic_load_explicit(&b->lines, memory_order_acquire);
	uint64_t newest = board_newest(b);

	return lines > newest ? lines : newest;
}

struct board_part
board_tail(const struct board *b)
{
	struct board_part part = { NULL, 0, 0 };
	struct buf text = BUF_INIT;
	uint64_t newest = board_newest(b), number = newest;

	/* Down to where an older line was being replaced. */
	while (number > 0 && number + BOARD_LINES > newest &&
	       slot_stamp(b, number) == number)
		number--;
	if (number < newest)
		part.from = number + 1;
	while (number < newest) {
		size_t n = b->slots[++number % BOARD_LINES].n;

		part_add(&part, &text, slot_text(b, number), n <= ROOM_BYTES ? n : 0);
	}
	part.text = buf_steal(&text);
	return part;
}

struct board_part
board_window(const struct board *b, enum board_window which)
{
	const struct board_pane *pane = &b->panes[which];
	struct board_part part = { NULL, 0, 0 };
	struct buf text = BUF_INIT;
	uint32_t count = 0, start = 0;

	if (atomic_load(&b->used) != 0)
		count = atomic_load_explicit(&pane->count, memory_order_acquire);
	for (uint32_t i = 0; i < count && i < BOARD_LINES; i++) {
		uint32_t end = pane->ends[i];

		if (end < start || end > sizeof(pane->text))
			break;
		part_add(&part, &text, pane->text + start, end - start);
		start = end;
	}
	part.from = part.lines > 0 ? pane->first : 0;
	part.text = buf_steal(&text);
	return part;
}

char *
board_environment(const struct board *b)
{
	uint32_t n = atomic_load_explicit(&b->environment_n, memory_order_acquire);

	if (n == 0 || n > sizeof(b->environment))
		return NULL;
	return line_read(b->environment, n);
}

bool
board_flag(const struct board *b, enum board_flag flag)
{
	return (atomic_load(&b->flags) & (uint32_t)flag) != 0;
}
