/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call sites of a finding are lines of the program: stacks that differ in what lies inside a library are one row, with the
 * calls of all of them.
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

static double member(struct json o, const char *key)
{
	struct json v = json_get(o, key);
	double n = json_double(v, -1);

	json_free(v);
	return n;
}

static void row(struct json sites, size_t i, const char *text, unsigned calls, double max_ns)
{
	struct json site = json_at(sites, i), said = json_get(site, "text");

	ok(bytes_equal(json_bytes(said), bytes_of(text)), "row %zu is \"%s\", not \"%.*s\"", i,
	   text, (int)json_bytes(said).n, json_bytes(said).p);
	is_u64((uint64_t)member(site, "affected"), calls, "what was affected");
	is_u64((uint64_t)member(site, "calls"), calls, "of so many calls, of all its stacks");
	is_u64((uint64_t)member(site, "max_ns"), (uint64_t)max_ns, "and the longest of any");
	json_free(said);
	json_free(site);
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
		struct json sites = evidence_get(&p.list.v.v[i], "sites");

		is_u64(json_length(sites), 2, "two rows, whatever lies inside of the line");
		row(sites, 0, "launch (train.py:41) < forward", ROUNDS / 4 * 3, 3 * MS + 100 * US);
		row(sites, 1, "launch (train.py:41) < backward", ROUNDS / 4, 2 * MS + 100 * US);
		json_free(sites);
	}
	chain_list_free(&p.list);
	stage_free(&s);
	return tap_done();
}
