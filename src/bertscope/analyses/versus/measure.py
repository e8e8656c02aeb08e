"""`versus`: both models' answers to the test set, one pass each, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bertscope.analyses.changed_calibration import Sure, calibration_tables, has_confidence
from bertscope.analyses.changed_labels import findings_of_nothing, label_table
from bertscope.analyses.changed_predictions import (
    LEVEL,
    Answers,
    How,
    Pair,
    difference_table,
    gold_groups,
    outcome_table,
)
from bertscope.analyses.versus.question import VersusConfig
from bertscope.analyses.versus.result import Compared, versus_result
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.max_t import lowest_p_of_nothing, max_t
from bertscope.core.model_record import by_key
from bertscope.core.predictions import Predictions
from bertscope.core.result import Result
from bertscope.data.outputs.spans import OnlyTheModelSays
from bertscope.data.row_slices import RowSlices, row_slices
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.onnx_file import BY as ONNX
from bertscope.models.scorer import Scorer

_ALIKE = {"classification", "one_logit"}
"""Kinds whose predictions are the same thing."""
_FORMS = ("cut", ONNX)
"""How a form of a model is made that is held to what the whole one decided."""


@dataclass
class Asked:
    """A model, the task as it answers it, and what it says."""

    model: Scorer
    task: Task
    validation: Predictions | None = None
    """What it says of the validation set, once somebody needed that."""
    truncated: int = 0

    def decided(self) -> Asked:
        """With what its answers to the validation set decide."""
        if self.task.is_decided:
            return self
        said = self.on_validation()
        return replace(self, task=self.task.decided_by(said))

    def on_validation(self) -> Predictions:
        if self.validation is None:
            self.validation = self.model.predict(self.task.validation, self.task.output)
        return self.validation

    def answers(self) -> Answers:
        """Of the test set, in one pass; the loss too, where only a model in torch says it."""
        task, model = self.task, self.model
        if not _outputs_tell(task) and isinstance(model, Encoder):
            judged = judge_without(model, task.output, task.test, [[]])
            self.truncated = judged.truncated
            gold = task.output.gold(task.test)
            return Answers(task.output, gold, judged.predicted[0], losses=judged.losses[0])
        said = model.predict(task.test, task.output)
        self.truncated = said.truncated
        return Answers.of(task, said)


def measure(a: Scorer, b: Scorer, task: Task, config: VersusConfig) -> Result:
    asked = _asked(a, b, task)
    one, other = (each.answers() for each in asked)
    pair = Pair(one, other, How(config.repeats, config.permutations, config.seed))
    groups, test = gold_groups(pair), asked[0].task.test
    outcomes, labels = outcome_table(pair, groups), label_table(pair)
    tables = {"outcomes": outcomes, "differences": difference_table(pair)}
    if labels is not None:
        tables["labels"] = labels
    slices = row_slices(test, one.output, words=config.words)
    tables["slices"] = slice_table(pair, slices)
    tables |= _calibrations(asked, pair)
    if config.null:
        outcomes["blind"] = _blind(pair, asked[0].task, groups)
        tables[null_panel.TABLE] = _nothing(pair, slices)
    tasks, truncated = [each.task for each in asked], [each.truncated for each in asked]
    forms = is_form(a, b) or is_form(b, a)
    return versus_result(Compared(a, b, tasks, truncated, pair, tables, config, forms))


def _asked(a: Scorer, b: Scorer, task: Task) -> list[Asked]:
    """The task as each model answers it. What isn't the same thing in both is refused."""
    both = []
    for model in (a, b):
        read = task.read_by(model)
        both.append(Asked(model, replace(read, notes=(*read.notes, *model.notes_on(read.output, read.test)))))
    kinds = {one.task.kind for one in both}
    if len(kinds) > 1 and not kinds <= _ALIKE:
        raise UserError(
            f"{a.name} answers {task.name} by {both[0].task.kind}, {b.name} by {both[1].task.kind}: nothing can be "
            "compared row by row; give two models of one kind"
        )
    if kinds == {"masked"} and a.tokenizer_digest != b.tokenizer_digest:
        raise UserError(
            f"{a.name} and {b.name} have different tokenizers: the pieces of masked words, which are guessed, aren't "
            "the same; give two models of one tokenizer"
        )
    if both[0].task.is_decided:
        return both
    return _decided(both)


