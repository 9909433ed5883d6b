/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions are the C++ standard library's, whatever program they are in. */
#include "lib/world/standard_name.h"

#include "lib/world/own_site.h"
#include "tests/tap.h"

static const struct row {
	const char *name;
	bool want;
} rows[] = {
	{ "std::vector<float, std::allocator<float> >::_M_default_append(unsigned long)", true },
	{ "void std::__introsort_loop<int*, long>(int*, int*, long)", true },
	{ "std::thread::join()", true },
	{ "__gnu_cxx::__normal_iterator<int*> std::find<int*>(int*, int*, int const&)", true },
	{ "operator new(unsigned long)", true },
	{ "decode_frame(std::vector<int, std::allocator<int> > const&)", false },
	{ "std::vector<int, std::allocator<int> > Loader::read<int>(int)", false },
	{ "main", false },
	{ "", false },
	{ "<<<<", false },
};

/* A program's own function is its place, not what it called of the library. */
static void place(void)
{
	static const char *const names[] = { "std::vector<float>::resize(unsigned long)",
					     "decode_frame(int)", "main" };
	struct world *w = world_new();
	uint32_t module = world_module(w,
				       &(struct world_module){
					       .path = world_string(w, bytes_of("/srv/frames")) }),
		 frames[3];
	struct own_site site;

	for (unsigned i = 0; i < 3; i++) {
		frames[i] = world_frame(w, &(struct world_frame){ .kind = FRAME_NATIVE,
								  .module = module,
								  .offset = 0x100 * (i + 1) });
		world_symbol(w, frames[i],
			     &(struct world_symbol){ .name = world_string(w, bytes_of(names[i])) });
	}
	site = own_site_of(w, world_stack(w, frames, 3));
	is_u64(site.frame, frames[1], "the program's function");
	is_u64(site.inner, frames[0], "with what it called");
	site = own_site_of(w, world_stack(w, frames, 1));
	is_u64(site.frame, frames[0], "where no other is known");
	world_free(w);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(standard_name(bytes_of(rows[i].name)), rows[i].want, "%s", rows[i].name);
	place();
	return tap_done();
}
