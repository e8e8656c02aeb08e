"""What a prediction is, a file for each kind of task (see `core.output`)."""

from __future__ import annotations

from bertscope.core.output import Output
from bertscope.data.outputs.choices import OneChoice
from bertscope.data.outputs.classes import Classes
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.outputs.one_logit import OneLogit
from bertscope.data.outputs.scores import OneScore
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.outputs.spans import Spans
from bertscope.data.outputs.tags import Tags
from bertscope.data.outputs.trees import Trees
from bertscope.data.outputs.vectors import Vectors

_KINDS = (Classes, OneLogit, OneScore, SeveralLabels, OneChoice, Spans, Trees, Tags, MaskedWords, Vectors)
OUTPUTS = {one.kind: one for one in _KINDS}
"""What makes the output of each kind of task, from the task's name, labels and metric."""


def output_of(kind: str, name: str, labels: tuple[str, ...], metric: str) -> Output:
    return OUTPUTS[kind].of(name, labels, metric)
