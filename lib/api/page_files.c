/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page's files (lib/api/page/), which travel in the program: the build makes a table of their
 * bytes.
 */
#include <string.h>

#include "lib/api/api_state.h"

#include "lib/api/page.files.h"

const struct page_file *page_find_file(const char *path)
{
	if (!strcmp(path, "/"))
		path = "/index.html";
	for (size_t i = 0; i < sizeof(page_files) / sizeof(*page_files); i++)
		if (!strcmp(path, page_files[i].path))
			return &page_files[i];
	return NULL;
}

const char *const *api_open_paths(void)
{
	return page_paths;
}
