/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the wanted columns of an EVENTS block into arrays. Columns are found in the directory,
 * which was checked with its block.
 */
#include "lib/ige/columns.h"

#include "lib/ige/rowcheck.h"

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
	if (!vec_reserve(&d->values[dir->id], IGE_APART(dir->id) + dir->count + IGE_ROOM))
		return err_nomem(e);
	return ige_column_integers(dir, data, d->values[dir->id].v + IGE_APART(dir->id), e);
}

/* A column that the caller does not want may be critical: a reader must be able to read it. */
static int check_critical(struct ige_arrays_decoder *d, const struct ige_directory *dir,
			  const unsigned char *data, struct err *e)
{
	struct ige_directory as = *dir;
	bool bits = dir->id & IGE_PRESENCE;
	int rc;

	if (!dir->critical || dir->count > IGE_EVENTS_MAX)
		return 0;
	if (bits || dir->id == IGE_FEW) {
		struct buf none = { 0 };
		const unsigned char *p;
		size_t n;

		rc = dir->compressor != IGE_STORED ||
				     dir->encoding != (bits ? IGE_RAW : IGE_ENTRIES)
			     ? ERR_TOO_NEW
			     : ige_column_bytes(dir, data, &none, &p, &n, e);
		buf_free(&none);
	} else {
		as.id = 0;
		rc = decode_column(d, &as, data, e);
	}
	if (rc == ERR_TOO_NEW)
		return err_set(e, ERR_TOO_NEW, "column %u", dir->id);
	return rc == ERR_NOMEM ? rc : 0;
}

/* A column passed by that a reader of events would look at. */
static int pass_by(struct ige_arrays_decoder *d, struct ige_arrays *a, const struct world *w,
		   const struct ige_directory *dir, const unsigned char *data, struct err *e)
{
	int rc = check_critical(d, dir, data, e);

	if (rc)
		return rc;
	if ((dir->id <= OWN_LAST || world_column(w, dir->id & (uint16_t)~IGE_PRESENCE)) &&
	    ige_column_check(dir, data, e))
		a->damaged = true;
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
			rc = wanted & IGE_WANT_SPARSE || own || dir.id == 0
				     ? check_critical(d, &dir, data, e)
				     : pass_by(d, a, dict->world, &dir, data, e);
			if (rc)
				return rc;
			continue;
		}
		if (dir.count != a->n)
			return err_set(e, ERR_DAMAGED, "column %u: %u values for %u events", dir.id,
				       dir.count, a->n);
		have[dir.id] = true;
		if (!(wanted & IGE_WANT(dir.id))) {
			rc = pass_by(d, a, dict->world, &dir, data, e);
			if (rc)
				return rc;
			continue;
		}
		rc = decode_column(d, &dir, data, e);
		/* Without one of its own columns a block is of no use. */
		if (rc)
			return rc == ERR_TOO_NEW && !dir.critical ? ERR_CANNOT : rc;
		a->column[dir.id] = d->values[dir.id].v + IGE_APART(dir.id);
	}
	if (a->n == 0)
		return 0;
	if (v->header.end_min == INT64_MIN || v->header.start_min == INT64_MIN)
		return err_set(e, ERR_DAMAGED, "events without times");
	for (uint16_t id = IGE_END; id <= IGE_SITE; id++)
		if (!have[id])
			return err_set(e, ERR_DAMAGED, "events without column %u", id);
	rc = ige_check_times(&a->header, a->column[IGE_END], a->column[IGE_DUR], a->n, e);
	if (!rc && wanted & IGE_WANT(IGE_SITE))
		rc = ige_check_sites(dict, d->values[IGE_SITE].v + IGE_APART(IGE_SITE), a->n,
				     &a->dropped, e);
	return rc;
}
