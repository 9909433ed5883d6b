/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the older agent's dashboard answers, in its shapes: times in microseconds, sizes in MiB. Its
 * clients ask for it, and dashboards of other machines for overviews, ops and chains, as these may
 * be the older agent's.
 */
#ifndef INGERO_COMPAT_API_AGENT_API_H
#define INGERO_COMPAT_API_AGENT_API_H

#include "lib/api/api_state.h"

extern const struct api_route agent_routes[]; /* for api_new */

api_endpoint agent_chains;			      /* agent_chains.c */
api_endpoint agent_graph_metrics, agent_graph_events; /* agent_graphs.c */

/* Members of a chain's body. */
void agent_write_chain(struct jsonw *j, const struct query_chains *a, const struct finding *c);

#endif
