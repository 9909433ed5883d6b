/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as people write and read them. Stored times are UTC nanoseconds since 1970; what a person
 * sees on a terminal is local with the zone shown. Nothing here asks for the time of day.
 */
#ifndef INGERO_BASE_TIMETEXT_H
#define INGERO_BASE_TIMETEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

/* "5m", "1h30m", "3d12h", "250ms", "1.5s", "90" (seconds) -> ns. Units d h m s ms us ns, largest
 * first. */
int duration_parse(struct bytes text, uint64_t *ns, struct err *e);

/* "5.2 ms", "999 ns", "1.50 s", "2m 5s": three significant digits below a minute. Returns out. */
char *duration_text(char *out, size_t size, uint64_t ns);

/* The exact form duration_parse reads back: "1h30m", "250ms". */
char *duration_exact(char *out, size_t size, uint64_t ns);

/* "2026-07-30T12:34:56.123456789Z" */
char *time_iso(char *out, size_t size, int64_t utc_ns);

/* "2026-07-30 14:34:56.123 CEST"; date false leaves the day out. */
char *time_local(char *out, size_t size, int64_t utc_ns, bool date);

/* ISO time with or without fraction and zone ("Z", "+02:00"; none means local), or "15:40[:05]",
 * which is the last such local time not after anchor_ns. -> UTC ns. */
int time_parse(struct bytes text, int64_t anchor_ns, int64_t *utc_ns, struct err *e);

#endif
