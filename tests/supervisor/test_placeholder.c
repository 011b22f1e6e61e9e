/* SPDX-License-Identifier: MIT */
#include "supervisor/project/placeholder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "ipc/mem.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define W "{workspace}"

/* What workspaces are called when someone means harm, or nothing by it. */
static const char *const odd[] = { "sp ace",
				   "quo'te",
				   "dou\"ble",
				   "dol$HOME",
				   "sub$(touch pwned)",
				   "tick`touch pwned`",
				   "semi;touch pwned",
				   "amp&x",
				   "star[a-z]*",
				   "back\\slash",
				   "end\\",
				   "hash #x",
				   "#x",
				   "~root",
				   "uni-\xc3\xa9",
				   "br{a,b}",
				   "bang!x",
				   "new\nline",
				   "tab\tx",
				   "-rf",
				   "--flag=x y",
				   "\xff\xfe",
				   "{workspace}",
				   "a > b",
				   "(x)",
				   "''",
				   "'\"'\"'",
				   "$(",
				   "`",
				   "\\'",
				   "$'x'",
				   "?" };
static const char *const plain[] = { "packages/a",   "@scope/x-y", "a.b_c",  "1",
				     "A=b",	     "x,y",	   "x:y+z%", "if",
				     "packages/EOT", "case",	   "in" };

static int
fill(const char *command, const char *value, char **ret_filled, struct error *err)
{
	const struct placeholder p = { .name = "workspace",
				       .values = &value,
				       .nvalues = 1 };

	return placeholder_fill(command, &p, 1, ret_filled, err);
}

/* What /bin/sh, or bash, prints for a command, to be freed. */
static char *
shell_says(const char *shell, const char *command)
{
	char *script = xasprintf("x=X y=\nset -- one\n%s", command);
	char *text = xcalloc(1, 65536);
	char name[] = "sh", option[] = "-c";
	char *const argv[] = { name, option, script, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	/* What nonsense has to say is nobody's concern, and it must not wait for input.
	 */
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	/* Many: a fork of a whole test would be dear. */
	if (posix_spawn(&pid, shell, &actions, NULL, argv, environ) != 0)
		abort();
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	while ((got = read(ends[0], text + n, 65535 - n)) > 0)
		n += (size_t)got;
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	free(script);
	return text;
}

/* A command, and what it must print where @ stands for the value. */
struct spoken {
	const char *command;
	const char *says;
};

static const struct spoken spoken[] = {
	{ "printf '<%s>' " W, "<@>" },
	{ "printf '<%s>' " W ";", "<@>" },
	{ "printf '<%s>' \"" W "\"", "<@>" },
	{ "printf '<%s>' '" W "'", "<@>" },
	{ "printf '<%s>' --f=./" W "/x\"=" W "\"y'" W "'", "<--f=./@/x=@y@>" },
	{ "printf '<%s>' \"a'" W "'b\"", "<a'@'b>" },
	{ "printf '<%s>' 'a\"" W "\"b'", "<a\"@\"b>" },
	{ "printf '<%s>' \"$(printf %s " W ")\"", "<@>" },
	{ "printf '<%s>' \"$(printf '%s' \"" W "\")\"", "<@>" },
	{ "printf '<%s>' \"$(printf %s '" W "')\"", "<@>" },
	{ "(printf '<%s>' " W ")", "<@>" },
	{ "{ printf '<%s>' " W "; }", "<@>" },
	{ "for w in " W "; do printf '<%s>' \"$w\"; done", "<@>" },
	{ "w=" W "; printf '<%s>' \"$w\"", "<@>" },
	{ "w=" W " && printf '<%s>' \"$w\" # it's a \"comment\"", "<@>" },
	{ "true # it's nothing\nprintf '<%s>' " W, "<@>" },
	{ "case " W " in *) printf '<%s>' " W ";; esac", "<@>" },
	{ "printf '<%s>' \"\\\"" W "\"", "<\"@>" },
	{ "printf '<%s>' a\\ " W, "<a @>" },
	{ "printf '<%s>' a\\'" W "b", "<a'@b>" },
	{ "cat <<EOT\nit's \"x\nEOT\nprintf '<%s>' " W, "it's \"x\n<@>" },
	{ "cat <<'EOT' && printf '<%s>' " W "\nit's `x\nEOT\n", "it's `x\n<@>" },
	{ "cat <<-\"E T\"; printf '<%s>' \"" W "\"\n\tit's\n\tE T\n:", "it's\n<@>" },
	{ "cat <<A <<B; printf '<%s>' " W "\n'\nA\nb\nB\n", "b\n<@>" },
	{ "echo $((1 << 2)); printf '<%s>' " W, "4\n<@>" },
	{ "echo ${y:-'}'}; printf '<%s>' " W, "}\n<@>" },
	{ "echo ${#x}; printf '<%s>' " W, "1\n<@>" },
	{ "echo $#; printf '<%s>' " W, "1\n<@>" },
	{ "printf '<%s>' $x" W, "<X@>" },
	{ "printf '<%s>' \"$x" W "\"", "<X@>" },
	{ "printf '<%s>' \"${x}" W "\"", "<X@>" },
	{ "printf '<%s>' \\$" W, "<$@>" },
	{ "printf '<%s>' a#" W, "<a#@>" },
	{ "echo `echo \\`echo a\\``; printf '<%s>' " W, "a\n<@>" },
	{ "printf '<%s>' " W ">&1", "<@>" },
	{ "printf '<%s>' \\\n" W, "<@>" },
	{ "f() { printf '<%s>' \"$1\"; }; f " W, "<@>" },
};

static char *
expect_text(const char *says, const char *value)
{
	struct buf b = BUF_INIT;

	for (; *says != '\0'; says++) {
		if (*says == '@')
			buf_puts(&b, value);
		else
			buf_putc(&b, *says);
	}
	return buf_steal(&b);
}

static void
check_spoken(const char *shell, const struct spoken *c, const char *value)
{
	struct error err = ERROR_INIT;
	char *filled, *said, *wanted;

	if (fill(c->command, value, &filled, &err) < 0) {
		cr_expect(false, "%s with [%s]: refused: %s", c->command, value,
			  err.text);
		return;
	}
	said = shell_says(shell, filled);
	wanted = expect_text(c->says, value);
	cr_expect_str_eq(said, wanted, "%s: [%s] with [%s]: [%s]", shell, c->command,
			 value, filled);
	free(said);
	free(wanted);
	free(filled);
}

Test(placeholder, the_shell_reads_the_value, .timeout = 300)
{
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };

	for (size_t s = 0; s < COUNT(shells); s++)
		for (size_t i = 0; i < COUNT(spoken); i++) {
			for (size_t k = 0; k < COUNT(odd); k++)
				check_spoken(shells[s], &spoken[i], odd[k]);
			for (size_t k = 0; k < COUNT(plain); k++)
				check_spoken(shells[s], &spoken[i], plain[k]);
		}
	cr_expect_neq(access("pwned", F_OK), 0, "a value was run");
}

