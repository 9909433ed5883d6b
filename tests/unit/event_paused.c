/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of probes: which tier an op is of, and how much of any time was paused, against a count of
 * every ns. */
#include "lib/event/paused.h"

#include <stdlib.h>

#include "lib/event/op.h"
#include "tests/tap.h"

#define END 200

static bool add(struct paused *p, uint32_t node, unsigned tier, int64_t since_ns, int64_t until_ns)
{
	struct record r = { .kind = RECORD_PAUSED };

	REC_SET(&r, PAUSED, since_ns, since_ns);
	if (until_ns >= 0)
		REC_SET(&r, PAUSED, until_ns, until_ns);
	REC_SET(&r, PAUSED, tier, tier);
	if (node)
		REC_SET(&r, PAUSED, node, node);
	return paused_record(p, &r);
}

static void check_tiers(void)
{
	static const struct {
		uint16_t op;
		enum op_tier tier;
	} ops[] = {
		{ OP_CUDA_LAUNCH, TIER_LAUNCHES },
		{ OP_CU_LAUNCH_EX, TIER_LAUNCHES },
		{ OP_CUDA_GRAPH_LAUNCH, TIER_WAITS },
		{ OP_CUDA_MEMCPY, TIER_WAITS },
		{ OP_CUDA_MEMCPY_ASYNC, TIER_SUBMITS },
		{ OP_CUDA_EVENT_RECORD, TIER_SUBMITS },
		{ OP_CU_EVENT_QUERY, TIER_QUERIES },
		{ OP_CUDA_MALLOC, TIER_ALLOCATIONS },
		{ OP_CU_MEM_RELEASE, TIER_ALLOCATIONS },
		{ OP_CUDA_DEVICE_SYNC, TIER_WAITS },
		{ OP_NCCL_ALL_REDUCE, TIER_WAITS },
		{ OP_NCCL_COMM_INIT_RANK, TIER_KEPT },
		{ OP_CU_MODULE_LOAD_DATA, TIER_KEPT },
		{ OP_CUDA_STREAM_BEGIN_CAPTURE, TIER_KEPT },
		{ OP_SCHED_OFFCPU, TIER_KEPT },
		{ 65535, TIER_KEPT },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		is_str(op_tier_name(op_tier(ops[i].op)), op_tier_name(ops[i].tier), "tier of op %u",
		       ops[i].op);
	is_str(op_tier_name(TIERS), "?", "a number that is no tier");
}

/* Pauses of one tier, one after the other, told when they begin and when they end, in any order and
 * some twice. */
static void check_sums(void)
{
	struct paused p = { 0 };
	bool is_paused[END] = { 0 }, same = true;
	int since[END], until[END], n = 0;
	unsigned seed = 7;

	for (int at = 3; at < END - 20; n++) {
		since[n] = at;
		until[n] = at + 1 + rand_r(&seed) % 9;
		for (int k = since[n]; k < until[n]; k++)
			is_paused[k] = true;
		at = until[n] + rand_r(&seed) % 9;
	}
	for (int i = 0; i < 20 * n; i++) {
		int k = rand_r(&seed) % n;

		same &= add(&p, 0, TIER_LAUNCHES, since[k], rand_r(&seed) % 2 ? until[k] : -1);
	}
	for (int k = 0; k < n; k++)
		same &= add(&p, 0, TIER_LAUNCHES, since[k], until[k]);
	ok(same && p.lists.n == 1 && p.lists.v[0].v.n == (size_t)n, "%d pauses", n);
	for (int from = 0; from < END; from++)
		for (int to = from, sum = 0; to < END; sum += is_paused[to++])
			same &= paused_ns(&p, 0, TIER_LAUNCHES, from, to) == (uint64_t)sum;
	ok(same, "paused time is what counting gives, for all times");
	paused_free(&p);
}

/* Tiers whose pauses overlap, follow one another, and lie apart. */
static void check_several(void)
{
	static const struct {
		unsigned tier;
		int64_t since_ns, until_ns;
	} all[] = { { TIER_LAUNCHES, 10, 30 }, { TIER_SUBMITS, 20, 40 }, { TIER_WAITS, 40, 50 },
		    { TIER_LAUNCHES, 70, 80 }, { TIER_QUERIES, 75, 76 }, { TIER_SUBMITS, 90, -1 } };
	struct paused p = { 0 };
	bool same = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		same &= add(&p, 2, all[i].tier, all[i].since_ns, all[i].until_ns);
	for (unsigned tiers = 0; tiers < 1u << TIERS && same; tiers += 2)
		for (int from = 0; from < 120 && same; from++)
			for (int to = from, sum = 0; to < 120 && same; to++) {
				unsigned any = 0, there = 0;

				for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
					int64_t until =
						all[i].until_ns < 0 ? INT64_MAX : all[i].until_ns;

					if (all[i].since_ns < to && until > from)
						there |= 1u << all[i].tier;
					if (to >= all[i].since_ns && to < until)
						any |= 1u << all[i].tier;
				}
				same &= paused_any_ns(&p, 2, tiers, from, to) == (uint64_t)sum &&
					(from == to || paused_tiers(&p, 2, from, to) == there);
				sum += (any & tiers) != 0;
			}
	ok(same, "time in which any of some tiers was paused is what counting gives");
	ok(paused_first(&p, 2, 1u << TIER_SUBMITS) == 20 &&
		   paused_first(&p, 2, 1u << TIER_ALLOCATIONS) == INT64_MAX &&
		   paused_first(&p, 1, 1u << TIER_SUBMITS) == INT64_MAX,
	   "the first pause of a tier and node");
	paused_free(&p);
}

int main(void)
{
	struct paused p = { 0 };
	struct record other = { .kind = RECORD_CLOCK };

	check_tiers();
	check_sums();
	ok(paused_ns(&p, 0, TIER_LAUNCHES, 0, 100) == 0 &&
		   paused_scale(&p, 0, TIER_LAUNCHES, 0, 100) == 1,
	   "nothing was paused");
	ok(add(&p, 0, TIER_LAUNCHES, 100, -1) && paused_record(&p, &other) &&
		   add(&p, 0, TIERS, 0, 100) && add(&p, 0, TIER_WAITS, 50, 50),
	   "a pause that goes on, and rows that say nothing");
	ok(paused_ns(&p, 0, TIER_LAUNCHES, 0, 150) == 50, "it goes on");
	ok(paused_scale(&p, 0, TIER_LAUNCHES, 0, 400) == 4, "a quarter was covered");
	ok(paused_scale(&p, 0, TIER_LAUNCHES, 200, 400) == 0, "nothing was covered");
	ok(add(&p, 0, TIER_LAUNCHES, 100, 120) && paused_ns(&p, 0, TIER_LAUNCHES, 0, 150) == 20,
	   "it has ended");
	ok(add(&p, 3, TIER_LAUNCHES, 0, 130) && paused_ns(&p, 3, TIER_LAUNCHES, 0, 150) == 130 &&
		   paused_ns(&p, 4, TIER_LAUNCHES, 0, 150) == 20 &&
		   paused_ns(&p, 0, TIER_LAUNCHES, 0, 150) == 130 &&
		   paused_ns(&p, 3, TIER_WAITS, 0, 150) == 0,
	   "by node and by tier: one that names no node is of all");
	paused_free(&p);
	check_several();
	return tap_done();
}
