# SPDX-License-Identifier: Apache-2.0
#
# The scorecard; SCORE=quick is the part of it that `make check` runs, SCORE=2/8 the second of eight pieces, which may be run
# anywhere and at any time (score.py --from sums them), and SCORE=resume goes on with one that was broken off.

.PHONY: score
score: all double
	@BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 python3 tests/scenarios/score.py $(if $(filter quick,$(SCORE)),--quick) \
		$(if $(findstring /,$(SCORE)),--shard $(SCORE)) $(if $(filter resume,$(SCORE)),--resume) \
		--json $(BUILD)/score$(if $(findstring /,$(SCORE)),-$(subst /,of,$(SCORE))).json
