# SPDX-License-Identifier: Apache-2.0
#
# Long runs: `make soak` takes two minutes, SOAK=1h an hour, SOAK=2d two days.

SOAK ?= 2m
.PHONY: soak
soak: all double
	@BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 tests/soak/record.py $(SOAK)
