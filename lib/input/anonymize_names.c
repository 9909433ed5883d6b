/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the dictionary of a recording's names (lib/input/anonymize_names.h): each name in the forms
 * in which the analysis prints it, a path also as the name of its file, a function with its place
 * in the source, a process as people call it.
 */
#include "lib/input/anonymize_names.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/demangle.h"
#include "lib/base/shorten.h"
#include "lib/input/pseudonym_sentence.h"
#include "lib/input/anonymize.h"
#include "lib/world/frame_parts.h"

#define COMM_MAX   15 /* bytes: the kernel cuts names of threads there */
#define NUMBER_MIN 5  /* digits: shorter names of digits alone are numbers in sentences */

static const size_t cuts[] = { 64, 96 }; /* lib/detect cuts names of functions to so many bytes */

static bool is_short_number(struct bytes text)
{
	return text.n < NUMBER_MIN && strspn(text.p, "0123456789") >= text.n;
}

static void add_name(struct anonymize_names *n, struct bytes name, struct bytes alias)
{
	if (!is_short_number(name))
		known_names_add(&n->known, name, alias);
}

/* As the analysis shortens it, too. */
static void add_with_cuts(struct anonymize_names *n, struct bytes name, struct bytes alias)
{
	struct buf cut = { 0 }, cut_alias = { 0 };

	add_name(n, name, alias);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]) && name.n > cuts[i]; i++) {
		buf_reset(&cut);
		buf_reset(&cut_alias);
		shorten_one(&cut, name, cuts[i]);
		shorten_one(&cut_alias, alias, cuts[i]);
		add_name(n, buf_bytes(&cut), buf_bytes(&cut_alias));
	}
	n->known.failed |= cut.failed || cut_alias.failed;
	buf_free(&cut);
	buf_free(&cut_alias);
}

static void add_text(struct anonymize_names *n, enum pseudonym_kind kind, struct bytes text)
{
	struct bytes alias, name = bytes_file_name(text);

	if (!text.n || (kind == ALIAS_SENTENCE))
		return;
	buf_reset(&n->text);
	pseudonym_text(&n->key, kind, text, &n->text);
	n->known.failed |= n->text.failed;
	alias = buf_bytes(&n->text);
	add_with_cuts(n, text, alias);
	if (kind == ALIAS_PROGRAM)
		known_names_add(&n->programs, text, alias);
	if ((kind == ALIAS_PATH || kind == ALIAS_ORIGIN) && name.n && name.n < text.n)
		add_name(n, name, bytes_file_name(alias));
}

static void add_id(struct anonymize_names *n, enum pseudonym_kind kind, uint32_t id)
{
	if (id)
		add_text(n, kind, world_text(n->from, id));
}

void anonymize_names_alias(struct anonymize_names *n, enum pseudonym_kind kind, struct bytes text,
			   struct buf *out)
{
	add_text(n, kind, text);
	pseudonym_text(&n->key, kind, text, out);
}

void anonymize_names_alias_process(struct anonymize_names *n, struct bytes text, struct buf *out)
{
	struct bytes known = known_names_find(&n->programs, text);

	if (known.p)
		buf_add(out, known.p, known.n);
	else
		anonymize_names_alias(
			n, text.n && memchr(text.p, ' ', text.n) ? ALIAS_COMMAND : ALIAS_PROGRAM,
			text, out);
}

/* A name that the kernel cut is the same whole: it has the pseudonym that events have. */
static void add_process_name(struct anonymize_names *n, uint32_t id, uint32_t comm_id)
{
	struct bytes name = world_text(n->from, id), comm = world_text(n->from, comm_id);
	bool cut = id && comm.n == COMM_MAX && name.n > comm.n && !memcmp(name.p, comm.p, comm.n);

	if (!id)
		return;
	if (!cut && known_names_find(&n->programs, name).p)
		return;
	if (!cut) {
		add_text(n, name.n && memchr(name.p, ' ', name.n) ? ALIAS_COMMAND : ALIAS_PROGRAM,
			 name);
		return;
	}
	buf_reset(&n->text);
	pseudonym_text(&n->key, ALIAS_PROGRAM, comm, &n->text);
	n->known.failed |= n->text.failed;
	add_name(n, name, buf_bytes(&n->text));
	known_names_add(&n->programs, name, buf_bytes(&n->text));
}

static void add_process_names(struct anonymize_names *n)
{
	for (uint32_t id = 1; id <= world_count(n->from, WORLD_PROCESS); id++)
		add_process_name(n, world_process_name(n->from, id, 0, INT64_MAX), 0);
	for (uint32_t id = 1; id <= world_count(n->from, WORLD_IMAGE); id++) {
		const struct world_image *image = world_get_image(n->from, id);

		if (image)
			add_process_name(n,
					 world_process_name(n->from, image->process, id, INT64_MAX),
					 image->comm);
	}
}