/* Commands thrown together, most of them nonsense: no value is ever run. */
Test(placeholder, nothing_is_run, .timeout = 300)
{
	static const char *const pieces[] = {
		W,	  W,
		W,	  W,
		W,	  "'",
		"\"",	  "'",
		"\"",	  "$(",
		")",	  "(",
		")",	  "`",
		"\\",	  "\n",
		" ",	  "; ",
		" echo ", "$x",
		"${x",	  "}",
		"${x:-",  "$((",
		"))",	  "<<E\n",
		"\nE\n",  "<<'E'\n",
		"<<-E\n", "#",
		" #",	  "case a in ",
		"a) ",	  ";;",
		" esac ", "$'",
		"&& ",	  "x",
		"<<<",	  "((",
		"{ ",	  "; }",
		"$",	  "cat ",
		"\t",	  " for i in ",
		" do ",	  " done ",
		"\\\n",	  "*",
		"$#",	  "${#x}",
		"$[",	  "]",
		"|| ",	  "c",
	};
	static const char *const values[] = {
		"a;touch P;b",
		"$(touch P)",
		"`touch P`",
		"';touch P;'",
		"\";touch P;\"",
		"\ntouch P\n",
		")touch P;(",
		"'\"$(touch P)\"'",
		"a\nE\ntouch P\n",
		"\\';touch P;'",
		"))$(touch P)",
		"#\ntouch P",
		"}touch P;",
		"x ';\"$(touch P)`touch P`",
		"case",
		"E",
	};
	unsigned seed = 20;

	(void)scratch_enter();
	for (int round = 0; round < 1500; round++) {
		struct buf command = BUF_INIT;
		struct error err = ERROR_INIT;
		const char *value = values[(size_t)rand_r(&seed) % COUNT(values)];
		char *filled;

		for (int n = 1 + rand_r(&seed) % 14; n > 0; n--)
			buf_puts(&command, pieces[(size_t)rand_r(&seed) % COUNT(pieces)]);
		if (fill(buf_text(&command), value, &filled, &err) == 0) {
			free(shell_says("/bin/sh", filled));
			free(shell_says("/bin/bash", filled));
			cr_expect_neq(access("P", F_OK), 0, "[%s] with [%s]: [%s]",
				      buf_text(&command), value, filled);
			(void)unlink("P");
			free(filled);
		}
		buf_release(&command);
	}
	scratch_leave();
}

