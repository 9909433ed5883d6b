/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an offer that is not a table. */
#include "lib/serve/offer.h"

void serve_answer_free(struct serve_answer *a)
{
	buf_free(&a->text);
	json_free(a->structured);
	json_free(a->content);
	*a = (struct serve_answer){ 0 };
}
