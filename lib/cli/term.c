/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the environment and the kernel about the terminal; no library code does.
 */
#include "lib/cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/cli/message.h"

bool cli_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!strcmp(cli_settings.color, "always"))
		return true;
	if (!strcmp(cli_settings.color, "never") || (no && *no))
		return false;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

unsigned cli_columns(int fd)
{
	struct winsize size = { 0 };

	/* Narrower than any number with its name, nothing can be laid out. */
	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 0;
	return size.ws_col;
}
