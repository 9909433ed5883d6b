/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread has the driver's stack of contexts, as devices; the runtime's calls replace its top.
 * Bounded: threads and processes by what the recording knows of them, contexts of a process by
 * CONTEXTS_MAX, beyond which they are unknown. Invariant: a device is either the one that calls
 * made current, or UNKNOWN.
 */
#include "lib/decode/cuda_devices.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

#define UNKNOWN	     UINT32_MAX
#define DEVICES_MAX  64
#define CONTEXTS_MAX 65536
#define NESTED_MAX   8

struct device {
	uint8_t uuid[16];
	bool has_uuid, asked;
	uint32_t gpu; /* valid with asked */
};

struct process {
	bool whole;
	struct map contexts; /* CUcontext -> device + 1 */
	VEC(struct device)
	devices; /* by ordinal, as far as was asked; most processes ask for one */
};

struct thread {
	uint32_t round;		      /* what is older than the last loss is void */
	uint32_t n;		      /* contexts on the stack, as far as is known */
	uint32_t current[NESTED_MAX]; /* devices; the last is current */
	bool set;		      /* somebody has set something, known or not */
};

struct cuda_devices {
	struct cuda_devices_owner owner;
	struct map by_thread, by_image; /* of the world -> struct thread *, struct process * */
	uint32_t round;
};

struct cuda_devices *cuda_devices_new(const struct cuda_devices_owner *owner)
{
	struct cuda_devices *d = calloc(1, sizeof(*d));

	if (d)
		d->owner = *owner;
	return d;
}

static void process_free(uint64_t value)
{
	struct process *p = (struct process *)(uintptr_t)value;

	map_free(&p->contexts);
	vec_free(&p->devices);
	free(p);
}

void cuda_devices_free(struct cuda_devices *d)
{
	uint64_t value;

	if (!d)
		return;
	for (size_t at = 0; map_each(&d->by_image, &at, NULL, &value);)
		process_free(value);
	for (size_t at = 0; map_each(&d->by_thread, &at, NULL, &value);)
		free((void *)(uintptr_t)value);
	map_free(&d->by_thread);
	map_free(&d->by_image);
	free(d);
}

bool cuda_devices_needs(uint16_t op)
{
	switch (op) {
	case OP_CUDA_SET_DEVICE:
	case OP_CU_CTX_CREATE:
	case OP_CU_CTX_DESTROY:
	case OP_CU_CTX_SET_CURRENT:
	case OP_CU_CTX_PUSH_CURRENT:
	case OP_CU_CTX_POP_CURRENT:
	case OP_CU_DEVICE_PRIMARY_CTX_RETAIN:
	case OP_CU_DEVICE_GET_UUID:
		return true;
	}
	return false;
}

void cuda_devices_ended(struct cuda_devices *d, uint32_t thread, uint32_t image)
{
	uint64_t value;

	if (thread && map_get(&d->by_thread, thread, &value)) {
		map_del(&d->by_thread, thread);
		free((void *)(uintptr_t)value);
	}
	if (image && map_get(&d->by_image, image, &value)) {
		map_del(&d->by_image, image);
		process_free(value);
	}
}

void cuda_devices_lost(struct cuda_devices *d)
{
	d->round++;
}

static struct process *process_of(struct cuda_devices *d, const struct cuda_device_user *u)
{
	struct process *p;
	uint64_t known;

	if (map_get(&d->by_image, u->image, &known))
		return (struct process *)(uintptr_t)known;
	p = calloc(1, sizeof(*p));
	if (!p || !map_put(&d->by_image, u->image, (uintptr_t)p)) {
		free(p);
		return NULL;
	}
	p->whole = d->owner.whole && d->owner.whole(d->owner.ctx, u->tgid);
	return p;
}

/* NULL: beyond what is followed, or no memory. */
static struct device *ordinal_of(struct process *p, uint64_t ordinal)
{
	if (ordinal >= DEVICES_MAX)
		return NULL;
	while (p->devices.n <= ordinal)
		if (!vec_push(&p->devices, (struct device){ 0 }))
			return NULL;
	return &p->devices.v[ordinal];
}

static struct thread *thread_of(struct cuda_devices *d, const struct cuda_device_user *u)
{
	struct thread *t;
	uint64_t known;

	if (map_get(&d->by_thread, u->thread, &known)) {
		t = (struct thread *)(uintptr_t)known;
	} else {
		t = calloc(1, sizeof(*t));
		if (!t || !map_put(&d->by_thread, u->thread, (uintptr_t)t)) {
			free(t);
			return NULL;
		}
		t->round = d->round;
	}
	if (t->round != d->round)
		*t = (struct thread){ .round = d->round, .set = true };
	return t;
}