struct refused {
	const char *command;
	const char *value;
	const char *says;
};

static const struct refused refusals[] = {
	{ "cat <<EOT\n" W "\nEOT", "sp ace", "inside a here-document" },
	{ "cat <<'EOT'\n" W "\nEOT", "sp ace", "inside a here-document" },
	{ "cat <<-EOT\n\tx " W "\n\tEOT\n", "sp ace", "inside a here-document" },
	{ "cat <<" W "\nx\n" W, "sp ace", "in the word that ends" },
	{ "cat <<EOT\n" W "\nEOT", "EOT", "changes how the shell reads" },
	{ "cat <<EOT\n$x" W "\nEOT", "a", "inside a here-document" },
	{ "echo `echo " W "`", "sp ace", "inside `…`" },
	{ "echo \"`echo '" W "'`\"", "sp ace", "inside `…`" },
	{ "echo `echo $x" W "`", "a", "inside `…`" },
	{ "echo $'" W "'", "sp ace", "inside $'…'" },
	{ "echo ${x:-" W "}", "sp ace", "inside ${…}" },
	{ "echo \"${x:-" W "}\"", "sp ace", "inside ${…}" },
	{ "echo $((" W "))", "sp ace", "inside $((…))" },
	{ "echo \\" W, "sp ace", "after a backslash" },
	{ "echo \"\\" W "\"", "sp ace", "after a backslash" },
	{ "echo \"${x:-'}\" " W, "sp ace", "different ways" },
	{ "echo $(case a in a) echo;; esac) " W, "sp ace", "different ways" },
	{ "(( 1 )) && echo " W, "sp ace", "different ways" },
	{ "echo $[1] " W, "sp ace", "different ways" },
	{ "echo # " W, "new\nline", "inside a comment" },
	{ "echo ${workspace}", "a", "variable of the shell" },
	{ "echo \"${workspace}\"", "a", "variable of the shell" },
	{ "echo '${workspace}'", "a", "variable of the shell" },
	{ "echo $(" W " x in x) echo;; esac)", "case", "changes how the shell reads" },
};

Test(placeholder, refusals)
{
	for (size_t i = 0; i < COUNT(refusals); i++) {
		const struct refused *r = &refusals[i];
		struct error err = ERROR_INIT;
		char *filled = NULL;

		cr_expect_lt(fill(r->command, r->value, &filled, &err), 0, "[%s]: [%s]",
			     r->command, filled);
		cr_expect(strstr(err.text, r->says) != NULL, "[%s]: %s", r->command,
			  err.text);
		cr_expect_eq(err.kind, ERROR_CONFIG, "[%s]", r->command);
		free(filled);
	}
}

/* Where no quoting is needed, a plain value stands anywhere. */
Test(placeholder, plain_values_stand_as_they_are)
{
	static const char *const commands[] = {
		"cat <<EOT\n" W "\nEOT", "echo `echo " W "`",
		"echo ${x:-" W "}",	 "echo \\" W,
		"echo \"\\" W "\"",	 "x # " W,
		"echo $'" W "'"
	};

	for (size_t i = 0; i < COUNT(commands); i++) {
		struct error err = ERROR_INIT;
		char *filled = NULL, *wanted = expect_text(commands[i], "");

		cr_assert_eq(fill(commands[i], "packages/a", &filled, &err), 0,
			     "[%s]: %s", commands[i], err.text);
		cr_expect_eq(strlen(filled), strlen(commands[i]) - 1, "[%s]: [%s]",
			     commands[i], filled);
		cr_expect(strstr(filled, "packages/a") != NULL);
		free(filled);
		free(wanted);
	}
}

