/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-record: the only program that captures. Parses options, chooses targets and outputs, and
 * prints messages before and after; the recorder is in lib/record.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fmt.h"
#include "lib/base/shell.h"
#include "lib/cli/defaults.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/signals.h"
#include "lib/host/clock.h"
#include "lib/host/rights.h"
#include "lib/input/bundle.h"
#include "lib/record/choice.h"
#include "lib/attach/chosen_ops.h"
#include "lib/record/command.h"
#include "lib/record/destination.h"
#include "lib/record/recorder.h"
#include "lib/attach/spec.h"

struct values {
	struct cli_list outputs, pids;
	const char *user, *pod, *db, *node, *link, *walker, *mark, *btf;
	struct cli_list only, except; /* names of ops */
	bool all, no_stacks, no_sched, no_gpu, no_probes, nested, bundle;
	uint64_t duration_ns, hung_ns, flush_ns, ring_bytes, unwind_bytes;
	uint64_t rotate_bytes, rotate_ns, max_bytes, flight_ns, flight_bytes;
	int64_t keep;
	struct cli_list triggers;
	double deadband;
	const char *budget;
	int64_t sample, cpu_hz;
	uint64_t heartbeat_ns;
};
#define UNWIND_BYTES_DEFAULT (64u << 20)

static bool max_given, deadband_given, cpu_hz_given, unwind_given;

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
	{ "pid", 'p', CLI_LIST, AT(pids), "PID[,PID]", "Record these processes and their children",
	  "Targets" },
	{ "user", 'u', CLI_STRING, AT(user), "USER", "Record the CUDA processes of this user",
	  "Targets" },
	{ "all", 'a', CLI_FLAG, AT(all), NULL, "Record all CUDA processes, present and later",
	  "Targets" },
	{ "pod", 0, CLI_STRING, AT(pod), "NAMESPACE/NAME",
	  "Record this Kubernetes pod, present and later", "Targets" },
	{ "output", 'o', CLI_REPEAT, AT(outputs), "FILE",
	  "Write there; - is standard output; at most twice", "Output" },
	{ "db", 'd', CLI_STRING, AT(db), "DIR", "Folder of recordings ($INGERO_DB, else ~/.ingero)",
	  "Output" },
	{ "flush", 0, CLI_DURATION, AT(flush_ns), "TIME",
	  "Write this often (1s to a file, 100ms to a pipe)", "Output" },
	{ "rotate", 0, CLI_SIZE, AT(rotate_bytes), "SIZE", "Go on in FILE-000002.ige when so large",
	  "Output" },
	{ "rotate-every", 0, CLI_DURATION, AT(rotate_ns), "TIME", "... or covers so much time",
	  "Output" },
	{ "keep", 0, CLI_INT, AT(keep), "N", "Remove the oldest beyond N files", "Output", NULL, 1,
	  1000000 },
	{ "max-size", 0, CLI_SIZE, AT(max_bytes), "SIZE",
	  "Remove the oldest beyond this (default ring: 10g)", "Output", .given = &max_given },
	{ "bundle", 0, CLI_FLAG, AT(bundle), NULL,
	  "Also pack FILE.igb with symbols, or a RECORDING", "Output" },
	{ "flight-recorder", 0, CLI_DURATION, AT(flight_ns), "TIME",
	  "Keep the last TIME in memory until triggered", "Flight recorder" },
	{ "trigger", 0, CLI_REPEAT, AT(triggers), "OP>TIME|idle>TIME|error",
	  "Write it when a call was slow, hangs or failed", "Flight recorder" },
	{ "flight-memory", 0, CLI_SIZE, AT(flight_bytes), "SIZE", "Keep so much at most (256m)",
	  "Flight recorder" },
	{ "node", 'n', CLI_STRING, AT(node), "NAME",
	  "Call this machine so (default: its host name)", "Output" },
	{ "duration", 0, CLI_DURATION, AT(duration_ns), "TIME", "Stop after this time",
	  "Recording" },
	{ "event", 'e', CLI_LIST, AT(only), "OP[,OP]",
	  "Only these: a name, cu*Alloc*, cuda, driver:cu*", "Recording" },
	{ "exclude", 0, CLI_LIST, AT(except), "OP[,OP]", "Not these", "Recording" },
	{ "no-stacks", 0, CLI_FLAG, AT(no_stacks), NULL, "Record no call stacks", "Recording" },
	{ "no-sched", 0, CLI_FLAG, AT(no_sched), NULL,
	  "No off-CPU intervals, block I/O, memory stalls", "Recording" },
	{ "no-gpu", 0, CLI_FLAG, AT(no_gpu), NULL, "Record no GPU health (NVML)", "Recording" },
	{ "no-probes", 0, CLI_FLAG, AT(no_probes), NULL,
	  "Samples of machine and GPUs alone; needs no rights", "Recording" },
	{ "deadband", 0, CLI_NUMBER, AT(deadband), "PERCENT",
	  "Leave out system and GPU samples that moved less", "Recording",
	  .given = &deadband_given },
	{ "heartbeat", 0, CLI_DURATION, AT(heartbeat_ns), "TIME",
	  "... but not for longer than this", "Recording" },
	{ "budget", 0, CLI_STRING, AT(budget), "PERCENT",
	  "What probes may cost; more: windows (2%; none)", "Recording" },
	{ "nested", 0, CLI_FLAG, AT(nested), NULL, "Events for calls inside calls, too",
	  "Recording" },
	{ "sample", 0, CLI_INT, AT(sample), "N", "Record one of N calls of each op, count the rest",
	  "Recording", NULL, 1, 60000 },
	{ "cpu-samples", 'F', CLI_INT, AT(cpu_hz), "HZ",
	  "Sample where CPU time goes so often (99; 0: never)", "Recording", NULL, 0, 10000,
	  .given = &cpu_hz_given },
	{ "mark", 0, CLI_STRING, AT(mark), "FIFO", "Take lines as events: step 12, loss 0.4, ...",
	  "Recording" },
	{ "hung", 0, CLI_DURATION, AT(hung_ns), "TIME",
	  "Name a call once it has been open this long (5s)", "Recording" },
	{ "ring", 0, CLI_SIZE, AT(ring_bytes), "SIZE", "Kernel buffer, a power of two (16m)",
	  "Recording" },
	{ "unwind-memory", 0, CLI_SIZE, AT(unwind_bytes), "SIZE",
	  "Tables for code without frame pointers (64m)", "Recording", .given = &unwind_given },
	{ "link", 0, CLI_CHOICE, AT(link), "KIND", "How to attach: auto, session, multi or perf",
	  "Recording", "auto|session|multi|perf" },
	{ "walker", 0, CLI_CHOICE, AT(walker), "KIND", "How to walk stacks: auto, loop or helper",
	  "Recording", "auto|loop|helper" },
	{ "btf", 0, CLI_STRING, AT(btf), "FILE", "The kernel's BTF, where /sys does not show it",
	  "Recording" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-record",
	.summary = "Record CUDA calls and what the host did to them, as an .ige stream",
	.usage = "[-- COMMAND [ARGUMENT...] | --bundle RECORDING]",
	.options = options,
	.footer = "Without a target: every CUDA process of the invoking user, now and later.\n"
		  "See ingero-record(1) for what a recording reveals.",
	.stop_at_operand = true,
};

