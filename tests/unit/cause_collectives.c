/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks whose collectives of the same number differ: which rank is named, and what is not said of
 * the others any more.
 */
#include "tests/tap.h"

#include "tests/unit/kinds.h"

#define KB 1024

static void init(struct stage *s, struct actor a, unsigned rank, unsigned ranks)
{
	struct event *ev = stage_call(s, a, OP_NCCL_COMM_INIT_RANK, 0, 0, MS);

	stage_set(ev, COL_COMM, 0x1000 + rank);
	stage_set(ev, COL_COMM_ID, 99);
	stage_set(ev, COL_RANK, rank);
	stage_set(ev, COL_RANKS, ranks);
}

static uint32_t stack_at(struct stage *s, const char *function, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = line };
	uint32_t frame;

	f.name = world_string(s->w, bytes_of(function));
	f.file = world_string(s->w, bytes_of("run.py"));
	frame = world_frame(s->w, &f);
	return world_stack(s->w, &frame, 1);
}

/* Its n-th call on the communicator. */
static void enter(struct stage *s, struct actor a, unsigned rank, uint16_t op, uint64_t n,
		  uint64_t bytes, uint32_t stack)
{
	int64_t at = (10 + 10 * (int64_t)n) * MS;
	struct event *ev = stage_call(s, a, op, 0, at, at + US);

	stage_set(ev, COL_COMM, 0x1000 + rank);
	stage_set(ev, COL_SEQUENCE, n);
	stage_set(ev, COL_BYTES, bytes);
	ev->stack = stack;
}

struct play {
	unsigned ranks, odd; /* odd: the rank that enters another one */
	uint16_t op;	     /* at step 20, before the others'; 0: it enters none */
	uint64_t bytes;
};

/* Forty steps with one all-reduce each. */
static struct stage make(const struct play *p)
{
	struct stage s = stage_new();
	uint32_t step = stack_at(&s, "train_step", 23), extra = stack_at(&s, "save", 17);

	for (unsigned rank = 0; rank < p->ranks; rank++) {
		struct actor a = stage_actor(&s, 100 + rank, 100 + rank, 1, "train");
		uint64_t n = 0;

		init(&s, a, rank, p->ranks);
		for (unsigned i = 0; i < 40; i++) {
			if (i == 20 && p->op && rank == p->odd)
				enter(&s, a, rank, p->op, n++, p->bytes, extra);
			enter(&s, a, rank, OP_NCCL_ALL_REDUCE, n++, 4 * KB, step);
		}
	}
	return s;
}

/* The finding of that kind; NULL: there is none. */
static const struct finding *find(const struct kinds_run *p, const char *kind)
{
	for (size_t i = 0; i < p->list.v.n; i++)
		if (bytes_equal(p->list.v.v[i].kind, bytes_of(kind)))
			return &p->list.v.v[i];
	return NULL;
}

static void differs(const struct play *play, const char *says)
{
	struct stage s = make(play);
	struct kinds_run p;
	const struct finding *k;

	analyze(&s, &p);
	k = find(&p, "collective-mismatch");
	ok(k && k->severity == FINDING_HIGH, "told, as bad as a hang");
	if (k)
		is_str(k->summary.p, says, "%s", says);
	ok(!find(&p, "collective-straggler"), "and nobody is late after it");
	chain_list_free(&p.list);
	stage_free(&s);
}

static void same(const struct play *play, const char *name)
{
	struct stage s = make(play);
	struct kinds_run p;

	analyze(&s, &p);
	ok(!find(&p, "collective-mismatch"), "silent: %s", name);
	chain_list_free(&p.list);
	stage_free(&s);
}

int main(void)
{
	differs(&(struct play){ 2, 1, OP_NCCL_ALL_REDUCE, 4 },
		"Collective number 20 is not the same on all ranks: ncclAllReduce of 4 B on rank "
		"1, "
		"train (pid 101), in save (run.py:17); ncclAllReduce of 4.0 KiB on rank 0, train "
		"(pid "
		"100), in train_step (run.py:23): what they enter from there on does not pair");
	differs(&(struct play){ 4, 2, OP_NCCL_ALL_GATHER, 4 * KB },
		"Collective number 20 is not the same on all ranks: ncclAllGather of 4.0 KiB on "
		"rank 2, "
		"train (pid 102), in save (run.py:17); ncclAllReduce of 4.0 KiB on rank 0, train "
		"(pid "
		"100), and 2 more, in train_step (run.py:23): what they enter from there on does "
		"not "
		"pair");
	same(&(struct play){ .ranks = 4 }, "ranks that do the same");
	same(&(struct play){ 4, 1, OP_NCCL_SEND, 64 }, "a rank that sends to the others");
	same(&(struct play){ 2, 1, OP_NCCL_ALL_REDUCE, 4 * KB },
	     "one more of the same: its numbers do not tell");
	return done_testing();
}
