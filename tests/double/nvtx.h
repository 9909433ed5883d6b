/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of NVTX 2 that the double exports, and the attributes some of them take: laid out
 * as in NVIDIA's nvToolsExt.h.
 */
#ifndef TESTS_DOUBLE_NVTX_H
#define TESTS_DOUBLE_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_MESSAGE_NONE, NVTX_MESSAGE_ASCII, NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_REGISTERED };

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "as NVIDIA's");
_Static_assert(offsetof(struct nvtx_attributes, message) == 40, "as NVIDIA's");

#define NVTX_FUNCTIONS(X)                                                                        \
	X(int, nvtxRangePushA, (const char *text))                                               \
	X(int, nvtxRangePushW, (const wchar_t *text))                                            \
	X(int, nvtxRangePushEx, (const struct nvtx_attributes *a))                               \
	X(int, nvtxRangePop, (void))                                                             \
	X(uint64_t, nvtxRangeStartA, (const char *text))                                         \
	X(uint64_t, nvtxRangeStartW, (const wchar_t *text))                                      \
	X(uint64_t, nvtxRangeStartEx, (const struct nvtx_attributes *a))                         \
	X(void, nvtxRangeEnd, (uint64_t id))                                                     \
	X(void, nvtxMarkA, (const char *text))                                                   \
	X(void, nvtxMarkW, (const wchar_t *text))                                                \
	X(void, nvtxMarkEx, (const struct nvtx_attributes *a))                                   \
	X(struct nvtx_domain *, nvtxDomainCreateA, (const char *name))                           \
	X(int, nvtxDomainRangePushEx, (struct nvtx_domain * d, const struct nvtx_attributes *a)) \
	X(int, nvtxDomainRangePop, (struct nvtx_domain * d))                                     \
	X(uint64_t, nvtxDomainRangeStartEx,                                                      \
	  (struct nvtx_domain * d, const struct nvtx_attributes *a))                             \
	X(void, nvtxDomainRangeEnd, (struct nvtx_domain * d, uint64_t id))                       \
	X(void, nvtxDomainMarkEx, (struct nvtx_domain * d, const struct nvtx_attributes *a))     \
	X(void *, nvtxDomainRegisterStringA, (struct nvtx_domain * d, const char *text))         \
	X(void *, nvtxDomainRegisterStringW, (struct nvtx_domain * d, const wchar_t *text))

#endif
