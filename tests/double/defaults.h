/* SPDX-License-Identifier: Apache-2.0 */
/* What the device is unless the environment says otherwise. rules.mk defines DOUBLE_REAL for the
 * libraries that carry real programs. */
#ifndef TESTS_DOUBLE_DEFAULTS_H
#define TESTS_DOUBLE_DEFAULTS_H

#ifdef DOUBLE_REAL
#define DEFAULT_CONTENTS  1
#define DEFAULT_DEVICE_MB 24576
#else
#define DEFAULT_CONTENTS  0
#define DEFAULT_DEVICE_MB 81920
#endif

#endif
