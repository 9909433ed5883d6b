/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a page on the terminal's alternate screen, so that the previous contents come back. On a
 * signal that ends or stops the program, the handler restores the terminal first, by
 * async-signal-safe calls.
 */
#include "lib/cli/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/cli/notices.h"
#include "lib/cli/term.h"

#define ROWS_USUAL    24 /* of a terminal that does not say how many it has */
#define COLUMNS_USUAL 80
#define SIZE_LEAST    4
#define SAID_MOST     (1u << 20) /* bytes that are kept of what was said; the oldest goes first */
#define SAID_FRESH_NS 10000000000ll /* a new message stands below for so long */
#define SAID_BRIEF    6		    /* of the messages in a page */

#define ENTER                                                                                     \
	"\033[?1049h\033[?25l\033[?7l\033[H\033[J" /* alternate screen, no cursor, long lines are \
						      cut */
#define LEAVE  "\033[?7h\033[?25h\033[?1049l"
#define TO_TOP "\033[H"
#define ERASE \
	"\033[K" /* ahead of a line: behind one that ends in the last column it would take that */

struct cli_screen {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below but the descriptors */
	int tty, notices, wake;
	bool ends_all, left, closing, held, shown;
	bool forgot; /* the oldest messages were dropped */
	struct page page;
	struct page_look look;
	struct buf said;
	int64_t said_ns; /* when last */
	char messages_key;
};

/* For handlers of signals, of which there is one set in a program. */
static struct {
	struct termios before, raw;
	volatile sig_atomic_t entered, interrupts;
	int tty, wake;
} terminal = { .tty = -1, .wake = -1 };

static void write_terminal(const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done < 0 && errno != EINTR)
			return;
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
}

static void enter_screen(void)
{
	tcsetattr(terminal.tty, TCSADRAIN, &terminal.raw);
	write_terminal(ENTER, sizeof(ENTER) - 1);
	terminal.entered = 1;
}

static void leave_screen(void)
{
	if (!terminal.entered)
		return;
	terminal.entered = 0;
	write_terminal(LEAVE, sizeof(LEAVE) - 1);
	tcsetattr(terminal.tty, TCSADRAIN, &terminal.before);
}

static void wake_up(void)
{
	uint64_t one = 1;
	ssize_t done = write(terminal.wake, &one, sizeof(one));

	(void)done; /* it is awake already */
}