/* find: as in lib/input/bundle.h. Returns the exit status. */
static int make_bundle(const char *recording, const char *out, uint32_t uid, uint32_t gid,
		       input_bundle_find_fn *find, void *find_ctx)
{
	struct input_bundle_told told = { 0 };
	struct buf notes = { 0 };
	struct err e = { 0 };
	int rc = out && strcmp(out, "-") == 0 ? cli_refuse_terminal(STDOUT_FILENO, &e) : 0;

	if (rc == 0)
		rc = input_bundle_file(recording, out, uid, gid, find, find_ctx, &told, &notes, &e);
	if (rc == 0) {
		cli_warn_lines(&told.damage);
		cli_detail_lines(&notes);
		cli_note("bundle %s: %s, %s function name%s of %u file%s%s",
			 strcmp(told.path, "-") ? told.path : "on standard output",
			 fmt_bytes(told.bytes).s, fmt_count(told.functions).s,
			 told.functions == 1 ? "" : "s", told.modules, told.modules == 1 ? "" : "s",
			 told.missing == 0	? ""
			 : cli_settings.verbose ? "; others could not be had"
						: "; others could not be had (-v says which)");
	}
	buf_free(&notes);
	buf_free(&told.damage);
	return rc ? cli_fail(&e) : cli_exit_of(told.verdict);
}

