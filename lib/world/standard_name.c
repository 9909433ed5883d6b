/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A demangled template function has its result's type in front of its name: the name begins behind
 * the last blank outside of angle brackets, before the arguments.
 */
#include "lib/world/standard_name.h"

#include "lib/base/bytes.h"

static struct bytes own_name(struct bytes name)
{
	unsigned within = 0;
	size_t from = 0;

	for (size_t i = 0; i < name.n && (within || name.p[i] != '('); i++) {
		within += name.p[i] == '<';
		within -= within && name.p[i] == '>';
		if (!within && name.p[i] == ' ')
			from = i + 1;
	}
	return (struct bytes){ name.p + from, name.n - from };
}

bool standard_name(struct bytes name)
{
	static const char *const begins[] = { "std::", "__gnu_cxx::" };
	struct bytes own = own_name(name);

	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (bytes_begin_with(own, begins[i]))
			return true;
	return bytes_begin_with(name, "operator new") || bytes_begin_with(name, "operator delete");
}

bool standard_frame(const struct world *w, uint32_t frame)
{
	const struct world_symbol *s = world_get_symbol(w, frame);

	return s && standard_name(world_text(w, s->name));
}
