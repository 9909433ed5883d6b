/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a real stall on this machine: starts the hog, the recorder and through it the loop, and
 * shows the machine's use until the recorder has ended.
 */
#include "lib/demo/real_stall.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/sibling.h"
#include "lib/demo/system_bars.h"
#include "lib/host/clock.h"
#include "lib/host/node.h"
#include "lib/host/sample.h"

#define SECONDS	  6
#define DUTY	  40 /* percent of a CPU that the hog takes */
#define SAMPLE_MS 500

/* The program as it is started (what is executed now may be its loader, as in the tarball), and in
 * a build tree the folder of the double beside it. */
static void own_place(const char *program, struct buf *self, char double_folder[PATH_MAX + 16])
{
	const char *path, *slash;

	if (!cli_sibling_find(program, self))
		buf_puts(self, "/proc/self/exe");
	path = buf_text(self);
	slash = strrchr(path, '/');
	snprintf(double_folder, PATH_MAX + 16, "%.*s/../double", slash ? (int)(slash - path) : 0,
		 path);
}

/* ---- the machine meanwhile ---- */

struct watching {
	struct system_bars *bars;
	struct err *e;
};

static int take_sample(void *ctx, const struct record *r)
{
	struct watching *w = ctx;

	return system_bars_record(w->bars, r, w->e);
}

/* Draws until the write end of `said` is closed; what is written there appears above the bars. */
static int draw_until_end(struct system_bars *bars, struct host_sampler *sampler, int said,
			  struct err *e)
{
	struct watching watching = { bars, e };
	struct pollfd p = { .fd = said, .events = POLLIN };
	struct cli_redraw draw;
	int rc = 0;

	cli_redraw_init(&draw, said);
	for (;;) {
		int ready = poll(&p, 1, SAMPLE_MS);

		if (ready > 0 && !(p.revents & POLLIN))
			break;
		if (!rc && ready == 0)
			rc = host_sampler_tick(sampler, host_clock_mono(), NULL, 0, take_sample,
					       &watching);
		/* The recorder must not wait for us where something fails here. */
		if (!rc)
			rc = system_bars_draw(bars, &draw, e);
		else if (ready > 0)
			cli_redraw_notices(&draw);
	}
	return rc;
}

static int draw_machine(int said, struct err *e)
{
	struct world *w = world_new();
	struct host_sampler *sampler = NULL;
	struct system_bars *bars = NULL;
	struct host_node node;
	struct record r;
	uint32_t id;
	int rc;

	if (!w)
		return err_nomem(e);
	host_node_read(&node);
	id = host_node_world(&node, w, NULL);
	host_node_record(&node, id, &r);
	rc = host_sampler_new(&sampler, w, id, e);
	rc = rc ? rc : system_bars_new(&bars, w, e);
	rc = rc ? rc : system_bars_record(bars, &r, e);
	rc = rc ? rc : draw_until_end(bars, sampler, said, e);
	host_sampler_free(sampler);
	system_bars_free(bars);
	world_free(w);
	return rc;
}

/* ---- */

static int run_recorder(char *const *argv, bool bars, struct err *e)
{
	int said[2] = { -1, -1 }, status;
	pid_t pid;

	if (bars && cli_sibling_pipe(said, e))
		return cli_fail(e);
	pid = cli_sibling_start(argv,
				&(struct cli_sibling_fds){ -1, bars ? said[1] : STDERR_FILENO,
							   bars ? said[1] : -1 },
				e);
	if (bars) {
		close(said[1]);
		if (pid > 0 && draw_machine(said[0], e))
			cli_fail(e);
		close(said[0]);
	}
	status = pid < 0 ? cli_fail(e) : cli_sibling_wait(pid);
	return status;
}

int real_stall_record(const char *program, const char *path, bool bars, pid_t *hog, struct err *e)
{
	char double_folder[PATH_MAX + 16];
	struct buf self = { 0 };
	char *record[] = { "ingero-record", "-o", (char *)path, "--", NULL, "--loop", NULL };
	bool is_double;
	int status;

	own_place(program, &self, double_folder);
	record[4] = self.p;
	if (sim_live_find(double_folder, &is_double, e)) {
		buf_free(&self);
		err_prefix(e, "nothing to record on (ingero-demo --explain needs no GPU)");
		return cli_fail(e);
	}
	cli_note("A loop of GPU work%s and a CPU hog (\"%s\", %d %% of a CPU) share a CPU for %d "
		 "seconds",
		 is_double ? ", on a stand-in for the CUDA libraries," : "", SIM_LIVE_HOG, DUTY,
		 SECONDS);
	fflush(NULL);
	*hog = fork();
	if (*hog == 0) {
		sim_live_hog(DUTY);
		_exit(0);
	}
	if (*hog < 0) {
		err_sys(e, "cannot start a hog");
		buf_free(&self);
		return cli_fail(e);
	}
	status = run_recorder(record, bars, e);
	kill(*hog, SIGTERM);
	cli_sibling_wait(*hog);
	buf_free(&self);
	return status;
}

int real_stall_loop(const char *program, struct err *e)
{
	char double_folder[PATH_MAX + 16];
	struct buf self = { 0 };

	own_place(program, &self, double_folder);
	buf_free(&self);
	return sim_live_loop(double_folder, SECONDS, e);
}
