# SPDX-License-Identifier: Apache-2.0
#
# `. tests/double/env.sh` in the repository root: the double's libraries in front, its workloads in $DOUBLE,
# and none of its settings left over from the caller. $BUILD is the build directory.

DOUBLE=$(cd "${BUILD:-build}/double" && pwd) || exit 1
LD_LIBRARY_PATH=$DOUBLE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for double_setting in $(env | sed -n 's/^\(DOUBLE_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$double_setting"; done
PYTHONDONTWRITEBYTECODE=1
export DOUBLE LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