static void on_signal(int number)
{
	int failed = errno;
	bool entered = terminal.entered;

	if (number == SIGWINCH) {
		wake_up();
	} else if (number == SIGINT && terminal.interrupts == 0) {
		terminal.interrupts = 1; /* the recording ends, and with it this */
	} else if (number == SIGTSTP) {
		leave_screen();
		raise(SIGSTOP);
		if (entered)
			enter_screen();
		wake_up();
	} else {
		leave_screen();
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = failed;
}

static void watch_signals(void)
{
	static const int numbers[] = { SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void cli_screen_size(const struct cli_screen *s, unsigned *rows, unsigned *columns)
{
	struct winsize size = { 0 };

	*rows = ROWS_USUAL;
	*columns = COLUMNS_USUAL;
	if (ioctl(s->tty, TIOCGWINSZ, &size))
		return;
	if (size.ws_row >= SIZE_LEAST)
		*rows = size.ws_row;
	if (size.ws_col >= SIZE_LEAST)
		*columns = size.ws_col;
}

/* ---- messages of other programs ---- */

/* As a terminal finally shows it: of a line that was overwritten ('\r'), the last version. */
static void put_shown(struct buf *out, const char *p, size_t n)
{
	while (n) {
		const char *end = memchr(p, '\n', n), *back;
		size_t line = end ? (size_t)(end - p) : n, from = 0;

		back = line > 1 ? memrchr(p, '\r', line - 1) : NULL;
		from = back ? (size_t)(back - p) + 1 : 0;
		if (line > from && p[line - 1] == '\r')
			fmt_safe(out, (struct bytes){ p + from, line - 1 - from });
		else
			fmt_safe(out, (struct bytes){ p + from, line - from });
		buf_putc(out, '\n');
		line += end != NULL;
		p += line;
		n -= line;
	}
}

/* Where the last so many lines begin. */
static size_t last_lines(const struct buf *text, unsigned n)
{
	size_t i = text->n;

	while (i > 0 && (text->p[i - 1] != '\n' || i == text->n || n-- > 1))
		i--;
	return i;
}

static unsigned lines_of(const struct buf *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += text->p[i] == '\n';
	return n;
}

/* Adds the messages to the page, and a fresh one to its foot. */
static void append_messages(struct cli_screen *s)
{
	struct page_section *one =
		s->said.n ? page_add(&s->page, s->messages_key, "messages", PAGE_THIRD) : NULL;
	size_t from;

	if (!one)
		return;
	put_shown(&one->full, s->said.p, s->said.n);
	buf_printf(&one->brief, "Messages (%u)\n", lines_of(&one->full));
	from = last_lines(&one->full, SAID_BRIEF);
	buf_add(&one->brief, one->full.p + from, one->full.n - from);
	if (s->shown && now_ns() - s->said_ns < SAID_FRESH_NS) {
		from = last_lines(&one->full, 1);
		buf_add(&s->page.foot, one->full.p + from, one->full.n - from);
	}
}

static void add_message(struct cli_screen *s, const char *text, size_t n)
{
	buf_add(&s->said, text, n);
	if (s->said.n > SAID_MOST) {
		size_t from = last_lines(&s->said, lines_of(&s->said) / 2);

		memmove(s->said.p, s->said.p + from, s->said.n - from);
		s->said.n -= from;
		s->forgot = true;
	}
	s->said_ns = now_ns();
	if (!s->shown) {
		page_free(&s->page);
		s->page = (struct page){ 0 };
		buf_puts(&s->page.head, "waiting for the recording\n");
		append_messages(s);
	}
}

static void print_messages(struct cli_screen *s)
{
	static const char forgot[] = "(what was said before is not kept)\n";
	ssize_t done = 0;

	if (s->forgot)
		done = write(STDERR_FILENO, forgot, sizeof(forgot) - 1);
	if (s->said.n)
		done = write(STDERR_FILENO, s->said.p, s->said.n);
	buf_reset(&s->said);
	s->forgot = false;
	(void)done; /* a failure cannot be reported anywhere */
}

/* ---- keys ---- */

/* The key that the bytes begin with, and how many they are. */
static int key_of(const char *p, size_t n, size_t *took)
{
	static const struct {
		const char *bytes;
		int key;
	} keys[] = {
		{ "[A", PAGE_UP },    { "OA", PAGE_UP },  { "[B", PAGE_DOWN }, { "OB", PAGE_DOWN },
		{ "[5~", PAGE_BACK }, { "[6~", PAGE_ON }, { "[H", PAGE_TOP },  { "OH", PAGE_TOP },
		{ "[1~", PAGE_TOP },  { "[F", PAGE_END }, { "OF", PAGE_END },  { "[4~", PAGE_END },
	};

	*took = 1;
	if (*p != '\033')
		return (unsigned char)*p;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t m = strlen(keys[i].bytes);

		if (n > m && memcmp(p + 1, keys[i].bytes, m) == 0) {
			*took = 1 + m;
			return keys[i].key;
		}
	}
	if (n > 1) {
		*took = n; /* a key that is not known here */
		return 0;
	}
	return PAGE_ESCAPE;
}

static void handle_keys(struct cli_screen *s)
{
	unsigned rows, columns;
	char text[64];
	ssize_t n = read(s->tty, text, sizeof(text));
	size_t took;

	cli_screen_size(s, &rows, &columns);
	for (ssize_t i = 0; i < n; i += (ssize_t)took) {
		int key = key_of(text + i, (size_t)(n - i), &took);

		if (key == 'q' || key == 'Q')
			s->left = true;
		else if (key == ' ')
			s->held = s->look.held = !s->held;
		else
			page_turn(&s->page, &s->look, key, rows);
	}
}

/* ---- the thread ---- */

/* Lines end in the last column: a terminal that does not wrap would show the end of a longer one
 * there. Styles stay. */
static void put_cut(struct buf *out, const struct buf *text, unsigned columns)
{
	bool style = false;
	unsigned at = 0;

	for (size_t i = 0; i < text->n; i++) {
		unsigned char c = (unsigned char)text->p[i];

		if (c == '\n') {
			buf_puts(out, "\r\n" ERASE);
			at = 0;
			continue;
		}
		style |= c == '\033';
		at += !style && (c & 0xc0) != 0x80;
		if (style || at <= columns)
			buf_putc(out, (char)c);
		if (style && c == 'm')
			style = false;
	}
}

static void draw_page(struct cli_screen *s)
{
	struct buf text = { 0 }, out = { 0 };
	unsigned rows, columns;

	if (!terminal.entered)
		return;
	cli_screen_size(s, &rows, &columns);
	page_text(&text, &s->page, &s->look, rows);
	buf_puts(&out, TO_TOP ERASE);
	put_cut(&out, &text, columns);
	if (!text.failed && !out.failed)
		write_terminal(out.p, out.n);
	buf_free(&out);
	buf_free(&text);
}

/* Gives terminal and keyboard back to the shell; later messages go to stderr as usual. */
static void leave_view(struct cli_screen *s)
{
	leave_screen();
	print_messages(s);
	if (s->ends_all)
		kill(0, SIGINT);
}

static void read_notices(struct cli_screen *s)
{
	char text[4096];
	ssize_t n = read(s->notices, text, sizeof(text));

	if (n <= 0) {
		s->notices = -1;
	} else if (s->left) {
		n = write(STDERR_FILENO, text, (size_t)n);
	} else {
		add_message(s, text, (size_t)n);
	}
}

static void *run_thread(void *ctx)
{
	struct cli_screen *s = ctx;
	bool over = false, was_left = false;
	uint64_t woken;

	while (!over) {
		struct pollfd p[] = { { .fd = s->wake, .events = POLLIN },
				      { .fd = was_left ? -1 : s->tty, .events = POLLIN },
				      { .fd = s->notices, .events = POLLIN } };

		if (poll(p, 3, -1) < 0 && errno != EINTR)
			break;
		pthread_mutex_lock(&s->lock);
		if (p[0].revents && read(s->wake, &woken, sizeof(woken)) < 0)
			over = errno != EAGAIN && errno != EINTR;
		if (p[1].revents & POLLIN)
			handle_keys(s);
		else if (p[1].revents)
			over = true; /* the terminal has gone */
		if (p[2].revents)
			read_notices(s);
		over |= s->closing;
		if (s->left && !was_left)
			leave_view(s);
		else if (!over)
			draw_page(s);
		was_left = s->left;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* Whether keys can be read: a program in the background would be stopped for it. */
static int terminal_of_keys(void)
{
	int fd;

	if (!cli_draws(STDOUT_FILENO))
		return -1;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && (tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, &terminal.before))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool cli_screen_possible(void)
{
	int tty = terminal_of_keys();

	if (tty >= 0)
		close(tty);
	return tty >= 0;
}

struct cli_screen *cli_screen_open(int notices, bool ends_all)
{
	struct cli_screen *s;
	sigset_t all, before;
	int tty = terminal_of_keys();

	s = tty >= 0 ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		goto none;
	*s = (struct cli_screen){ .tty = tty, .notices = notices, .ends_all = ends_all };
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0)
		goto none;
	pthread_mutex_init(&s->lock, NULL);
	terminal.tty = tty;
	terminal.wake = s->wake;
	terminal.raw = terminal.before;
	terminal.raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* signals by keys stay */
	watch_signals();
	enter_screen();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&s->thread, NULL, run_thread, s)) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		leave_screen();
		close(s->wake);
		goto none;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
none:
	free(s);
	if (tty >= 0)
		close(tty);
	return NULL;
}

void cli_screen_show(struct cli_screen *s, struct page *page, char messages_key)
{
	pthread_mutex_lock(&s->lock);
	if (!s->held) {
		page_free(&s->page);
		s->page = *page;
		s->messages_key = messages_key;
		s->shown = true;
		append_messages(s);
		*page = (struct page){ 0 };
	}
	pthread_mutex_unlock(&s->lock);
	page_free(page);
	*page = (struct page){ 0 };
	wake_up();
}

bool cli_screen_left(struct cli_screen *s)
{
	bool left;

	pthread_mutex_lock(&s->lock);
	left = s->left;
	pthread_mutex_unlock(&s->lock);
	return left;
}

void cli_screen_close(struct cli_screen *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_mutex_unlock(&s->lock);
	wake_up();
	pthread_join(s->thread, NULL);
	leave_screen();
	print_messages(s);
	cli_notices_pass(s->notices, true);
	page_free(&s->page);
	buf_free(&s->said);
	close(s->wake);
	close(s->tty);
	terminal.tty = terminal.wake = -1;
	pthread_mutex_destroy(&s->lock);
	free(s);
}
