/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads NVIDIA's kernel driver from /proc/driver/nvidia: the line of its version, and a folder for
 * each GPU.
 */
#include "lib/host/gpu_driver.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

#define ROOT	 "/proc/driver/nvidia"
#define TEXT_MAX 65536

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu ...", and of the other module
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...". */
void host_gpu_driver_parse(struct bytes text, struct host_gpu_driver *out)
{
	const char *line = text.p, *nl = text.n ? memchr(line, '\n', text.n) : NULL;
	size_t n = nl ? (size_t)(nl - line) : text.n;
	const char *end = line + n;

	if (n && memmem(line, n, "Open Kernel Module", 18))
		out->module = HOST_MODULE_OPEN;
	else if (n && memmem(line, n, "Kernel Module", 13))
		out->module = HOST_MODULE_PROPRIETARY;
	for (const char *p = line; p < end;) {
		const char *word = p;

		while (p < end && *p != ' ' && *p != '\t')
			p++;
		/* The first word with digits and dots. */
		if (p > word && *word >= '0' && *word <= '9' &&
		    memchr(word, '.', (size_t)(p - word))) {
			snprintf(out->version, sizeof(out->version), "%.*s", (int)(p - word), word);
			return;
		}
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
	}
}

/* "Model: \t\t NVIDIA H100 80GB HBM3" */
static void read_model(const char *gpu, struct host_gpu_driver *out)
{
	struct buf text = { 0 };
	char path[512];
	const char *p;

	snprintf(path, sizeof(path), ROOT "/gpus/%s/information", gpu);
	if (read_file(path, &text, TEXT_MAX, NULL) == 0) {
		p = strstr(buf_text(&text), "Model:");
		p = p ? p + 6 + strspn(p + 6, " \t") : "";
		snprintf(out->model, sizeof(out->model), "%.*s", (int)strcspn(p, "\n"), p);
	}
	buf_free(&text);
}

bool host_gpu_driver_read(struct host_gpu_driver *out)
{
	struct buf text = { 0 };
	struct dirent *entry;
	bool loaded;
	DIR *dir;

	*out = (struct host_gpu_driver){ 0 };
	loaded = read_file(ROOT "/version", &text, TEXT_MAX, NULL) == 0;
	if (loaded)
		host_gpu_driver_parse(buf_bytes(&text), out);
	buf_free(&text);
	dir = loaded ? opendir(ROOT "/gpus") : NULL;
	while (dir && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (out->gpus++ == 0)
			read_model(entry->d_name, out);
	}
	if (dir)
		closedir(dir);
	return loaded;
}
