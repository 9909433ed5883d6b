/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mount may show only a part of its tree (containers), and a process may lie outside of that
 * part: then there is no folder, and nothing to read.
 */
#include "lib/host/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/io.h"
#include "lib/host/text.h"

#define TEXT_MAX  (4u << 20)
#define V1_ID	  (1ull << 63)
#define MEMORY_ID (1ull << 62)

/* The blank-separated word at *p; empty at the end. */
static struct bytes next_word(const char **p, const char *end)
{
	struct bytes w;

	while (*p < end && **p == ' ')
		(*p)++;
	w.p = *p;
	while (*p < end && **p != ' ')
		(*p)++;
	w.n = (size_t)(*p - w.p);
	return w;
}

/* Is name one of the comma-separated words? */
static bool has_word(struct bytes list, const char *name)
{
	const char *p = list.p, *end = bytes_end(list);
	size_t n = strlen(name);

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;

		if ((size_t)(stop - p) == n && memcmp(p, name, n) == 0)
			return true;
		p = comma ? comma + 1 : end;
	}
	return false;
}

/* Blanks and the like are \040 in mountinfo. */
static void unescape_path(struct bytes from, char out[HOST_CGROUP_PATH])
{
	size_t to = 0;

	for (size_t i = 0; i < from.n && to < HOST_CGROUP_PATH - 1; i++, to++) {
		if (from.p[i] == '\\' && from.n - i >= 4) {
			out[to] = (char)((from.p[i + 1] - '0') << 6 | (from.p[i + 2] - '0') << 3 |
					 (from.p[i + 3] - '0'));
			i += 3;
		} else {
			out[to] = from.p[i];
		}
	}
	out[to] = 0;
}

/* "36 35 98:0 /root /mount opts optional… - type source superopts" */
static void mount_line(const char *p, const char *end, struct host_cgroup_trees *out)
{
	struct bytes root = { 0 }, mount = { 0 }, type, options, w;
	struct host_cgroup_tree *tree;

	for (unsigned i = 0; i < 5; i++) {
		w = next_word(&p, end);
		root = i == 3 ? w : root;
		mount = i == 4 ? w : mount;
	}
	do
		w = next_word(&p, end);
	while (w.n && !bytes_equal(w, bytes_of("-")));
	type = next_word(&p, end);
	next_word(&p, end);
	options = next_word(&p, end);
	if (bytes_equal(type, bytes_of("cgroup2")))
		tree = &out->unified;
	else if (bytes_equal(type, bytes_of("cgroup")) && has_word(options, "cpu"))
		tree = &out->cpu_v1;
	else if (bytes_equal(type, bytes_of("cgroup")) && has_word(options, "memory"))
		tree = &out->memory_v1;
	else
		return;
	if (tree->mount[0] || root.n >= HOST_CGROUP_PATH || mount.n >= HOST_CGROUP_PATH)
		return;
	unescape_path(root, tree->root);
	unescape_path(mount, tree->mount);
}

void host_cgroup_mounts_parse(struct bytes text, struct host_cgroup_trees *out)
{
	const char *p = text.p, *end = bytes_end(text);

	memset(out, 0, sizeof(*out));
	while (p && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)),
			   *stop = newline ? newline : end;

		mount_line(p, stop, out);
		p = newline ? newline + 1 : end;
	}
}

int host_cgroup_mounts(struct host_cgroup_trees *out, struct err *e)
{
	struct buf text = { 0 };
	int rc = read_file("/proc/self/mountinfo", &text, TEXT_MAX, e);

	host_cgroup_mounts_parse(rc ? (struct bytes){ NULL, 0 } : buf_bytes(&text), out);
	buf_free(&text);
	return rc;
}

void host_cgroup_places_parse(struct bytes text, struct host_cgroup_places *out)
{
	const char *p = text.p, *end = bytes_end(text);

	memset(out, 0, sizeof(*out));
	while (p && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)),
			   *stop = newline ? newline : end;
		const char *first = memchr(p, ':', (size_t)(stop - p));
		const char *second =
			first ? memchr(first + 1, ':', (size_t)(stop - first - 1)) : NULL;

		if (second) {
			struct bytes controllers = { first + 1, (size_t)(second - first - 1) };
			struct bytes place = { second + 1, (size_t)(stop - second - 1) };

			if (controllers.n == 0)
				out->unified = place;
			else if (has_word(controllers, "cpu"))
				out->cpu_v1 = place;
			if (has_word(controllers, "memory"))
				out->memory_v1 = place;
		}
		p = newline ? newline + 1 : end;
	}
}

