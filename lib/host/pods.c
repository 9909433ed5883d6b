/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol Buffers as far as this message needs them: fields with a number and one of four forms,
 * texts and messages within by their length (protobuf.dev/programming-guides/encoding). Fields that
 * are not known are passed over.
 */
#include "lib/host/pods.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/vec.h"

#define FIELD_MAX 536870911u /* numbers have 29 bits */

struct field {
	uint32_t number;
	bool sized; /* text holds it; else it is a number, of which none is wanted */
	struct bytes text;
};

static bool read_varint(struct bytes *rest, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && rest->n; shift += 7) {
		unsigned char c = (unsigned char)*rest->p;

		rest->p++;
		rest->n--;
		*value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

/* 1: *f is the next field; 0: there is none; negative: that is no message. */
static int next(struct bytes *rest, struct field *f)
{
	uint64_t tag, n;

	*f = (struct field){ 0 };
	if (rest->n == 0)
		return 0;
	if (!read_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > FIELD_MAX)
		return -1;
	f->number = (uint32_t)(tag >> 3);
	switch (tag & 7) {
	case 0:
		return read_varint(rest, &n) ? 1 : -1;
	case 1:
		n = 8;
		break;
	case 2:
		f->sized = true;
		if (!read_varint(rest, &n))
			return -1;
		break;
	case 5:
		n = 4;
		break;
	default:
		return -1;
	}
	if (n > rest->n)
		return -1;
	f->text = (struct bytes){ rest->p, (size_t)n };
	rest->p += n;
	rest->n -= (size_t)n;
	return 1;
}

/* Copies a Kubernetes name: letters, digits, dashes and dots. False: it does not fit, or has a
 * blank, a comma or a control character. */
static bool copy_name(char *to, size_t size, struct bytes text)
{
	if (text.n >= size)
		return false;
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] <= ' ' || text.p[i] == ',' || text.p[i] == 0x7f)
			return false;
	memcpy(to, text.p, text.n);
	to[text.n] = '\0';
	return true;
}

static bool has_prefix(struct bytes text, const char *with)
{
	size_t n = strlen(with);

	return text.n >= n && memcmp(text.p, with, n) == 0;
}

/* The next part of a list between commas; false: there is none. */
static bool next_id(const char **list, struct bytes *id)
{
	*id = (struct bytes){ *list, strcspn(*list, ",") };
	*list += id->n + ((*list)[id->n] == ',');
	return id->n > 0;
}

bool host_pods_lists(const char *list, struct bytes id)
{
	struct bytes one;

	while (next_id(&list, &one))
		if (bytes_equal(one, id))
			return true;
	return false;
}

/* Appends the id of a GPU, unless there is no room. Shared GPUs are listed as "ID::N", with one N
 * for each container that shares it. */
static void add_gpu(struct host_pod *pod, struct bytes id)
{
	size_t had = strlen(pod->gpus);

	for (size_t i = 0; i + 1 < id.n; i++)
		if (id.p[i] == ':' && id.p[i + 1] == ':')
			id.n = i;
	if (id.n == 0 || had + 1 + id.n + 1 > sizeof(pod->gpus) || host_pods_lists(pod->gpus, id))
		return;
	if (had)
		pod->gpus[had++] = ',';
	if (!copy_name(pod->gpus + had, sizeof(pod->gpus) - had, id))
		pod->gpus[had ? had - 1 : 0] = '\0';
}

/* ContainerDevices: resource_name 1, device_ids 2. The name may come behind the ids. */
static int parse_devices(struct host_pod *pod, struct bytes message)
{
	struct bytes rest = message;
	struct field f;
	bool gpu = false;
	int more;

	while ((more = next(&rest, &f)) > 0)
		if (f.number == 1 && f.sized)
			gpu = has_prefix(f.text, "nvidia.com/gpu") ||
			      has_prefix(f.text, "nvidia.com/mig-");
	rest = message;
	while (more == 0 && gpu && next(&rest, &f) > 0)
		if (f.number == 2 && f.sized)
			add_gpu(pod, f.text);
	return more;
}

/* ClaimResource: driver_name 2, device_name 4: "gpu-0", no id, but the sign of a GPU. */
static int parse_claim(struct host_pod *pod, struct bytes rest)
{
	struct bytes driver = { NULL, 0 }, device = { NULL, 0 };
	struct field f;
	int more;

	while ((more = next(&rest, &f)) > 0)
		if (f.sized && f.number == 2)
			driver = f.text;
		else if (f.sized && f.number == 4)
			device = f.text;
	if (more == 0 && bytes_equal(driver, bytes_of("gpu.nvidia.com")))
		add_gpu(pod, device);
	return more;
}

/* DynamicResource: claim_resources 4. */
static int parse_dynamic(struct host_pod *pod, struct bytes rest)
{
	struct field f;
	int more;

	while ((more = next(&rest, &f)) > 0)
		if (f.number == 4 && f.sized && parse_claim(pod, f.text))
			return -1;
	return more;
}

