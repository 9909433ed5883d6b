/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero, the front door: runs the other programs by one name. `ingero SUB` runs ingero-SUB, with
 * the words of the older agent translated (lib/cli/door.c); `ingero trace` is three of them in a
 * row: the recorder, the analysis, and the live view.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/cli/defaults.h"
#include "lib/cli/door.h"
#include "lib/compat/agent_options.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/screen.h"
#include "lib/cli/sibling.h"
#include "lib/cli/tee.h"

static const struct cli_option options[] = { { 0 } };

static struct cli_program program = {
	.name = "ingero",
	.summary = "Record what stalls GPU programs, and name the culprit",
	.usage = "COMMAND [ARGUMENT...]",
	.options = options,
	.stop_at_operand = true,
};

static void append_overview(struct buf *out)
{
	buf_puts(out, "Commands:\n");
	for (const struct door_command *c = door_commands; c->name; c++) {
		struct buf path = { 0 };
		bool there = !c->program || cli_sibling_find(c->program, &path);

		buf_printf(out, "  %-10s %s%s\n", c->name, c->summary, there ? "" : " (not built)");
		buf_free(&path);
	}
	buf_puts(out, "\n  sudo ingero trace -- python3 train.py\n"
		      "  ingero explain\n"
		      "ingero help COMMAND says more.");
}

/* ---- a command that is a program ---- */

/* A pipe or a file on standard input is what is to be read. */
static bool something_piped_in(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode));
}

static int not_there(const char *name, const struct door_command *c)
{
	const char *near = door_nearest(name);

	if (c && c->instead)
		cli_error("ingero %s is not part of this build yet: %s", name, c->instead);
	else if (c)
		cli_error("cannot find %s beside ingero or in $PATH", c->program);
	else
		return cli_usage_error(&program, "there is no command '%s'%s%s%s", name,
				       near ? "; did you mean '" : "", near ? near : "",
				       near ? "'?" : "");
	return CLI_EXIT_CANNOT;
}

/* Becomes the program; argv[0] is replaced by its name. */
static int exec_program(const char *name, struct cli_list *words, struct err *e)
{
	VEC(char *) argv = { 0 };

	if (!vec_push(&argv, (char *)name))
		return err_nomem(e);
	for (size_t i = 0; i < words->n; i++)
		if (!vec_push(&argv, (char *)words->v[i]))
			return err_nomem(e);
	if (!vec_push(&argv, NULL))
		return err_nomem(e);
	cli_sibling_exec(argv.v);
	err_sys(e, "cannot run %s", name);
	vec_free(&argv);
	return e->code;
}

/* What stands behind "--" are operands. */
static bool put_first(struct cli_list *words, const char *option, const char *value)
{
	if (!vec_push(words, option) || !vec_push(words, value))
		return false;
	memmove(words->v + 2, words->v, (words->n - 2) * sizeof(*words->v));
	words->v[0] = option;
	words->v[1] = value;
	return true;
}

static int run_program(const char *name, const struct door_command *c, struct agent_plan *plan)
{
	struct buf own = { 0 }, path = { 0 }, folder = { 0 };
	struct err e = { 0 };
	int status;

	buf_printf(&own, "ingero-%s", name);
	if (!cli_sibling_find(c ? c->program : buf_text(&own), &path)) {
		status = not_there(name, c);
		goto out;
	}
	if (plan->refused) {
		cli_error("ingero %s: %s", name, plan->refused);
		status = CLI_EXIT_CANNOT;
		goto out;
	}
	cli_note_lines(&plan->notes);
	if (c && c->reads && !plan->has_db && !something_piped_in()) {
		cli_default_folder(&folder);
		if (access(buf_text(&folder), F_OK) == 0 &&
		    !put_first(&plan->words, "--db", buf_text(&folder))) {
			err_nomem(&e);
			status = cli_fail(&e);
			goto out;
		}
	}
	exec_program(c ? c->program : buf_text(&own), &plan->words, &e);
	status = cli_fail(&e);
out:
	buf_free(&own);
	buf_free(&path);
	buf_free(&folder);
	return status;
}

