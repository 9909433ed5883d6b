/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each text of a finding its pseudonym by what the field says (lib/model/finding.h): of a
 * host, a path, a command. Fields that hold sentences come last, when the names in all others are
 * known.
 */
#include "lib/input/anonymize_finding.h"

#include <inttypes.h>

#include "lib/input/pseudonym_sentence.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"

struct finding_mask {
	struct anonymize_names *names;
	struct finding *f;
	struct buf text;
};

static void keep_text(struct finding_mask *m, struct bytes *text)
{
	m->f->failed |= m->text.failed;
	*text = finding_copy(m->f, buf_bytes(&m->text));
	buf_reset(&m->text);
}

static void mask_text(struct finding_mask *m, enum pseudonym_kind kind, struct bytes *text)
{
	if (!text->p)
		return;
	anonymize_names_alias(m->names, kind, *text, &m->text);
	keep_text(m, text);
}

static void mask_process(struct finding_mask *m, struct bytes *text)
{
	if (!text->p)
		return;
	anonymize_names_alias_process(m->names, *text, &m->text);
	keep_text(m, text);
}

static void mask_sentence(struct finding_mask *m, struct bytes *text)
{
	if (!text->p)
		return;
	pseudonym_sentence(&m->names->known, *text, &m->text);
	keep_text(m, text);
}

static void mask_sentences(struct finding_mask *m, struct jsonmap_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		mask_sentence(m, &texts->v[i]);
}

static void anonymize_names_of(struct finding_mask *m)
{
	struct finding *f = m->f;

	mask_text(m, ALIAS_HOST, &f->node);
	mask_process(m, &f->victim.comm);
	mask_text(m, ALIAS_COMMAND, &f->victim.command);
	/* Of a culprit that is no process it is no name of one: a limit's, a rank's. */
	mask_process(m, &f->culprit.comm);
	mask_text(m, ALIAS_PATH, &f->culprit.cgroup);
	for (size_t i = 0; i < f->symptoms.n; i++)
		mask_text(m, ALIAS_FUNCTION, &f->symptoms.v[i].kernel);
	for (size_t i = 0; i < f->sites.n; i++) {
		mask_text(m, ALIAS_FUNCTION, &f->sites.v[i].symbol);
		mask_text(m, ALIAS_PATH, &f->sites.v[i].module);
		mask_text(m, ALIAS_PATH, &f->sites.v[i].file);
	}
}

static void mask_sites(struct finding_mask *m)
{
	struct finding *f = m->f;

	for (size_t i = 0; i < f->symptoms.n; i++) {
		mask_sentence(m, &f->symptoms.v[i].op);
		mask_sentence(m, &f->symptoms.v[i].source);
	}
	for (size_t i = 0; i < f->sites.n; i++) {
		mask_sentence(m, &f->sites.v[i].op);
		mask_sentence(m, &f->sites.v[i].source);
		mask_sentence(m, &f->sites.v[i].text);
		mask_sentences(m, &f->sites.v[i].stack);
	}
	for (size_t i = 0; i < f->moments.n; i++) {
		mask_sentence(m, &f->moments.v[i].layer);
		mask_sentence(m, &f->moments.v[i].text);
		mask_sentence(m, &f->moments.v[i].event.op);
	}
}

static void mask_advice(struct finding_mask *m)
{
	struct finding *f = m->f;

	for (size_t i = 0; i < f->fixes.n; i++) {
		mask_sentence(m, &f->fixes.v[i].action);
		mask_sentence(m, &f->fixes.v[i].kind);
		mask_sentence(m, &f->fixes.v[i].command);
		mask_sentence(m, &f->fixes.v[i].basis);
	}
	for (size_t i = 0; i < f->without.n; i++) {
		mask_sentence(m, &f->without.v[i].what);
		mask_sentence(m, &f->without.v[i].op);
	}
	for (size_t i = 0; i < f->evidence.n; i++) {
		mask_sentence(m, &f->evidence.v[i].what);
		mask_sentence(m, &f->evidence.v[i].unit);
		mask_sentence(m, &f->evidence.v[i].text);
	}
}

static void mask_sentences_of(struct finding_mask *m)
{
	struct finding *f = m->f;

	mask_sentence(m, &f->summary);
	mask_sentence(m, &f->op);
	mask_sentence(m, &f->counted);
	mask_sentence(m, &f->culprit.kind);
	mask_sentence(m, &f->culprit.text);
	mask_sentence(m, &f->culprit.device);
	mask_sentences(m, &f->culprit.via);
	for (size_t i = 0; i < f->parts.n; i++)
		mask_sentence(m, &f->parts.v[i].name);
	mask_sites(m);
	mask_advice(m);
}

/* An id is made of what it identifies, without a secret. */
static void mask_id(struct anonymize_names *n, struct bytes id, struct buf *out)
{
	buf_reset(out);
	if (id.n)
		buf_printf(out, "%016" PRIx64, keyhash_bytes(&n->key, id.p, id.n));
}

static void write_finding(const struct finding *f, struct anonymize_finding_texts *texts)
{
	struct jsonw j;

	buf_reset(&texts->body);
	buf_reset(&texts->summary);
	jsonw_init(&j, &texts->body, false);
	finding_write_json(f, &j);
	buf_add(&texts->summary, f->summary.p, f->summary.n);
}

int anonymize_finding(struct anonymize_names *n, const struct record *chain, struct record *out,
		      struct anonymize_finding_texts *texts, struct err *e)
{
	struct finding f = { .summary = chain->u.CHAIN.summary };
	struct finding_mask m = { .names = n, .f = &f };
	struct err reason = { 0 };
	bool read = pseudonym_word_ours(chain->u.CHAIN.kind) &&
		    finding_read_json(&f, chain->u.CHAIN.body, BODY_SIZE_MAX, &reason) != ERR_NOMEM;
	int rc = f.known;

	if (read && f.known) {
		anonymize_names_update(n);
		anonymize_names_of(&m);
		mask_sentences_of(&m);
		write_finding(&f, texts);
		mask_id(n, chain->u.CHAIN.id, &texts->id);
		mask_id(n, chain->u.CHAIN.match, &texts->match);
		*out = *chain;
		out->u.CHAIN.id = buf_bytes(&texts->id);
		out->u.CHAIN.match = buf_bytes(&texts->match);
		out->u.CHAIN.summary = buf_bytes(&texts->summary);
		out->u.CHAIN.body = buf_bytes(&texts->body);
	}
	if (reason.code == ERR_NOMEM || f.failed || n->known.failed || texts->body.failed ||
	    texts->summary.failed || texts->id.failed || texts->match.failed)
		rc = err_nomem(e);
	buf_free(&m.text);
	finding_free(&f);
	return rc;
}

void anonymize_finding_texts_free(struct anonymize_finding_texts *texts)
{
	buf_free(&texts->body);
	buf_free(&texts->summary);
	buf_free(&texts->id);
	buf_free(&texts->match);
}