static uint32_t device_of(const struct process *p, uint64_t context)
{
	uint64_t device;

	return map_get(&p->contexts, context, &device) && device ? (uint32_t)device - 1 : UNKNOWN;
}

static void set_context(struct process *p, uint64_t context, uint64_t device)
{
	if (p->contexts.n < CONTEXTS_MAX || map_get(&p->contexts, context, NULL))
		map_put(&p->contexts, context, device == UNKNOWN ? 0 : device + 1);
}

/* Replaces the current device. */
static void set_current(struct thread *t, uint32_t device)
{
	t->set = true;
	if (t->n == 0)
		t->n = 1;
	t->current[t->n - 1] = device;
}

static void push_device(struct thread *t, uint32_t device)
{
	t->set = true;
	if (t->n == NESTED_MAX) { /* the outermost is forgotten: below it nothing is known */
		memmove(t->current, t->current + 1, sizeof(t->current) - sizeof(t->current[0]));
		t->n--;
	}
	t->current[t->n++] = device;
}

static void pop_device(struct thread *t)
{
	t->set = true;
	if (t->n > 0)
		t->n--;
}

static void set_uuid(struct process *p, const struct event *ev, const struct op_def *def)
{
	uint64_t ordinal, part[2];
	struct device *v;

	if (!event_get(ev, def, COL_ORDINAL, &ordinal) ||
	    !event_get(ev, def, COL_UUID_HEAD, &part[0]) ||
	    !event_get(ev, def, COL_UUID_TAIL, &part[1]))
		return;
	v = ordinal_of(p, ordinal);
	if (!v)
		return;
	/* Words as the kernel side read them: bytes in the order of memory. */
	memcpy(v->uuid, part, sizeof(part));
	v->asked &= v->has_uuid;
	v->has_uuid = true;
}

static void apply_call(struct process *p, struct thread *t, const struct event *ev,
		       const struct op_def *def)
{
	uint64_t context = 0, ordinal = UNKNOWN;

	event_get(ev, def, COL_CONTEXT, &context);
	event_get(ev, def, COL_ORDINAL, &ordinal);
	switch (ev->op) {
	case OP_CUDA_SET_DEVICE:
		set_current(t, (uint32_t)ordinal);
		break;
	case OP_CU_CTX_SET_CURRENT:
		set_current(t, device_of(p, context));
		break;
	case OP_CU_CTX_PUSH_CURRENT:
		push_device(t, device_of(p, context));
		break;
	case OP_CU_CTX_POP_CURRENT:
		pop_device(t);
		break;
	case OP_CU_CTX_CREATE: /* made, and made current */
		set_context(p, context, ordinal);
		push_device(t, (uint32_t)ordinal);
		break;
	case OP_CU_CTX_DESTROY: /* whether it was current is not said */
		if (device_of(p, context) == UNKNOWN ||
		    (t->n && t->current[t->n - 1] == device_of(p, context)))
			set_current(t, UNKNOWN);
		set_context(p, context, UNKNOWN);
		break;
	case OP_CU_DEVICE_PRIMARY_CTX_RETAIN:
		set_context(p, context, ordinal);
		break;
	case OP_CU_DEVICE_GET_UUID:
		set_uuid(p, ev, def);
		break;
	}
}

static uint32_t gpu_of(struct cuda_devices *d, struct process *p, uint32_t tgid, uint32_t ordinal)
{
	struct device *v = ordinal_of(p, ordinal);
	bool later = false;

	if (!v || !d->owner.gpu)
		return 0;
	if (!v->asked) {
		v->gpu = d->owner.gpu(d->owner.ctx, tgid, ordinal, v->has_uuid ? v->uuid : NULL,
				      &later);
		v->asked = !later;
	}
	return v->gpu;
}

uint32_t cuda_devices_call(struct cuda_devices *d, const struct cuda_device_user *u,
			   const struct event *ev, const struct op_def *def)
{
	struct process *p = process_of(d, u);
	struct thread *t = p ? thread_of(d, u) : NULL;

	if (!t)
		return 0;
	if (ev->ret == 0)
		apply_call(p, t, ev, def);
	/* Who has set nothing and does work by the runtime does it on its first device. */
	if (!t->set && p->whole && def->source == SOURCE_CUDA && ev->ret == 0 && ev->depth == 0 &&
	    def->flags & (OP_SUBMIT | OP_SYNC | OP_ALLOC | OP_FREE | OP_COPY))
		set_current(t, 0);
	if (t->n == 0 || t->current[t->n - 1] == UNKNOWN)
		return 0;
	return gpu_of(d, p, u->tgid, t->current[t->n - 1]);
}
