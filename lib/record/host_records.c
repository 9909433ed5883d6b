/* SPDX-License-Identifier: Apache-2.0 */
/* Records only; the counting is done in the kernel. */
#include "lib/record/host_records.h"

#define NOT_DEVICE UINT64_MAX /* key of retransmits among devices, whose numbers have 32 bits */

/* Where samples go, past those that tell nothing new. */
struct saying {
	struct ige_writer *writer;
	struct deadband *thin;
	int64_t now_ns;
	struct err *e;
};

int metadata_write_optional(struct ige_writer *wr, const struct probe_optionals *o, int64_t now_ns,
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
		if (*s.forms)
			REC_SET(&r, COVERAGE, link, bytes_of(s.forms));
		rc = ige_writer_record(wr, &r, e);
	}
	return rc;
}

/* device 0: the machine's. */
static int write_sample(const struct saying *to, uint32_t device, uint32_t metric, uint64_t value)
{
	struct record r = { .kind = RECORD_SAMPLE };

	REC_SET(&r, SAMPLE, time_ns, to->now_ns);
	REC_SET(&r, SAMPLE, metric, metric);
	REC_SET(&r, SAMPLE, value, (double)value);
	if (device)
		REC_SET(&r, SAMPLE, device, device);
	return deadband_wants(to->thin, &r) ? ige_writer_record(to->writer, &r, to->e) : 0;
}

static int write_unowned(const struct saying *to, const struct decode_unowned *sum,
			 struct map *seen)
{
	uint64_t before = 0;
	int rc;

	map_get(seen, NOT_DEVICE, &before);
	if (sum->retransmits == before)
		return 0;
	map_put(seen, NOT_DEVICE, sum->retransmits);
	rc = write_sample(to, 0, METRIC_TCP_OTHERS, sum->retransmits);
	return rc ? rc : write_sample(to, 0, METRIC_TCP_OTHERS_SEGMENTS, sum->segments);
}

int metadata_write_others(struct ige_writer *wr, const struct probe_session *s,
			  const struct wire_decoder *wire, struct map *seen, struct deadband *thin,
			  int64_t now_ns, uint64_t *bytes, struct err *e)
{
	const struct saying to = { wr, thin, now_ns, e };
	int rc = write_unowned(&to, wire_decoder_others(wire), seen);
	struct block_others sum;
	uint32_t device = 0;

	*bytes = 0;
	while (rc == 0 && probe_session_others(s, &device, &sum)) {
		uint64_t before = 0;

		*bytes += sum.read_bytes + sum.write_bytes;
		map_get(seen, device, &before);
		if (sum.requests == before)
			continue;
		map_put(seen, device, sum.requests);
		rc = write_sample(&to, device, METRIC_DISK_OTHERS, sum.requests);
		if (rc == 0)
			rc = write_sample(&to, device, METRIC_DISK_OTHERS_READ, sum.read_bytes);
		if (rc == 0)
			rc = write_sample(&to, device, METRIC_DISK_OTHERS_WRITTEN, sum.write_bytes);
	}
	return rc;
}