static int bundle_only(const struct values *v, const struct cli_operands *operands)
{
	struct record_owner owner = { 0 };

	if (geteuid() == 0)
		record_choose_owner(getenv("SUDO_UID"), getenv("SUDO_GID"), &owner);
	if (operands->n != 1 || v->outputs.n > 1)
		return cli_usage_error(&program, "--bundle packs one recording into one file");
	return make_bundle(operands->v[0], v->outputs.n ? v->outputs.v[0] : NULL, owner.uid,
			   owner.gid, NULL, NULL);
}

#define FLIGHT_BYTES (256u << 20)

struct job {
	struct values v;
	struct cli_operands command;
	struct record_owner owner; /* behind sudo; uid 0 when nobody is */
	struct recorder_options opt;
	uint32_t *pids;
	struct buf target, cmdline, folder, tool;
	struct record_destination to;
	struct filter_trigger trigger;
	struct record_command run;
	bool begun; /* the outputs are being written */
};

static int choose_targets(struct job *j)
{
	struct probe_targets_options *t = &j->opt.targets;
	struct record_choice c = { .pids = j->v.pids.v,
				   .npids = j->v.pids.n,
				   .user = j->v.user,
				   .pod = j->v.pod,
				   .all = j->v.all,
				   .invoker = j->owner.uid };
	struct buf command = { 0 };
	struct err e = { 0 };
	int rc;

	if (j->command.dashes && j->command.n == 0)
		return cli_usage_error(&program, "a command is missing behind --");
	for (size_t i = 0; i < j->command.n; i++) {
		buf_puts(&command, i ? " " : "");
		shell_word(&command, bytes_of(j->command.v[i]));
	}
	c.command = j->command.n ? buf_text(&command) : NULL;
	rc = record_choose(&c, t, &j->pids, &j->target, &e);
	buf_free(&command);
	if (rc)
		return cli_usage_error(&program, "%s", e.text);
	j->opt.until_targets_end = t->npids > 0;
	j->opt.probe.scope = t->scope;
	j->opt.probe.uid = t->uid;
	return CLI_GO;
}

static int open_outputs(struct job *j, struct err *e)
{
	struct record_destination *d = &j->to;
	int rc;

	if (j->v.db)
		buf_puts(&j->folder, j->v.db);
	else
		cli_default_folder(&j->folder);
	d->names = j->v.outputs.v;
	d->nnames = j->v.outputs.n;
	d->folder = buf_text(&j->folder);
	d->owner = j->owner;
	d->rotate_bytes = j->v.rotate_bytes;
	d->rotate_ns = j->v.rotate_ns;
	d->keep = (uint64_t)j->v.keep;
	d->max_bytes = j->v.max_bytes;
	d->max_given = max_given;
	d->flight = j->v.flight_ns > 0;
	rc = record_destination_open(d, e);
	for (unsigned i = 0; i < d->noutputs; i++) {
		j->opt.outputs[j->opt.noutputs++] = d->outputs[i];
		if (!j->opt.flush_ns)
			j->opt.flush_ns = 1000000000;
		if (!j->v.flush_ns && !record_output_is_file(d->outputs[i]))
			j->opt.flush_ns = 100000000;
	}
	if (!j->opt.flush_ns)
		j->opt.flush_ns = 1000000000;
	j->opt.rotate_bytes = d->rotate_bytes;
	j->opt.rotate_ns = d->rotate_ns;
	j->opt.flight_ns = j->v.flight_ns;
	j->opt.flight_bytes = j->v.flight_bytes ? j->v.flight_bytes : FLIGHT_BYTES;
	j->opt.flight_files = d->files;
	j->opt.flight_owner = j->owner;
	j->opt.trigger = &j->trigger;
	return rc;
}

