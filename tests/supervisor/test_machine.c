/* SPDX-License-Identifier: MIT */
#include "supervisor/run/machine.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/budget.h"
#include "ipc/clock.h"
#include "ipc/fd.h"
#include "ipc/slot_list.h"
#include "tests/helper/scratch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define KEPT "geonosis gate budget"
#define CARRIED "the machine's budget"
#define UNUSABLE CARRIED "; gate.json keeps none"

static char here[PATH_MAX];
static char segment[64];

static void
set_variable(const char *name, const char *value)
{
	if (value != NULL)
		cr_assert_eq(setenv(name, value, 1), 0);
	else
		cr_assert_eq(unsetenv(name), 0);
}

/* A value that may begin with the scratch directory: `%` stands for it. */
static void
set_path(const char *name, const char *value)
{
	char path[PATH_MAX + 64];

	if (value != NULL && value[0] == '%') {
		(void)snprintf(path, sizeof(path), "%s%s", here, value + 1);
		value = path;
	}
	set_variable(name, value);
}

static void
enter(void)
{
	(void)snprintf(here, sizeof(here), "%s", scratch_enter());
	(void)snprintf(segment, sizeof(segment), "/geonosis-test-machine-%ld",
		       (long)getpid());
	set_variable("GEONOSIS_SEGMENT", segment);
	set_variable("GEONOSIS_HEAVY_SLOTS", NULL);
	set_variable("GEONOSIS_HEAVY_SLOT_HELD", NULL);
	set_path("HOME", "%/home");
	set_path("XDG_CONFIG_HOME", "%/config");
}

static void
leave(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/dev/shm%s", segment);
	(void)unlink(path);
	scratch_leave();
}

TestSuite(machine, .init = enter, .fini = leave, .timeout = 60);

static void
shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

/* --- settings --- */

static const struct {
	const char *text;
	unsigned budget; /* 0: it keeps none */
} files[] = {
	{ "{ \"budget\": 3 }", 3 },
	{ "{\"budget\":1}", 1 },
	{ "{ \"budget\": 4096 }\n", 4096 },
	{ "{ \"other\": [1, {}], \"budget\": 5 }", 5 },
	{ "{ \"budget\": 2, \"budget\": 6 }", 6 },
	{ "{ \"budget\": 0 }", 0 },
	{ "{ \"budget\": -1 }", 0 },
	{ "{ \"budget\": 4097 }", 0 },
	{ "{ \"budget\": 4294967298 }", 0 },
	{ "{ \"budget\": 99999999999999999999 }", 0 },
	{ "{ \"budget\": \"3\" }", 0 },
	{ "{ \"budget\": 3.5 }", 0 },
	{ "{ \"budget\": null }", 0 },
	{ "{ \"budget\": [3] }", 0 },
	{ "{ \"Budget\": 3 }", 0 },
	{ "{ \"budget\": 3", 0 },
	{ "{ \"budget\": 3 } x", 0 },
	{ "[3]", 0 },
	{ "3", 0 },
	{ "null", 0 },
	{ "", 0 },
	{ "\n", 0 },
	{ "\xff\xfe", 0 },
	{ "{ \"budget\": 3, \"x\": \"\xff\" }", 0 },
};

static void
expect_bound(unsigned want, const char *want_bound, const char *what)
{
	char bound[64] = "";
	unsigned n = machine_budget(bound);

	cr_expect_eq(n, want > 0 ? want : budget_machine(), "%s: %u", what, n);
	cr_expect_str_eq(bound, want_bound, "%s: %s", what, bound);
}

/* 0: no file is there. */
static void
expect_budget(unsigned want, const char *what)
{
	expect_bound(want, want > 0 ? KEPT : CARRIED, what);
}

Test(machine, budget_that_a_file_keeps)
{
	shell("mkdir -p config/geonosis");
	for (size_t i = 0; i < COUNT(files); i++) {
		scratch_write("config/geonosis/gate.json", files[i].text);
		expect_bound(files[i].budget, files[i].budget > 0 ? KEPT : UNUSABLE,
			     files[i].text);
	}
}

Test(machine, files_that_are_none)
{
	static const char *const made[] = {
		"mkdir -p config/geonosis/gate.json",
		"mkdir -p config/geonosis; mkfifo config/geonosis/gate.json",
		"mkdir -p config/geonosis; ln -s gate.json config/geonosis/gate.json",
		"mkdir -p config/geonosis; ln -s /dev/zero config/geonosis/gate.json",
		"mkdir -p config/geonosis; ln -s none config/geonosis/gate.json",
		"mkdir -p config/geonosis; { printf '{ \"budget\": 3, \"x\": \"'; "
		"head -c 70000 /dev/zero | tr '\\0' a; echo '\" }'; } "
		">config/geonosis/gate.json",
		"mkdir -p config/geonosis; truncate -s 1T config/geonosis/gate.json",
		"mkdir -p config/geonosis; head -c 60000 /dev/zero | tr '\\0' [ "
		">config/geonosis/gate.json",
	};

	for (size_t i = 0; i < COUNT(made); i++) {
		shell("rm -rf config");
		shell(made[i]);
		expect_bound(0, UNUSABLE, made[i]);
	}
	shell("rm -rf config; mkdir config; : >config/geonosis");
	expect_budget(0, "no directory to keep it in");
}

