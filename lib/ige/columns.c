/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are found in the directory, which was checked with its block; only wanted ones are looked
 * at. Values are checked by loops without branches, which find out whether any row is wrong; only
 * then is it worth knowing which.
 */
#include "lib/ige/columns.h"

#include <string.h>

#define OWN_LAST IGE_ORDER

void ige_arrays_decoder_free(struct ige_arrays_decoder *d)
{
	for (int i = 0; i <= OWN_LAST; i++)
		vec_free(&d->values[i]);
}

static int decode_column(struct ige_arrays_decoder *d, const struct ige_directory *dir,
			 const unsigned char *data, struct err *e)
{
	d->values[dir->id].n = 0;
	if (!vec_reserve(&d->values[dir->id], dir->count + IGE_ROOM))
		return err_nomem(e);
	return ige_column_integers(dir, data, d->values[dir->id].v, e);
}

/* A column nobody wants may still be one that a reader must be able to read. */
static int check_critical(struct ige_arrays_decoder *d, const struct ige_directory *dir,
			  const unsigned char *data, struct err *e)
{
	struct ige_directory as = *dir;
	int rc;

	if (dir->count > IGE_EVENTS_MAX)
		return 0;
	as.id = 0;
	rc = decode_column(d, &as, data, e);
	if (rc == ERR_TOO_NEW)
		return err_set(e, ERR_TOO_NEW, "column %u", dir->id);
	return rc == ERR_NOMEM ? rc : 0;
}

static int check_times(const struct ige_arrays *a, struct err *e)
{
	const uint64_t *end = a->column[IGE_END], *dur = a->column[IGE_DUR];
	uint64_t span = (uint64_t)a->header.end_max - (uint64_t)a->header.end_min;
	uint64_t room = (uint64_t)a->header.end_min - (uint64_t)a->header.start_min;
	uint64_t bad = 0;

	/* Below 2^62 differences cannot overflow: the sign bit tells. Larger values show it themselves. */
	for (uint32_t i = 0; end && i < a->n; i++)
		bad |= end[i] | (span - end[i]);
	for (uint32_t i = 0; dur && i < a->n; i++)
		bad |= dur[i] | ((uint64_t)IGE_TIME_MAX - 1 - dur[i]);
	for (uint32_t i = 0; end && dur && i < a->n; i++)
		bad |= room + end[i] - dur[i];
	if (bad >> 63)
		return err_set(e, ERR_DAMAGED, "an event lies outside its block's times");
	return 0;
}

static int check_sites(struct ige_arrays *a, struct ige_dict_reader *dict, uint64_t *site,
		       struct err *e)
{
	size_t known;
	uint64_t wrong = 0;

	if (!dict->sites.n && !vec_push(&dict->sites, (struct ige_read_site){ 0 }))
		return err_nomem(e);
	while (dict->sites_defined + 1 < dict->sites.n && dict->sites.v[dict->sites_defined + 1].op)
		dict->sites_defined++;
	/* Ids are given from 1 on: a site is one of the first ones that are all defined. */
	known = dict->sites_defined;
	for (uint32_t i = 0; i < a->n; i++)
		wrong |= site[i] - 1 >= known;
	if (!wrong)
		return 0;
	for (uint32_t i = 0; i < a->n; i++) {
		if (site[i] < dict->sites.n && dict->sites.v[site[i]].op)
			continue;
		site[i] = 0;
		dict->unknown++;
		a->dropped++;
	}
	/* 0 is never given out; a file that defines it means nothing by it here. */
	return 0;
}

int ige_arrays_decode(struct ige_arrays_decoder *d, struct ige_arrays *a,
		      struct ige_dict_reader *dict, const struct ige_view *v, uint32_t wanted,
		      struct err *e)
{
	bool have[OWN_LAST + 1] = { false };
	struct ige_columns columns;
	struct ige_directory dir;
	const unsigned char *data;
	int rc;

	*a = (struct ige_arrays){ .header = v->header, .n = v->header.n };
	ige_columns_begin(&columns, v);
	while (ige_columns_next(&columns, &dir, &data)) {
		uint16_t id = dir.id & (uint16_t)~IGE_PRESENCE;
		bool known = id > 0 && (id <= OWN_LAST || column_builtin(id));
		bool own = known && dir.id <= OWN_LAST && dir.id != IGE_FEW;

		if (dir.critical && !known)
			return err_set(e, ERR_TOO_NEW, "column %u", id);
		if (!own || have[dir.id]) {
			if (dir.critical && (rc = check_critical(d, &dir, data, e)))
				return rc;
			continue;
		}
		if (dir.count != a->n)
			return err_set(e, ERR_DAMAGED, "column %u: %u values for %u events", dir.id,
				       dir.count, a->n);
		have[dir.id] = true;
		if (!(wanted & IGE_WANT(dir.id))) {
			if (dir.critical && (rc = check_critical(d, &dir, data, e)))
				return rc;
			continue;
		}
		rc = decode_column(d, &dir, data, e);
		/* Without one of its own columns a block is of no use. */
		if (rc)
			return rc == ERR_TOO_NEW && !dir.critical ? ERR_CANNOT : rc;
		a->column[dir.id] = d->values[dir.id].v;
	}
	if (a->n == 0)
		return 0;
	if (v->header.end_min == INT64_MIN || v->header.start_min == INT64_MIN)
		return err_set(e, ERR_DAMAGED, "events without times");
	for (uint16_t id = IGE_END; id <= IGE_SITE; id++)
		if (!have[id])
			return err_set(e, ERR_DAMAGED, "events without column %u", id);
	rc = check_times(a, e);
	if (!rc && wanted & IGE_WANT(IGE_SITE))
		rc = check_sites(a, dict, d->values[IGE_SITE].v, e);
	return rc;
}
