/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard's server: one page, what it draws as JSON under /api/v1/ (man/ingero-dashboard.1 has the list; endpoints and
 * shapes of the older agent among them), and /metrics. Answers come from a source and change nothing.
 */
#ifndef INGERO_SERVE_API_H
#define INGERO_SERVE_API_H

#include "lib/net/server.h"
#include "lib/serve/source.h"

struct serve_api;

/* source is borrowed; version: of the program. NULL: out of memory. */
struct serve_api *serve_api_new(struct serve_source *source, const char *version);
/* The machine it runs on, as recordings name theirs: who compares clocks hears of it. Said before anybody asks. */
void serve_api_machine(struct serve_api *a, const uint8_t uuid[16], uint64_t boot);
/* Nobody may ask any more. */
void serve_api_free(struct serve_api *a);

/* A net_handler: ctx is the struct serve_api. */
void serve_api_answer(void *ctx, const struct net_call *call, struct net_reply *reply);

/* Paths that need no token, for net_guard: the page's own files, in which nothing is told; ended by NULL. */
const char *const *serve_api_open_paths(void);

/* What a request may be, and what an answer in rows: for net_server_options and whoever asks many of these servers. */
#define SERVE_API_BODY_MAX   (64u << 10)
#define SERVE_API_ROWS	     1000 /* unless "limit" says otherwise */
#define SERVE_API_ROWS_MAX   10000
#define SERVE_API_ANSWER_MAX (32u << 20) /* bytes */

#endif