struct place_case {
	const char *config, *home; /* XDG_CONFIG_HOME, HOME; `%`: the scratch directory */
	unsigned budget;
};

/* config/ keeps 2, home/.config/ 3, the working directory's own 5. */
static const struct place_case places[] = {
	{ "%/config", "%/home", 2 }, { "%/config", NULL, 2 },
	{ NULL, "%/home", 3 },	     { "", "%/home", 3 },
	{ "config", "%/home", 3 }, /* not absolute: not set, as XDG has it */
	{ "%/none", "%/home", 0 }, /* it is where the settings are, and there are none */
	{ NULL, "home", 0 },	     { "", "", 0 },
	{ NULL, NULL, 0 },	     { ".", ".", 0 },
};

Test(machine, places)
{
	shell("mkdir -p config/geonosis home/.config/geonosis geonosis "
	      ".config/geonosis");
	scratch_write("config/geonosis/gate.json", "{ \"budget\": 2 }");
	scratch_write("home/.config/geonosis/gate.json", "{ \"budget\": 3 }");
	scratch_write("geonosis/gate.json", "{ \"budget\": 5 }");
	scratch_write(".config/geonosis/gate.json", "{ \"budget\": 5 }");
	for (size_t i = 0; i < COUNT(places); i++) {
		char what[32];

		set_path("XDG_CONFIG_HOME", places[i].config);
		set_path("HOME", places[i].home);
		(void)snprintf(what, sizeof(what), "row %zu", i);
		expect_budget(places[i].budget, what);
	}
}

/* /etc as only this process sees it. */
static void
enter_etc(void)
{
	if (!scratch_mount("etc", 65536) || mount("etc", "/etc", NULL, MS_BIND, NULL) < 0)
		cr_skip_test("no mount namespace here");
	shell("mkdir /etc/geonosis");
}

Test(machine, machine_s_own_file_comes_last)
{
	enter_etc();
	scratch_write("/etc/geonosis/gate.json", "{ \"budget\": 7 }");
	expect_budget(7, "no file of the user");
	shell("mkdir -p config/geonosis");
	scratch_write("config/geonosis/gate.json", "{ \"budget\": 2 }");
	expect_budget(2, "a file of the user");
	scratch_write("config/geonosis/gate.json", "{ \"budget\": 0 }");
	expect_budget(7, "a file of the user that says nothing sound");
	scratch_write("/etc/geonosis/gate.json", "{");
	expect_bound(0, UNUSABLE, "neither says anything sound");
}

/* --- keeping a budget --- */

Test(machine, budget_is_kept_and_given_to_the_segment)
{
	struct machine m = MACHINE_INIT;
	struct error err = ERROR_INIT;
	char *warning = NULL;
	char *text;

	cr_assert_eq(machine_budget_set(2, &err), 0, "%s", err.text);
	text = scratch_read("config/geonosis/gate.json");
	cr_expect_str_eq(text, "{ \"budget\": 2 }\n");
	free(text);
	expect_budget(2, "kept");
	cr_assert_eq(machine_open(&m, &warning, &err), 0, "%s", err.text);
	cr_expect_null(warning);
	cr_expect_eq(m.share, 2);
	cr_expect_str_eq(m.bound, KEPT);
	cr_assert_eq(machine_budget_set(5, &err), 0, "%s", err.text);
	cr_expect_eq(slots_share(m.slots), 5, "the segment has it too");
	machine_close(&m);
	machine_close(&m);
}

Test(machine, budget_that_cannot_be_kept)
{
	static const struct {
		const char *config, *home, *names;
	} k[] = {
		{ "%/file", "%/home", "/file" },
		{ "", "", "XDG_CONFIG_HOME" },
		{ NULL, NULL, "HOME" },
		{ "relative", "relative", "HOME" },
	};

	scratch_write("file", "x");
	for (size_t i = 0; i < COUNT(k); i++) {
		struct error err = ERROR_INIT;

		set_path("XDG_CONFIG_HOME", k[i].config);
		set_path("HOME", k[i].home);
		cr_expect_eq(machine_budget_set(2, &err), -1, "row %zu", i);
		cr_expect_not_null(strstr(err.text, k[i].names), "row %zu: %s", i,
				   err.text);
	}
	cr_expect_eq(scratch_count("."), 1, "something half-done is left behind");
}

