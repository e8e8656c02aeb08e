"""The table of null panels in docs/methods.md: every question with p-values, asked of pocket and of random weights.

`python tests/support/null_tables.py` asks them (minutes) and writes it anew.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from bertscope.core import null_panel, registry
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.report.values import texts
from doc_pages import HERE

METHODS = HERE / "docs" / "methods.md"
BLOCK = re.compile(r"(<!-- null panels -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL)
TASK, CORPUS, PAIRS = "demo/sentiment", "demo/corpus", "demo/minimal"
SETTINGS: dict[str, dict[str, Any]] = {
    "erase": {"task": TASK, "layers": (0, 2, 4, 6, 8, 10), "texts": 100, "words": 4000},
    "explain": {"method": "gradient", "sample": 400},
    "graft": {"units": ("layer",), "limit": 150},
    "minimal-pairs": {"limit": 240},
    "patch": {"only": ("sentiment", "always_never"), "units": ("layer", "heads", "mlp", "head"), "sample": 150},
    "redundancy": {"together": ("head:3.1", "head:3.4")},
}
"""How some are asked: of fewer layers and texts, of some named heads."""

_COUNTS = ("draws", "findings", "quantile", "passes")


def asked() -> list[Question]:
    """Those that have a panel."""
    return [question for name in registry.QUESTIONS if (question := registry.find(name)).null]


def models() -> dict[str, Any]:
    """pocket, fine-tuned, and the same model with random weights."""
    import bertscope
    from bertscope.models.new_task_head import with_classifier

    tuned = bertscope.finetune("pocket", TASK, epochs=2).encoder
    return {"pocket, tuned": tuned, "random weights": with_classifier(tuned, tuned.labels, init="random", seed=0)}


def answers(question: Question, of: dict[str, Any]) -> dict[str, Result]:
    assert question.reads
    on = {"examples": CORPUS, "pairs": PAIRS}.get(question.asked_of[question.reads].kind, TASK)
    how = SETTINGS.get(question.name, {})
    found = {}
    for name, model in of.items():
        started = time.perf_counter()
        asked_of = _asked_of(question, model)
        found[name] = question(*asked_of, on, null=True, **how)
        print(f"{question.name} of {name}: {time.perf_counter() - started:.0f} s")
    return found


def _asked_of(question: Question, model: Any) -> list[Any]:
    """The model, and beside it what the question compares it with: what it was tuned from (other random weights), or
    itself without a layer."""
    import bertscope
    from bertscope.models.new_task_head import with_classifier
    from bertscope.models.own_task_head import with_own_task_head

    is_tuned = model.record.origin.init != "random"
    if question.name == "minimal-pairs":
        pocket = bertscope.load("pocket")
        return [[pocket if is_tuned else with_own_task_head(pocket, init="random", seed=1), model]]
    if question.name == "patch" and not is_tuned:  # random weights give all texts the same label, but no two a score
        return [with_classifier(model, (), init="random", seed=0)]
    if len(question.named) == 1:
        return [model]
    if question.name != "graft":
        return [model, model.cut(["layer:1"])]
    return [
        bertscope.load("pocket") if is_tuned else with_classifier(model, model.labels, init="random", seed=1),
        model,
    ]


def panel_rows(question: Question, found: dict[str, Result]) -> Iterator[list[str]]:
    for name, result in found.items():
        table = result.in_words().tables[null_panel.TABLE]
        shown = [column for column in table.columns if column not in ("checkpoint", *_COUNTS)]
        for row in table.to_dict("records"):
            tests = ", ".join(str(row[column]) for column in shown if row[column])
            yield [f"`{question.name}`", name, tests, *texts([row[count] for count in _COUNTS])]


def reference_rows(question: Question, found: dict[str, Result]) -> Iterator[list[str]]:
    """What was found in each model: the number that stands for the whole, and what counts findings."""
    tuned, random = (result.in_words().headline for result in found.values())
    for one in tuned:
        if one.key == question.main or "p < ." in one.label:
            beside = [each for each in random if (each.key, _told(each)) == (one.key, _told(one))]
            yield [f"`{question.name}`", one.label, *texts([one.value, *(each.value for each in beside[:1])])]


def _told(number: Any) -> dict[str, str]:
    """What it is of, whichever model's."""
    return {name: value for name, value in number.of.items() if name != "model"}


def markdown(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    header, *lines = ("| " + " | ".join(each) + " |" for each in (columns, *rows))
    return "\n".join([header, "|---" * len(columns) + "|", *lines]) + "\n"


def table() -> str:
    of = models()
    found = [(question, answers(question, of)) for question in asked()]
    panels = [row for question, each in found for row in panel_rows(question, each)]
    references = [row for question, each in found for row in reference_rows(question, each)]
    return "\n".join(
        [
            markdown(("question", "model", "tests", *_COUNTS), panels),
            "What the same answers find, beside the reference:\n",
            markdown(("question", "number", *of), references),
        ]
    )


def write() -> None:
    text = METHODS.read_text(encoding="utf-8")
    if not BLOCK.search(text):
        raise SystemExit(f"{METHODS}: add '<!-- null panels -->' and '<!-- end -->'")
    now = table()
    METHODS.write_text(BLOCK.sub(lambda block: block[1] + now + block[3], text), encoding="utf-8")


if __name__ == "__main__":
    write()
