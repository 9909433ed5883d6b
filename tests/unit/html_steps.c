/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps in the page: the verdict is about a step, the lines of the loop stand before the causes,
 * and causes that are of no step say so. Names of the program are text and never markup.
 */
#include "tests/tap.h"

#include <string.h>

#include "lib/html/html_page.h"
#include "tests/unit/paths_made.h"

static struct chain_list list;
static struct ops_summary ops;
static struct world *w;
static struct buf page;

static const char *render(void)
{
	struct report r = { .chains = &list, .end_ns = 2000 };
	struct html_page p = { .report = &r, .ops = &ops, .world = w, .tool = "test" };

	buf_reset(&page);
	html_page(&page, &p);
	return buf_text(&page);
}

static struct finding cause(const char *id, int64_t first_ns, int64_t last_ns)
{
	return (struct finding){ .known = true,
				 .id = bytes_of(id),
				 .kind = bytes_of(id),
				 .summary = bytes_of("something took it"),
				 .severity = FINDING_HIGH,
				 .node = bytes_of(""),
				 .victim = { .known = true, .pid = 4821 },
				 .first_ns = first_ns,
				 .last_ns = last_ns,
				 .explained = -1,
				 .unexplained = -1 };
}

/* Between two places of the page. */
static bool stands_between(const char *what, const char *from, const char *to)
{
	const char *a = strstr(buf_text(&page), from), *b = a ? strstr(a, to) : NULL,
		   *at = a ? strstr(a, what) : NULL;

	return a && b && at && at < b;
}

int main(void)
{
	w = world_new();
	vec_push(&list.v, cause("early", 0, 100));
	vec_push(&list.v, cause("within", 300, 900));
	ok(!strstr(render(), "id=\"step-1\""), "no steps, no section");
	ok(stands_between("something took it", "<h1>", "</h1>"),
	   "and the first cause is the verdict");

	make_paths(&list.paths);
	render();
	ok(stands_between(
		   "python3 (pid 4821): ~10 steps of run (a.py:2-9), 100 ns each: 60 ns (60.0%)",
		   "<h1>", "</h1>"),
	   "the verdict is about a step");
	ok(stands_between("~10 steps of run", "<title>", "</title>"), "and the title");
	ok(stands_between("<div class=\"verdict v3\">", "<header>", "<h1>"),
	   "as bad as its worst cause");
	ok(stands_between("<section id=\"step-1\">", "</header>", "<section id=\"cause-1\">"),
	   "the steps stand before the causes");
	ok(stands_between("70.0 %</span><svg class=\"b s3\"", "step-1", "</section>"),
	   "a line of the loop with a bar");
	ok(stands_between("<b>step (a.py:3)</b> &gt; next (l.py:1)", "step-1", "</section>"),
	   "its call");
	ok(stands_between("<b>60 ns</b> waits for loader (pid 7)", "step-1", "</section>"),
	   "and why");
	ok(stands_between("40 ns at once 0 ns after the start: waits for loader", "step-1",
			  "</section>"),
	   "what is slow once");
	ok(stands_between("<code>taskset -a -c -p 0-1 7</code>", "step-1", "</section>"),
	   "what is bound");
	ok(stands_between("<b>Before the first step</b> 100 ns", "step-1", "</section>"),
	   "the start");
	ok(stands_between("before the first step or after the last", "id=\"cause-1\"", "</h2>"),
	   "a cause of the start says so");
	ok(!stands_between("before the first step or after the last", "id=\"cause-2\"", "</h2>"),
	   "one of the steps does not");

	list.paths.tracks.v[0].phases.v[1].rows.v[0].why.v[0].ns = 19;
	render();
	ok(stands_between("70.0 %</span><svg class=\"b s6\"", "step-1", "</section>"),
	   "a line that loses little of a step is not red, though it is most of what the line "
	   "does");
	list.paths.tracks.v[0].phases.v[1].rows.v[0].line = bytes_of("<script>x</script>");
	list.paths.tracks.v[0].phases.v[1].rows.v[0].why.v[0].text = bytes_of("<img src=x>");
	list.paths.tracks.v[0].thread = bytes_of("<b onload=x>");
	list.paths.tracks.v[0].steps.function = bytes_of("<i>");
	ok(!strstr(render(), "<script>") && !strstr(buf_text(&page), "<img") &&
		   !strstr(buf_text(&page), "<b onload") && !strstr(buf_text(&page), "<i>"),
	   "names are no markup");
	chain_list_free(&list);
	world_free(w);
	buf_free(&page);
	return tap_done();
}
