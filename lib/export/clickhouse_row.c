/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the beginning of every ClickHouse row: which machine, which job and which rank. */
#include "lib/export/clickhouse_internal.h"

int64_t clickhouse_time(const struct clickhouse *c, int64_t ns)
{
	return c->em.told->has_real
		       ? (int64_t)((uint64_t)ns + (uint64_t)c->em.told->real_minus_mono_ns)
		       : ns;
}

void clickhouse_begin(struct jsonw *j, const struct clickhouse *c, const char *row,
		      struct bytes node, const struct process_place_row *at)
{
	jsonw_init(j, c->em.out, false);
	jsonw_object_begin(j);
	jsonw_key_str(j, "row", row);
	jsonw_key_bytes(j, "node", node.p ? node : bytes_of(""));
	jsonw_key_bytes(j, "job", at->job ? world_text(c->em.w, at->job) : bytes_of(""));
	jsonw_key_i64(j, "rank", at->rank);
}

void clickhouse_end(struct jsonw *j)
{
	jsonw_object_end(j);
	buf_putc(j->out, '\n');
}
