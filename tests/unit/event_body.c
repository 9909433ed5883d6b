/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of chains that somebody wrote to cost whoever reads them: short texts of a million values.
 * What is ours is read whole.
 */
#include "tests/tap.h"

#include <string.h>
#include <sys/resource.h>

#include "lib/base/sanitized.h"
#include "lib/model/body.h"
#include "lib/event/chain.h"
#include "lib/world/record_json.h"

#define CHAINS	 100
#define MOST_MIB 700 /* BODIES_SIZE_MAX is 400 MiB, a body that is looked at and not kept 25 */

/* {"node":"n","sites":[{},{},…]} */
static void wide(struct buf *b, size_t n)
{
	buf_reset(b);
	buf_puts(b, "{\"node\":\"n\",\"sites\":[{}");
	for (size_t i = 1; i < n; i++)
		buf_puts(b, ",{}");
	buf_puts(b, "]}");
}

static struct record chain(const char *id, uint32_t revision, struct bytes body)
{
	struct record r = { .kind = RECORD_CHAIN };

	REC_SET(&r, CHAIN, id, bytes_of(id));
	REC_SET(&r, CHAIN, kind, bytes_of("kind"));
	REC_SET(&r, CHAIN, revision, revision);
	REC_SET(&r, CHAIN, body, body);
	return r;
}

static long memory_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss / 1024;
}

static void one(void)
{
	static const struct {
		const char *text, *name;
		bool good;
	} rows[] = {
		{ "{\"node\":\"n\"}", "an object", true },
		{ "", "nothing", false },
		{ "{\"node\":", "half of one", false },
		{ "{\"a\":nan}", "what is no JSON, but taken by the parser", false },
	};
	struct buf b = { 0 };
	struct json v;
	size_t size;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ok(body_read(bytes_of(rows[i].text), &v, BODY_SIZE_MAX, &size) == rows[i].good &&
			   v.is == rows[i].good && (size > 0) == rows[i].good,
		   "%s", rows[i].name);
		json_free(v);
	}
	for (int i = 0; i < 70; i++)
		buf_puts(&b, "[");
	for (int i = 0; i < 70; i++)
		buf_puts(&b, "]");
	ok(!body_read(buf_bytes(&b), &v, BODY_SIZE_MAX, NULL) && !v.is, "much in much");
	wide(&b, 60000);
	ok(body_read(buf_bytes(&b), &v, BODY_SIZE_MAX, &size) && size > 16 * 60000 &&
		   size < BODY_SIZE_MAX,
	   "sixty thousand objects");
	json_free(v);
	ok(!body_read(buf_bytes(&b), &v, size - 1, NULL) && !v.is, "less is wanted");
	wide(&b, 66000);
	ok(!body_read(buf_bytes(&b), &v, SIZE_MAX, &size) && !v.is && !size, "nor more than all");
	buf_free(&b);
}

static void many(void)
{
	struct chain_list list = { 0 };
	struct buf large = { 0 }, most = { 0 };
	struct record r;
	unsigned kept = 0;
	struct err e = { 0 };
	char id[16];

	wide(&large, 600000);
	wide(&most, 60000);
	for (int i = 0; i < CHAINS; i++) {
		snprintf(id, sizeof(id), "large %d", i);
		r = chain(id, 1, buf_bytes(&large));
		if (chain_list_add(&list, &r, &e))
			abort();
		snprintf(id, sizeof(id), "most %d", i);
		r = chain(id, 1, buf_bytes(&most));
		if (chain_list_add(&list, &r, &e))
			abort();
	}
	for (size_t i = 0; i < list.v.n; i++) {
		kept += list.v.v[i].known;
		if (list.v.v[i].known && list.v.v[i].id.p[0] == 'l')
			kept = CHAINS + 1;
	}
	is_u64(list.v.n, 2 * CHAINS, "all chains are there");
	ok(kept > 10 && kept < CHAINS && list.size <= BODIES_SIZE_MAX,
	   "with bodies as long as those are few together");
	/* What is made of sixty thousand objects takes less than what is counted for them
	 * beforehand. */
	for (int i = 0; i < 2; i++) {
		snprintf(id, sizeof(id), "most %d", i);
		r = chain(id, 2, bytes_of("{\"node\":\"n\"}"));
		is_int(chain_list_add(&list, &r, &e), 0, "a revision that is shorter");
	}
	r = chain("most 99", 2, buf_bytes(&most));
	is_int(chain_list_add(&list, &r, &e), 0, "makes room for one");
	ok(list.v.v[list.v.n - 1].known && list.size <= BODIES_SIZE_MAX, "that had none");
	chain_list_free(&list);
	buf_free(&large);
	buf_free(&most);
}

/* What is no more than text to us is passed on as that. */
static void passed_on(void)
{
	struct world *w = world_new();
	struct buf body = { 0 }, out = { 0 };
	struct record r;
	struct jsonw j;

	wide(&body, 600000);
	r = chain("c", 1, buf_bytes(&body));
	jsonw_init(&j, &out, false);
	record_json(&j, w, NULL, &r);
	ok(memmem(out.p, out.n, "\"body\":\"{\\\"node\\\"", 17) != NULL, "as text in JSON");
	buf_reset(&out);
	r = chain("c", 1, bytes_of("{\"node\":\"n\"}"));
	jsonw_init(&j, &out, false);
	record_json(&j, w, NULL, &r);
	ok(memmem(out.p, out.n, "\"body\":{\"node\":\"n\"}", 19) != NULL, "ours as an object");
	buf_free(&body);
	buf_free(&out);
	world_free(w);
}

int main(void)
{
	long before = memory_mib();

	one();
	many();
	passed_on();
	if (SANITIZED)
		skip("a sanitizer keeps memory of its own");
	else
		ok(memory_mib() - before < MOST_MIB, "no more memory is taken than for ours");
	return tap_done();
}
