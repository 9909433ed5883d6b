/* SPDX-License-Identifier: Apache-2.0 */
/* Frees a tool's reply; the rest of the catalog is tables. */
#include "lib/mcp/mcp_catalog.h"

void mcp_reply_free(struct mcp_reply *a)
{
	buf_free(&a->text);
	json_free(a->structured);
	json_free(a->content);
	*a = (struct mcp_reply){ 0 };
}
