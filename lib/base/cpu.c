/* SPDX-License-Identifier: Apache-2.0 */
/* The one switch that makes every program take the plain way. */
#include "lib/base/cpu.h"

bool cpu_plain_only;
