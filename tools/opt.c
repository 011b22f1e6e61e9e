/* SPDX-License-Identifier: MIT */
/*
 * Not getopt_long: that takes any unambiguous abbreviation, so that a new option
 * would break a script that abbreviates an old one, and it cannot say what was meant.
 */
#include "tools/opt.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mem.h"
#include "supervisor/base/text.h"

struct parser {
	const struct command *command;
	int argc;
	char *const *argv;
	int at; /* the argument that is looked at */
	struct opt_args args;
	size_t operand_room;
	struct error *err;
};

static int
refuse_unknown(struct parser *p, const char *name, size_t n, bool is_long)
{
	const char *names[OPT_MAX + 1];
	char *word = xstrndup(name, n);
	char *clean = text_clean(word, strlen(word));
	const char *dashes = is_long ? "--" : "-";
	const char *near;
	size_t i;

	for (i = 0; i < p->command->nopts; i++)
		names[i] = p->command->opts[i].name;
	names[i] = "help";
	near = text_nearest(word, names, i + 1);
	if (p->command->operand == OPERAND_COMMAND && p->args.noperands > 0)
		(void)error_set(p->err, ERROR_USAGE,
				"%s: unknown option \"%s%s\": an option of the command's "
				"stands behind --, as in `geonosis %s -- %.100s %s%s`",
				p->command->name, dashes, clean, p->command->name,
				p->args.operands[0], dashes, clean);
	else if (near != NULL)
		(void)error_set(p->err, ERROR_USAGE,
				"%s: unknown option \"%s%s\": did you mean \"--%s\"?",
				p->command->name, dashes, clean, near);
	else
		(void)error_set(p->err, ERROR_USAGE,
				"%s: unknown option \"%s%s\": `geonosis %s --help` lists "
				"those there are",
				p->command->name, dashes, clean, p->command->name);
	free(clean);
	free(word);
	return -1;
}

static int
refuse_value(struct parser *p, const char *option, const char *why)
{
	return error_set(p->err, ERROR_USAGE, "%s: --%s: %s", p->command->name, option,
			 why);
}

static void
opt_range(enum opt_kind kind, int64_t *ret_least, int64_t *ret_most)
{
	*ret_least = kind == OPT_COUNT ? 1 : 0;
	*ret_most = kind == OPT_SECONDS ? OPT_SECONDS_MAX : OPT_COUNT_MAX;
}

/* Digits only, no sign; a number past the range is as wrong as a word. */
int
opt_whole_number(const char *text, int64_t least, int64_t most, int64_t *ret_number)
{
	int64_t n = 0;
	const char *s;

	for (s = text; *s >= '0' && *s <= '9' && n <= most; s++)
		n = n * 10 + (*s - '0');
	if (s == text || *s != '\0' || n < least || n > most)
		return -1;
	*ret_number = n;
	return 0;
}

static int
value_set_number(struct parser *p, const struct opt *o, struct opt_value *v)
{
	int64_t least, most;
	char *clean;

	opt_range(o->kind, &least, &most);
	if (opt_whole_number(v->text, least, most, &v->number) == 0)
		return 0;
	clean = text_clean(v->text, strlen(v->text));
	(void)error_set(p->err, ERROR_USAGE,
			"%s: --%s: \"%s\" is not a whole number%s from %" PRId64
			" to %" PRId64,
			p->command->name, o->name, clean,
			o->kind == OPT_SECONDS ? " of seconds" : "", least, most);
	free(clean);
	return -1;
}

/* `text` is NULL for a flag. */
static int
value_set(struct parser *p, const struct opt *o, const char *text)
{
	struct opt_value *v = &p->args.values[o - p->command->opts];

	if (text == NULL) {
		*v = (struct opt_value){ .set = true };
		return 0;
	}
	if (o->kind == OPT_ONE && v->set && strcmp(v->text, text) != 0)
		return refuse_value(p, o->name, "given twice, and only one can count");
	*v = (struct opt_value){ .set = true, .text = text };
	if (o->kind != OPT_STRING && o->kind != OPT_ONE)
		return value_set_number(p, o, v);
	if (text_is_blank(text))
		return refuse_value(p, o->name, "needs a value that is not empty");
	return 0;
}

/* The argument that follows, as the value of an option; NULL with the refusal. */
static const char *
value_next(struct parser *p, const struct opt *o)
{
	const char *text = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;

	if (text == NULL) {
		(void)error_set(p->err, ERROR_USAGE, "%s: --%s: needs a value, %s",
				p->command->name, o->name, o->arg);
		return NULL;
	}
	/* More likely a forgotten value than a path of that name. */
	if ((o->kind == OPT_STRING || o->kind == OPT_ONE) &&
	    strncmp(text, "--", 2) == 0) {
		(void)error_set(p->err, ERROR_USAGE,
				"%s: --%s: needs a value, %s (one that begins with -- is "
				"given as --%s=--...)",
				p->command->name, o->name, o->arg, o->name);
		return NULL;
	}
	p->at++;
	return text;
}