/* "train_step (train.py:41)", in which the name of the function stays. */
static void add_frame(struct anonymize_names *n, uint32_t id, uint32_t name, uint32_t file)
{
	struct bytes function = world_text(n->from, name), raw;
	struct buf alias = { 0 };

	add_id(n, ALIAS_PATH, file);
	add_id(n, ALIAS_FUNCTION, name);
	buf_reset(&n->other);
	place_print_frame(&n->other, n->from, id);
	raw = buf_bytes(&n->other);
	if (name && function.n && raw.n > function.n && !memcmp(raw.p, function.p, function.n)) {
		pseudonym_text(&n->key, ALIAS_FUNCTION, function, &alias);
		pseudonym_sentence(&n->known,
				   (struct bytes){ raw.p + function.n, raw.n - function.n },
				   &alias);
		add_with_cuts(n, raw, buf_bytes(&alias));
	}
	n->known.failed |= alias.failed || n->other.failed;
	buf_free(&alias);
}

static void add_subject(struct anonymize_names *n, enum world_kind kind, uint32_t id)
{
	const struct world *w = n->from;

	if (kind == WORLD_NODE) {
		add_id(n, ALIAS_HOST, world_get_node(w, id)->name);
	} else if (kind == WORLD_IMAGE) {
		add_id(n, ALIAS_PATH, world_get_image(w, id)->exe);
		add_id(n, ALIAS_COMMAND, world_get_image(w, id)->cmdline);
		add_id(n, ALIAS_PROGRAM, world_get_image(w, id)->comm);
	} else if (kind == WORLD_THREAD) {
		add_id(n, ALIAS_PROGRAM, world_get_thread(w, id)->comm);
	} else if (kind == WORLD_CGROUP) {
		struct bytes path = world_text(w, world_get_cgroup(w, id)->path);
		const char *colon = path.n ? memchr(path.p, ':', path.n) : NULL;

		add_text(n, ALIAS_PATH, path);
		/* Of version 1, without its controller. */
		if (colon && path.p[0] != '/')
			add_text(n, ALIAS_PATH,
				 (struct bytes){ colon + 1,
						 (size_t)(path.p + path.n - colon - 1) });
	} else if (kind == WORLD_GPU) {
		add_id(n, ALIAS_GPU, world_get_gpu(w, id)->uuid);
		add_id(n, ALIAS_KEEP, world_get_gpu(w, id)->name);
	} else if (kind == WORLD_MODULE) {
		add_id(n, ALIAS_PATH, world_get_module(w, id)->path);
	} else if (kind == WORLD_FRAME) {
		add_frame(n, id, world_get_frame(w, id)->name, world_get_frame(w, id)->file);
	}
}

static void add_ops(struct anonymize_names *n)
{
	unsigned count;
	const struct op_def *all = op_builtin_all(&count);

	for (unsigned i = 0; i < count; i++)
		known_names_fix(&n->known, bytes_of(all[i].name));
	n->ops = true;
}

void anonymize_names_update(struct anonymize_names *n)
{
	static const enum world_kind kinds[] = { WORLD_NODE,   WORLD_IMAGE, WORLD_THREAD,
						 WORLD_CGROUP, WORLD_GPU,   WORLD_MODULE,
						 WORLD_FRAME };
	bool processes = n->renamed || n->seen[WORLD_IMAGE] < world_count(n->from, WORLD_IMAGE) ||
			 n->seen[WORLD_THREAD] < world_count(n->from, WORLD_THREAD);

	if (!n->ops)
		add_ops(n);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		while (n->seen[kinds[i]] < world_count(n->from, kinds[i]))
			add_subject(n, kinds[i], ++n->seen[kinds[i]]);
	while (n->symbols_seen < world_symbols(n->from)) {
		uint32_t id = world_symbol_frame(n->from, ++n->symbols_seen);
		const struct world_symbol *s = world_get_symbol(n->from, id);

		if (s)
			add_frame(n, id, s->name, s->file);
	}
	if (processes)
		add_process_names(n);
	n->renamed = false;
}

static void add_kernel(struct anonymize_names *n, struct bytes name)
{
	struct buf text = { 0 };

	buf_add(&text, name.p, name.n);
	buf_reset(&n->other);
	demangle_name(&n->other, buf_text(&text));
	n->known.failed |= text.failed || n->other.failed;
	buf_free(&text);
	add_text(n, ALIAS_FUNCTION, buf_bytes(&n->other));
}

void anonymize_names_add_field(struct anonymize_names *n, const struct record *r,
			       const struct record_field *f, struct bytes text)
{
	enum pseudonym_kind kind = (enum pseudonym_kind)input_anonymize_field(r->kind, f->number);

	if (!text.n)
		return;
	if (r->kind == RECORD_KERNEL)
		add_kernel(n, text);
	n->renamed |= r->kind == RECORD_NAME;
	if (!known_names_find(&n->known, text).p)
		add_text(n, kind, text);
}

void anonymize_names_free(struct anonymize_names *n)
{
	known_names_free(&n->known);
	known_names_free(&n->programs);
	buf_free(&n->text);
	buf_free(&n->other);
}
