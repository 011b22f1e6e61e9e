/* SPDX-License-Identifier: MIT */
#include "supervisor/green/key.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/fd.h"
#include "ipc/mem.h"

enum {
	KEY_FILE_MAX = 256 << 20
};

static const char *const part_names[KEY_NPARTS] = {
	[KEY_PART_ENVIRONMENT] = "keyEnv",    [KEY_PART_FILES] = "keyFiles",
	[KEY_PART_INSTALL] = "install",	      [KEY_PART_CONFIG] = "config",
	[KEY_PART_SUBMODULES] = "submodules",
};

const char *
key_part_name(enum key_part part)
{
	return part_names[part];
}

/* Length first, so that no two lists of strings give the same bytes. */
static void
digest_add_text(struct digest *d, const char *text, size_t n)
{
	digest_add_u32(d, (uint32_t)(n >> 32));
	digest_add_u32(d, (uint32_t)n);
	digest_add(d, text, n);
}

static void
digest_end_hex(struct digest *d, char ret_hex[DIGEST_HEX_SIZE])
{
	uint8_t bytes[DIGEST_SIZE];

	digest_end(d, bytes);
	hex_encode(bytes, sizeof(bytes), ret_hex);
}

/* Unset and empty are two values. */
static void
key_add_environment(const struct config *c, char ret_hex[DIGEST_HEX_SIZE])
{
	struct digest d;
	size_t i;

	digest_init(&d);
	for (i = 0; i < c->key_env.nitems; i++) {
		const char *name = c->key_env.items[i];
		const char *value = getenv(name);

		digest_add_text(&d, name, strlen(name));
		digest_add_u32(&d, value != NULL);
		if (value != NULL)
			digest_add_text(&d, value, strlen(value));
	}
	digest_end_hex(&d, ret_hex);
}

/* One that is missing is a state of its own; one that cannot be read is no state at all.
 */
static int
key_add_files(const struct config *c, char ret_hex[DIGEST_HEX_SIZE], struct error *err)
{
	struct digest d;
	size_t i;

	digest_init(&d);
	for (i = 0; i < c->key_files.nitems; i++) {
		const char *path = c->key_files.items[i];
		struct buf content = BUF_INIT;
		struct error why = ERROR_INIT;
		bool is_there = true;

		if (file_read(path, KEY_FILE_MAX, &content, &why) < 0) {
			if (why.errnum != ENOENT && why.errnum != ENOTDIR) {
				*err = why;
				return error_wrap(err, "keyFiles[%zu]", i);
			}
			is_there = false;
		}
		digest_add_text(&d, path, strlen(path));
		digest_add_u32(&d, is_there);
		if (is_there)
			digest_add_text(&d, buf_text(&content), content.len);
		buf_release(&content);
	}
	digest_end_hex(&d, ret_hex);
	return 0;
}

/* As it was loaded, and so as it is run: the file may have been edited since. */
static void
key_add_config(const struct config *c, char ret_hex[DIGEST_HEX_SIZE])
{
	struct digest d;

	digest_init(&d);
	digest_add_text(&d, buf_text(&c->text), c->text.len);
	digest_end_hex(&d, ret_hex);
}

/* Where the working directory lies within the tree: "" at its top. */
static int
key_add_directory(struct digest *d, const char *root, struct error *err)
{
	char *here = realpath(".", NULL);
	char *top = realpath(root, NULL);
	size_t n = top != NULL ? strlen(top) : 0;
	int rc = -1;

	if (here == NULL || top == NULL)
		(void)error_system(err, "%s", root);
	else if (strncmp(here, top, n) != 0)
		(void)error_set(err, ERROR_REPO,
				"%s: the working directory is not below it", root);
	else
		rc = 0;
	if (rc == 0)
		digest_add_text(d, here + n, strlen(here + n));
	free(here);
	free(top);
	return rc;
}

int
key_with_flags(const struct key *k, const char *tier, const char *flags,
	       const char *version, char ret_hex[DIGEST_HEX_SIZE], struct error *err)
{
	const char *const texts[] = { "geonosis key 1", version, tier, flags,
				      k->tree.hex };
	struct digest d;
	size_t i;

	digest_init(&d);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		digest_add_text(&d, texts[i], strlen(texts[i]));
	for (i = 0; i < KEY_NPARTS; i++)
		digest_add_text(&d, k->parts[i], strlen(k->parts[i]));
	if (key_add_directory(&d, k->tree.root, err) < 0)
		return -1;
	digest_end_hex(&d, ret_hex);
	return 0;
}

static int
key_fill(struct key *k, const struct config *c, const char *tier, const char *flags,
	 const char *version, struct error *err)
{
	struct tree_key_options options = {
		.want_changes = true,
		.want_unlisted = true,
	};

	if (tree_key_compute(".", &options, &k->tree, err) < 0)
		return -1;
	if (k->tree.state != TREE_FOUND) {
		k->why = xstrdup(k->tree.why != NULL ? k->tree.why
						     : "not in a git repository");
		return 0;
	}
	hex_encode(k->tree.install, sizeof(k->tree.install), k->parts[KEY_PART_INSTALL]);
	hex_encode(k->tree.absent, sizeof(k->tree.absent), k->parts[KEY_PART_SUBMODULES]);
	key_add_environment(c, k->parts[KEY_PART_ENVIRONMENT]);
	key_add_config(c, k->parts[KEY_PART_CONFIG]);
	if (key_add_files(c, k->parts[KEY_PART_FILES], err) < 0)
		return -1;
	if (key_with_flags(k, tier, flags, version, k->hex, err) < 0)
		return -1;
	k->is_there = true;
	return 0;
}

int
key_compute(const struct config *c, const char *tier, const char *flags,
	    const char *version, struct key *ret_key, struct error *err)
{
	struct key k = KEY_INIT;
	int rc = key_fill(&k, c, tier, flags, version, err);

	if (rc < 0) {
		key_release(&k);
		k.is_unreadable = true;
		k.why = xstrdup(err->text);
	}
	*ret_key = k;
	return rc;
}

void
key_to_parts(const struct key *k, struct mark_parts *ret_parts)
{
	size_t n = KEY_NPARTS + k->tree.nhidden, i;
	struct mark_parts parts = { .items = xcalloc(n, sizeof(*parts.items)) };

	for (; parts.n < KEY_NPARTS; parts.n++) {
		parts.items[parts.n].name = xstrdup(part_names[parts.n]);
		parts.items[parts.n].value = xstrdup(k->parts[parts.n]);
	}
	for (i = 0; i < k->tree.nhidden; i++)
		parts.items[parts.n++] = (struct mark_part){
			.name = xasprintf(MARK_PART_FILE "%s", k->tree.hidden[i].path),
			.value = xstrdup(k->tree.hidden[i].text),
		};
	*ret_parts = parts;
}

void
key_release(struct key *k)
{
	if (k == NULL)
		return;
	free(k->why);
	tree_key_release(&k->tree);
	*k = (struct key)KEY_INIT;
}