/* Neighbours that would take a part of the value. */
Test(placeholder, neighbours)
{
	static const struct {
		const char *command;
		const char *value;
		const char *filled;
	} rows[] = {
		{ "echo " W ">x", "2", "echo '2'>x" },
		{ "echo " W "<x", "12", "echo '12'<x" },
		{ "echo " W " >x", "2", "echo 2 >x" },
		{ "echo $x" W, "a", "echo $x'a'" },
		{ "echo \"$x" W "\"", "a", "echo \"$x\"\"a\"" },
		{ "echo $x/" W, "a", "echo $x/a" },
		{ "echo {workspac} {workspace } {}" W, "a",
		  "echo {workspac} {workspace } {}a" },
		{ "echo " W W, "a", "echo aa" },
		{ "echo " W, "", "echo ''" },
		{ "echo " W, "-n", "echo '-n'" },
		{ "nothing here", "sp ace", "nothing here" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct error err = ERROR_INIT;
		char *filled = NULL;

		cr_assert_eq(fill(rows[i].command, rows[i].value, &filled, &err), 0, "%s",
			     err.text);
		cr_expect_str_eq(filled, rows[i].filled);
		free(filled);
	}
}

Test(placeholder, lists)
{
	static const char *const good[] = { "a", "b c" };
	static const char *const easy[] = { "a", "b" };
	static const char *const report[] = { "/tmp/{workspaces}" };
	static const struct {
		const char *command;
		bool is_easy;
		const char *filled; /* NULL: refused */
	} rows[] = {
		{ "run {workspaces}", false, "run a 'b c'" },
		{ "run {workspaces};x", false, "run a 'b c';x" },
		{ "(run {workspaces})", false, "(run a 'b c')" },
		{ "run x{workspaces}", true, NULL },
		{ "run --only={workspaces}", true, NULL },
		{ "run {workspaces}x", true, NULL },
		{ "run \\ {workspaces}", true, NULL },
		{ "run \"{workspaces}\"", true, "run \"a b\"" },
		{ "run '{workspaces}'", true, "run 'a b'" },
		{ "run \"{workspaces}\"", false, NULL },
		{ "run --out={report} {workspaces}", true,
		  "run --out='/tmp/{workspaces}' a b" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct placeholder table[] = {
			{ "workspaces", rows[i].is_easy ? easy : good, 2, true },
			{ "report", report, 1, false },
		};
		struct error err = ERROR_INIT;
		char *filled = NULL;
		int rc = placeholder_fill(rows[i].command, table, 2, &filled, &err);

		if (rows[i].filled == NULL)
			cr_expect_lt(rc, 0, "[%s]: [%s]", rows[i].command, filled);
		else if (rc == 0)
			cr_expect_str_eq(filled, rows[i].filled);
		else
			cr_expect(false, "[%s]: %s", rows[i].command, err.text);
		free(filled);
	}
}

Test(placeholder, nobody_in_a_list)
{
	const struct placeholder p = { "workspaces", NULL, 0, true };
	struct error err = ERROR_INIT;
	char *filled;

	cr_assert_eq(placeholder_fill("run {workspaces} x", &p, 1, &filled, &err), 0);
	cr_expect_str_eq(filled, "run  x");
	free(filled);
}

Test(placeholder, is_in)
{
	cr_expect(placeholder_is_in("a {workspace} b", "workspace"));
	cr_expect(!placeholder_is_in("a {workspaces} b", "workspace"));
	cr_expect(!placeholder_is_in("a workspace b", "workspace"));
	cr_expect(!placeholder_is_in("", "workspace"));
}

/* Whatever is nested how deep: an answer, and no crash. */
Test(placeholder, depth)
{
	static const char *const openers[] = { "$(",  "(", "\"$(", "${x:-",
					       "$((", "`", "<<A " };

	for (size_t i = 0; i < COUNT(openers); i++) {
		struct buf command = BUF_INIT;
		struct error err = ERROR_INIT;
		char *filled = NULL;

		for (int k = 0; k < 5001; k++)
			buf_puts(&command, openers[i]);
		buf_puts(&command, W);
		cr_expect_lt(fill(buf_text(&command), "sp ace", &filled, &err), 0, "%s",
			     openers[i]);
		buf_release(&command);
	}
}
