/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be asked of a recording, as an offer for the protocol: tools, a prompt, resources. All of it reads; nothing
 * is attached, started on the machine or written on a client's word.
 */
#ifndef INGERO_SERVE_TOOLS_H
#define INGERO_SERVE_TOOLS_H

#include "lib/serve/checker.h"
#include "lib/serve/fleet.h"
#include "lib/serve/offer.h"
#include "lib/serve/source.h"

struct serve_tools;

struct serve_tools_options {
	struct serve_source
		*source; /* borrowed; NULL: no recording was given, and what needs one says so */
	const char *version; /* of the server; borrowed, as all here */
	const struct serve_fleet_options
		*fleet; /* nodes that query_fleet asks; NULL: none. Its stop is not looked at */
	const struct serve_checker
		*checker; /* who starts ingero-check for get_check; NULL: this process */
	const char *
		test_report; /* file that get_test_report shows, NULL: the one of the build this program is of */
};

/* NULL: out of memory. */
struct serve_tools *serve_tools_new(const struct serve_tools_options *opt);
void serve_tools_free(struct serve_tools *t);

/* Borrowed, until the tools are freed. */
const struct serve_offer *serve_tools_offer(const struct serve_tools *t);

#endif
