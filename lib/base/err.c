/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error values: a code and a text that says what failed and where. A text that does not fit is cut,
 * never overrun; the code survives in any case, so that the exit status is right even when the
 * words are not complete.
 */
#include "lib/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/oom_flag.h"

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

static int code_of_errno(int number)
{
	switch (number) {
	case EACCES:
	case EPERM:
	case ENOENT:
		return ERR_CANNOT;
	case EPIPE:
		return ERR_CLOSED;
	case ENOMEM:
		return ERR_NOMEM;
	default:
		return ERR_SYS;
	}
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int number = errno;
	int code = code_of_errno(number);
	va_list ap;
	size_t n;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(number));
	errno = number;
	return code;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	struct err deeper;
	va_list ap;
	size_t n;

	if (!e)
		return ERR_SYS;
	deeper = *e;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", deeper.text);
	return e->code;
}

int err_nomem(struct err *e)
{
	oom_flag_set();
	return err_set(e, ERR_NOMEM, "out of memory");
}
