/* SPDX-License-Identifier: Apache-2.0 */
/* A line that has no end gets one: what is drawn next begins at the left. */
#include "lib/cli/notices.h"

#include <poll.h>
#include <unistd.h>

#define NOTICES_MS                                                                               \
	3000 /* who has said nothing for so long at the end, on a busy machine too, says nothing \
		more */

void cli_notices_pass(int notices, bool to_end)
{
	struct pollfd p = { .fd = notices, .events = POLLIN };
	char text[4096], last = '\n';
	ssize_t n, done = 0;

	while (notices >= 0 && poll(&p, 1, to_end ? NOTICES_MS : 0) > 0) {
		n = read(notices, text, sizeof(text));
		if (n <= 0)
			break;
		done = write(STDERR_FILENO, text, (size_t)n);
		last = text[n - 1];
	}
	if (last != '\n')
		done = write(STDERR_FILENO, "\n", 1);
	(void)done; /* there is nobody to tell */
}
