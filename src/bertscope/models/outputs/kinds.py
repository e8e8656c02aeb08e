"""Which kinds of outputs there are, and which of them a model gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.core.errors import UserError
from bertscope.core.output import Output
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.outputs.choices import Candidates
from bertscope.models.outputs.classifier import Classifier, OneLabel, Score
from bertscope.models.outputs.masked_words import GuessedWords
from bertscope.models.outputs.one_logit import SecondLabel
from bertscope.models.outputs.parsed import Parsed
from bertscope.models.outputs.sentence_vectors import WITHOUT_SCORES, Cosines
from bertscope.models.outputs.several import EachLabel
from bertscope.models.outputs.span_answers import SpanAnswers
from bertscope.models.outputs.tagger import Tagger

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_KINDS: tuple[type[ModelOutput], ...] = (
    OneLabel, SecondLabel, Score, EachLabel, Candidates, SpanAnswers, Parsed, Tagger, GuessedWords, Cosines,
)  # fmt: skip
MODEL_OUTPUTS = {one.kind: one for one in _KINDS}
"""By the kind of task."""


def model_output(encoder: Encoder, output: Output | None = None) -> ModelOutput:
    """What the encoder gives for a task's output, refused where it doesn't; without one, what its task head gives."""
    if output is not None:
        return MODEL_OUTPUTS[output.kind](encoder, output)
    if encoder.task_head == Classifier.task_head:
        return OneLabel(encoder)  # what labels mean, only a task knows: the numbers are the same
    found = [one for one in _KINDS if one.task_head == encoder.task_head and one.by_itself]
    if not found:
        raise UserError(
            f"{encoder.name} has no task head that predicts (it is: {encoder.task_head}); "
            f"fine-tune it first: bertscope finetune {encoder.name} --on TASK --out FOLDER"
        )
    return found[0](encoder)


def own_output(encoder: Encoder, *, pairs: bool) -> ModelOutput:
    """What an encoder gives where no task says what its numbers mean: what its config says of labels, how alike pairs
    of texts are where nothing on top gives more, masked words where that is all it can."""
    config = encoder.model.config
    if encoder.task_head == Classifier.task_head:
        several = config.problem_type == "multi_label_classification"
        return (EachLabel if several else Score if config.num_labels == 1 else OneLabel)(encoder)
    if pairs and encoder.task_head in WITHOUT_SCORES:
        return Cosines(encoder)
    return GuessedWords(encoder) if encoder.task_head == GuessedWords.task_head else model_output(encoder)
