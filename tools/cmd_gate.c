/* SPDX-License-Identifier: MIT */
/* `geonosis gate`: any command on the machine's slots; who holds them; how many there
 * are. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/mem.h"
#include "ipc/slot_list.h"
#include "supervisor/report/lines.h"
#include "supervisor/report/status.h"
#include "supervisor/run/machine.h"
#include "tools/cmd.h"
#include "tools/help.h"
#include "tools/live.h"
#include "tools/opt.h"

enum {
	STATUS_WATCH_MS = 500,
	/* Where the command has its copy of the hold: above the numbers that scripts give
	 * to files of their own, which would close it. */
	HOLD_FD_MIN = 240,
};

/* --- run --- */

/* Those that are passed on to the command. */
static const int passed[] = { SIGINT,  SIGTERM, SIGHUP,	   SIGQUIT, SIGUSR1,
			      SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL };

static int
signals_block(sigset_t *ret_saved)
{
	struct sigaction sa;
	sigset_t set, blocked;
	size_t i;

	(void)sigemptyset(&set);
	for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (sigaction(passed[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			(void)sigaddset(&set, passed[i]);
	/* Blocked and not ignored: the command is to have it as our caller has it. */
	blocked = set;
	(void)sigaddset(&blocked, SIGPIPE);
	(void)sigprocmask(SIG_BLOCK, &blocked, ret_saved);
	/* That is blocked for our own writes. */
	(void)sigdelset(ret_saved, SIGXFSZ);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Did the terminal send it to the command as well?  It does so to all in the foreground;
 * but that it is gone it tells the leader of the session alone.
 */
static bool
signal_is_shared(const struct signalfd_siginfo *si)
{
	if (si->ssi_code != SI_KERNEL)
		return false;
	switch (si->ssi_signo) {
	case SIGINT:
	case SIGQUIT:
		return true;
	case SIGHUP:
		return getsid(0) != getpid();
	default:
		return false;
	}
}

static void
signals_pass(int fd, int pidfd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (!signal_is_shared(&si))
			(void)pidfd_send_signal(pidfd, (int)si.ssi_signo, NULL, 0);
}

/* As a shell says it. */
static int
command_wait(pid_t pid, int signal_fd)
{
	int pidfd = pidfd_open(pid, 0);
	siginfo_t si = { 0 };

	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = pidfd, .events = POLLIN },
			{ .fd = signal_fd, .events = POLLIN },
		};

		if (pidfd < 0 || (poll(fds, 2, -1) < 0 && errno != EINTR))
			break;
		if (fds[1].revents != 0)
			signals_pass(signal_fd, pidfd);
		if (fds[0].revents != 0)
			break;
	}
	fd_close(&pidfd);
	while (waitid(P_PID, (id_t)pid, &si, WEXITED) < 0 && errno == EINTR)
		continue;
	return si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
}

/* What has no #! is a script of the shell's; where it is, the shell finds. */
static int
spawn_script(pid_t *ret_pid, const posix_spawn_file_actions_t *actions,
	     const posix_spawnattr_t *attr, char *argv[])
{
	static const char *const shell[] = { "sh", "-c", "exec \"$0\" \"$@\"" };
	size_t n = 0, i;
	char **words;
	int failed;

	while (argv[n] != NULL)
		n++;
	words = xcalloc(n + 4, sizeof(*words));
	for (i = 0; i < 3; i++)
		words[i] = xstrdup(shell[i]);
	memcpy(words + 3, argv, n * sizeof(*argv));
	failed = posix_spawn(ret_pid, "/bin/sh", actions, attr, words, environ);
	for (i = 0; i < 3; i++)
		free(words[i]);
	free(words);
	return failed;
}

/*
 * Run a command in our place: our terminal, stdio and process group.  It has a copy of
 * the hold: where we are killed, the slots stay taken until it and what it started have
 * ended.
 */
static int
command_run(char *argv[], const struct slot *slot, const sigset_t *mask, int signal_fd)
{
	struct error why = ERROR_INIT;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int copy = fcntl(slot_hold_fd(slot), F_DUPFD_CLOEXEC, HOLD_FD_MIN);
	int fd = copy >= 0 ? copy : slot_hold_fd(slot);
	int failed;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attr);
	/* Onto itself: what is close-on-exec for us is not for the command. */
	if (fd >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, fd, fd);
	(void)posix_spawnattr_setsigmask(&attr, mask);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	failed = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
	if (failed == ENOEXEC)
		failed = spawn_script(&pid, &actions, &attr, argv);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	fd_close(&copy);
	if (failed != 0) {
		(void)error_set(&why, ERROR_SYSTEM, "gate run: %.1000s: %s", argv[0],
				strerror(failed));
		(void)cmd_refuse(&why);
		return failed == ENOENT ? 127 : 126;
	}
	return command_wait(pid, signal_fd);
}

static void
tell_wait(void *ctx, const char *holders)
{
	(void)ctx;
	(void)fprintf(stderr, "geonosis: gate run: waits for slots held by %s\n",
		      holders);
}

