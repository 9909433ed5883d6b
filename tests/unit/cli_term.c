/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for terminals: units, tables, hostile names, exit statuses.
 */
#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/term.h"
#include "tests/tap.h"

static void units(void)
{
	static const struct {
		uint64_t n;
		const char *bytes, *count;
	} rows[] = {
		{ 0, "0 B", "0" },
		{ 999, "999 B", "999" },
		{ 1000, "1000 B", "1,000" },
		{ 1023, "1023 B", "1,023" },
		{ 1024, "1.0 KiB", "1,024" },
		{ 1536, "1.5 KiB", "1,536" },
		{ 123456, "121 KiB", "123,456" },
		{ 1048575, "1.0 MiB", "1,048,575" },
		{ 10737418240, "10.0 GiB", "10,737,418,240" },
		{ UINT64_MAX, "16.0 EiB", "18,446,744,073,709,551,615" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(fmt_bytes(rows[i].n).s, rows[i].bytes, "%" PRIu64 " in bytes", rows[i].n);
		is_str(fmt_count(rows[i].n).s, rows[i].count, "%" PRIu64 " counted", rows[i].n);
	}
	is_str(fmt_percent(0.1234).s, "12.3%", "percent");
	is_str(fmt_percent(0.0 / 0.0).s, "-", "of nothing");
	is_str(fmt_ns(1500).s, "1.50 us", "time");
}

/* What watches count (lib/cause), of one and of several. */
static void counted(void)
{
	static const struct {
		const char *many, *one;
	} rows[] = {
		{ "gaps", "1 gap" },
		{ "threads", "1 thread" },
		{ "loads", "1 load" },
		{ "copies", "1 copy" },
		{ "launches", "1 launch" },
		{ "refused allocations", "1 refused allocation" },
		{ "allocations never freed", "1 allocation never freed" },
		{ "slow calls", "1 slow call" },
		{ "times", "1 time" },
		{ "of nothing", "1 of nothing" },
		{ "s", "1 s" },
		{ "", "1 " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = { 0 };

		fmt_counted(&out, 1, bytes_of(rows[i].many));
		is_str(buf_text(&out), rows[i].one, "one of row %zu", i);
		buf_reset(&out);
		fmt_counted(&out, 1234, bytes_of(rows[i].many));
		like(buf_text(&out), rows[i].many, "more of row %zu", i);
		buf_free(&out);
	}
}

static void tables(void)
{
	static const char *const headers[] = { "NAME", ">COUNT", "NOTE", NULL };
	struct table *t = table_new(headers);
	struct buf out = { 0 };

	table_cell(t, "caf\xc3\xa9");
	table_cell(t, "%d", 7);
	table_cell_styled(t, FMT_RED, "x");
	table_cell(t, "evil\033[2J\n");
	table_cell(t, "1,234,567");
	table_cell(t, "%s", "");
	table_text(&out, t, 2, false);
	is_str(buf_text(&out),
	       "  NAME           COUNT  NOTE\n"
	       "  caf\xc3\xa9               7  x\n"
	       "  evil?[2J?  1,234,567  \n",
	       "columns line up, controls do not get through");
	buf_reset(&out);
	table_text(&out, t, 0, true);
	like(buf_text(&out), "\033[31mx\033[0m", "colour when asked");
	table_free(t);
	buf_free(&out);
}

static void safety(void)
{
	struct buf out = { 0 };

	fmt_safe(&out, (struct bytes){ "a\x1b]0;x\x07 \xc2\x9b \xff \xe2\x82\xac\0", 17 });
	is_str(buf_text(&out), "a?]0;x? ? ? \xe2\x82\xac?", "escape sequences are disarmed");
	buf_reset(&out);
	fmt_bar(&out, 0.5, 10);
	is_str(buf_text(&out), "#####     ", "half a bar");
	buf_reset(&out);
	fmt_bar(&out, 7, 3);
	fmt_bar(&out, 0.0 / 0.0, 3);
	is_str(buf_text(&out), "###   ", "bars stay in their width");
	buf_reset(&out);
	fmt_styled(&out, false, FMT_BOLD, "x");
	is_str(buf_text(&out), "x", "no colour");
	buf_free(&out);
}

static void colour(void)
{
	cli_settings.color = "always";
	ok(cli_color(0), "always is always");
	cli_settings.color = "never";
	ok(!cli_color(0), "never is never");
	cli_settings.color = "auto";
	setenv("NO_COLOR", "1", 1);
	ok(!cli_color(1), "NO_COLOR");
}

static void statuses(void)
{
	is_int(cli_exit_of(0), 0, "done");
	is_int(cli_exit_of(ERR_CLOSED), 0, "a reader that left");
	is_int(cli_exit_of(ERR_USAGE), 2, "usage");
	is_int(cli_exit_of(ERR_CANNOT), 3, "cannot");
	is_int(cli_exit_of(ERR_SYS), 3, "system");
	is_int(cli_exit_of(ERR_DAMAGED), 4, "damaged");
	is_int(cli_exit_of(ERR_TOO_NEW), 4, "too new");
}

int main(void)
{
	units();
	counted();
	tables();
	safety();
	colour();
	statuses();
	return tap_done();
}
