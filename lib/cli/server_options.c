/* SPDX-License-Identifier: Apache-2.0 */
/* Finds or makes the bearer token of programs that serve HTTP. A token is never an option's value:
 * anyone who lists processes would see it. */
#include "lib/cli/server_options.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

#define TOKEN_MAX   4096 /* what a header can well carry */
#define TOKEN_BYTES 16	 /* of one that is made: 128 bits */

/* The token in text, without blanks and line ends around it. */
static int copy_token(char **token, const char *text, const char *of, struct err *e)
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

static int read_token_file(char **token, const char *file, struct err *e)
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
	rc = rc ? rc : text.failed ? err_nomem(e) : copy_token(token, buf_text(&text), file, e);
	close(fd);
	if (text.p)
		explicit_bzero(text.p, text.n);
	buf_free(&text);
	return rc;
}

int cli_token(char **token, const char *file, struct err *e)
{
	static const char *const names[] = { "INGERO_MCP_BEARER_TOKEN", "INGERO_TOKEN" };

	int rc = 0;

	*token = NULL;
	if (file)
		rc = read_token_file(token, file, e);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = getenv(names[i]);

		if (!rc && !*token && text && *text)
			rc = copy_token(token, text, names[i], e);
		/* Neither for children nor in /proc/PID/environ. */
		if (text)
			explicit_bzero(text, strlen(text));
		unsetenv(names[i]);
	}
	return rc;
}

static int make_token(char **token, struct err *e)
{
	unsigned char secret[TOKEN_BYTES];
	struct buf text = { 0 };

	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return err_sys(e, "cannot make a token");
	for (size_t i = 0; i < sizeof(secret); i++)
		buf_printf(&text, "%02x", secret[i]);
	*token = text.failed ? NULL : strdup(buf_text(&text));
	buf_free(&text);
	return *token ? 0 : err_nomem(e);
}

int cli_serving_token(char **token, const char *file, bool none, bool *made, struct err *e)
{
	int rc;

	*token = NULL;
	*made = false;
	if (none && file)
		return err_set(e, ERR_USAGE, "--no-token or --token-file, not both");
	rc = cli_token(token, file, e);
	if (none) {
		free(*token);
		*token = NULL;
	} else if (!rc && !*token) {
		rc = make_token(token, e);
		*made = !rc;
	}
	return rc;
}

/* Each thread would get a heap of its own, and each of those grow as large as the largest answer
 * needs. */
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
