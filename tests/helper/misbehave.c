/* SPDX-License-Identifier: MIT */
/*
 * A program that does what steps ought not to do.
 *
 *	misbehave [modifier [argument]]... action [argument]...
 *
 * A modifier changes this process and the words after it go on from there, so
 * that `misbehave bg group ignore TERM touch FILE sleep TOKEN` is a background
 * child, in a process group of its own, deaf to SIGTERM, that says when it is so
 * far.  An action ends the program.  Nothing here lives longer than two minutes.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LIFETIME_SECONDS = 120,
	BOMB_MAX = 2000,
	HOPS_MAX = 2000, /* each may be a zombie for a while */
	LINE_BYTES = 64
};

struct word {
	const char *name;
	int n_args;
	/* Returns for a modifier; an action exits. */
	void (*act)(char **args);
};

static void
write_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			err(70, "write");
		bytes += done;
		n -= (size_t)done;
	}
}

static void
print(const char *text)
{
	write_all(STDOUT_FILENO, text, strlen(text));
}

static unsigned long long
number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (end == text || *end != '\0')
		errx(64, "%s: not a number", text);
	return n;
}

static int
signal_from_name(const char *name)
{
	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);

		if (known != NULL && strcmp(known, name) == 0)
			return i;
	}
	return (int)number(name);
}

static pid_t
fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(71, "fork");
	/* An alarm is not handed on. */
	if (pid == 0)
		alarm(LIFETIME_SECONDS);
	return pid;
}

/* Ends as the child ended, as a shell would say it. */
static _Noreturn void
exit_as(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			err(71, "waitpid");
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Modifiers. */

static void
become_child(char **args)
{
	pid_t pid = fork_or_die();

	(void)args;
	if (pid > 0)
		exit_as(pid);
}

static void
become_background(char **args)
{
	(void)args;
	if (fork_or_die() > 0)
		_exit(0);
}

static void
become_orphan(char **args)
{
	pid_t pid = fork_or_die();

	(void)args;
	if (pid > 0)
		exit_as(pid);
	if (fork_or_die() > 0)
		_exit(0);
}

static void
become_group(char **args)
{
	(void)args;
	if (setpgid(0, 0) < 0)
		err(71, "setpgid");
}

static void
become_session(char **args)
{
	(void)args;
	if (setsid() < 0)
		err(71, "setsid");
}

static void
each_signal(const char *names, void (*handler)(int))
{
	char *copy = strdup(names);

	for (char *name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
		if (signal(signal_from_name(name), handler) == SIG_ERR)
			err(71, "%s", name);
	}
	free(copy);
}

static void
ignore_signals(char **args)
{
	each_signal(args[0], SIG_IGN);
}

static void
block_signals(char **args)
{
	sigset_t all;

	(void)args;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

static void
close_descriptors(char **args)
{
	for (const char *p = args[0]; *p != '\0'; p++) {
		if (*p >= '0' && *p <= '9')
			close(*p - '0');
	}
}

static void
touch_file(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		err(73, "%s", args[0]);
	close(fd);
}

static void
await_file(char **args)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	for (int i = 0; i < LIFETIME_SECONDS * 200; i++) {
		if (access(args[0], F_OK) == 0)
			return;
		nanosleep(&pause, NULL);
	}
	errx(75, "%s: never came", args[0]);
}

static void
say_text(char **args)
{
	print(args[0]);
	print("\n");
}

/* Actions. */

static void
sleep_with_token(char **args)
{
	struct timespec now, end;

	(void)args;
	/* Whatever becomes of the time of day. */
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LIFETIME_SECONDS;
	do {
		sleep(1);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	_exit(0);
}

static void
exit_with(char **args)
{
	_exit((int)number(args[0]));
}

static void
die_by(char **args)
{
	int sig = signal_from_name(args[0]);
	const struct rlimit none = { 0, 0 };
	sigset_t one;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), sig);
	for (;;)
		pause();
}

static void
stop_self(char **args)
{
	(void)args;
	kill(getpid(), SIGSTOP);
	_exit(0);
}

/* Numbered lines of LINE_BYTES bytes each, cut at exactly `n` bytes. */
static void
print_bytes(char **args)
{
	unsigned long long left = number(args[0]);
	static char block[LINE_BYTES * 1024];

	for (unsigned long long line = 1; left > 0;) {
		size_t n = sizeof(block);

		for (size_t i = 0; i < sizeof(block); i += LINE_BYTES) {
			char text[LINE_BYTES + 1];

			snprintf(text, sizeof(text), "%0*llu\n", LINE_BYTES - 1, line++);
			memcpy(block + i, text, LINE_BYTES);
		}
		if (n > left)
			n = (size_t)left;
		write_all(STDOUT_FILENO, block, n);
		left -= n;
	}
}