static void
command_export(const struct slot *slot)
{
	char token[SLOT_TOKEN_SIZE], number[16];

	(void)snprintf(number, sizeof(number), "%u", slot_count(slot));
	(void)setenv("GEONOSIS_HEAVY_SLOT_HELD", slot_token(slot, token), 1);
	(void)setenv("GEONOSIS_SLOTS", number, 1);
}

/* The command's words as one, for those who wait behind it. */
static char *
command_label(char *const argv[])
{
	struct buf b = BUF_INIT, line = BUF_INIT;
	char *label;

	for (; *argv != NULL; argv++)
		buf_printf(&b, "%s%s", b.len > 0 ? " " : "", *argv);
	lines_command(&line, buf_text(&b));
	buf_release(&b);
	label = buf_steal(&line);
	return label;
}

static int
gate_run_on_slots(struct machine *machine, const struct slot_wish *wish,
		  int64_t deadline_ms, char *argv[], struct error *err)
{
	struct signals signals = { .fd = -1 };
	struct machine_wait wait = {
		.deadline_ms = deadline_ms,
		.signals = &signals,
		.tell = tell_wait,
	};
	struct buf holders = BUF_INIT;
	struct slot *slot = NULL;
	sigset_t saved;
	int code = EXIT_REFUSED;
	int signal_fd = signals_block(&saved);
	int signo = 0;
	int rc;

	signals.fd = signal_fd;
	if (signal_fd < 0) {
		(void)error_system(err, "gate run: signals");
		goto out;
	}
	if (slot_request(machine->slots, wish, &slot, err) < 0)
		goto out;
	wait.slot = slot;
	rc = machine_wait(machine, &wait, &signo, err);
	if (signo != 0) {
		code = 128 + signo;
	} else if (rc == 0) {
		machine_holders(machine, &holders);
		(void)error_set(err, ERROR_USAGE,
				"gate run: the slots did not become free in time "
				"(--timeout): held by %s",
				buf_text(&holders));
	} else if (rc > 0) {
		command_export(slot);
		code = command_run(argv, slot, &saved, signal_fd);
	}
out:
	slot_release(slot);
	buf_release(&holders);
	fd_close(&signal_fd);
	return code;
}

static int
gate_run(const struct opt_args *a, struct error *err)
{
	const struct opt_value *v = a->values;
	struct slot_wish wish = { .want = 1, .least = 1 };
	struct machine machine = MACHINE_INIT;
	char *warning = NULL, *label = NULL;
	int64_t deadline_ms = -1;
	int code = EXIT_REFUSED;
	char **argv;

	if (a->noperands == 0) {
		(void)error_set(err, ERROR_USAGE,
				"gate run: no command; say what to run, as in `geonosis "
				"gate run -- make`");
		return EXIT_REFUSED;
	}
	if (v[GATE_RUN_SLOTS].set && v[GATE_RUN_EXCLUSIVE].set) {
		(void)error_set(
		    err, ERROR_USAGE,
		    "gate run: --exclusive takes every slot; leave --slots out");
		return EXIT_REFUSED;
	}
	if (v[GATE_RUN_SLOTS].set)
		wish.want = wish.least = (unsigned)v[GATE_RUN_SLOTS].number;
	wish.exclusive = v[GATE_RUN_EXCLUSIVE].set;
	if (v[GATE_RUN_TIMEOUT].set)
		deadline_ms = clock_now_ms() + v[GATE_RUN_TIMEOUT].number * 1000;
	/* argv's own strings, in an array that exec takes. */
	argv = xcalloc(a->noperands + 1, sizeof(*argv));
	memcpy(argv, a->operands, a->noperands * sizeof(*argv));
	if (machine_open(&machine, &warning, err) < 0 ||
	    (wish.exclusive && machine_allows_exclusive(&machine, err) < 0))
		goto out;
	if (warning != NULL)
		(void)fprintf(stderr, "WARN: %s\n", warning);
	wish.label = label = command_label(argv);
	code = gate_run_on_slots(&machine, &wish, deadline_ms, argv, err);
out:
	machine_close(&machine);
	free(warning);
	free(label);
	free(argv);
	return code;
}

/* --- status --- */

static int
status_fill(bool is_json, bool is_line, struct buf *text, struct error *err)
{
	struct slot_list list = { 0 };
	const char *segment;
	unsigned budget;

	if (machine_segment(&segment, err) < 0 ||
	    machine_budget_unused(&budget, err) < 0 ||
	    slots_look(segment, &list, err) < 0)
		return -1;
	buf_clear(text);
	if (is_json)
		status_json(text, &list, budget, is_line);
	else
		status_lines(text, &list, budget);
	slot_list_release(&list);
	return 0;
}

/* Silent where the reader has left. */
static int
status_print(const struct buf *text, struct error *err)
{
	if (fd_write(STDOUT_FILENO, buf_text(text), text->len) == 0)
		return 0;
	if (errno != EPIPE)
		(void)error_system(err, "standard output");
	return -1;
}

