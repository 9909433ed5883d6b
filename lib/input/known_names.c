/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of a recording's names (lib/input/known_names.h): a hash map by whole name, and a
 * map by a name's first word, so that one lookup rules out most words of a sentence.
 */
#include "lib/input/known_names.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/hash.h"

#define SEARCHED_MAX \
	1024 /* bytes: longer names are looked for in no sentence, which takes the square of it */

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

bool known_names_bound(struct bytes text, size_t at)
{
	return at == 0 || at >= text.n || !is_letter(text.p[at - 1]) || !is_letter(text.p[at]);
}

/* The bytes from `at` to the next word boundary, at least one. */
static struct bytes word_at(struct bytes text, size_t at)
{
	size_t end = at + 1;

	while (end < text.n && !known_names_bound(text, end))
		end++;
	return (struct bytes){ text.p + at, end - at };
}

static struct known_name *find_name(const struct known_names *k, struct bytes name)
{
	uint64_t at = 0;

	map_get(&k->by_hash, hash_bytes(name.p, name.n, 0), &at);
	while (at && !bytes_equal(k->v.v[at - 1].name, name))
		at = k->v.v[at - 1].before;
	return at ? &k->v.v[at - 1] : NULL;
}

static struct bytes copy_text(struct known_names *k, struct bytes text)
{
	char *copy = arena_copy(&k->texts, text.p, text.n);

	k->failed |= !copy;
	return (struct bytes){ copy, copy ? text.n : 0 };
}

static void add_new(struct known_names *k, struct bytes name, struct bytes alias)
{
	struct bytes begins = word_at(name, 0);
	uint64_t hash = hash_bytes(name.p, name.n, 0), start = hash_bytes(begins.p, begins.n, 0),
		 before = 0, longest = 0;
	struct known_name new = { .name = copy_text(k, name), .alias = copy_text(k, alias) };

	map_get(&k->by_hash, hash, &before);
	map_get(&k->longest, start, &longest);
	new.before = (uint32_t)before;
	k->failed |= !vec_push(&k->v, new) || !map_put(&k->by_hash, hash, k->v.n) ||
		     (longest < name.n && name.n <= SEARCHED_MAX &&
		      !map_put(&k->longest, start, name.n));
}

void known_names_add(struct known_names *k, struct bytes name, struct bytes alias)
{
	struct known_name *known;

	if (!name.n || k->failed)
		return;
	known = find_name(k, name);
	if (!known)
		add_new(k, name, alias);
	else if (!known->fixed && bytes_equal(known->alias, name) && !bytes_equal(alias, name))
		known->alias = copy_text(k, alias);
}

void known_names_fix(struct known_names *k, struct bytes name)
{
	struct known_name *known;

	known_names_add(k, name, name);
	known = k->failed ? NULL : find_name(k, name);
	if (!known)
		return;
	known->alias = known->name;
	known->fixed = true;
}

struct bytes known_names_find(const struct known_names *k, struct bytes name)
{
	const struct known_name *known = name.n && !k->failed ? find_name(k, name) : NULL;

	return known ? known->alias : (struct bytes){ 0 };
}

size_t known_names_match(const struct known_names *k, struct bytes text, size_t at,
			 struct bytes *alias)
{
	struct bytes begins = word_at(text, at);
	uint64_t longest = 0;

	if (k->failed || !map_get(&k->longest, hash_bytes(begins.p, begins.n, 0), &longest))
		return 0;
	for (size_t n = longest < text.n - at ? longest : text.n - at; n; n--) {
		const struct known_name *known;

		if (!known_names_bound(text, at + n))
			continue;
		known = find_name(k, (struct bytes){ text.p + at, n });
		if (known) {
			*alias = known->alias;
			return n;
		}
	}
	return 0;
}

void known_names_free(struct known_names *k)
{
	vec_free(&k->v);
	map_free(&k->by_hash);
	map_free(&k->longest);
	arena_free(&k->texts);
	*k = (struct known_names){ 0 };
}
