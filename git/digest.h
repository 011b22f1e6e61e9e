/* SPDX-License-Identifier: MIT */
/*
 * Digests: SHA-256 for keys, and git's object ids of either format.
 *
 * nettle does the work: it uses the processor's own instructions where there are any
 * and costs nothing at the start of the program.
 */
#ifndef GIT_DIGEST_H
#define GIT_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DIGEST_SIZE = 32,   /* of a key */
	OBJECT_ID_MAX = 32, /* of an object id, either format */
	DIGEST_HEX_SIZE = 2 * DIGEST_SIZE + 1
};

enum object_format {
	OBJECT_FORMAT_SHA1,
	OBJECT_FORMAT_SHA256
};

/* Bytes of an object id: 20 or 32. */
size_t object_format_size(enum object_format format);

struct digest {
	struct sha256_ctx sha256;
};

void digest_init(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
/* A number, big-endian, so that a key is the same on every machine. */
void digest_add_u32(struct digest *d, uint32_t n);
void digest_end(struct digest *d, uint8_t ret[DIGEST_SIZE]);

/* The id that git gives a blob of these bytes. */
void blob_id(enum object_format format, const void *bytes, size_t n,
	     uint8_t ret[OBJECT_ID_MAX]);
/*
 * The same for the rest of an open file that is `size` bytes long.  0; -1 with errno
 * where it cannot be read, or was cut or grew while it was read (ESTALE).
 */
int blob_id_fd(enum object_format format, int fd, uint64_t size,
	       uint8_t ret[OBJECT_ID_MAX]);

void hex_encode(const uint8_t *bytes, size_t n, char *ret_hex);
/* Exactly 2n lower- or upper-case hex digits: 0, else -1. */
int hex_decode(const char *hex, size_t n, uint8_t *ret_bytes);

#endif
