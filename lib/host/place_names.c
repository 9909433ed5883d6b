/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers and pods from what their engines keep on the node: the kubelet's log folders
 * ("NAMESPACE_POD_UID") and links ("POD_NAMESPACE_CONTAINER-ID.log"), Docker's description of a
 * container. Names hold no underscore by Kubernetes' rules.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"
#include "lib/host/process_placement.h"

#define ENTRIES_MAX	100000u
#define DESCRIPTION_MAX (4u << 20)

static void copy_text(char *to, size_t size, const char *p, size_t n)
{
	n = n < size - 1 ? n : size - 1;
	memcpy(to, p, n);
	to[n] = '\0';
}

/* Splits a name at underscores; false when it has not three parts. */
static bool split_name(const char *name, const char *at[3], size_t len[3])
{
	for (unsigned i = 0; i < 3; i++) {
		size_t n = i < 2 ? strcspn(name, "_") : strlen(name);

		if (n == 0 || (i < 2 && name[n] != '_'))
			return false;
		at[i] = name;
		len[i] = n;
		name += n + (i < 2);
	}
	return true;
}

static bool pod_folder(struct host_place *p, const char *name)
{
	const char *at[3];
	size_t len[3];

	if (!split_name(name, at, len) || strcmp(at[2], p->pod_uid) != 0)
		return false;
	copy_text(p->namespace, sizeof(p->namespace), at[0], len[0]);
	copy_text(p->pod, sizeof(p->pod), at[1], len[1]);
	return true;
}

static bool container_log(struct host_place *p, const char *name)
{
	size_t id = strlen(p->container), n = strlen(name);
	const char *at[3];
	size_t len[3];

	if (n < id + 5 || strcmp(name + n - 4, ".log") != 0 ||
	    memcmp(name + n - 4 - id, p->container, id) != 0 || name[n - 5 - id] != '-' ||
	    !split_name(name, at, len) || len[2] < id + 5)
		return false;
	copy_text(p->pod, sizeof(p->pod), at[0], len[0]);
	copy_text(p->namespace, sizeof(p->namespace), at[1], len[1]);
	copy_text(p->container_name, sizeof(p->container_name), at[2], len[2] - id - 5);
	return true;
}

static void scan_folder(struct host_place *p, const char *root, const char *folder,
			bool (*one)(struct host_place *p, const char *name))
{
	char path[4096];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	dir = opendir(path);
	for (unsigned n = 0; dir && n < ENTRIES_MAX && (entry = readdir(dir)); n++)
		if (one(p, entry->d_name))
			break;
	if (dir)
		closedir(dir);
}

/* The member alone begins so: names of containers have a slash in front there, those of policies
 * and drivers have not. A JSON reader would be one more library in a recorder that runs on machines
 * with none. */
static void docker_name(struct host_place *p, const char *root)
{
	static const char member[] = "\"Name\":\"/";
	struct err ignored = { 0 };
	struct buf b = { 0 };
	const char *at;
	char path[4096];

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root,
		 p->container);
	if (read_file(path, &b, DESCRIPTION_MAX, &ignored) == 0) {
		at = memmem(b.p, b.n, member, sizeof(member) - 1);
		if (at) {
			size_t left = b.n - (size_t)(at - b.p) - (sizeof(member) - 1);
			const char *end = memchr(at + sizeof(member) - 1, '"', left);

			if (end)
				copy_text(p->container_name, sizeof(p->container_name),
					  at + sizeof(member) - 1,
					  (size_t)(end - at) - (sizeof(member) - 1));
		}
	}
	buf_free(&b);
}

void host_place_names(struct host_place *p, const char *root)
{
	if (*p->container && strcmp(p->runtime, "lxc") != 0)
		scan_folder(p, root, "/var/log/containers", container_log);
	if (*p->pod_uid && !*p->pod)
		scan_folder(p, root, "/var/log/pods", pod_folder);
	if (strcmp(p->runtime, "docker") == 0 && !*p->container_name)
		docker_name(p, root);
}
