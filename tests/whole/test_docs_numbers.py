"""docs/numbers.md is what the questions declare. `python tests/whole/test_docs_numbers.py` writes it anew."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import bertscope
from bertscope.core import registry
from bertscope.core.number import Number
from bertscope.core.question import Question
from house import tree_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "numbers.md"
QUESTIONS = [registry.find(name) for name in registry.QUESTIONS]
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_INTRODUCTION = """\
# Numbers

What each question's headline numbers are called: the key by which code reads them, and the words that people read.
`result["score"]` is the number of that key; where several share one, `result.numbers(key="score", arm="good")` are
those that are about an arm, a model, a layer; `result.numbers().table` has all of them, `--json` prints them. What
stands in braces is what the number is of. Keys stay; words may change. This list is made from the declarations.

Tables hold keys too, where something is told apart by words: below each question, by column, what they mean.
`result.in_words()` is the result with words in their place. A model is called by its id there; `result.models` has
what is known of each.
"""


def page() -> str:
    return "\n".join([_INTRODUCTION, *(section for one in QUESTIONS if (section := _section(one)))])


def _section(question: Question) -> str:
    if not question.numbers:
        return ""
    lines = [f"## {question.name}", "", question.line, "", "| key | words |", "|---|---|"]
    for key, words in question.numbers.items():
        lines.append(f"| `{key}`{' (stands for the whole)' if key == question.main else ''} | {_cell(words)} |")
    for column, known in question.words.items():
        values = "; ".join(f"`{key}`: {words}" for key, words in known.items() if key != words)
        lines += ["", f"`{column}`: {_cell(values)}."] if values else []
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def test_the_page_is_what_the_questions_declare() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run python {Path(__file__).relative_to(ROOT)}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_keys_are_identifiers_and_have_words(question: Question) -> None:
    keys = [*question.numbers, *(key for known in question.words.values() for key in known)]
    assert question.main in question.numbers
    assert all(_KEY.fullmatch(key) for key in question.numbers), keys
    assert all(words.strip() for words in question.numbers.values())
    assert all(words.strip() for known in question.words.values() for words in known.values())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_a_key_without_words_is_refused(question: Question) -> None:
    fields = {name: "x" for words in question.numbers.values() for _, name, *_ in Formatter().parse(words) if name}
    for key in question.numbers:
        assert question.result(headline=[Number(key, 1.0, of=fields)]).headline[0].label
    with pytest.raises(ValueError, match="no words for the number 'none_such'"):
        question.result(headline=[Number("none_such", 1.0)])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_words_without_a_key_are_refused(question: Question) -> None:
    """Every declared key is made somewhere in the question's folder: written there, in full."""
    folder = Path(bertscope.__file__).parents[1] / Path(*question.module.split("."))
    files = folder.parent.rglob("*.py") if folder.name == "question" else [folder.with_suffix(".py")]
    written: list[str] = []
    for file in files:
        tree = tree_of(file)
        written += [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
    declared = {key: 1 + (key == question.main) for key in question.numbers}
    idle = [key for key, times in declared.items() if written.count(key) <= times]
    assert not idle, f"declared, and nowhere made: {idle}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
