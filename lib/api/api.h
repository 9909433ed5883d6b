/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard's server: one page, what it draws as JSON under /api/v1/ (man/ingero-dashboard.1
 * has the list), and /metrics. Answers come from a source and change nothing.
 */
#ifndef INGERO_API_API_H
#define INGERO_API_API_H

#include "lib/net/server.h"
#include "lib/store/source.h"

struct api;
struct api_route;

/* source is borrowed; version: of the program; more: further routes (lib/compat/api), up to one
 * without a path. NULL: out of memory. */
struct api *api_new(struct store_source *source, const char *version, const struct api_route *more);
/* Sets the machine it runs on, as recordings name theirs: answers name it for those that compare
 * clocks. To be called before the first request. */
void api_set_machine(struct api *a, const uint8_t uuid[16], uint64_t boot);
/* No request may be in progress any more. */
void api_free(struct api *a);

/* A net_handler: ctx is the struct api. */
void api_answer(void *ctx, const struct net_call *call, struct net_reply *reply);

/* Paths that need no token, for net_access_check: the page's own files, which hold no data; ended
 * by NULL. */
const char *const *api_open_paths(void);

/* Limits of a request and of an answer in rows: for net_server_options and for clients of many such
 * servers. */
#define API_BODY_MAX   (64u << 10)
#define API_ROWS       1000 /* unless "limit" says otherwise */
#define API_ROWS_MAX   10000
#define API_ANSWER_MAX (32u << 20) /* bytes */

#endif