bool host_cgroup_folder(const struct host_cgroup_tree *tree, struct bytes place,
			char out[HOST_CGROUP_PATH * 2])
{
	size_t root = strcmp(tree->root, "/") == 0 ? 0 : strlen(tree->root);

	if (!tree->mount[0] || place.n == 0 || place.n >= HOST_CGROUP_PATH || place.n < root ||
	    memcmp(place.p, tree->root, root) != 0 ||
	    (root && place.n > root && place.p[root] != '/') || memmem(place.p, place.n, "/..", 3))
		return false;
	snprintf(out, (size_t)HOST_CGROUP_PATH * 2, "%s%.*s", tree->mount, (int)(place.n - root),
		 place.p + root);
	return true;
}

/* name: of the controller whose tree it is, "" for the one tree of all. */
static bool fill_cgroup(const struct host_cgroup_tree *tree, struct bytes place, const char *name,
			struct host_cgroup *out)
{
	struct stat st;

	if (!host_cgroup_folder(tree, place, out->folder) || stat(out->folder, &st))
		return false;
	out->v1 = *name != 0;
	out->id = (uint64_t)st.st_ino | (out->v1 ? V1_ID : 0);
	/* Inode numbers repeat between the trees of cgroup version 1. */
	if (strcmp(name, "memory:") == 0)
		out->id |= MEMORY_ID;
	snprintf(out->path, sizeof(out->path), "%s%.*s", name, (int)place.n, place.p);
	return true;
}

static int read_of(const struct host_cgroup_trees *trees, uint32_t pid, bool memory,
		   struct host_cgroup *out, struct err *e)
{
	struct host_cgroup_places places;
	struct buf text = { 0 };
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	rc = read_file(path, &text, TEXT_MAX, e);
	if (rc == 0) {
		bool v1;

		host_cgroup_places_parse(buf_bytes(&text), &places);
		/* A controller is in one tree only; where it is in the old one, that counts. */
		v1 = memory ? fill_cgroup(&trees->memory_v1, places.memory_v1, "memory:", out)
			    : fill_cgroup(&trees->cpu_v1, places.cpu_v1, "cpu:", out);
		if (!v1 && !fill_cgroup(&trees->unified, places.unified, "", out))
			rc = err_set(e, ERR_CANNOT,
				     "the cgroup of process %" PRIu32 " cannot be seen from here",
				     pid);
	}
	buf_free(&text);
	return rc;
}

int host_cgroup_read(const struct host_cgroup_trees *trees, uint32_t pid, struct host_cgroup *out,
		     struct err *e)
{
	return read_of(trees, pid, false, out, e);
}

int host_cgroup_memory(const struct host_cgroup_trees *trees, uint32_t pid, struct host_cgroup *out,
		       struct err *e)
{
	return read_of(trees, pid, true, out, e);
}

bool host_cgroup_parent(const struct host_cgroup_trees *trees, const struct host_cgroup *of,
			struct host_cgroup *out)
{
	bool memory = of->v1 && of->id & MEMORY_ID;
	const struct host_cgroup_tree *tree = memory   ? &trees->memory_v1
					      : of->v1 ? &trees->cpu_v1
						       : &trees->unified;
	const char *name = memory ? "memory:" : of->v1 ? "cpu:" : "";
	const char *path = of->path + strlen(name), *slash = strrchr(path, '/');
	size_t n;

	if (!slash || path[1] == 0)
		return false;
	n = slash == path ? 1 : (size_t)(slash - path);
	return fill_cgroup(tree, (struct bytes){ path, n }, name, out);
}

uint32_t host_cgroup_world(struct world *w, uint32_t node, const struct host_cgroup *cgroup)
{
	struct world_cgroup v = { .node = node,
				  .id = cgroup->id,
				  .path = world_string(w, bytes_of(cgroup->path)) };

	return world_cgroup(w, &v);
}

bool host_throttle_parse(struct bytes text, struct host_throttle *out)
{
	uint64_t us;

	*out = (struct host_throttle){ 0 };
	if (!host_text_value(text, "nr_periods ", &out->periods) ||
	    !host_text_value(text, "nr_throttled ", &out->throttled))
		return false;
	if (host_text_value(text, "throttled_time ", &out->throttled_ns)) /* version 1 */
		return true;
	if (!host_text_value(text, "throttled_usec ", &us))
		return false;
	out->throttled_ns = us * 1000;
	return true;
}