/* ---- trace ---- */

static volatile pid_t recorder;

/* What a terminal sends, all programs of the row have got already. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != SI_KERNEL && recorder > 0)
		kill(recorder, number);
}

static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

/* Options of every program; others are the recorder's. */
static bool for_all(const char *word)
{
	return strcmp(word, "-q") == 0 || strcmp(word, "--quiet") == 0 ||
	       strncmp(word, "--color=", 8) == 0;
}

/* Whether the recorder has begun to write; false: it ended, and has printed why. */
static bool has_begun(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return false;
	return p.revents & POLLIN;
}

struct row {
	VEC(char *) record, correlate, show;
	VEC(char *) metrics, events; /* empty: not requested */
	struct buf folder;	     /* where the recording goes */
	struct buf push;	     /* where metrics are sent */
	char *number;		     /* a descriptor's, as text */
	bool command;		     /* a program is started */
	bool only_events;	     /* no table: standard output is for other programs */
};

/* The exporters that serve metrics and print single events while recording. */
static bool fill_readers(struct row *r, const struct agent_plan *plan)
{
	bool good = true;

	if (plan->listen || plan->push)
		good = vec_push(&r->metrics, "ingero-export");
	if (plan->listen)
		good = good && vec_push(&r->metrics, "--listen") &&
		       vec_push(&r->metrics, (char *)plan->listen);
	if (plan->push) {
		buf_printf(&r->push, "%s%s", strstr(plan->push, "://") ? "" : "http://",
			   plan->push);
		good = good && vec_push(&r->metrics, "--push") &&
		       vec_push(&r->metrics, (char *)buf_text(&r->push));
	}
	if (plan->events || plan->json)
		good = good && vec_push(&r->events, "ingero-export") &&
		       vec_push(&r->events, "-f") &&
		       vec_push(&r->events, plan->json ? "json" : "text");
	if (plan->stacks && !plan->json)
		good = good && vec_push(&r->events, "--stacks");
	for (size_t i = 0; good && i < plan->words.n && strcmp(plan->words.v[i], "--") != 0; i++) {
		char *word = (char *)plan->words.v[i];

		if (r->metrics.n && (for_all(word) || strcmp(word, "-v") == 0))
			good = vec_push(&r->metrics, word);
		if (r->events.n && for_all(word))
			good = good && vec_push(&r->events, word);
	}
	return good && !r->push.failed && (!r->metrics.n || vec_push(&r->metrics, NULL)) &&
	       (!r->events.n || vec_push(&r->events, NULL));
}

static bool fill_row(struct row *r, const struct agent_plan *plan)
{
	bool good = vec_push(&r->record, "ingero-record") &&
		    vec_push(&r->correlate, "ingero-correlate") &&
		    vec_push(&r->show, "ingero-stat");
	struct stat st;
	size_t n;

	if (plan->output)
		buf_puts(&r->folder, plan->output);
	else
		cli_default_folder(&r->folder);
	/* A name that does not end as a recording's is a folder for one, as --db of the recorder
	 * is. */
	n = r->folder.n;
	if ((n < 4 || strcmp(buf_text(&r->folder) + n - 4, ".ige") != 0) &&
	    (stat(buf_text(&r->folder), &st) != 0 || S_ISDIR(st.st_mode)))
		buf_putc(&r->folder, '/');
	if (!plan->no_file)
		good = good && vec_push(&r->record, "-o") &&
		       vec_push(&r->record, (char *)buf_text(&r->folder));
	good = good && vec_push(&r->record, "-o") && vec_push(&r->record, "-");
	for (size_t i = 0; good && i < plan->words.n; i++) {
		char *word = (char *)plan->words.v[i];

		r->command |= strcmp(word, "--") == 0;
		good = vec_push(&r->record, word);
		if (good && !r->command && for_all(word))
			good = vec_push(&r->correlate, word) && vec_push(&r->show, word);
	}
	r->only_events = plan->json;
	return good && fill_readers(r, plan) && !r->folder.failed && vec_push(&r->record, NULL) &&
	       vec_push(&r->correlate, NULL) && vec_push(&r->show, NULL);
}

