/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an offer that is not a table. */
#include "lib/store/mcp_catalog.h"

void mcp_reply_free(struct mcp_reply *a)
{
	buf_free(&a->text);
	json_free(a->structured);
	json_free(a->content);
	*a = (struct mcp_reply){ 0 };
}
