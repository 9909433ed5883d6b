/* SPDX-License-Identifier: Apache-2.0 */
/* A token never is an option's value: whoever lists processes would see it. */
#include "lib/cli/serving.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

#define TOKEN_MAX 4096 /* what a header can well carry */

/* The token in text, without blanks and line ends around it. */
static int take(char **token, const char *text, const char *of, struct err *e)
{
	size_t n;

	text += strspn(text, " \t\r\n");
	n = strlen(text);
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	if (!n)
		return err_set(e, ERR_USAGE, "%s holds no token", of);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return err_set(e, ERR_USAGE,
				       "%s: a token is one word of visible ASCII characters", of);
	*token = strndup(text, n);
	return *token ? 0 : err_nomem(e);
}

static int from_file(char **token, const char *file, struct err *e)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc = 0;
	struct buf text = { 0 };
	struct stat st;

	if (fd < 0)
		return err_sys(e, "cannot open %s", file);
	if (fstat(fd, &st))
		rc = err_sys(e, "%s", file);
	else if (S_ISREG(st.st_mode) && (st.st_mode & (S_IWGRP | S_IROTH | S_IWOTH)))
		rc = err_set(e, ERR_CANNOT,
			     "%s: others may %s it, so it is no secret: chmod 600 %s", file,
			     st.st_mode & S_IROTH ? "read" : "write", file);
	rc = rc ? rc : read_fd(fd, file, &text, TOKEN_MAX, e);
	rc = rc ? rc : text.failed ? err_nomem(e) : take(token, buf_text(&text), file, e);
	close(fd);
	if (text.p)
		explicit_bzero(text.p, text.n);
	buf_free(&text);
	return rc;
}

int cli_token(char **token, const char *file, struct err *e)
{
	static const char *const names[] = { "INGERO_MCP_BEARER_TOKEN", "INGERO_TOKEN" };

	*token = NULL;
	if (file)
		return from_file(token, file, e);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);

		if (text && *text)
			return take(token, text, names[i], e);
	}
	return 0;
}

/* Each thread would get a heap of its own, and each of those grow as large as the largest answer needs. */
void cli_serving_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 2);
#endif
}

char *cli_kept_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	struct buf path = { 0 };

	if (cache && *cache == '/')
		buf_printf(&path, "%s/ingero", cache);
	else if (home && *home == '/')
		buf_printf(&path, "%s/.cache/ingero", home);
	if (!path.n)
		return NULL;
	buf_putc(&path, '\0');
	if (!path.failed)
		return path.p;
	buf_free(&path);
	return NULL;
}
