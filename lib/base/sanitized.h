/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a sanitizer's runtime lives in this process, which opens files, looks at its own stacks
 * and calls what a confined process has no use for.
 */
#ifndef INGERO_BASE_SANITIZED_H
#define INGERO_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