/* As fast as the pipe takes it: the same block again and again. */
static void
print_flood(char **args)
{
	unsigned long long left = number(args[0]);
	static char block[1 << 16];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (i + 1) % LINE_BYTES == 0 ? '\n' : 'f';
	while (left > 0) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		write_all(STDOUT_FILENO, block, n);
		left -= n;
	}
}

static void
print_line(char **args)
{
	unsigned long long left = number(args[0]);
	static char block[1 << 16];

	memset(block, 'x', sizeof(block));
	while (left > 0) {
		size_t n = left < sizeof(block) ? (size_t)left : sizeof(block);

		write_all(STDOUT_FILENO, block, n);
		left -= n;
	}
	print("\n");
}

/* `n` bytes of every value, the same for the same seed. */
static void
print_junk(char **args)
{
	unsigned long long n = number(args[0]);
	uint32_t state = (uint32_t)number(args[1]);

	for (; n > 0; n--) {
		char byte;

		state = state * 1664525u + 1013904223u;
		byte = (char)(state >> 24);
		if (putchar_unlocked(byte) == EOF)
			err(70, "write");
	}
	if (fflush(stdout) == EOF)
		err(70, "write");
}

/* Writes for ever, slowly enough to be no load. */
static void
print_drip(char **args)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	(void)args;
	for (int i = 0; i < LIFETIME_SECONDS * 400; i++) {
		print("drip\n");
		nanosleep(&pause, NULL);
	}
}

static void
count_stdin(char **args)
{
	char block[4096];
	size_t total = 0;
	ssize_t n;
	struct stat st;

	(void)args;
	if (fstat(STDIN_FILENO, &st) < 0)
		err(70, "stdin");
	while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0)
		total += (size_t)n;
	printf("stdin %zu bytes, device %lx\n", total, (unsigned long)st.st_rdev);
	fflush(stdout);
}

/* Waits until the parent has gone, writes a line into the pipe that is left, and
 * says in `file` how that went. */
static void
write_late(char **args)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	pid_t parent = (pid_t)number(args[0]);
	FILE *f;
	ssize_t n;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < LIFETIME_SECONDS * 200 && kill(parent, 0) == 0; i++)
		nanosleep(&pause, NULL);
	n = write(STDOUT_FILENO, "written late\n", 13);
	f = fopen(args[1], "we");
	if (f == NULL)
		err(73, "%s", args[1]);
	fprintf(f, "%s\n", n < 0 ? strerrorname_np(errno) : "written");
	fclose(f);
}

/* A process that is never the same: each forks the next and ends, `n` times over. */
static void
hop(char **args)
{
	unsigned long long n = number(args[0]);

	if (n > HOPS_MAX)
		errx(64, "%s: too many", args[0]);
	for (; n > 0; n--) {
		if (fork_or_die() > 0)
			_exit(0);
	}
	_exit(0);
}

/* The first thread ends; to /proc the process is a zombie, and it lives on. */
static void *
outlive_leader(void *args)
{
	touch_file((char **)args);
	sleep_with_token(NULL);
	return NULL;
}

static void
leaderless(char **args)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, outlive_leader, args) != 0)
		errx(71, "pthread_create");
	pthread_exit(NULL);
}

/* `n` children that only wait; the parent ends once all of them stand. */
static void
fork_bomb(char **args)
{
	unsigned long long n = number(args[0]);
	int fds[2];

	if (n > BOMB_MAX)
		errx(64, "%s: too many", args[0]);
	if (pipe(fds) < 0)
		err(71, "pipe");
	for (unsigned long long i = 0; i < n; i++) {
		if (fork_or_die() == 0) {
			write_all(fds[1], "", 1);
			close(fds[0]);
			close(fds[1]);
			sleep_with_token(args);
		}
	}
	for (char byte; n > 0; n--) {
		if (read(fds[0], &byte, 1) != 1)
			err(71, "read");
	}
	_exit(0);
}

static volatile sig_atomic_t caught;

static void
on_signal(int sig)
{
	caught = sig;
}

