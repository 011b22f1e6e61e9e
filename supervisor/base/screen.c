/* SPDX-License-Identifier: MIT */
/*
 * Many short literals at once, by the halves of bytes: a table per place of a mark
 * and half of a byte says which of eight marks that half allows; all six tables
 * agree where a mark stands.  A shuffle looks up 32 bytes in a table at once, so
 * that the pass costs about a third of a cycle a byte.
 *
 * A mark may be a set of bytes at each place: the tables take every byte whose
 * halves occur in the set, which can only name too much.
 */
#include "supervisor/base/screen.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	STEP = 32,
	MARKS = 8, /* a bit each */
	BESIDE = 2 /* bytes that are read past a step */
};

/* A line with any of these signs has the mark: at each place one of the bytes. */
static const struct {
	const char *place[3];
	unsigned signs;
} mark_table[MARKS] = {
	/* error, internal error; Error: */
	{ { "rR", "rR", "oO" }, SIGN_START | SIGN_NAME },
	/* fatal */
	{ { "fF", "aA", "tT" }, SIGN_START },
	/* Assertion; Exception:; Exceeded timeout of */
	{ { "xA", "cs", "es" }, SIGN_ASSERTION | SIGN_NAME | SIGN_TIMEOUT },
	/* `E ` and FAIL at the start */
	{ { "\n", "EF", " A" }, SIGN_START },
	/* Traceback and `not ok` at the start */
	{ { "\n", "Tn", "ro" }, SIGN_START },
	/* panicked at; … timed out … */
	{ { "km", "e", "d" }, SIGN_PANIC | SIGN_TIMEOUT },
	/* EAI_AGAIN, ETIMEDOUT, ENOTFOUND */
	{ { "ADF", "IO", "_U" }, SIGN_NETWORK },
	/* ECONNRESET, ENETUNREACH, EHOSTUNREACH */
	{ { "NU", "N", "R" }, SIGN_NETWORK },
};

/* What the steps add up to. */
struct tally {
	unsigned odd; /* not 0: a byte that is not plain */
	size_t newlines;
	unsigned marks;
};

void
screen_init(struct screen *s)
{
	memset(s, 0, sizeof(*s));
	for (size_t m = 0; m < MARKS; m++) {
		for (size_t place = 0; place < 3; place++) {
			const char *c = mark_table[m].place[place];

			for (; *c != '\0'; c++) {
				s->low[place][*c & 15] |= (uint8_t)(1u << m);
				s->high[place][*c >> 4 & 15] |= (uint8_t)(1u << m);
			}
		}
	}
#if defined(__x86_64__)
	s->wide = __builtin_cpu_supports("avx2");
#endif
}

static unsigned
screen_allows(const struct screen *s, size_t place, unsigned char c)
{
	return s->low[place][c & 15] & s->high[place][c >> 4];
}

static void
steps_narrow(const struct screen *s, const char *bytes, size_t steps, struct tally *t)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < steps * STEP; i++) {
		t->newlines += p[i] == '\n';
		t->odd |= (p[i] < 0x20 && p[i] != '\t' && p[i] != '\n') || p[i] > 0x7e;
		t->marks |= screen_allows(s, 0, p[i]) & screen_allows(s, 1, p[i + 1]) &
			    screen_allows(s, 2, p[i + 2]);
	}
}

#if defined(__x86_64__)

#define WIDE __attribute__((target("avx2")))

WIDE static inline __m256i
wide_load(const void *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

WIDE static inline __m256i
wide_table(const uint8_t table[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}

WIDE static inline __m256i
wide_allows(__m256i low, __m256i high, __m256i bytes)
{
	const __m256i half = _mm256_set1_epi8(15);
	__m256i below = _mm256_and_si256(bytes, half);
	__m256i above = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);

	return _mm256_and_si256(_mm256_shuffle_epi8(low, below),
				_mm256_shuffle_epi8(high, above));
}

/* Bytes that are not plain, all their bits set, but for newlines. */
WIDE static inline __m256i
wide_odd(__m256i bytes, __m256i newline)
{
	/* Signed: bytes of 0x80 and more are below the space too. */
	__m256i below = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);
	__m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
	__m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));

	return _mm256_or_si256(_mm256_andnot_si256(_mm256_or_si256(tab, newline), below),
			       del);
}

