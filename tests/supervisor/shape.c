/* SPDX-License-Identifier: MIT */
#include "tests/supervisor/shape.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/buf.h"
#include "ipc/mem.h"

static void
node_print(const struct plan *p, const struct node *n, struct buf *b)
{
	size_t i;

	if (n->kind == NODE_JOB) {
		buf_puts(b, p->jobs[n->job].id);
		return;
	}
	if (n->kind == NODE_WAIT) {
		if (p->config != NULL)
			buf_printf(b, "<%s", p->config->tiers[n->tier - 1].name);
		else
			buf_printf(b, "<%zu", n->tier);
		return;
	}
	if (n != &p->root)
		buf_putc(b, n->kind == NODE_GROUP ? '[' : '(');
	for (i = 0; i < n->nchildren; i++) {
		if (i > 0)
			buf_putc(b, ' ');
		node_print(p, &n->children[i], b);
	}
	if (n != &p->root)
		buf_putc(b, n->kind == NODE_GROUP ? ']' : ')');
	if (n->tier > 0 && p->config == NULL)
		buf_printf(b, "%zu", n->tier);
}

char *
shape_text(const struct plan *p)
{
	struct buf b = BUF_INIT;

	node_print(p, &p->root, &b);
	return buf_steal(&b);
}

static struct node *
node_new(struct node *parent, enum node_kind kind)
{
	struct node *n;

	parent->children = xreallocarray(parent->children, parent->nchildren + 1,
					 sizeof(*parent->children));
	n = &parent->children[parent->nchildren++];
	*n = (struct node){ .kind = kind };
	return n;
}

static void
job_new(struct plan *p, struct node *parent, const char *name, size_t len)
{
	struct step *s = xcalloc(1, sizeof(*s));
	const char *slots = memchr(name, ':', len);
	char *id = xstrndup(name, slots != NULL ? (size_t)(slots - name) : len);

	s->id = xstrdup(id);
	s->path = xstrdup("verify.t[0]");
	s->command = xstrdup(id);
	if (slots != NULL && slots[1] == '*') {
		s->slots_kind = STEP_SLOTS_ALL;
	} else if (slots != NULL) {
		s->slots_kind = STEP_SLOTS_NUMBER;
		s->slots = (unsigned)strtoul(slots + 1, NULL, 10);
	}
	p->jobs = xreallocarray(p->jobs, p->njobs + 1, sizeof(*p->jobs));
	p->jobs[p->njobs] = (struct job){ .step = s, .id = id, .command = xstrdup(id) };
	node_new(parent, NODE_JOB)->job = p->njobs++;
}

/* Reads up to the bracket that ends the node; the text behind it. */
static const char *
node_parse(struct plan *p, struct node *into, const char *s)
{
	while (*s != '\0' && *s != ')' && *s != ']') {
		if (*s == ' ') {
			s++;
		} else if (*s == '(' || *s == '[') {
			struct node *n =
			    node_new(into, *s == '(' ? NODE_SEQUENCE : NODE_GROUP);

			s = node_parse(p, n, s + 1) + 1;
			if (isdigit((unsigned char)*s))
				n->tier = (size_t)(*s++ - '0');
		} else if (*s == '<') {
			node_new(into, NODE_WAIT)->tier = (size_t)(s[1] - '0');
			s += 2;
		} else {
			size_t len = strcspn(s, " ()[]");

			job_new(p, into, s, len);
			s += len;
		}
	}
	return s;
}

void
shape_build(const char *text, struct plan *ret_plan)
{
	struct plan p = { .root = { .kind = NODE_SEQUENCE } };

	(void)node_parse(&p, &p.root, text);
	*ret_plan = p;
}

/* `tiers` counts the sequences that are whole: those may be waited for. */
static void
node_random(struct plan *p, struct node *into, unsigned *seed, size_t jobs,
	    unsigned depth, size_t *tiers)
{
	unsigned n = (unsigned)rand_r(seed) % 5;

	for (unsigned i = 0; i < n; i++) {
		unsigned what = (unsigned)rand_r(seed) % 6;
		char name[16];

		if (what == 5 && *tiers > 0) {
			node_new(into, NODE_WAIT)->tier =
			    1 + (size_t)rand_r(seed) % *tiers;
		} else if (what < 3 || depth == 0) {
			if (p->njobs >= jobs)
				return;
			(void)snprintf(name, sizeof(name), "j%u", (unsigned)p->njobs);
			job_new(p, into, name, strlen(name));
		} else {
			struct node *c =
			    node_new(into, what == 3 ? NODE_SEQUENCE : NODE_GROUP);

			node_random(p, c, seed, jobs, depth - 1, tiers);
			if (what == 3)
				c->tier = ++*tiers;
		}
	}
}

void
shape_random(unsigned *seed, size_t jobs, unsigned depth, struct plan *ret_plan)
{
	struct plan p = { .root = { .kind = rand_r(seed) % 2 == 0 ? NODE_SEQUENCE
								  : NODE_GROUP } };
	size_t tiers = 0;

	for (int i = 0; i < 4; i++)
		node_random(&p, &p.root, seed, jobs, depth, &tiers);
	*ret_plan = p;
}

void
shape_release(struct plan *p)
{
	for (size_t i = 0; i < p->njobs; i++) {
		/* It was made here: the plan only borrows it. */
		struct step *s;

		memcpy(&s, &p->jobs[i].step, sizeof(s));
		free(s->id);
		free(s->path);
		free(s->command);
		free(s);
	}
	plan_release(p);
}
