/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the loop of a package, where a person's own code only calls it. */
#include "tests/tap.h"

#include "lib/tracks/loop_place.h"

#define SITE "/usr/lib/python3/dist-packages/"

struct row {
	const char *name;
	/* functions and files, innermost first */
	struct {
		const char *function, *file;
	} frames[5];
	const char *want; /* the function; NULL: its call site */
};

#define MAIN                         \
	{                            \
		"main", "/srv/hf.py" \
	}
#define LOOP                                                         \
	{                                                            \
		"Trainer._run_epoch", SITE "transformers/trainer.py" \
	}

static const struct row rows[] = {
	{ "below the loop in its package",
	  { { "linear", SITE "torch/nn/functional.py" },
	    { "Bert.forward", SITE "transformers/bert.py" },
	    LOOP,
	    MAIN },
	  "Bert.forward" },
	{ "in the loop itself",
	  { { "step", SITE "torch/optim/adam.py" }, LOOP, MAIN },
	  "Trainer._run_epoch" },
	{ "a person's own code within the loop",
	  { { "tokenize", "/srv/hf.py" },
	    { "fetch", SITE "torch/utils/data/fetch.py" },
	    LOOP,
	    MAIN },
	  NULL },
	{ "not in the loop", { { "train", SITE "transformers/trainer.py" }, MAIN }, NULL },
};

static uint32_t stack_of(struct world *w, const struct row *x)
{
	uint32_t frames[5];
	unsigned n = 0;

	for (; n < 5 && x->frames[n].function; n++)
		frames[n] = world_frame(
			w, &(struct world_frame){
				   .kind = FRAME_PYTHON,
				   .offset = 7,
				   .file = world_string(w, bytes_of(x->frames[n].file)),
				   .name = world_string(w, bytes_of(x->frames[n].function)) });
	return world_stack(w, frames, n);
}

static uint32_t loop_frame(struct world *w, const char *file)
{
	return world_frame(w, &(struct world_frame){
				      .kind = FRAME_PYTHON,
				      .offset = 9,
				      .file = world_string(w, bytes_of(file)),
				      .name = world_string(w, bytes_of("Trainer._run_epoch")) });
}

int main(void)
{
	struct world *w = world_new();
	struct loop loop = { .frame = loop_frame(w, SITE "transformers/trainer.py"), .depth = 1 };
	struct loop own = { .frame = loop_frame(w, "/srv/hf.py"), .depth = 1 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t at = loop_place_find(w, &loop, stack_of(w, &rows[i]));
		const struct world_frame *f = at ? world_get_frame(w, at) : NULL;

		ok(rows[i].want ? f && bytes_equal(world_text(w, f->name), bytes_of(rows[i].want))
				: !f,
		   "%s", rows[i].name);
	}
	ok(!loop_place_find(w, &own, stack_of(w, &rows[0])), "a loop of a person's own");
	ok(!loop_place_find(w, &loop, 0), "no stack");
	world_free(w);
	return tap_done();
}
