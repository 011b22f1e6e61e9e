/* SPDX-License-Identifier: MIT */
#include "ipc/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/*
 * Format at `at`; where the text does not fit it ends in an ellipsis, and never
 * inside a UTF-8 character.
 */
static void __attribute__((format(printf, 3, 0)))
text_format(struct error *err, size_t at, const char *fmt, va_list ap)
{
	static const char dots[] = "\xe2\x80\xa6";
	size_t room = sizeof(err->text) - at;
	int n = vsnprintf(err->text + at, room, fmt, ap);
	size_t end;

	if (n >= 0 && (size_t)n < room)
		return;
	end = sizeof(err->text) - sizeof(dots);
	while (end > 0 && ((unsigned char)err->text[end] & 0xc0) == 0x80)
		end--;
	memcpy(err->text + end, dots, sizeof(dots));
}

static void __attribute__((format(printf, 2, 3)))
text_append(struct error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_format(err, strlen(err->text), fmt, ap);
	va_end(ap);
}

int
error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list ap;

	err->kind = kind;
	err->errnum = 0;
	va_start(ap, fmt);
	text_format(err, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int
error_system(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	err->kind = ERROR_SYSTEM;
	err->errnum = saved;
	va_start(ap, fmt);
	text_format(err, 0, fmt, ap);
	va_end(ap);
	text_append(err, ": %s", strerror(saved));
	return -1;
}

int
error_wrap(struct error *err, const char *fmt, ...)
{
	char why[sizeof(err->text)];
	va_list ap;

	memcpy(why, err->text, sizeof(why));
	va_start(ap, fmt);
	text_format(err, 0, fmt, ap);
	va_end(ap);
	text_append(err, ": %s", why);
	return -1;
}
