# SPDX-License-Identifier: Apache-2.0
#
# The scorecard; SCORE=quick is the part of it that `make check` runs.

.PHONY: score
score: all double
	@BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 python3 tests/scenarios/score.py $(if $(filter quick,$(SCORE)),--quick) --json $(BUILD)/score.json
