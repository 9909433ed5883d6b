/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the recordings of all nodes into deleted files, which can be opened any number of times
 * by way of /proc. */
#include "lib/fleet/fleet_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/timetext.h"
#include "lib/ige/block.h"
#include "lib/input/operand.h"
#include "lib/fleet/fleet_internal.h"

#define AT_ONCE 16 /* recordings that come at the same time */
#define NAME	"/proc/self/fd/"

static int open_scratch(int *fd, const char *folder, struct err *e)
{
	char *path = NULL;
	int rc = 0;

	if (asprintf(&path, "%s/ingero-node-XXXXXX", folder) < 0)
		return err_nomem(e);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		rc = err_sys(e, "cannot make %s for a recording (TMPDIR says where)", path);
	else
		unlink(path);
	free(path);
	return rc;
}

/* Reads and checks the beginning of a recording. */
static int check_recording(int fd, struct ige_segment *s, struct err *e)
{
	unsigned char head[IGE_SEGMENT_BYTES];

	if (read_at(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head, IGE_SEGMENT_MAGIC, 8) != 0)
		return err_set(e, ERR_DAMAGED, "its answer is no recording");
	return ige_segment_unpack(s, head, e);
}

static int open_all(struct fleet_files *x, const char *folder, struct err *e)
{
	int rc = 0;

	x->names = calloc(x->nodes_n, sizeof(*x->names));
	x->fds = malloc(x->nodes_n * sizeof(*x->fds));
	if (!x->names || !x->fds)
		rc = err_nomem(e);
	for (size_t i = 0; x->fds && i < x->nodes_n; i++)
		x->fds[i] = -1;
	if (!rc && !input_operand_room((unsigned)x->nodes_n + AT_ONCE))
		rc = err_set(e, ERR_CANNOT, "%zu recordings are more than files may be open",
			     x->nodes_n);
	for (size_t i = 0; !rc && i < x->nodes_n; i++)
		rc = open_scratch(&x->fds[i], folder, e);
	return rc;
}

/* What nodes may leave out, as they count it: from the end of their own recording, which is not
 * later than that of all. Times of a clock may be others where they are. */
static void oldest_wanted(struct buf *path, const struct filter_words *words)
{
	uint64_t ns = words->last_ns;
	char text[32];

	if (!words->last_given &&
	    (!words->since || duration_parse(bytes_of(words->since), &ns, NULL)))
		return;
	snprintf(text, sizeof(text), "%" PRIu64 "ns", ns);
	fleet_append_since(path, text);
}

static int fetch_recordings(struct fleet *f, const struct filter_words *words, const int *fds,
			    struct err *e)
{
	struct fleet_request q = { .fds = fds, .at_once = AT_ONCE };
	struct buf path = { 0 };
	size_t answered;
	int rc;

	buf_reset(&f->warnings);
	buf_puts(&path, "/api/v1/recording");
	oldest_wanted(&path, words);
	q.path = buf_text(&path);
	rc = path.failed ? err_nomem(e) : fleet_query_nodes(f, &q, &answered, e);
	buf_free(&path);
	return rc;
}

/* So that others who write there go on. */
static size_t half_of_free(const char *folder)
{
	struct statvfs v;

	return statvfs(folder, &v) ? 0 : (size_t)(v.f_bavail * v.f_frsize / 2);
}

int fleet_fetch_recordings(struct fleet_files *out, struct fleet *f,
			   const struct filter_words *words, const char *folder, struct err *e)
{
	int rc;

	*out = (struct fleet_files){ .fleet = f };
	out->nodes = fleet_nodes(f, &out->nodes_n);
	net_parallel_requests_files(f->parallel, f->opt.recordings_max ? f->opt.recordings_max
								       : half_of_free(folder));
	rc = open_all(out, folder, e);
	rc = rc ? rc : fetch_recordings(f, words, out->fds, e);
	for (size_t i = 0; !rc && i < out->nodes_n; i++) {
		size_t before = out->n;
		struct ige_segment begin;
		struct err bad = { 0 };

		out->n += out->nodes[i].answered;
		if (out->nodes[i].answered && check_recording(out->fds[i], &begin, &bad))
			fleet_exclude_node(f, i, &out->n, &bad);
		if (out->n == before) {
			close(out->fds[i]);
			out->fds[i] = -1;
		} else if (asprintf(&out->names[before], NAME "%d", out->fds[i]) < 0) {
			out->names[before] = NULL;
			rc = err_nomem(e);
		}
	}
	if (!rc && !out->n)
		rc = err_set(e, ERR_CANNOT, "no node has a recording for us");
	return rc;
}

