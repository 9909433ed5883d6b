/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person reads first: what happened, who did it, where, how much it took, and the command
 * that ends it; or that nothing was found, and what that means. Below it every cause in a line,
 * with what it took as a bar.
 */
#ifndef INGERO_HTML_HTML_VERDICT_H
#define INGERO_HTML_HTML_VERDICT_H

#include "lib/html/html_page.h"

/* As the page's title: text, cut to `most` bytes. */
void html_title(struct buf *out, const struct html_page *p, size_t most);

void html_verdict(struct buf *out, const struct html_page *p);

/* Opens the section of a cause, with its heading: the caller puts the facts into it and closes it.
 * at: from 1. */
void html_cause(struct buf *out, const struct report *r, const struct finding *c, unsigned at);

#endif
