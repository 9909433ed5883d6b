/* SPDX-License-Identifier: Apache-2.0 */
/* A signal ends it between two pieces of what comes. */
#include "lib/fleet/remote_recordings.h"

#include "lib/cli/defaults.h"
#include "lib/cli/message.h"
#include "lib/cli/signals.h"
#include "lib/fleet/remote_query.h"

static bool is_stopped(void *ctx)
{
	cli_progress_tick(ctx);
	return cli_signal_received() != 0;
}

int remote_recordings_fetch(struct remote_recordings *x, const struct cli_asking *asked,
			    struct fleet_options how, const struct filter_words *words,
			    struct err *e)
{
	struct buf notes = { 0 };
	int rc;

	how.stop = is_stopped;
	how.stop_ctx = &x->progress;
	rc = remote_query_open(&x->fleet, asked, how, e);
	cli_progress_begin(&x->progress, fleet_files_position, &x->files, false);
	rc = rc ? rc : fleet_fetch_recordings(&x->files, x->fleet, words, cli_scratch_folder(), e);
	cli_progress_end(&x->progress);
	rc = remote_query_end(x->fleet, rc, e);
	rc = rc ? rc : fleet_files_set_clocks(&x->files, &notes, e);
	cli_note_lines(&notes);
	buf_free(&notes);
	return rc;
}

void remote_recordings_free(struct remote_recordings *x)
{
	fleet_files_free(&x->files);
	fleet_free(x->fleet);
}
