/* SPDX-License-Identifier: MIT */
/* The program: which command, and its exit code. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ipc/buf.h"
#include "supervisor/report/lines.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/opt.h"

#ifndef GEONOSIS_VERSION
#error "the build says which version this is"
#endif

static const struct {
	const char *name;
	int (*run)(int argc, char *argv[]);
} commands[] = {
	{ "verify", cmd_verify },
	{ "gate", cmd_gate },
	{ "schema", cmd_schema },
	{ "completion", cmd_completion },
};

int
cmd_refuse(const struct error *err)
{
	struct buf line = BUF_INIT;

	lines_error(&line, err->text);
	(void)fputs(buf_text(&line), stderr);
	buf_release(&line);
	return EXIT_REFUSED;
}

int
cmd_flush(int code)
{
	struct error err = ERROR_INIT;

	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return code;
	(void)error_system(&err, "standard output");
	return cmd_refuse(&err);
}

int
cmd_print(const struct buf *text)
{
	(void)fwrite(buf_text(text), 1, text->len, stdout);
	return cmd_flush(EXIT_GREEN);
}

int
cmd_usage(const struct command *c)
{
	struct buf text = BUF_INIT;
	int code;

	opt_usage(c, &text);
	code = cmd_print(&text);
	buf_release(&text);
	return code;
}

/* A descriptor below 3 that is closed would be given to something of ours. */
static void
main_fill_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

/*
 * A file that may not grow further (ulimit -f) is an error of write and not our end;
 * and a caller that ignores SIGCHLD would have us wait in vain for whom we start.
 */
static void
main_settle_signals(void)
{
	sigset_t blocked;

	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGXFSZ);
	(void)sigprocmask(SIG_BLOCK, &blocked, NULL);
}

static int
main_print(void (*fill)(struct buf *))
{
	struct buf text = BUF_INIT;
	int code;

	fill(&text);
	code = cmd_print(&text);
	buf_release(&text);
	return code;
}

/* `geonosis help`, or that of a command. */
static int
main_help(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c;

	if (argc == 0)
		return main_print(help_text);
	c = command_of_words(argc, argv, &err);
	return c != NULL ? cmd_usage(c) : cmd_refuse(&err);
}

static int
main_version(int argc, char *argv[])
{
	struct error err = ERROR_INIT;

	if (argc > 0) {
		(void)error_set(
		    &err, ERROR_USAGE,
		    "--version: \"%.100s\" is one word too many; it takes none", argv[0]);
		return cmd_refuse(&err);
	}
	(void)printf("geonosis %s\n", GEONOSIS_VERSION);
	return cmd_flush(EXIT_GREEN);
}

static int
main_dispatch(const char *name, int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c;
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run(argc, argv);
	c = command_find(name, &err);
	if (c == NULL)
		return cmd_refuse(&err);
	return cmd_planned(c, argc, argv);
}

/* `geonosis-gate` is the same program's own name as `geonosis gate daemon`. */
static bool
main_is_daemon(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash != NULL ? slash + 1 : program, "geonosis-gate") == 0;
}

int
main(int argc, char *argv[])
{
	static char daemon[] = "daemon";
	const char *name = argc > 1 ? argv[1] : "";
	struct error err = ERROR_INIT;

	main_fill_standard();
	main_settle_signals();
	if (argc > 0 && main_is_daemon(argv[0]) && strcmp(name, "--version") != 0) {
		argv[0] = daemon;
		return cmd_gate(argc, argv);
	}
	if (argc < 2) {
		(void)error_set(&err, ERROR_USAGE,
				"no command: say what to do, as in `geonosis verify "
				"<tier>`; `geonosis help` lists the commands");
		return cmd_refuse(&err);
	}
	if (strcmp(name, "--version") == 0)
		return main_version(argc - 2, argv + 2);
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
	    strcmp(name, "-h") == 0)
		return main_help(argc - 2, argv + 2);
	return main_dispatch(name, argc - 2, argv + 2);
}