/* --- names and numbers from the environment --- */

static const struct {
	const char *name;
	bool is_sound;
} names[] = {
	{ NULL, true },	  { "", true },	    { "/a", true },  { "/a b", true },
	{ "/...", true }, { "a", false },   { "/", false },  { "/a/b", false },
	{ "//a", false }, { "/a/", false }, { "/.", false }, { "/..", false },
	{ "a/b", false },
};

Test(machine, segment_names)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *untouched = "untouched";
		const char *got = untouched;
		struct error err = ERROR_INIT;
		int rc;

		set_variable("GEONOSIS_SEGMENT", names[i].name);
		rc = machine_segment(&got, &err);
		cr_expect_eq(rc, names[i].is_sound ? 0 : -1, "%s", names[i].name);
		if (rc == 0 && names[i].name != NULL && names[i].name[0] != '\0')
			cr_expect_str_eq(got, names[i].name);
		else if (rc == 0)
			cr_expect_null(got);
		if (rc < 0) {
			cr_expect_eq(got, untouched, "written on failure");
			cr_expect_eq(err.kind, ERROR_USAGE);
			cr_expect_eq(strncmp(err.text, "GEONOSIS_SEGMENT: ", 18), 0, "%s",
				     err.text);
		}
	}
}

static const struct {
	const char *heavy;
	unsigned share; /* 0: refused */
	const char *bound;
} heavies[] = {
	{ NULL, 3, KEPT },
	{ "", 3, KEPT },
	{ "1", 1, "GEONOSIS_HEAVY_SLOTS" },
	{ "8", 8, "GEONOSIS_HEAVY_SLOTS" },
	{ "4096", 4096, "GEONOSIS_HEAVY_SLOTS" },
	{ "0", 0, NULL },
	{ "-1", 0, NULL },
	{ "4097", 0, NULL },
	{ "x", 0, NULL },
	{ "2x", 0, NULL },
	{ " ", 0, NULL },
	{ "1.5", 0, NULL },
	{ "99999999999999999999", 0, NULL },
};

Test(machine, heavy_slots)
{
	shell("mkdir -p config/geonosis");
	scratch_write("config/geonosis/gate.json", "{ \"budget\": 3 }");
	for (size_t i = 0; i < COUNT(heavies); i++) {
		struct machine m = MACHINE_INIT;
		struct error err = ERROR_INIT;
		char *warning = NULL;
		int rc;

		set_variable("GEONOSIS_HEAVY_SLOTS", heavies[i].heavy);
		rc = machine_open(&m, &warning, &err);
		cr_expect_eq(rc, heavies[i].share > 0 ? 0 : -1, "row %zu: %s", i,
			     err.text);
		cr_expect_null(warning);
		if (rc < 0) {
			cr_expect_eq(strncmp(err.text, "GEONOSIS_HEAVY_SLOTS: ", 22), 0,
				     "%s", err.text);
			continue;
		}
		cr_expect_eq(m.share, heavies[i].share, "row %zu: %u", i, m.share);
		cr_expect_str_eq(m.bound, heavies[i].bound, "row %zu: %s", i, m.bound);
		cr_expect_not(m.is_private);
		machine_close(&m);
	}
}

/* --- who is in the way, and waiting --- */

static struct machine
opened(const char *heavy)
{
	struct machine m = MACHINE_INIT;
	struct error err = ERROR_INIT;
	char *warning = NULL;

	set_variable("GEONOSIS_HEAVY_SLOTS", heavy);
	cr_assert_eq(machine_open(&m, &warning, &err), 0, "%s", err.text);
	cr_assert_null(warning);
	return m;
}

static struct slot *
asked(struct machine *m, unsigned want)
{
	struct slot_wish wish = { .want = want, .least = want, .label = "x" };
	struct error err = ERROR_INIT;
	struct slot *r = NULL;

	cr_assert_eq(slot_request(m->slots, &wish, &r, &err), 0, "%s", err.text);
	return r;
}

Test(machine, holders_of_its_own_are_summed_up)
{
	struct machine m = opened("4");
	struct buf b = BUF_INIT;
	struct slot *one, *two;

	machine_holders(&m, &b);
	cr_expect_str_eq(buf_text(&b), "those that asked before");
	buf_clear(&b);
	one = asked(&m, 1);
	machine_holders(&m, &b);
	cr_expect_str_eq(buf_text(&b), "1 slot of this run");
	buf_clear(&b);
	two = asked(&m, 2);
	machine_holders(&m, &b);
	cr_expect_str_eq(buf_text(&b), "3 slots of this run");
	buf_release(&b);
	slot_release(one);
	slot_release(two);
	machine_close(&m);
}

struct told {
	unsigned times;
	char last[256];
	struct slot *release; /* when told */
	int raise;
};

