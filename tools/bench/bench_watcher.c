/* SPDX-License-Identifier: MIT */
/*
 * How fast does a watcher read?  Prints name, GB/s and ns a byte, tab separated: of
 * processor time, the best of some passes over a synthetic log in chunks of a pipe's
 * size.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "supervisor/base/pattern.h"
#include "supervisor/base/watcher.h"

enum {
	LOG_BYTES = 64 << 20,
	CHUNK_BYTES = 65536,
	PASSES = 5,
};

struct log {
	const char *name;
	const char *line; /* printed with a number */
	const char *mark; /* a regex, or NULL */
	const char *expect;
};

static const struct log logs[] = {
	{ "plain",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do",
	  NULL, NULL },
	{ "short", "%zu", NULL, NULL },
	{ "mark ^",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do",
	  "^(?:survived|unjudged)\\s", NULL },
	{ "mark literal",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do",
	  " FAIL ", NULL },
	{ "mark common letters",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do",
	  "words .*dodo", NULL },
	{ "expect",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do",
	  NULL, "no-debugger" },
	{ "near signs",
	  "%08zu terrors checked: no mirror named in a line of about eighty bytes, no",
	  NULL, NULL },
	{ "utf-8",
	  "%08zu \xe2\x9c\x93 some words of ordinary output, about eighty bytes in a "
	  "line, as",
	  NULL, NULL },
	{ "colours",
	  "\x1b[32m%08zu\x1b[39m some words of ordinary output, about eighty bytes, as "
	  "\x1b[2mtools\x1b[22m do",
	  NULL, NULL },
	{ "crlf",
	  "%08zu some words of ordinary output, about eighty bytes in a line, as tools "
	  "do\r",
	  NULL, NULL },
	{ "nuls", "%08zu", NULL, NULL },
};

static double
now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
log_fill(const char *line, char *bytes)
{
	char text[256];
	size_t at = 0, n;

	for (size_t i = 0; at < LOG_BYTES; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		n = (size_t)snprintf(text, sizeof(text) - 1, line, i);
#pragma GCC diagnostic pop
		text[n++] = '\n';
		if (n > LOG_BYTES - at)
			n = LOG_BYTES - at;
		memcpy(bytes + at, text, n);
		at += n;
	}
}

static double
log_read(const struct log *log, const char *bytes)
{
	struct error err = ERROR_INIT;
	struct pattern *mark = NULL;
	struct watcher *w;
	struct watch watch;
	double start, took, best = 1e9;

	if (log->mark != NULL && pattern_compile(log->mark, &mark, &err) < 0)
		errx(1, "%s", err.text);
	if (watcher_new(mark, log->expect, &w, &err) < 0)
		errx(1, "%s", err.text);
	for (int pass = 0; pass < PASSES; pass++) {
		watcher_reset(w, mark, log->expect);
		watch = watcher_watch(w);
		start = now_s();
		for (size_t at = 0; at < LOG_BYTES; at += CHUNK_BYTES)
			watch.feed(watch.ctx, bytes + at, CHUNK_BYTES);
		watch.end(watch.ctx);
		took = now_s() - start;
		if (took < best)
			best = took;
	}
	watcher_free(w);
	pattern_free(mark);
	return best;
}

int
main(void)
{
	char *bytes = malloc(LOG_BYTES);

	if (bytes == NULL)
		err(1, "malloc");
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		double took;

		if (strcmp(logs[i].name, "nuls") == 0)
			memset(bytes, 0, LOG_BYTES);
		else
			log_fill(logs[i].line, bytes);
		took = log_read(&logs[i], bytes);
		printf("%s\t%.2f GB/s\t%.3f ns\n", logs[i].name, LOG_BYTES / took / 1e9,
		       took * 1e9 / LOG_BYTES);
		(void)fflush(stdout);
	}
	free(bytes);
	return 0;
}
