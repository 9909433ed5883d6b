/* SPDX-License-Identifier: Apache-2.0 */
/* Records only; the counting is done in the kernel. */
#include "lib/probe/host_say.h"

int probe_say_optional(struct ige_writer *wr, const struct probe_optionals *o, int64_t now_ns,
		       struct err *e)
{
	struct probe_optional_source s;
	int rc = 0;

	for (size_t i = 0; rc == 0 && probe_optional_source(o, i, &s); i++) {
		struct record r = { .kind = RECORD_COVERAGE };

		REC_SET(&r, COVERAGE, time_ns, now_ns);
		REC_SET(&r, COVERAGE, layer, bytes_of(s.name));
		REC_SET(&r, COVERAGE, requested, s.requested);
		REC_SET(&r, COVERAGE, attached, s.attached);
		REC_SET(&r, COVERAGE, failed, s.requested - s.attached);
		if (*s.reason)
			REC_SET(&r, COVERAGE, reason, bytes_of(s.reason));
		rc = ige_writer_record(wr, &r, e);
	}
	return rc;
}

static int say(struct ige_writer *wr, uint32_t device, uint32_t metric, uint64_t value,
	       int64_t now_ns, struct err *e)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, now_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, (double)value);
	REC_SET(&r, SAMPLE, device, device);
	return ige_writer_record(wr, &r, e);
}

int probe_say_others(struct ige_writer *wr, const struct probe_session *s, struct map *seen,
		     int64_t now_ns, struct err *e)
{
	struct block_others sum;
	uint32_t device = 0;
	int rc = 0;

	while (rc == 0 && probe_session_others(s, &device, &sum)) {
		uint64_t before = 0;

		map_get(seen, device, &before);
		if (sum.requests == before)
			continue;
		map_put(seen, device, sum.requests);
		rc = say(wr, device, METRIC_DISK_OTHERS, sum.requests, now_ns, e);
		if (rc == 0)
			rc = say(wr, device, METRIC_DISK_OTHERS_READ, sum.read_bytes, now_ns, e);
		if (rc == 0)
			rc = say(wr, device, METRIC_DISK_OTHERS_WRITTEN, sum.write_bytes, now_ns,
				 e);
	}
	return rc;
}
