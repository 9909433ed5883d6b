/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the text report share: members of JSON bodies, durations, styles.
 */
#ifndef INGERO_REPORT_REPORT_PARTS_H
#define INGERO_REPORT_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

/* Switches to an SGR code ("1", "1;31", "0" back); nothing without color. */
void report_style(struct buf *out, bool color, const char *code);

/* The text, which names an option of a program; nothing where the report is no terminal's. */
const char *report_hint(const struct report *r, const char *text);

/* duration_text of a JSON number. */
const char *report_ns(char *out, size_t size, double ns);

/* The text, made harmless, or another one where it is empty. */
void report_print_text(struct buf *out, struct bytes text, const char *otherwise);

/* ", from about step 101 on"; nothing where it is empty. */
void report_print_course(struct buf *out, struct bytes course);

/* Members of an object: 0, false, or the text otherwise, when it is missing. The text is made
 * harmless. */
double report_number(struct json object, const char *key);
bool report_is_true(struct json object, const char *key);
void report_member(struct buf *out, struct json object, const char *key, const char *otherwise);

/* Whether a process of that number was asked for (-p). */
bool report_is_pid(const struct report *r, double pid);
/* Whether an object about a process (with its "pid") is to be shown (-p). */
bool report_shows(const struct report *r, struct json process);

/* Whether an object's "pid" and "node" are those of a chain's victim, these, another object's. */
bool report_is_of(const struct finding *c, struct json process);
bool report_is_process(struct json process, double pid, struct bytes name);
bool report_same_process(struct json a, struct json b);

/* A line "== python3 train.py (pid 7) on node0"; of: in front of the name. */
void report_process_heading(struct buf *out, struct json p, const char *of, bool color);

/* Whether a process or a cause is of another machine than that. */
bool report_others(const struct report *r, struct bytes name);

/* " on NODE", where the recording is of several machines; and that of an object about a process. */
void report_on_node(struct buf *out, const struct report *r, struct bytes name);
void report_on(struct buf *out, const struct report *r, struct json process);

/* A time of the recording's clock as ISO text, null when it does not say what time it was. */
void report_set_time(struct json *o, const char *key, const struct report *r, int64_t mono_ns);

/* A number as its unit wants it: "1.51 s", "1.5 GiB", "12.0 GiB/s", "3.2 %", "1,234". */
void report_value(struct buf *out, double value, struct bytes unit);

/* What a fact of a chain is called: "    Culprit     ", or a mark. And on a line of its own, above
 * what it is of. */
void report_chain_heading(struct buf *out, const struct report *r, bool color, const char *title);
void report_chain_title(struct buf *out, const struct report *r, bool color, const char *title);

#endif