static void
tell(void *ctx, const char *holders)
{
	struct told *t = ctx;

	t->times++;
	(void)snprintf(t->last, sizeof(t->last), "%s", holders);
	if (t->release != NULL)
		slot_release(t->release);
	t->release = NULL;
	if (t->raise != 0)
		(void)raise(t->raise);
}

struct wait_case {
	const char *name;
	bool is_free;	 /* nothing is in the way */
	bool is_let;	 /* what is in the way is given back when the wait is told */
	int early, late; /* a signal before, and when the wait is told */
	int timeout_ms;	 /* -1: none */
	int rc, signo;
	unsigned told;
};

static const struct wait_case waits[] = {
	{ "free", true, false, 0, 0, -1, 1, 0, 0 },
	{ "free, no time", true, false, 0, 0, 0, 1, 0, 0 },
	{ "given back", false, true, 0, 0, 20000, 1, 0, 1 },
	{ "out of time", false, false, 0, 0, 30, 0, 0, 1 },
	{ "no time at all", false, false, 0, 0, 0, 0, 0, 1 },
	{ "a signal", false, false, 0, SIGTERM, -1, 0, SIGTERM, 1 },
	{ "a signal before it", false, false, SIGINT, 0, -1, 0, SIGINT, 1 },
	/* It came with the slots: what would be started does not hear of it any more. */
	{ "free, and a signal", true, false, SIGHUP, 0, -1, 0, SIGHUP, 0 },
	{ "given back with a signal", false, true, 0, SIGINT, -1, 0, SIGINT, 1 },
};

Test(machine, waiting)
{
	struct signals signals = { .fd = -1 };
	struct machine m = opened("1");
	struct error err = ERROR_INIT;

	cr_assert_eq(signals_open(&signals, &err), 0);
	for (size_t i = 0; i < COUNT(waits); i++) {
		const struct wait_case *k = &waits[i];
		struct slot *other = k->is_free ? NULL : asked(&m, 1);
		struct slot *r = asked(&m, 1);
		struct told told = { .release = k->is_let ? other : NULL,
				     .raise = k->late };
		struct machine_wait w = {
			.slot = r,
			.deadline_ms =
			    k->timeout_ms < 0 ? -1 : clock_now_ms() + k->timeout_ms,
			.signals = &signals,
			.tell = tell,
			.ctx = &told,
		};
		int signo = -1;
		int rc;

		if (k->early != 0)
			(void)raise(k->early);
		rc = machine_wait(&m, &w, &signo, &err);
		cr_expect_eq(rc, k->rc, "%s: %d %s", k->name, rc, err.text);
		cr_expect_eq(signo, k->signo, "%s: %d", k->name, signo);
		cr_expect_eq(told.times, k->told, "%s: %u", k->name, told.times);
		if (told.times > 0)
			cr_expect_str_eq(told.last, "1 slot of this run", "%s", k->name);
		slot_release(r);
		slot_release(k->is_let ? NULL : other);
		cr_expect_eq(signals_read(&signals), 0, "%s: one is left", k->name);
	}
	signals_close(&signals);
	machine_close(&m);
}

/* --- exclusive --- */

Test(machine, exclusive_is_allowed_but_inside_a_shared_hold)
{
	struct machine outer = opened("4");
	struct error err = ERROR_INIT;
	struct slot_wish all = { .exclusive = true, .label = "all" };
	char token[SLOT_TOKEN_SIZE];
	struct slot *hold = asked(&outer, 2);
	struct machine inner;

	cr_expect_eq(machine_allows_exclusive(&outer, &err), 0);
	set_variable("GEONOSIS_HEAVY_SLOT_HELD", slot_token(hold, token));
	inner = opened(NULL);
	cr_expect_eq(inner.share, 2);
	cr_expect_str_eq(inner.bound, "the slots of the step around it");
	cr_expect_eq(machine_allows_exclusive(&inner, &err), -1);
	cr_expect_eq(err.kind, ERROR_USAGE);
	cr_expect_not_null(strstr(err.text, "holds 2 slots (pid "), "%s", err.text);
	machine_close(&inner);
	slot_release(hold);
	inner = opened(NULL);
	cr_expect_eq(machine_allows_exclusive(&inner, &err), 0, "the hold is over");
	cr_expect_str_neq(inner.bound, "the slots of the step around it");
	machine_close(&inner);
	cr_assert_eq(slot_request(outer.slots, &all, &hold, &err), 0);
	cr_assert_eq(slot_state(hold), SLOT_HELD);
	set_variable("GEONOSIS_HEAVY_SLOT_HELD", slot_token(hold, token));
	inner = opened(NULL);
	cr_expect_eq(machine_allows_exclusive(&inner, &err), 0,
		     "inside an exclusive one");
	machine_close(&inner);
	slot_release(hold);
	machine_close(&outer);
}
