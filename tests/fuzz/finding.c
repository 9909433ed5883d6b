/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the evidence of a finding and the critical paths of an analysis, as any file
 * may carry them. What was read of either is written, and read again as the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/jsoncheck.h"
#include "lib/model/finding_json.h"
#include "lib/model/paths.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_write(const struct finding *f, struct buf *out)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	finding_write_json(f, &j);
	if (out->failed || json_check(buf_bytes(out), 64, NULL))
		abort();
}

static void fuzz_finding(struct bytes data)
{
	struct finding f = { 0 }, again = { 0 };
	struct buf first = { 0 }, second = { 0 };
	int rc = finding_read_json(&f, data, SIZE_MAX, NULL);

	if (f.known != (rc == 0 || f.json.p != NULL))
		abort();
	if (f.known) {
		fuzz_write(&f, &first);
		if (finding_read_json(&again, buf_bytes(&first), SIZE_MAX, NULL))
			abort();
		fuzz_write(&again, &second);
		if (!bytes_equal(buf_bytes(&first), buf_bytes(&second)))
			abort();
	}
	buf_free(&first);
	buf_free(&second);
	finding_free(&f);
	finding_free(&again);
}

static void write_paths(const struct paths *p, struct buf *out)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	paths_write_json(p, &j);
	jsonw_object_end(&j);
	if (out->failed || json_check(buf_bytes(out), 64, NULL))
		abort();
}

static void fuzz_paths(struct bytes data)
{
	struct paths p = { 0 }, again = { 0 };
	struct buf first = { 0 }, second = { 0 };

	paths_read_json(&p, data, SIZE_MAX, NULL);
	write_paths(&p, &first);
	if (paths_read_json(&again, buf_bytes(&first), SIZE_MAX, NULL))
		abort();
	write_paths(&again, &second);
	if (!bytes_equal(buf_bytes(&first), buf_bytes(&second)))
		abort();
	buf_free(&first);
	buf_free(&second);
	paths_free(&p);
	paths_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text = { (const char *)data, size };

	fuzz_finding(text);
	fuzz_paths(text);
	return 0;
}
