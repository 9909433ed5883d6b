/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the evidence of a finding, as any file may carry it. What was read of it is written, and read again as
 * the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/jsoncheck.h"
#include "lib/model/finding_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_write(const struct finding *f, struct buf *out)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	finding_write_json(f, &j);
	if (out->failed || json_check(buf_bytes(out), 64, NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct finding f = { 0 }, again = { 0 };
	struct buf first = { 0 }, second = { 0 };
	int rc = finding_read_json(&f, (struct bytes){ (const char *)data, size }, SIZE_MAX, NULL);

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
	return 0;
}