/* The sum of 32 bytes. */
WIDE static size_t
wide_sum(__m256i bytes)
{
	uint64_t part[4];

	_mm256_storeu_si256((__m256i *)part,
			    _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
	return (size_t)(part[0] + part[1] + part[2] + part[3]);
}

/* The bits of 32 bytes. */
WIDE static unsigned
wide_bits(__m256i bytes)
{
	uint64_t part[4], all;

	_mm256_storeu_si256((__m256i *)part, bytes);
	all = part[0] | part[1] | part[2] | part[3];
	all |= all >> 32;
	all |= all >> 16;
	all |= all >> 8;
	return (unsigned)(all & 0xff);
}

/* At most 255 steps: more newlines have no room in a byte. */
WIDE static void
steps_wide(const struct screen *s, const char *bytes, size_t steps, struct tally *t)
{
	const __m256i low0 = wide_table(s->low[0]), high0 = wide_table(s->high[0]);
	const __m256i low1 = wide_table(s->low[1]), high1 = wide_table(s->high[1]);
	const __m256i low2 = wide_table(s->low[2]), high2 = wide_table(s->high[2]);
	const __m256i nl = _mm256_set1_epi8('\n');
	__m256i odd = _mm256_setzero_si256(), marks = odd, newlines = odd;

	for (size_t i = 0; i < steps; i++, bytes += STEP) {
		__m256i here = wide_load(bytes);
		__m256i newline = _mm256_cmpeq_epi8(here, nl);
		__m256i mark = wide_allows(low0, high0, here);

		mark = _mm256_and_si256(mark,
					wide_allows(low1, high1, wide_load(bytes + 1)));
		mark = _mm256_and_si256(mark,
					wide_allows(low2, high2, wide_load(bytes + 2)));
		marks = _mm256_or_si256(marks, mark);
		odd = _mm256_or_si256(odd, wide_odd(here, newline));
		newlines = _mm256_sub_epi8(newlines, newline);
	}
	t->odd |= wide_bits(odd);
	t->newlines += wide_sum(newlines);
	t->marks |= wide_bits(marks);
}

#endif

static void
screen_steps(const struct screen *s, const char *bytes, size_t steps, struct tally *t)
{
#if defined(__x86_64__)
	if (s->wide) {
		for (; steps > 255; steps -= 255, bytes += (size_t)255 * STEP)
			steps_wide(s, bytes, 255, t);
		steps_wide(s, bytes, steps, t);
		return;
	}
#endif
	steps_narrow(s, bytes, steps, t);
}

static unsigned
marks_signs(unsigned marks)
{
	unsigned signs = 0;

	for (size_t m = 0; m < MARKS; m++)
		if ((marks & (1u << m)) != 0)
			signs |= mark_table[m].signs;
	return signs;
}

struct screened
screen_lines(const struct screen *s, const char *bytes, size_t n)
{
	char rest[2 * STEP + BESIDE];
	struct tally t = { 0, 0, 0 };
	size_t steps = n > BESIDE ? (n - BESIDE) / STEP : 0;
	size_t left = n - steps * STEP;

	screen_steps(s, bytes, steps, &t);
	/* The last bytes, filled up with what is plain and in no mark's first place. */
	memset(rest, ' ', sizeof(rest));
	memcpy(rest, bytes + steps * STEP, left);
	screen_steps(s, rest, left > STEP ? 2 : 1, &t);
	/* The first line has no newline before it. */
	if (n > 1)
		t.marks |= screen_allows(s, 0, '\n') &
			   screen_allows(s, 1, (unsigned char)bytes[0]) &
			   screen_allows(s, 2, (unsigned char)bytes[1]);
	return (struct screened){
		.plain = t.odd == 0,
		.newlines = t.newlines,
		.signs = marks_signs(t.marks),
	};
}
