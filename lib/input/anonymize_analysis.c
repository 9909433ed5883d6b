/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the texts of an analysis (formats/analysis.schema.json) pseudonyms, member by member as it
 * is read: names by their keys, all other texts as sentences. A member whose key the analysis of
 * this version does not write is left out.
 */
#include "lib/base/jsoncheck.h"
#include "lib/base/jsonr.h"
#include "lib/base/jsonw.h"
#include "lib/input/pseudonym_sentence.h"
#include "lib/input/anonymize_finding.h"
#include "lib/model/body.h"

#define DEPTH_MAX 64 /* ours lie eight deep */

struct analysis_mask {
	struct anonymize_names *names;
	struct jsonr in;
	struct jsonw out;
	struct buf text, key;
};

static void mask_text(struct analysis_mask *m, struct bytes key, struct bytes text)
{
	buf_reset(&m->text);
	if (bytes_equal(key, bytes_of("node")))
		anonymize_names_alias(m->names, ALIAS_HOST, text, &m->text);
	else if (bytes_equal(key, bytes_of("comm")))
		anonymize_names_alias_process(m->names, text, &m->text);
	else if (bytes_equal(key, bytes_of("path")) || bytes_equal(key, bytes_of("file")))
		anonymize_names_alias(m->names, ALIAS_PATH, text, &m->text);
	else
		pseudonym_sentence(&m->names->known, text, &m->text);
	m->out.out->failed |= m->text.failed;
	jsonw_bytes(&m->out, buf_bytes(&m->text));
}

/* What holds no other value. */
static void mask_scalar(struct analysis_mask *m, struct bytes key)
{
	struct bytes text;
	uint64_t u;
	int64_t i;
	double x;
	bool is;

	if (jsonr_text(&m->in, &text)) {
		mask_text(m, key, text);
	} else if (jsonr_u64(&m->in, &u)) {
		jsonw_u64(&m->out, u);
	} else if (jsonr_i64(&m->in, &i)) {
		jsonw_i64(&m->out, i);
	} else if (jsonr_double(&m->in, &x)) {
		jsonw_double(&m->out, x);
	} else if (jsonr_bool(&m->in, &is)) {
		jsonw_bool(&m->out, is);
	} else {
		jsonr_skip(&m->in);
		jsonw_null(&m->out);
	}
}

static bool write_key(struct analysis_mask *m, struct bytes key)
{
	if (!key.n || !pseudonym_word_ours(key))
		return false;
	buf_reset(&m->key);
	buf_add(&m->key, key.p, key.n);
	m->out.out->failed |= m->key.failed;
	jsonw_key(&m->out, buf_text(&m->key));
	return true;
}

/* No deeper than DEPTH_MAX, which was looked at before. Elements of an array have its key. */
static void mask_value(struct analysis_mask *m, struct bytes key) // NOLINT(misc-no-recursion)
{
	struct bytes member;

	if (jsonr_object(&m->in)) {
		jsonw_object_begin(&m->out);
		while (jsonr_member(&m->in, &member))
			if (write_key(m, member))
				mask_value(m, member);
			else
				jsonr_skip(&m->in);
		jsonw_object_end(&m->out);
	} else if (jsonr_array(&m->in)) {
		jsonw_array_begin(&m->out);
		while (jsonr_element(&m->in))
			mask_value(m, key);
		jsonw_array_end(&m->out);
	} else {
		mask_scalar(m, key);
	}
}

int anonymize_analysis(struct anonymize_names *n, const struct record *analysis, struct record *out,
		       struct anonymize_finding_texts *texts, struct err *e)
{
	struct analysis_mask m = { .names = n };
	struct arena memory = { 0 };
	struct bytes body = analysis->u.ANALYSIS.body;
	bool failed;

	if (!body.n || json_check_size(body, DEPTH_MAX, BODY_SIZE_MAX, NULL, NULL))
		return 0;
	anonymize_names_update(n);
	jsonr_init(&m.in, body, &memory);
	buf_reset(&texts->body);
	buf_reset(&texts->summary);
	jsonw_init(&m.out, &texts->body, false);
	mask_value(&m, (struct bytes){ 0 });
	pseudonym_text(&n->key, ALIAS_KEEP, analysis->u.ANALYSIS.tool, &texts->summary);
	*out = *analysis;
	out->u.ANALYSIS.body = buf_bytes(&texts->body);
	out->u.ANALYSIS.tool = buf_bytes(&texts->summary);
	failed = m.in.failed || texts->body.failed || texts->summary.failed || n->known.failed;
	buf_free(&m.text);
	buf_free(&m.key);
	arena_free(&memory);
	return failed ? err_nomem(e) : 1;
}
