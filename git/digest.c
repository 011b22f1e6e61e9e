/* SPDX-License-Identifier: MIT */
#include "git/digest.h"

#include <errno.h>
#include <nettle/sha1.h>
#include <stdio.h>
#include <unistd.h>

struct blob_hash {
	enum object_format format;
	union {
		struct sha1_ctx sha1;
		struct sha256_ctx sha256;
	} u;
};

size_t
object_format_size(enum object_format format)
{
	return format == OBJECT_FORMAT_SHA256 ? SHA256_DIGEST_SIZE : SHA1_DIGEST_SIZE;
}

void
digest_init(struct digest *d)
{
	sha256_init(&d->sha256);
}

void
digest_add(struct digest *d, const void *bytes, size_t n)
{
	sha256_update(&d->sha256, n, bytes);
}

void
digest_add_u32(struct digest *d, uint32_t n)
{
	uint8_t b[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
			 (uint8_t)n };

	digest_add(d, b, sizeof(b));
}

void
digest_end(struct digest *d, uint8_t ret[DIGEST_SIZE])
{
	sha256_digest(&d->sha256, DIGEST_SIZE, ret);
}

static void
blob_add(struct blob_hash *h, const void *bytes, size_t n)
{
	if (h->format == OBJECT_FORMAT_SHA256)
		sha256_update(&h->u.sha256, n, bytes);
	else
		sha1_update(&h->u.sha1, n, bytes);
}

static void
blob_begin(struct blob_hash *h, enum object_format format, uint64_t size)
{
	char head[32];
	int n = snprintf(head, sizeof(head), "blob %llu", (unsigned long long)size);

	h->format = format;
	if (format == OBJECT_FORMAT_SHA256)
		sha256_init(&h->u.sha256);
	else
		sha1_init(&h->u.sha1);
	blob_add(h, head, (size_t)n + 1);
}

static void
blob_end(struct blob_hash *h, uint8_t ret[OBJECT_ID_MAX])
{
	if (h->format == OBJECT_FORMAT_SHA256)
		sha256_digest(&h->u.sha256, SHA256_DIGEST_SIZE, ret);
	else
		sha1_digest(&h->u.sha1, SHA1_DIGEST_SIZE, ret);
}

void
blob_id(enum object_format format, const void *bytes, size_t n,
	uint8_t ret[OBJECT_ID_MAX])
{
	struct blob_hash h;

	blob_begin(&h, format, n);
	blob_add(&h, bytes, n);
	blob_end(&h, ret);
}

int
blob_id_fd(enum object_format format, int fd, uint64_t size, uint8_t ret[OBJECT_ID_MAX])
{
	unsigned char chunk[65536];
	struct blob_hash h;
	uint64_t done = 0;

	blob_begin(&h, format, size);
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (uint64_t)got;
		blob_add(&h, chunk, (size_t)got);
	}
	if (done != size) {
		errno = ESTALE;
		return -1;
	}
	blob_end(&h, ret);
	return 0;
}

void
hex_encode(const uint8_t *bytes, size_t n, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < n; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * n] = '\0';
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int
hex_decode(const char *hex, size_t n, uint8_t *ret_bytes)
{
	size_t i;

	for (i = 0; i < n; i++) {
		int hi = hex_digit(hex[2 * i]);
		int lo = hi < 0 ? -1 : hex_digit(hex[2 * i + 1]);

		if (lo < 0)
			return -1;
		ret_bytes[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}