/* Whose names are wrong is a usage error. */
static int choose_ops(struct job *j)
{
	struct probe_names only = { j->v.only.v, j->v.only.n },
			   except = { j->v.except.v, j->v.except.n };
	struct chosen_ops_host host;
	struct err e = { 0 };

	if (chosen_ops(only, except, &host, &e))
		return cli_usage_error(&program, "%s", e.text);
	j->v.no_sched |= !host.sched;
	if (!host.samples && !cpu_hz_given)
		j->opt.probe.cpu_hz = 0;
	j->opt.chosen = only.n > 0;
	return CLI_GO;
}

static void fill_options(struct job *j)
{
	struct probe_options *p = &j->opt.probe;

	record_choose_way(p, j->v.link, j->v.walker, !j->v.no_stacks);
	p->btf = j->v.btf;
	p->sched = !j->v.no_sched && !j->v.no_probes;
	j->opt.node_name = j->v.node;
	j->opt.no_gpu = j->v.no_gpu;
	j->opt.mark = j->v.mark;
	j->opt.sample = (uint32_t)j->v.sample;
	j->opt.no_probes = j->v.no_probes;
	j->opt.thin = deadband_given || j->v.heartbeat_ns;
	j->opt.deadband = j->v.deadband;
	j->opt.heartbeat_ns = j->v.heartbeat_ns;
	buf_printf(&j->tool, "%s %s", program.name, cli_version());
	j->opt.tool = buf_text(&j->tool);
	j->opt.command = buf_text(&j->cmdline);
	j->opt.target = buf_text(&j->target);
	j->opt.duration_ns = j->v.duration_ns;
	j->opt.hung_ns = j->v.hung_ns ? j->v.hung_ns : 5000000000;
	j->opt.flush_ns = j->v.flush_ns;
}

static void print_notices(struct recorder *r)
{
	enum record_notice kind;
	const char *text;

	while ((text = recorder_notice(r, &kind))) {
		if (kind == RECORD_WARNING)
			cli_warn("%s", text);
		else if (kind == RECORD_DETAIL)
			cli_detail("%s", text);
		else
			cli_note("%s%s", kind == RECORD_NOTE ? "  " : "", text);
	}
}

static void print_banner(const struct job *j)
{
	cli_note("%s", buf_text(&j->tool));
	cli_note("  target   %s", buf_text(&j->target));
	if (j->v.flight_ns)
		cli_note("  memory   the last %s, to %s on SIGUSR1 to %d or a trigger",
			 fmt_ns(j->v.flight_ns).s, j->to.path, (int)getpid());
	else if (j->to.row)
		cli_note("  output   %s", j->to.path);
	for (unsigned i = 0; i < j->opt.noutputs; i++)
		if (!j->to.row || !record_output_is_file(j->opt.outputs[i]))
			cli_note("  output   %s", record_output_path(j->opt.outputs[i]));
	if (!j->run.launched)
		cli_note("  Ctrl-C ends the recording");
}

/* good: there is a recording to work with. */
static void print_closing(const struct job *j, struct recorder *r, uint64_t bytes, uint64_t removed,
			  bool good)
{
	struct buf where = { 0 };

	if (good && j->to.path && j->to.row) /* a shell shall expand it */
		buf_puts(&where, j->to.path);
	else if (good && j->to.path)
		shell_word(&where, bytes_of(j->to.path));
	recorder_closing(r, buf_text(&where), bytes, removed);
	print_notices(r);
	buf_free(&where);
}

static int status_of(const struct job *j, int status)
{
	const struct record_command *c = &j->run;

	if (j->command.n == 0)
		return status;
	if (c->exec_errno) {
		cli_error("cannot run %s: %s", j->command.v[0], strerror(c->exec_errno));
		return c->exec_errno == ENOENT ? 127 : 126;
	}
	if (status != CLI_EXIT_DONE)
		return 125;
	return cli_signal_received() || !c->launch.reaped ? CLI_EXIT_DONE
							  : command_launch_status(&c->launch);
}

/* With the recording on standard output the command prints to standard error: its text must not get
 * among the blocks. */
static void restore_apart(void)
{
	cli_signals_restore();
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

static bool on_stdout(const struct job *j)
{
	for (size_t i = 0; i < j->v.outputs.n; i++)
		if (strcmp(j->v.outputs.v[i], "-") == 0)
			return true;
	return false;
}

/* Opens the outputs once the target exists: only now may a recording replace an older one. */
static int begin_outputs(struct job *j, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < j->opt.noutputs; i++)
		rc = record_output_begin(j->opt.outputs[i], e);
	j->begun = rc == 0;
	return rc;
}