static const struct opt *
opt_find(const struct command *c, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < c->nopts; i++)
		if (strlen(c->opts[i].name) == n && memcmp(c->opts[i].name, name, n) == 0)
			return &c->opts[i];
	return NULL;
}

/* `--name`, `--name value` or `--name=value`; the dashes are off already. */
static int
long_parse(struct parser *p, const char *name)
{
	size_t n = strcspn(name, "=");
	const struct opt *o = opt_find(p->command, name, n);
	const char *text = NULL;

	if (n == strlen("help") && memcmp(name, "help", n) == 0) {
		if (name[n] == '=')
			return refuse_value(p, "help", "takes no value");
		p->args.help = true;
		return 0;
	}
	if (o == NULL)
		return refuse_unknown(p, name, n, true);
	if (name[n] == '=' && o->kind == OPT_FLAG)
		return refuse_value(p, o->name, "takes no value");
	if (name[n] == '=')
		text = name + n + 1;
	else if (o->kind != OPT_FLAG && (text = value_next(p, o)) == NULL)
		return -1;
	return value_set(p, o, text);
}

static const struct opt *
opt_find_letter(const struct command *c, char letter)
{
	size_t i;

	for (i = 0; i < c->nopts; i++)
		if (c->opts[i].letter == letter)
			return &c->opts[i];
	return NULL;
}

/* `-k`, `-kn`, `-j 3` or `-j3`; the dash is off already. */
static int
short_parse(struct parser *p, const char *letters)
{
	const char *s;

	for (s = letters; *s != '\0'; s++) {
		const struct opt *o = opt_find_letter(p->command, *s);
		const char *text = s[1] != '\0' ? s + 1 : NULL;

		if (o == NULL && *s == 'h') {
			p->args.help = true;
			return 0;
		}
		if (o == NULL)
			return refuse_unknown(p, letters, strlen(letters), false);
		if (o->kind == OPT_FLAG) {
			if (value_set(p, o, NULL) < 0)
				return -1;
			continue;
		}
		if (text == NULL && (text = value_next(p, o)) == NULL)
			return -1;
		return value_set(p, o, text);
	}
	return 0;
}

static void
operand_add(struct parser *p, const char *text)
{
	p->args.operands = xgrow(p->args.operands, p->args.noperands + 1,
				 &p->operand_room, sizeof(*p->args.operands));
	p->args.operands[p->args.noperands++] = text;
}

static int
args_parse(struct parser *p)
{
	bool ended = false; /* by `--` */
	int rc = 0;

	for (p->at = 0; rc == 0 && !p->args.help && p->at < p->argc; p->at++) {
		const char *arg = p->argv[p->at];

		if (ended || arg[0] != '-' || arg[1] == '\0')
			operand_add(p, arg);
		else if (strcmp(arg, "--") == 0)
			ended = true;
		else if (arg[1] == '-')
			rc = long_parse(p, arg + 2);
		else
			rc = short_parse(p, arg + 1);
	}
	return rc;
}

static int
planned_refuse(struct parser *p)
{
	size_t i;

	if (p->args.help)
		return 0;
	for (i = 0; i < p->command->nopts; i++)
		if (p->args.values[i].set && p->command->opts[i].planned)
			return refuse_value(p, p->command->opts[i].name,
					    "not available in this version");
	return 0;
}

static int
operands_refuse(struct parser *p)
{
	char *clean;

	if (p->args.help || p->args.noperands == 0 || *p->command->operands != '\0')
		return 0;
	clean = text_clean(p->args.operands[0], strlen(p->args.operands[0]));
	(void)error_set(p->err, ERROR_USAGE,
			"%s: \"%.100s\" is one word too many; it takes none",
			p->command->name, clean);
	free(clean);
	return -1;
}

int
opt_parse(const struct command *c, int argc, char *const argv[],
	  struct opt_args *ret_args, struct error *err)
{
	struct parser p = { .command = c, .argc = argc, .argv = argv, .err = err };

	assert(c->nopts <= OPT_MAX);
	if (args_parse(&p) < 0 || operands_refuse(&p) < 0 || planned_refuse(&p) < 0) {
		opt_args_release(&p.args);
		return -1;
	}
	*ret_args = p.args;
	return 0;
}

int
opt_tier(const char *command, const struct opt_args *a, const char **ret_tier,
	 struct error *err)
{
	if (a->noperands > 1)
		return error_set(err, ERROR_USAGE,
				 "%s: \"%s\" is one word too many; name one tier",
				 command, a->operands[1]);
	*ret_tier = a->noperands == 1 ? a->operands[0] : NULL;
	return 0;
}

void
opt_args_release(struct opt_args *a)
{
	if (a == NULL)
		return;
	free(a->operands);
	*a = (struct opt_args)OPT_ARGS_INIT;
}
