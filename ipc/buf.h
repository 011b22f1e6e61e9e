/* SPDX-License-Identifier: MIT */
/*
 * Buffers: growable bytes, always followed by a NUL that does not count, so
 * that `data` can be used as a string where it holds no NUL of its own.
 */
#ifndef IPC_BUF_H
#define IPC_BUF_H

#include <stddef.h>

struct buf {
	char *data; /* NULL until something is appended */
	size_t len;
	size_t room;
};

#define BUF_INIT           \
	{                  \
		NULL, 0, 0 \
	}

void buf_append(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Forget the content, keep the memory. */
void buf_clear(struct buf *b);
/* The content as a string that the caller frees; the buffer is empty afterwards. */
char *buf_steal(struct buf *b);
/* The content as a borrowed string, "" when nothing was appended. */
const char *buf_text(const struct buf *b);
void buf_release(struct buf *b);

#endif