/* Drops the capabilities that only attaching needed. From here on the outputs' threads make files,
 * unless the end of the recording makes some. */
static void drop_rights(const struct job *j, const struct recorder *r)
{
	uint64_t keep = recorder_rights(r);
	int error;

	if (j->v.flight_ns || j->v.bundle || j->v.mark)
		keep |= host_rights_files(j->owner.uid != 0);
	if (j->run.launched)
		keep |= host_rights_signals();
	error = host_rights_keep(keep);
	if (error)
		cli_warn("goes on with all its rights: %s", strerror(error));
}

/* The recorder has these files open, even if they or their container are gone. */
static int recorded_file(void *ctx, const char *path, const char *build_id)
{
	return recorder_file(ctx, path, build_id);
}

#define KILLED_NS 1000000000ll /* for a killed process to end, on a busy machine */

/* `timeout -s KILL` ends before what it has killed: how that ended is waited for. */
static int await_killed(struct recorder *r, struct err *e)
{
	int64_t until = host_clock_mono() + KILLED_NS;
	int rc = 1;

	while (rc == 1 && !cli_signal_received() && host_clock_mono() < until &&
	       recorder_awaits_end(r))
		rc = recorder_step(r, e);
	return rc < 0 ? rc : 0;
}

static int run_recording(struct job *j)
{
	struct recorder *r = NULL;
	struct record_output_state state = { 0 };
	struct err e = { 0 };
	int rc, status = CLI_EXIT_DONE;
	uint64_t bytes = 0, removed = 0;

	rc = open_outputs(j, &e);
	if (rc == 0)
		rc = cli_signals_catch(&e);
	if (rc == 0 && j->v.flight_ns)
		rc = cli_signals_catch_request(&e);
	if (rc == 0 && j->command.n) {
		rc = record_command_start(&j->run, j->command.v, j->owner.uid, j->owner.gid,
					  on_stdout(j) ? restore_apart : cli_signals_restore, &e);
		j->opt.targets.launched = rc == 0 ? (uint32_t)j->run.launch.pid : 0;
	}
	if (rc == 0)
		rc = recorder_open(&r, &j->opt, &e);
	if (rc == 0) {
		print_banner(j);
		record_command_settle(&j->run, true);
		do {
			print_notices(r);
			if (cli_signal_request())
				recorder_dump(r);
			rc = record_command_over(&j->run, cli_signal_received())
				     ? 0
				     : recorder_step(r, &e);
			if (rc >= 0 && !j->begun && record_command_runs(&j->run)) {
				rc = begin_outputs(j, &e) ? e.code : rc;
				drop_rights(j, r);
			}
		} while (rc == 1);
		if (rc == 0 && j->command.n)
			rc = await_killed(r, &e);
		if (rc == 0 && !j->begun &&
		    !j->run.exec_errno) /* interrupted before the command ran */
			rc = begin_outputs(j, &e);
		if (rc == 0 || rc == ERR_CLOSED)
			rc = recorder_finish(r, &e);
		if (rc == 0 && recorder_land(r, &e))
			status = cli_fail(&e);
		print_notices(r);
	}
	if (rc && rc != ERR_CLOSED)
		status = cli_fail(&e);
	record_command_settle(&j->run, rc == ERR_CLOSED);
	for (unsigned i = 0; i < j->opt.noutputs; i++) {
		if (record_output_close(j->opt.outputs[i], &state, &e))
			status = cli_fail(&e);
		bytes = state.bytes > bytes ? state.bytes : bytes;
		removed += state.removed;
	}
	if (r && rc == 0 && !j->run.exec_errno) { /* status_of reports a command that never ran */
		if (j->v.bundle && status == CLI_EXIT_DONE)
			status = make_bundle(j->to.path, NULL, j->owner.uid, j->owner.gid,
					     recorded_file, r);
		print_closing(j, r, bytes, removed, status == CLI_EXIT_DONE);
	}
	recorder_free(r);
	record_rotation_free(j->to.files);
	if (record_command_goes_on(&j->run) && !cli_signal_received()) {
		if (!j->run.dropped)
			cli_note("the command goes on, unrecorded");
		record_command_wait(&j->run, cli_signal_received);
	}
	return status_of(j, status);
}

