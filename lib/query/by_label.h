/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of an event as two numbers, and what such a key is called once all is known that will be.
 */
#ifndef INGERO_QUERY_BY_LABEL_H
#define INGERO_QUERY_BY_LABEL_H

#include <stdbool.h>

#include "lib/base/map.h"
#include "lib/event/groups.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/kernel_names.h"
#include "lib/world/world.h"

struct by_id {
	uint64_t a, b;	/* a 0: there is none, or it is not known */
	bool none;	/* which of these */
	uint32_t ctx;	/* of an event with it: says who that is */
	uint32_t stack; /* of a launch with it */
};

/* What is known of kernels so far. */
struct by_kernels {
	struct kernel_names names;
	struct map libraries; /* stack -> frame, see launcher_find_library */
};

/* process: world id, 0 unknown. kernels: of BY_KERNEL */
struct by_id by_id_of_event(const struct world *w, enum by_key key, const struct event *ev,
			    const struct op_def *op, uint32_t process, struct by_kernels *kernels);

/* Whether different ids of a key can be the same thing: a line of many stacks, a pod of many
 * processes. */
bool by_label_shared(enum by_key key);

/* What PLACE records say by process and NAME records by thread; the newest statement about each
 * holds. Texts are world strings. */
struct by_place {
	uint32_t pod, container, container_name, rank, run;
	uint64_t rank_number;
};
struct by_places {
	VEC(struct by_place) v;
	struct map of_process; /* world process -> index */
};
/* False: out of memory. */
bool by_places_record(struct by_places *p, struct world *w, const struct record *rec);
void by_places_free(struct by_places *p);

/* All borrowed. */
struct by_labels {
	struct world *w;
	enum by_key key;
	const struct by_places *places;
	const struct by_kernels *kernels;
	bool no_numbers; /* of processes and threads: their command is the key */
};

/* Sets key, name, node and order of a row, and its kind. False: out of memory. */
bool by_label_set_row(const struct by_labels *l, const struct by_id *id, struct by_row *row);

#endif