/* Writes the name of the first of `signals` that comes into `file`; ends with 0. */
static void
catch_signals(char **args)
{
	sigset_t all, old;
	FILE *f;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	each_signal(args[0], on_signal);
	touch_file(args + 2);
	while (caught == 0)
		sigsuspend(&old);
	f = fopen(args[1], "ae");
	if (f == NULL)
		err(73, "%s", args[1]);
	fprintf(f, "%s\n", sigabbrev_np(caught));
	fclose(f);
	_exit(0);
}

static void
print_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (dir == NULL)
		err(70, "/proc/self/fd");
	while ((entry = readdir(dir)) != NULL) {
		char target[4096];
		ssize_t n;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir))
			continue;
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		printf("fd %s %s\n", entry->d_name, target);
	}
	closedir(dir);
}

static void
print_state(char **args)
{
	FILE *f = fopen("/proc/self/status", "re");
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char line[256];

	(void)args;
	printf("tty %s\n", tty < 0 ? "none" : "some");
	if (tty >= 0)
		close(tty);
	printf("pid %d\nppid %d\npgid %d\nsid %d\n", getpid(), getppid(), getpgrp(),
	       getsid(0));
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "Sig", 3) == 0)
			fputs(line, stdout);
	}
	if (f != NULL)
		fclose(f);
	print_descriptors();
	fflush(stdout);
}

static pid_t recorded;

static void
pass_on(int sig)
{
	if (sig == SIGHUP)
		kill(recorded, sig);
}

/*
 * Runs a program as a shell on a terminal would: stays when Ctrl-C is typed,
 * passes a hangup on, and writes down how the program ended.
 */
static void
record_exit(char **args)
{
	char partial[4096];
	int status = 0;
	FILE *f;

	signal(SIGINT, pass_on);
	signal(SIGHUP, pass_on);
	signal(SIGTTOU, SIG_IGN);
	recorded = fork_or_die();
	if (recorded == 0) {
		signal(SIGTTOU, SIG_DFL);
		alarm(0);
		execvp(args[1], args + 1);
		err(127, "%s", args[1]);
	}
	while (waitpid(recorded, &status, 0) < 0) {
		if (errno != EINTR)
			err(71, "waitpid");
	}
	snprintf(partial, sizeof(partial), "%s.partial", args[0]);
	f = fopen(partial, "we");
	if (f == NULL)
		err(73, "%s", partial);
	fprintf(f, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fclose(f);
	if (rename(partial, args[0]) < 0)
		err(73, "%s", args[0]);
	_exit(0);
}

static const struct word modifiers[] = {
	{ "child", 0, become_child },	  { "bg", 0, become_background },
	{ "double", 0, become_orphan },	  { "group", 0, become_group },
	{ "session", 0, become_session }, { "ignore", 1, ignore_signals },
	{ "block", 0, block_signals },	  { "close", 1, close_descriptors },
	{ "touch", 1, touch_file },	  { "await", 1, await_file },
	{ "say", 1, say_text },
};

static const struct word actions[] = {
	{ "sleep", 1, sleep_with_token },
	{ "exit", 1, exit_with },
	{ "die", 1, die_by },
	{ "stop", 0, stop_self },
	{ "bytes", 1, print_bytes },
	{ "flood", 1, print_flood },
	{ "line", 1, print_line },
	{ "junk", 2, print_junk },
	{ "drip", 0, print_drip },
	{ "stdin", 0, count_stdin },
	{ "late", 2, write_late },
	{ "bomb", 2, fork_bomb },
	{ "hop", 2, hop },
	{ "leaderless", 1, leaderless },
	{ "catch", 3, catch_signals },
	{ "state", 0, print_state },
	{ "record", 2, record_exit },
};

static const struct word *
word_find(const struct word *words, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	char **left = argv + 1, **end = argv + argc;

	alarm(LIFETIME_SECONDS);
	while (left < end) {
		const struct word *word =
		    word_find(modifiers, sizeof(modifiers) / sizeof(*modifiers), *left);
		int is_action = word == NULL;

		if (is_action)
			word =
			    word_find(actions, sizeof(actions) / sizeof(*actions), *left);
		if (word == NULL)
			errx(64, "%s: unknown word", *left);
		left++;
		if (end - left < word->n_args)
			errx(64, "%s: %d argument(s) expected", word->name, word->n_args);
		word->act(left);
		if (is_action)
			return 0;
		left += word->n_args;
	}
	return 0;
}
