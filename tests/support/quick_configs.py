"""Configs with which a question takes a second."""

from __future__ import annotations

from bertscope.analyses.ablate.question import AblateConfig
from bertscope.experiments.lottery.question import LotteryConfig

QUICK_ABLATE = AblateConfig(repeats=200, permutations=199)
QUICK_LOTTERY = LotteryConfig(
    methods=("s", "m"),
    seeds=(0, 1),
    epochs=2,
    learning_rate=2e-3,
    share=0.3,
    threshold=0.5,
    patterns=False,
    force=True,
)
