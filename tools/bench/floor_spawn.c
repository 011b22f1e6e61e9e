/* SPDX-License-Identifier: MIT */
/*
 * The floor of a run: the shells that any gate must start, and nothing else.
 * usage: floor_spawn COUNT AT_ONCE COMMAND
 */
#include <err.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static void
shell_start(char *command)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, command, NULL };
	pid_t pid;
	int rc;

	rc = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	if (rc != 0)
		errx(1, "posix_spawn: error %d", rc);
}

int
main(int argc, char **argv)
{
	long count, at_once, running = 0;
	int status;

	if (argc != 4)
		errx(2, "usage: floor_spawn COUNT AT_ONCE COMMAND");
	count = strtol(argv[1], NULL, 10);
	at_once = strtol(argv[2], NULL, 10);
	while (count > 0 || running > 0) {
		while (count > 0 && running < at_once) {
			shell_start(argv[3]);
			count--;
			running++;
		}
		if (wait(&status) < 0)
			err(1, "wait");
		running--;
	}
	return 0;
}
