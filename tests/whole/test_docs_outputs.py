"""docs/outputs.md is what questions declare of outputs. `python tests/whole/test_docs_outputs.py` writes it anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.question import DATA, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root
from bertscope.data.metrics import METRICS
from bertscope.data.outputs import OUTPUTS, output_of
from bertscope.models.outputs.kinds import MODEL_OUTPUTS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "outputs.md"
EVERY_KIND = (
    "classification", "regression", "several", "tokens", "spans", "trees", "choices", "masked", "vectors"
)  # fmt: skip
"""All that there are to be, whether they are here yet or not: what a refusal can name."""
SCORING = [one for name in registry.QUESTIONS if (one := registry.find(name)).scoring]
_WANTED = {
    "ablate", "bias", "check", "circuit", "erase", "errors", "explain", "finetune", "freeze", "graft", "importance",
    "lottery", "mislabelled", "prune", "readout", "redundancy", "scratch", "shrink", "truncate", "versus",
}  # fmt: skip
_INTRODUCTION = """\
# Outputs

The kinds of output that a model can be trained and scored on; `Task.kind` names a task's kind. The code of each kind
has a half that needs no torch (`data/outputs`) and one that does (`models/outputs`);
[CONTRIBUTING](../CONTRIBUTING.md#how-to-add-an-output) tells how to add a kind. Both tables are made from the code.
"""
_QUESTIONS = """\
## Which questions are asked of which outputs

A question that computes scores takes every kind of output, except where its answer would mean nothing (*no*): such a
task is refused in one line, before anything is computed. *In part*: something is left out of the answer. The reasons
are below the table.
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, _outputs(), _QUESTIONS, _questions(), *_reasons()])


def _outputs() -> str:
    rows = [
        "| kind | task head | metrics (the first is the default) | loss | answer without reading the text |",
        "|---|---|---|---|---|",
    ]
    for kind in OUTPUTS:
        output = output_of(kind, "", ("B-PER",) if kind == "tokens" else (), METRICS[kind][0])
        head, metrics = MODEL_OUTPUTS[kind].task_head, ", ".join(METRICS[kind])
        rows.append(f"| `{kind}` | {head} | {metrics} | {output.loss} | {output.blind_answer} |")
    return "\n".join([*rows, ""])


def _questions() -> str:
    rows = [f"| question | {' | '.join(OUTPUTS)} |", "|---" * (1 + len(OUTPUTS)) + "|"]
    for question in SCORING:
        flag = question.scoring.asked_by
        cells = [_cell(question.scoring, kind) for kind in OUTPUTS]
        rows.append(f"| `{question.name}{f' {flag}' if flag else ''}` | {' | '.join(cells)} |")
    return "\n".join([*rows, ""])


def _cell(scoring: Scoring, kind: str) -> str:
    return "no" if kind in scoring.refuses else "in part" if kind in scoring.lacks else "yes"


def _reasons() -> list[str]:
    """Of each refusal, and of what is left out, why; kinds with one reason share a line."""
    lines = []
    for question in SCORING:
        for reasons, what in (
            (question.scoring.refuses, "refused, because "),
            (question.scoring.lacks, "left out: "),
        ):
            known = {kind: why for kind, why in reasons.items() if kind in OUTPUTS}
            for why in dict.fromkeys(known.values()):
                kinds = ", ".join(f"`{kind}`" for kind, one in known.items() if one == why)
                lines.append(f"- `{question.name}`, {kinds}: {what}{why}.")
    return [*lines, ""]


def test_the_page_is_what_the_questions_declare() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run python {Path(__file__).relative_to(ROOT)}"


def test_all_that_score_say_so_and_name_kinds_that_there_are() -> None:
    assert {one.name for one in SCORING} == _WANTED
    assert set(OUTPUTS) == set(MODEL_OUTPUTS) == set(METRICS)
    assert set(OUTPUTS) - set(EVERY_KIND) == {"one_logit"}  # no data is of that kind: it is how a model answers
    named = {kind for one in SCORING for kind in one.scoring.refuses | one.scoring.lacks}
    assert named <= set(EVERY_KIND)


REFUSALS = [(one, kind) for one in SCORING for kind in one.scoring.refuses]


class _Task:
    """As much of a task as a refusal asks for."""

    def __init__(self, kind: str, pair: tuple[str, ...] | None = None) -> None:
        self.name, self.kind, self.output, self.test = "mine", kind, None, self
        self.pair = pair


class _Model:
    """Answers scores of pairs by vectors."""

    def form_of(self, kind: str, *, pairs: bool) -> str:
        return "vectors" if kind == "regression" and pairs else kind


@pytest.mark.parametrize(("question", "kind"), REFUSALS, ids=lambda one: getattr(one, "name", one))
def test_what_means_nothing_is_refused_in_one_line_with_the_reason(question: Question, kind: str) -> None:
    with pytest.raises(UserError) as refused:
        question.refuse_output(_Task(kind))
    why = question.scoring.refuses[kind]
    assert str(refused.value) == f"{question.name} can't be asked of mine, which is answered by {kind}, because {why}"
    for other in set(EVERY_KIND) - set(question.scoring.refuses):
        question.refuse_output(_Task(other))
    question.refuse_output(["texts", "alone"])


def test_what_counts_is_how_the_model_answers() -> None:
    erase = registry.find("erase")
    scores = _Task("regression", ("b",))
    erase.refuse_output(scores)
    with pytest.raises(
        UserError, match="erase can't be asked of mine, which is answered by vectors, because a text's"
    ):
        erase.refuse_output(scores, _Model())
    erase.refuse_output(_Task("regression"), _Model())


@pytest.fixture
def ablate_refuses_spans(monkeypatch) -> None:
    """`ablate`, declared to mean nothing for spans."""
    ablate = registry.find("ablate")
    import bertscope.analyses.ablate.question as declaring

    monkeypatch.setattr(declaring, "ablate", replace(ablate, scoring=Scoring(refuses={"spans": "so it is"})))


@pytest.mark.usefixtures("ablate_refuses_spans")
def test_a_refusal_comes_before_anything_is_computed_and_before_any_step() -> None:
    ablate = registry.find("ablate")
    refused = "^ablate can't be asked of mine, which is answered by spans, because so it is$"
    with pytest.raises(UserError, match=refused):
        ablate.compute(_Model(), _Task("spans"))
    root = Root("task", "mine", "digest", held=_Task("spans"))
    inputs = Inputs(Path)
    inputs._opened = lambda kind, value: value.given  # type: ignore[method-assign]
    step = ablate.step({"model": Root("model", "m", "d"), "task": root})
    assert ablate.inputs["task"].kind in DATA and ablate.check is None
    with pytest.raises(UserError, match=refused):
        inputs.preflight([step])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