/* On a terminal: the same lines drawn again, until a signal; then they stay. */
static int
status_watch_terminal(struct live *live, struct error *err)
{
	struct signals signals = { .fd = -1 };
	struct buf text = BUF_INIT;
	int signo = 0;
	int rc = signals_open(&signals, err);

	while (rc == 0 && signo == 0) {
		struct pollfd fd = { .fd = signals.fd, .events = POLLIN };

		rc = status_fill(false, true, &live->lines, err);
		if (rc == 0) {
			live_print(live, "", 0, &text);
			rc = status_print(&text, err);
			buf_clear(&text);
		}
		if (rc == 0)
			(void)poll(&fd, 1, STATUS_WATCH_MS);
		signo = signals_read(&signals);
	}
	if (rc == 0) {
		struct buf last = live->lines;

		live->lines = (struct buf)BUF_INIT;
		live_print(live, buf_text(&last), last.len, &text);
		rc = status_print(&text, err);
		buf_release(&last);
	}
	signals_close(&signals);
	buf_release(&text);
	return rc == 0 ? 128 + signo : EXIT_REFUSED;
}

static int
status_watch(bool is_json, struct error *err)
{
	struct buf text = BUF_INIT;

	while (status_fill(is_json, true, &text, err) == 0 &&
	       status_print(&text, err) == 0)
		(void)poll(NULL, 0, STATUS_WATCH_MS);
	buf_release(&text);
	/* The reader of a watch may leave. */
	return err->kind == ERROR_NONE ? EXIT_GREEN : EXIT_REFUSED;
}

static int
gate_status(const struct opt_args *a, struct error *err)
{
	bool is_json = a->values[GATE_STATUS_JSON].set;
	struct buf text = BUF_INIT;
	struct live live = { 0 };
	int code = EXIT_REFUSED;

	if (a->values[GATE_STATUS_WATCH].set && !is_json)
		live_open(&live);
	if (live.is_on)
		code = status_watch_terminal(&live, err);
	else if (a->values[GATE_STATUS_WATCH].set)
		code = status_watch(is_json, err);
	else if (status_fill(is_json, false, &text, err) == 0 &&
		 status_print(&text, err) == 0)
		code = EXIT_GREEN;
	live_release(&live);
	buf_release(&text);
	return code;
}

/* --- budget --- */

static int
gate_budget(const struct opt_args *a, struct error *err)
{
	int64_t n;
	char bound[64];

	if (a->noperands == 0) {
		unsigned budget = machine_budget(bound);

		(void)printf("%u (%s)\n", budget, bound);
		return EXIT_GREEN;
	}
	if (a->noperands > 1 ||
	    opt_whole_number(a->operands[0], 1, SLOT_BUDGET_MAX, &n) < 0) {
		(void)error_set(err, ERROR_USAGE,
				"gate budget: \"%.100s\" is no budget; it must be one "
				"whole number from 1 to %d",
				a->operands[a->noperands - 1], SLOT_BUDGET_MAX);
		return EXIT_REFUSED;
	}
	if (machine_budget_set((unsigned)n, err) < 0)
		return EXIT_REFUSED;
	(void)printf("budget: %lld slots\n", (long long)n);
	return EXIT_GREEN;
}

/* --- the command --- */

static const struct {
	const char *name;
	int (*run)(const struct opt_args *a, struct error *err);
} subcommands[] = {
	{ "gate run", gate_run },
	{ "gate status", gate_status },
	{ "gate budget", gate_budget },
};

static int
gate_dispatch(const struct command *c, int argc, char *argv[], struct error *err)
{
	struct opt_args args = OPT_ARGS_INIT;
	int code = EXIT_REFUSED;
	size_t i;

	if (opt_parse(c, argc, argv, &args, err) < 0)
		return EXIT_REFUSED;
	if (args.help) {
		code = cmd_usage(c);
	} else {
		for (i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
			if (strcmp(subcommands[i].name, c->name) == 0)
				code = subcommands[i].run(&args, err);
	}
	opt_args_release(&args);
	return code;
}

int
cmd_gate(int argc, char *argv[])
{
	struct error err = ERROR_INIT;
	const struct command *c = command_find("gate", &err);
	int code = EXIT_REFUSED;

	/* A reader that leaves is an error of write; what `run` runs decides for itself.
	 */
	if (argc < 1 || strcmp(argv[0], "run") != 0)
		(void)signal(SIGPIPE, SIG_IGN);
	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
		return cmd_usage(c);
	c = gate_command_find(argc > 0 ? argv[0] : NULL, &err);
	if (c != NULL && c->planned)
		return cmd_planned(c, argc - 1, argv + 1);
	if (c != NULL)
		code = gate_dispatch(c, argc - 1, argv + 1, &err);
	if (code == EXIT_REFUSED && err.kind != ERROR_NONE)
		return cmd_refuse(&err);
	if (fflush(stdout) == 0)
		return code;
	(void)error_system(&err, "standard output");
	return cmd_refuse(&err);
}
