"""Numbers that the sources report of bert-base, by the task's name: shown beside ours, never part of a verdict.

Of *When BERT Plays the Lottery* the mean of 5 seeds, accuracy (CoLA Matthews, STS-B Pearson); masks were chosen on
the dev set that is scored. Of *Revealing the Dark Secrets of BERT* the accuracy on dev, which of a task's metrics it
doesn't say. Of the course project's slides the accuracy of one training each on all of SNLI or WebMD; with the top
layer the classifier and the dropout changed at once, and no random cut stood beside the biased data.
"""

from __future__ import annotations

_GLUE = (
    "glue/cola", "glue/mnli", "glue/mrpc", "glue/qnli", "glue/qqp", "glue/rte", "glue/sst2", "glue/stsb",
)  # fmt: skip
FULL = dict(zip(_GLUE, (0.560, 0.845, 0.839, 0.915, 0.909, 0.632, 0.926, 0.887), strict=True))
MAJORITY = dict(zip(_GLUE, (0.0, 0.354, 0.684, 0.505, 0.632, 0.527, 0.509, 0.0), strict=True))
"""What the commonest answer scores on dev, where the sources score: what a model has above it is its skill."""
RETRAINED = {
    name: dict(zip(_GLUE, scores, strict=True))
    for name, scores in {
        ("m", "good"): (0.544, 0.839, 0.840, 0.909, 0.907, 0.614, 0.915, 0.879),
        ("m", "random"): (0.157, 0.756, 0.703, 0.809, 0.856, 0.561, 0.829, 0.235),
        ("m", "bad"): (0.025, 0.619, 0.675, 0.607, 0.775, 0.495, 0.816, 0.082),
        ("s", "good"): (0.505, 0.795, 0.773, 0.887, 0.887, 0.575, 0.874, 0.752),
        ("s", "random"): (0.417, 0.790, 0.679, 0.842, 0.876, 0.565, 0.894, 0.791),
        ("s", "bad"): (0.406, 0.803, 0.677, 0.766, 0.820, 0.588, 0.858, 0.607),
    }.items()
}
_LEFT = (
    "glue/cola", "glue/sst2", "glue/mrpc", "glue/stsb", "glue/qqp", "glue/mnli", "glue/qnli", "glue/rte",
)  # fmt: skip
HEADS_LEFT = {
    task: round(heads / 144, 3) for task, heads in zip(_LEFT, (92.2, 67, 89.4, 76.8, 78.2, 95, 85.2, 74), strict=True)
}
WEIGHTS_LEFT = {
    "glue/cola": 0.636, "glue/mrpc": 0.565, "glue/qnli": 0.530, "glue/rte": 0.530, "glue/mnli": 0.513,
    "glue/stsb": 0.503, "glue/qqp": 0.478, "glue/sst2": 0.436,
}  # fmt: skip
HETEROGENEOUS = {"glue/mrpc": 0.32, "glue/qqp": 0.61}
KAPPA = {"glue/rte": 0.18, "glue/sst2": 0.32}

_SCORED = ("glue/mrpc", "glue/stsb", "glue/sst2", "glue/qqp", "glue/rte", "glue/qnli", "glue/mnli")
UNTUNED = dict(zip(_SCORED, (0.316, 0.331, 0.491, 0.609, 0.527, 0.528, 0.317), strict=True))
FROM_RANDOM = dict(zip(_SCORED, (0.683, 0.029, 0.805, 0.632, 0.527, 0.495, 0.610), strict=True))
TUNED = dict(zip(_SCORED, (0.823, 0.827, 0.920, 0.786, 0.646, 0.844, 0.786), strict=True))
WITHOUT_TUNING = {task: max(score, MAJORITY[task]) for task, score in UNTUNED.items()}
"""The better of the pretrained model with a new classifier and the commonest answer."""

HEADS_OFF = {
    "glue/mrpc": (0.876, 0.894), "glue/stsb": (0.887, 0.891), "glue/sst2": (0.914, 0.922), "glue/qqp": (0.875, 0.883),
    "glue/rte": (0.560, 0.596), "glue/qnli": (0.904, 0.916), "glue/mnli": (0.827, 0.841),
}  # fmt: skip
"""The lowest and the highest score without a single head. MRPC's look like F1."""
LAYERS_OFF = {"glue/qnli": 0.828}
"""The lowest score without all heads of a layer, where it is told."""

WITHOUT_TOP_LAYER = {"snli": -0.0012, "webmd": -0.0024}
"""0.9033 minus 0.9045, 0.5867 minus 0.5891."""
FASTER_WITHOUT_TOP = {"": 1.09}
"""6140 s of training as a multiple of 5624 s, 2653 s of 2447 s."""
WITHOUT_THE_WORDS = {"": -0.3098}
"""0.5947 minus 0.9045, on all of SNLI's test set."""


def apart(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """The difference of two tables, task by task."""
    return {task: round(one[task] - other[task], 3) for task in one}
