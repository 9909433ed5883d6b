/* SPDX-License-Identifier: Apache-2.0 */
/* Records only; the counting is done in the kernel. */
#include "lib/probe/host_say.h"

#define NOT_DEVICE UINT64_MAX /* key of retransmits among devices, whose numbers have 32 bits */

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

/* device 0: the machine's. */
static int say(struct ige_writer *wr, uint32_t device, uint32_t metric, uint64_t value,
	       int64_t now_ns, struct err *e)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, now_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, (double)value);
	if (device)
		REC_SET(&r, SAMPLE, device, device);
	return ige_writer_record(wr, &r, e);
}

static int say_unowned(struct ige_writer *wr, const struct probe_unowned *sum, struct map *seen,
		       int64_t now_ns, struct err *e)
{
	uint64_t before = 0;
	int rc;

	map_get(seen, NOT_DEVICE, &before);
	if (sum->retransmits == before)
		return 0;
	map_put(seen, NOT_DEVICE, sum->retransmits);
	rc = say(wr, 0, METRIC_TCP_OTHERS, sum->retransmits, now_ns, e);
	return rc ? rc : say(wr, 0, METRIC_TCP_OTHERS_SEGMENTS, sum->segments, now_ns, e);
}

int probe_say_others(struct ige_writer *wr, const struct probe_session *s,
		     const struct probe_wire *wire, struct map *seen, int64_t now_ns, struct err *e)
{
	int rc = say_unowned(wr, probe_wire_others(wire), seen, now_ns, e);
	struct block_others sum;
	uint32_t device = 0;

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