static void close_both(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void pass_all(int fd, int to)
{
	char text[4096];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) != 0)
		if ((n < 0 && errno != EINTR) || (n > 0 && write(to, text, (size_t)n) < 0))
			break;
}

/* Where a page is drawn, what the others say goes through who draws it, and so does what a program
 * says that is started. */
static int let_show_say(struct row *r, int said[2], struct err *e)
{
	char number[16];
	int rc;

	if (r->events.n || !isatty(STDERR_FILENO) || !cli_screen_possible())
		return 0;
	rc = r->command ? cli_sibling_terminal(said, e) : cli_sibling_pipe(said, e);
	if (rc)
		return rc;
	snprintf(number, sizeof(number), "%d", said[0]);
	r->number = strdup(number);
	r->show.n--; /* the NULL */
	return r->number && vec_push(&r->show, "--notices") && vec_push(&r->show, r->number) &&
			       (r->command || vec_push(&r->show, "--quit-ends")) &&
			       vec_push(&r->show, NULL)
		       ? 0
		       : err_nomem(e);
}

enum reader { READER_SHOW, READER_METRICS, READER_EVENTS, READERS };

/* A reader of the analyzed stream, beside others through a pipe of its own. */
struct readers {
	pid_t pids[READERS], copies; /* -1: not started */
	int say;      /* where others than the table's say what they have to; -1: as here */
	int table[2]; /* below single events the table stands once, at the end: what shows it writes
			 here */
};

static int start_reader(struct readers *rs, enum reader which, char *const *argv, int in,
			struct err *e)
{
	bool show = which == READER_SHOW;
	/* Who serves metrics may have to listen where only root may. */
	struct cli_sibling_fds fds = { in, show ? rs->table[1] : -1, show ? -1 : rs->say, true,
				       which != READER_METRICS };

	rs->pids[which] = cli_sibling_start(argv, &fds, e);
	return rs->pids[which] < 0 ? e->code : 0;
}

static int start_readers(struct readers *rs, struct row *r, int analyzed, struct err *e)
{
	char *const *const argv[READERS] = { r->only_events ? NULL : r->show.v,
					     r->metrics.n ? r->metrics.v : NULL,
					     r->events.n ? r->events.v : NULL };
	int ins[READERS], outs[READERS], rc = 0;
	size_t n = 0;

	if (!argv[READER_METRICS] && !(argv[READER_SHOW] && argv[READER_EVENTS])) {
		enum reader one = argv[READER_SHOW] ? READER_SHOW : READER_EVENTS;

		return start_reader(rs, one, argv[one], analyzed, e);
	}
	if (argv[READER_SHOW] && argv[READER_EVENTS])
		rc = cli_sibling_pipe(rs->table, e);
	for (int i = 0; i < READERS && !rc; i++) {
		int fds[2];

		if (!argv[i])
			continue;
		rc = cli_sibling_pipe(fds, e);
		if (rc)
			break;
		ins[n] = fds[0];
		outs[n++] = fds[1];
		rc = start_reader(rs, i, argv[i], fds[0], e);
	}
	rs->copies = rc ? -1 : cli_tee_start(analyzed, outs, n, e);
	rc = rc ? rc : rs->copies < 0 ? e->code : 0;
	for (size_t i = 0; i < n; i++) {
		close(ins[i]);
		close(outs[i]);
	}
	if (rs->table[1] >= 0)
		close(rs->table[1]);
	return rc;
}

/* The first status that is not 0. */
static int wait_readers(struct readers *rs)
{
	int status = 0, one;

	for (int i = READERS - 1; i >= 0; i--) {
		if (i == READER_SHOW && rs->table[0] >= 0) {
			pass_all(rs->table[0], STDOUT_FILENO);
			close(rs->table[0]);
		}
		one = rs->pids[i] > 0 ? cli_sibling_wait(rs->pids[i]) : 0;
		status = status ? status : one;
	}
	if (rs->copies > 0)
		cli_sibling_wait(rs->copies);
	return status;
}