def _decided(both: Sequence[Asked]) -> list[Asked]:
    """Each with its own threshold; a model's other form is held to the one's."""
    a, b = both
    for whole, form in ((a, b), (b, a)):
        if is_form(form.model, whole.model):
            whole = whole.decided()
            held = "{} is a form of {}, and held to its threshold".format(*("BA" if form is b else "AB"))
            form = replace(form, task=replace(form.task, threshold=whole.task.threshold, notes=(
                *form.task.notes, *whole.task.notes[len(form.task.notes):], held)))  # fmt: skip
            return [whole, form] if whole.model is a.model else [form, whole]
    return [replace(one, task=replace(one.task, notes=_named(one))) for one in (a.decided(), b.decided())]


def _named(one: Asked) -> tuple[str, ...]:
    """The notes, the last of which is of this model's threshold."""
    *others, threshold = one.task.notes
    return (*others, f"{one.model.name}: {threshold}")


def is_form(form: Scorer, whole: Scorer) -> bool:
    """Whether one was made of the other by cutting it or writing it as ONNX, and by nothing else."""
    record = form.record
    while record.origin and record.origin.by in _FORMS and record.origin.base:
        record = record.origin.base
        if record.is_same(whole.record):
            return True
    return False


def _outputs_tell(task: Task) -> bool:
    """Whether losses follow from what is kept of outputs."""
    one = task.test.take([0])
    try:
        task.losses(task.blind_outputs(one), one)
    except OnlyTheModelSays:
        return False
    return True


def slice_table(pair: Pair, slices: RowSlices) -> pd.DataFrame:
    """Where more changes than elsewhere: the change of rows (right or not; of scores, the loss) in each slice and
    outside of it, the surest first; corrected for all that were tried."""
    found = max_t(_changes(pair), slices.member, permutations=pair.how.permutations, seed=pair.how.seed)
    better = pair.better
    table = pd.DataFrame(
        {"kind": slices.kind, "slice": slices.name, "n": found.n,
         "better": (slices.member @ (better == 1).astype(float)).astype(int),
         "worse": (slices.member @ (better == -1).astype(float)).astype(int),
         "inside": found.inside, "outside": found.outside, "difference": found.difference, "low": found.low,
         "high": found.high, "p": found.p, "p_adjusted": found.p_adjusted, "certain": found.p_adjusted < LEVEL}
    )  # fmt: skip
    return table.sort_values(["p_adjusted", "p"], kind="stable", ignore_index=True)


def _changes(pair: Pair) -> np.ndarray:
    """[n]: how much better the second answer to each row is."""
    if pair.right_or_wrong or pair.losses is None:
        return pair.better
    return pair.losses[0] - pair.losses[1]


def _calibrations(asked: Sequence[Asked], pair: Pair) -> dict[str, pd.DataFrame]:
    """Of both models; nothing, and no pass over the validation set, where outputs hold no probabilities."""
    answers = (pair.a, pair.b)
    if not all(map(has_confidence, answers)):
        return {}
    sure = [Sure(one.task, one.on_validation(), each) for one, each in zip(asked, answers, strict=True)]
    return calibration_tables(dict(zip(by_key([one.model for one in asked]), sure, strict=True)), pair.how)


def _blind(pair: Pair, task: Task, groups: dict[str, np.ndarray]) -> pd.Series:
    """How many rows would have which outcome if B answered without reading."""
    outputs = task.blind_outputs(task.test)
    losses = task.output.losses(outputs, pair.a.gold) if pair.losses is not None and _outputs_tell(task) else None
    blind = Answers(task.output, pair.a.gold, task.output.predictions(outputs), losses=losses)
    return outcome_table(Pair(pair.a, blind), groups)["rows"]


def _nothing(pair: Pair, slices: RowSlices) -> pd.DataFrame:
    """The null panel: the two models' answers exchanged row by row; of slices, the rows' changes permuted."""
    found = findings_of_nothing(pair, null_panel.DRAWS)
    if len(slices):
        how = {"draws": null_panel.DRAWS, "permutations": pair.how.permutations, "seed": pair.how.seed}
        lowest = lowest_p_of_nothing(_changes(pair), slices.member, **how)
        found["slices", "change"] = (lowest < LEVEL).astype(int)
    return null_panel.panel(found, ["family", "measure"])