int fleet_files_set_clocks(struct fleet_files *x, struct buf *notes, struct err *e)
{
	char made_on[STORE_MACHINE_TEXT], by[48];
	struct ige_segment begin;
	size_t at = 0;

	x->ahead_ns = calloc(x->n + 1, sizeof(*x->ahead_ns));
	if (!x->ahead_ns)
		return err_nomem(e);
	for (size_t i = 0; i < x->nodes_n; i++) {
		const struct fleet_node *n = &x->nodes[i];

		if (x->fds[i] < 0)
			continue;
		if (n->off_ns && !check_recording(x->fds[i], &begin, NULL)) {
			store_machine_text(made_on, begin.node_uuid, begin.boot);
			if (made_on[0] && !strcmp(made_on, n->machine))
				x->ahead_ns[at] = n->off_ns;
		}
		if (x->ahead_ns[at])
			buf_printf(notes,
				   "%s: its clock is %s %s, and the times of its recording were "
				   "put right by that\n",
				   fleet_label(x->fleet, i),
				   duration_text(by, sizeof(by),
						 n->off_ns < 0 ? -(uint64_t)n->off_ns
							       : (uint64_t)n->off_ns),
				   n->off_ns < 0 ? "behind" : "ahead");
		at++;
	}
	return 0;
}

void fleet_files_position(void *of, uint64_t *done, uint64_t *total, uint64_t *events)
{
	const struct fleet_files *x = of;
	struct stat st;

	*done = *total = *events = 0;
	for (size_t i = 0; x->fds && i < x->nodes_n; i++)
		if (x->fds[i] >= 0 && fstat(x->fds[i], &st) == 0)
			*done += (uint64_t)st.st_size;
}

static const char *node_of(const struct fleet_files *x, int fd)
{
	for (size_t i = 0; x->fds && i < x->nodes_n; i++)
		if (x->fds[i] == fd)
			return x->nodes[i].name;
	return NULL;
}

void fleet_files_replace_names(const struct fleet_files *x, struct buf *text)
{
	const char *p = buf_text(text), *at, *node;
	struct buf out = { 0 };
	char *end;

	while ((at = strstr(p, NAME))) {
		long fd = strtol(at + strlen(NAME), &end, 10);

		buf_add(&out, p, (size_t)(at - p));
		node = end > at + strlen(NAME) ? node_of(x, (int)fd) : NULL;
		if (node)
			buf_puts(&out, node);
		else
			buf_add(&out, at, (size_t)(end - at));
		p = end;
	}
	buf_puts(&out, p);
	buf_reset(text);
	buf_add(text, out.p, out.n);
	buf_free(&out);
}

struct err *fleet_files_replace_names_err(const struct fleet_files *x, struct err *e)
{
	struct buf text = { 0 };

	buf_puts(&text, e->text);
	fleet_files_replace_names(x, &text);
	if (!text.failed)
		err_set(e, e->code, "%s", buf_text(&text));
	buf_free(&text);
	return e;
}

void fleet_files_free(struct fleet_files *x)
{
	for (size_t i = 0; i < x->nodes_n; i++) {
		if (x->names)
			free(x->names[i]);
		if (x->fds && x->fds[i] >= 0)
			close(x->fds[i]);
	}
	free(x->names);
	free(x->fds);
	free(x->ahead_ns);
	*x = (struct fleet_files){ 0 };
}
