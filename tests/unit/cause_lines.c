/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call sites of a finding are lines of the program: stacks that differ in what lies inside a
 * library are one row, with the calls of all of them.
 */
#include "tests/unit/kinds.h"

#define ROUNDS 400
#define WAYS   3 /* into the library */

static uint32_t python_frame(struct stage *s, const char *name, const char *file, uint64_t line)
{
	return world_frame(s->w,
			   &(struct world_frame){ .kind = FRAME_PYTHON,
						  .offset = line,
						  .name = world_string(s->w, bytes_of(name)),
						  .file = world_string(s->w, bytes_of(file)) });
}

static uint32_t stack_of(struct stage *s, uint64_t inner, const char *caller)
{
	uint32_t frames[] = { python_frame(s, "relu", "/v/lib/python3.12/site-packages/torch/nn.py",
					   inner),
			      python_frame(s, "launch", "/home/u/train.py", 41),
			      python_frame(s, caller, "/home/u/train.py", 90) };

	return world_stack(s->w, frames, 3);
}

static void row(const struct finding *f, size_t i, const char *text, unsigned calls,
		uint64_t max_ns)
{
	const struct finding_site *site = &f->sites.v[i];

	ok(bytes_equal(site->text, bytes_of(text)), "row %zu is \"%s\", not \"%.*s\"", i, text,
	   (int)site->text.n, site->text.p);
	is_u64(site->affected, calls, "what was affected");
	is_u64(site->calls, calls, "of so many calls, of all its stacks");
	is_u64(site->max_ns, max_ns, "and the longest of any");
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct kinds_run p;

	/* All calls at one line, three of four out of one function, by three ways into torch. */
	for (unsigned i = 0; i < ROUNDS; i++) {
		int64_t t = (int64_t)i * 10 * MS, took = 2 * MS + (i == 5) * MS;

		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + took + 100 * US)->stack =
			i % 4 == 3 ? stack_of(&s, 1, "backward")
				   : stack_of(&s, i % WAYS, "forward");
		stage_offcpu(&s, v, 1, t + 50 * US, t + 50 * US + took, (uint64_t)took, 0);
		stage_occupied(&s, hog, 0, t + 50 * US, t + 50 * US + took);
	}
	analyze(&s, &p);
	ok(p.list.v.n == 1 && bytes_equal(p.list.v.v[0].kind, bytes_of("cpu-preempted")),
	   "one finding");
	for (size_t i = 0; i < p.list.v.n && i < 1; i++) {
		const struct finding *f = &p.list.v.v[i];

		is_u64(f->sites.n, 2, "two rows, whatever lies inside of the line");
		if (f->sites.n != 2)
			continue;
		row(f, 0, "launch (train.py:41) < forward", ROUNDS / 4 * 3, 3 * MS + 100 * US);
		row(f, 1, "launch (train.py:41) < backward", ROUNDS / 4, 2 * MS + 100 * US);
	}
	chain_list_free(&p.list);
	stage_free(&s);
	return tap_done();
}
