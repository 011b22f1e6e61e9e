/* SPDX-License-Identifier: MIT */
#include "ipc/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"

static void
buf_reserve(struct buf *b, size_t more)
{
	b->data = xgrow(b->data, b->len + more + 1, &b->room, 1);
}

void
buf_append(struct buf *b, const void *bytes, size_t n)
{
	buf_reserve(b, n);
	if (n > 0)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_append(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	buf_append(b, &c, 1);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	buf_reserve(b, (size_t)n);
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}

char *
buf_steal(struct buf *b)
{
	char *s = b->data != NULL ? b->data : xstrdup("");

	*b = (struct buf)BUF_INIT;
	return s;
}

const char *
buf_text(const struct buf *b)
{
	return b->data != NULL ? b->data : "";
}

void
buf_release(struct buf *b)
{
	if (b == NULL)
		return;
	free(b->data);
	*b = (struct buf)BUF_INIT;
}