static int check_values(struct job *j)
{
	const struct values *v = &j->v;
	struct err e = { 0 };

	for (size_t i = 0; i < v->triggers.n; i++)
		if (filter_trigger_add(&j->trigger, v->triggers.v[i], &e))
			return cli_usage_error(&program, "--trigger: %s", e.text);
	if (!v->flight_ns && (v->triggers.n || v->flight_bytes))
		return cli_usage_error(&program,
				       "--trigger and --flight-memory are for --flight-recorder");

	if (v->bundle && (v->rotate_bytes || v->rotate_ns || v->flight_ns || v->outputs.n != 1 ||
			  strcmp(v->outputs.v[0], "-") == 0))
		return cli_usage_error(&program,
				       "--bundle while recording needs -o FILE, one file; "
				       "for others: ingero-record --bundle RECORDING");
	if (j->command.n && !j->command.dashes)
		return cli_usage_error(&program,
				       "put -- in front of the command: ingero-record -- %s",
				       j->command.v[0]);
	if (v->no_probes && v->triggers.n)
		return cli_usage_error(&program,
				       "--no-probes records no calls: --trigger is of calls");
	if (v->outputs.n == 2 && strcmp(v->outputs.v[0], v->outputs.v[1]) == 0)
		return cli_usage_error(&program, "the two outputs are the same: %s",
				       v->outputs.v[0]);
	if (v->outputs.n > 2)
		return cli_usage_error(&program, "at most two outputs: a file and -");
	j->opt.probe.unwind_bytes = unwind_given ? v->unwind_bytes : UNWIND_BYTES_DEFAULT;
	if (record_choose_ring(&j->opt.probe, v->ring_bytes, &e) ||
	    record_choose_samples(&j->opt.probe, v->cpu_hz, cpu_hz_given, !v->no_stacks,
				  !v->no_probes, &e))
		return cli_usage_error(&program, "%s", e.text);
	j->opt.budget = RECORD_BUDGET_DEFAULT;
	if (v->budget && strcmp(v->budget, "none") == 0)
		j->opt.budget = 0;
	else if (v->budget && !record_percent(v->budget, &j->opt.budget))
		return cli_usage_error(&program,
				       "--budget is a share of the time, as 1%%, or none");
	if (v->nested)
		probe_spec_fold_nothing();
	if (deadband_given && !(v->deadband >= 0))
		return cli_usage_error(&program, "--deadband is a share in percent, 0 or more");
	return CLI_GO;
}

int main(int argc, char **argv)
{
	struct job j = { 0 };
	int status;

	cli_start();
	for (int i = 0; i < argc; i++) { /* before the parser sorts them */
		buf_puts(&j.cmdline, i ? " " : "");
		shell_word(&j.cmdline, bytes_of(argv[i]));
	}
	status = cli_parse(&program, &j.v, argc, argv, &j.command);
	if (status == CLI_GO && j.v.bundle && j.command.n && !j.command.dashes) {
		status = bundle_only(&j.v, &j.command);
		goto out;
	}
	if (status == CLI_GO)
		status = check_values(&j);
	if (status == CLI_GO)
		status = choose_ops(&j);
	if (status != CLI_GO)
		goto out;
	if (geteuid() == 0)
		record_choose_owner(getenv("SUDO_UID"), getenv("SUDO_GID"), &j.owner);
	status = choose_targets(&j);
	if (status != CLI_GO)
		goto out;
	fill_options(&j);
	status = run_recording(&j);
out:
	cli_list_free(&j.v.outputs);
	cli_list_free(&j.v.pids);
	cli_list_free(&j.v.only);
	cli_list_free(&j.v.except);
	free(j.pids);
	buf_free(&j.target);
	buf_free(&j.cmdline);
	buf_free(&j.folder);
	free(j.to.path);
	filter_trigger_free(&j.trigger);
	cli_list_free(&j.v.triggers);
	buf_free(&j.tool);
	return status;
}