static int run_row(struct row *r, struct err *e)
{
	int recorded[2] = { -1, -1 }, analyzed[2] = { -1, -1 }, said[2] = { -1, -1 };
	struct readers readers = {
		.pids = { -1, -1, -1 }, .copies = -1, .say = -1, .table = { -1, -1 }
	};
	int status[3] = { 0 };
	pid_t correlate = -1;
	int rc = cli_sibling_pipe(recorded, e);

	catch_signals();
	if (rc == 0)
		rc = cli_sibling_pipe(analyzed, e);
	if (rc == 0)
		rc = let_show_say(r, said, e);
	if (rc == 0) {
		struct cli_sibling_fds fds = { -1, recorded[1], said[1], false, false };

		recorder = cli_sibling_start(r->record.v, &fds, e);
		rc = recorder < 0 ? e->code : 0;
	}
	if (recorded[1] >= 0)
		close(recorded[1]);
	if (rc == 0 && has_begun(recorded[0])) {
		struct cli_sibling_fds first = { recorded[0], analyzed[1], said[1], true, true };

		correlate = cli_sibling_start(r->correlate.v, &first, e);
		if (said[0] >= 0)
			fcntl(said[0], F_SETFD, 0); /* stays open in who draws, and only there */
		readers.say = said[1];
		rc = correlate < 0 ? e->code : start_readers(&readers, r, analyzed[0], e);
	}
	close_both(analyzed);
	if (recorded[0] >= 0)
		close(recorded[0]);
	if (said[1] >= 0)
		close(said[1]);
	if (readers.pids[READER_SHOW] < 0 && said[0] >= 0) /* it never began: nobody draws */
		pass_all(said[0], STDERR_FILENO);
	if (said[0] >= 0)
		close(said[0]); /* who draws may end: nobody shall wait for it then */
	status[0] = recorder > 0 ? cli_sibling_wait(recorder) : 0;
	status[1] = correlate > 0 ? cli_sibling_wait(correlate) : 0;
	status[2] = wait_readers(&readers);
	if (rc)
		return cli_fail(e);
	return status[0] ? status[0] : status[1] ? status[1] : status[2];
}

static void trace_help(struct buf *out)
{
	buf_puts(
		out,
		"Usage: ingero trace [OPTION...] [-- COMMAND [ARGUMENT...]]\n"
		"Record what runs, find what stalls it, show both live.\n\n"
		"As ingero-record -o - | ingero-correlate | ingero-stat, with the recording kept "
		"in\n"
		"the default folder. Options are those of ingero-record (ingero record --help).\n\n"
		"Options of the older agent, and what became of them:\n"
		"  --db VALUE: the folder or file to record into\n"
		"  --record=false: keep no recording\n"
		"  --prometheus [HOST]:PORT: answer /metrics there (ingero export --listen)\n"
		"  --otlp HOST:PORT: send metrics there (ingero export --push)\n"
		"  -v, --verbose: single events, too, and the table at the end\n"
		"  --debug: the same with the stack of each event below it, and what the recorder "
		"does\n"
		"  --json: single events, a line of JSON each (ingero export)\n");
	agent_options_help(out, "trace");
}

static int run_trace(struct agent_plan *plan)
{
	struct row r = { 0 };
	struct err e = { 0 };
	int status;

	for (size_t i = 0; i < plan->words.n; i++) {
		const char *word = plan->words.v[i];
		struct buf help = { 0 };

		if (strcmp(word, "--") == 0)
			break;
		if (strcmp(word, "--help") != 0 && strcmp(word, "-h") != 0)
			continue;
		trace_help(&help);
		status = cli_print(&help, &e) ? cli_fail(&e) : CLI_EXIT_DONE;
		buf_free(&help);
		return cli_finish_stdout(status);
	}
	cli_note_lines(&plan->notes);
	if (fill_row(&r, plan))
		status = run_row(&r, &e);
	else
		status = (err_nomem(&e), cli_fail(&e));
	vec_free(&r.record);
	vec_free(&r.correlate);
	vec_free(&r.show);
	vec_free(&r.metrics);
	vec_free(&r.events);
	buf_free(&r.folder);
	buf_free(&r.push);
	free(r.number);
	return status;
}