/* ContainerResources: name 1, devices 2, dynamic_resources 5. */
static int parse_container(struct host_pod *pod, struct bytes rest)
{
	struct field f;
	int more;

	while ((more = next(&rest, &f)) > 0) {
		int rc = 0;

		if (f.sized && f.number == 1)
			rc = copy_name(pod->container, sizeof(pod->container), f.text) ? 0 : -1;
		else if (f.sized && f.number == 2)
			rc = parse_devices(pod, f.text);
		else if (f.sized && f.number == 5)
			rc = parse_dynamic(pod, f.text);
		if (rc)
			return rc;
	}
	return more;
}

/* PodResources: name 1, namespace 2, containers 3. Names may be last. 1: too many, or no memory. */
static int pod_resources(struct host_pods *p, struct bytes message)
{
	struct host_pod named = { 0 };
	struct bytes rest = message;
	struct field f;
	int more;

	while ((more = next(&rest, &f)) > 0)
		if ((f.sized && f.number == 1 &&
		     !copy_name(named.pod, sizeof(named.pod), f.text)) ||
		    (f.sized && f.number == 2 &&
		     !copy_name(named.namespace, sizeof(named.namespace), f.text)))
			return -1;
	rest = message;
	while (more == 0 && next(&rest, &f) > 0) {
		struct host_pod one = named;

		if (f.number != 3 || !f.sized)
			continue;
		if (parse_container(&one, f.text))
			return -1;
		if (one.gpus[0] && (p->n >= HOST_PODS_MAX || !vec_push(p, one)))
			return 1;
	}
	return more;
}

int host_pods_parse(struct host_pods *p, struct bytes message, struct err *e)
{
	struct field f;
	int more, rc = 0;

	p->n = 0;
	if (message.n > HOST_PODS_ANSWER_MAX)
		return err_set(e, ERR_LIMIT, "the list of pods has %zu bytes", message.n);
	while ((more = next(&message, &f)) > 0 && rc == 0)
		if (f.number == 1 && f.sized)
			rc = pod_resources(p, f.text);
	if (rc == 0 && more == 0)
		return 0;
	if (rc > 0 && p->n < HOST_PODS_MAX)
		rc = err_nomem(e);
	else
		rc = err_set(e, ERR_DAMAGED,
			     rc > 0 ? "more than %u containers with GPUs"
				    : "not a list of pods and their devices",
			     HOST_PODS_MAX);
	p->n = 0;
	return rc;
}

bool host_pods_equal(const struct host_pods *a, const struct host_pods *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].namespace, b->v[i].namespace) ||
		    strcmp(a->v[i].pod, b->v[i].pod) ||
		    strcmp(a->v[i].container, b->v[i].container) ||
		    strcmp(a->v[i].gpus, b->v[i].gpus))
			return false;
	return true;
}

void host_pods_free(struct host_pods *p)
{
	vec_free(p);
}

/* The entry at or behind from that is of this place; NULL: none is. */
static const struct host_pod *find_pod(const struct host_pods *p, const struct host_place *place,
				       size_t from)
{
	if (!*place->pod || !*place->namespace)
		return NULL;
	for (size_t i = from; i < p->n; i++)
		if (strcmp(p->v[i].pod, place->pod) == 0 &&
		    strcmp(p->v[i].namespace, place->namespace) == 0 &&
		    (!*place->container_name ||
		     strcmp(p->v[i].container, place->container_name) == 0))
			return &p->v[i];
	return NULL;
}

bool host_pods_has(const struct host_pods *p, const struct host_place *place)
{
	return find_pod(p, place, 0) != NULL;
}

/* Whether two lists have the same ids, in any order. */
static bool is_same_list(const char *a, const char *b)
{
	struct bytes id;

	if (strlen(a) != strlen(b))
		return false;
	while (next_id(&a, &id))
		if (!host_pods_lists(b, id))
			return false;
	return true;
}

static void fill_names(const struct host_pods *p, struct host_place *place)
{
	const struct host_pod *found = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (is_same_list(p->v[i].gpus, place->gpus)) {
			if (found)
				return;
			found = &p->v[i];
		}
	if (!found)
		return;
	memcpy(place->pod, found->pod, sizeof(place->pod));
	memcpy(place->namespace, found->namespace, sizeof(place->namespace));
	memcpy(place->container_name, found->container, sizeof(place->container_name));
}

void host_pods_complete(const struct host_pods *p, struct host_place *place)
{
	const struct host_pod *found = find_pod(p, place, 0);

	if (found) {
		/* Several containers of a pod, and not known which one this is of. */
		if (!find_pod(p, place, (size_t)(found - p->v) + 1))
			memcpy(place->gpus, found->gpus, sizeof(place->gpus));
	} else if (*place->pod_uid && !*place->pod && *place->gpus) {
		fill_names(p, place);
	}
}
