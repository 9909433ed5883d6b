/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the environment and the kernel about the terminal; no library code does.
 */
#include "lib/cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/cli/message.h"

bool cli_color(int fd)
{
	const char *no = getenv("NO_COLOR");

	if (!strcmp(cli_settings.color, "always"))
		return true;
	if (!strcmp(cli_settings.color, "never") || (no && *no))
		return false;
	return cli_draws(fd);
}

bool cli_draws(int fd)
{
	const char *term = getenv("TERM");

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

bool cli_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL, *coding;

	for (unsigned i = 0; i < 3 && (!value || !*value); i++)
		value = getenv(names[i]);
	coding = value ? strchr(value, '.') : NULL;
	return coding &&
	       (!strncasecmp(coding + 1, "UTF-8", 5) || !strncasecmp(coding + 1, "UTF8", 4));
}