/* ---- help ---- */

/* The manual page beside the programs, installed or in the source tree. */
static bool manual_of(const char *name, struct buf *page)
{
	static const char *const places[] = { "/../share/man/man1/", "/../../man/" };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		buf_reset(page);
		buf_printf(page, "%s%s%s.1", self, places[i], name);
		if (!page->failed && access(buf_text(page), R_OK) == 0)
			return true;
	}
	return false;
}

static int run_help(const char *name, char **ask_help)
{
	const struct door_command *c = name ? door_find(name) : NULL;
	struct buf page = { 0 }, own = { 0 };
	struct cli_operands none = { 0 };
	struct agent_plan plan = { 0 };
	struct cli_list words = { 0 };
	struct err e = { 0 };
	int status;

	buf_puts(&own, "ingero");
	if (name && (!c || c->program))
		buf_printf(&own, "-%s", name);
	if (name && isatty(STDOUT_FILENO) && manual_of(buf_text(&own), &page) &&
	    vec_push(&words, "-l") && vec_push(&words, buf_text(&page)))
		exec_program("man", &words, &e); /* comes back where there is no man */
	if (!name || (c && !c->program && strcmp(c->name, "trace") != 0))
		status = cli_parse(&program, NULL, 2, ask_help, &none);
	else if (!vec_push(&plan.words, "--help"))
		status = (err_nomem(&e), cli_fail(&e));
	else if (c && !c->program)
		status = run_trace(&plan);
	else {
		plan.has_db = true;
		status = run_program(name, c, &plan);
	}
	agent_plan_free(&plan);
	cli_list_free(&words);
	buf_free(&page);
	buf_free(&own);
	return status;
}

static bool wants_quiet(const struct cli_list *words)
{
	for (size_t i = 0; i < words->n && strcmp(words->v[i], "--") != 0; i++)
		if (strcmp(words->v[i], "-q") == 0 || strcmp(words->v[i], "--quiet") == 0)
			return true;
	return false;
}

static int run_command(const struct cli_operands *operands, struct err *e)
{
	const char *name = operands->v[0];
	const struct door_command *c = door_find(name);
	/* Another program of ours, or of anyone who calls one ingero-NAME, is as good as a row of
	 * the table. */
	const struct door_command unknown = { .name = name };
	struct agent_plan plan = { 0 };
	int status;

	if (agent_options_translate(c ? c : &unknown, (int)operands->n - 1, operands->v + 1, &plan,
				    e)) {
		status = cli_fail(e);
	} else {
		cli_settings.quiet |= wants_quiet(&plan.words);
		status = c && !c->program ? run_trace(&plan) : run_program(name, c, &plan);
	}
	agent_plan_free(&plan);
	return status;
}

int main(int argc, char **argv)
{
	char *ask_help[] = { argv[0], "--help", NULL };
	struct cli_operands operands = { 0 };
	struct buf commands = { 0 }, more = { 0 };
	struct err e = { 0 };
	int status;

	cli_start();
	append_overview(&commands);
	program.footer = buf_text(&commands);
	door_complete(&more);
	agent_options_complete(&more);
	program.more = buf_text(&more);
	status = argc > 1 ? cli_parse(&program, NULL, argc, argv, &operands) : CLI_GO;
	if (status == CLI_GO && operands.n == 0)
		status = cli_parse(&program, NULL, 2, ask_help, &operands);
	else if (status == CLI_GO && strcmp(operands.v[0], "help") == 0)
		status = run_help(operands.n > 1 ? operands.v[1] : NULL, ask_help);
	else if (status == CLI_GO && strcmp(operands.v[0], "version") == 0)
		status = cli_finish_stdout(printf("ingero %s%s\n", cli_version(), cli_commit()) < 0
						   ? CLI_EXIT_CANNOT
						   : CLI_EXIT_DONE);
	else if (status == CLI_GO)
		status = run_command(&operands, &e);
	buf_free(&commands);
	buf_free(&more);
	return status;
}
