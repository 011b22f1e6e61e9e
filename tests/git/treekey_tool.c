/* SPDX-License-Identifier: MIT */
/*
 * The key of a directory's tree, for tests: one line `key <hex>`, then, with -c, one
 * NUL-ended `<kind letter> <path>` for each change.  -g asks git for the index, -t
 * sets the threads, -v says what was asked and how long it took (stderr).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "git/tree_key.h"

static double
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
key_print(const struct tree_key *k)
{
	static const char letters[] = { 'A', 'M', 'D', 'T', 'U', '?' };
	size_t i;

	if (k->state != TREE_FOUND) {
		printf("%s %s\n", k->state == TREE_DUBIOUS ? "dubious" : "none", k->why);
		return;
	}
	printf("key %s\n", k->hex);
	for (i = 0; i < k->nchanges; i++)
		printf("%c %s%c", letters[k->changes[i].kind], k->changes[i].path, 0);
}

int
main(int argc, char **argv)
{
	struct tree_key_options options = { .want_changes = false };
	struct tree_key k = TREE_KEY_INIT;
	struct error err = ERROR_INIT;
	int verbose = 0, repeat = 1, c;

	while ((c = getopt(argc, argv, "cgt:vn:")) != -1) {
		switch (c) {
		case 'c':
			options.want_changes = true;
			break;
		case 'g':
			options.ask_git = true;
			break;
		case 't':
			options.threads = (unsigned)atoi(optarg);
			break;
		case 'n':
			repeat = atoi(optarg);
			break;
		case 'v':
			verbose = 1;
			break;
		default:
			return 2;
		}
	}
	while (repeat-- > 0) {
		double t = now_ms();

		tree_key_release(&k);
		if (tree_key_compute(optind < argc ? argv[optind] : ".", &options, &k,
				     &err) < 0) {
			fprintf(stderr, "treekey: %s\n", err.text);
			return 1;
		}
		if (verbose)
			fprintf(stderr, "%.2f ms, %zu entries, %zu stale, asked: %s\n",
				now_ms() - t, k.nentries, k.nstale,
				k.asked == NULL ? "-" : k.asked);
	}
	key_print(&k);
	tree_key_release(&k);
	return 0;
}
