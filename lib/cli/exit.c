/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps error codes to the exit statuses that the manual documents.
 */
#include "lib/cli/exit.h"

#include "lib/cli/message.h"

int cli_exit_of(int code)
{
	switch (code) {
	case 0:
	case ERR_CLOSED:
		return CLI_EXIT_DONE;
	case ERR_USAGE:
		return CLI_EXIT_USAGE;
	case ERR_DAMAGED:
	case ERR_TOO_NEW:
		return CLI_EXIT_DAMAGED;
	default:
		return CLI_EXIT_CANNOT;
	}
}

int cli_fail(const struct err *e)
{
	if (e->code != ERR_CLOSED)
		cli_error("%s", e->text);
	return cli_exit_of(e->code);
}

int cli_say_input(int verdict, struct buf *notes, struct buf *details)
{
	cli_warn_lines(notes);
	cli_detail_lines(details);
	buf_free(notes);
	buf_free(details);
	return cli_exit_of(verdict);
}
