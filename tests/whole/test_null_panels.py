"""Every question with p-values says where there would be nothing to find, and can show how often it finds something
there; no other does. docs/methods.md has the panels of all of them."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import bertscope
from bertscope.core import registry
from bertscope.core.null_panel import panel
from bertscope.core.number import Number
from bertscope.core.question import Question
from house import tree_of
from null_tables import BLOCK, METHODS, asked, markdown, panel_rows, reference_rows

SOURCE = Path(bertscope.__file__).parents[1]
_P = re.compile(r"(\w+_)?p(_holm)?")
_LEVEL = re.compile(r"\bp < \.")
QUESTIONS = [registry.find(name) for name in registry.QUESTIONS]
# Trainings can't be drawn anew 200 times: what experiments tell of them has its coverage simulated instead.
TESTING = [one for one in QUESTIONS if not one.module.startswith("bertscope.experiments.")]


def p_values(question: Question) -> set[str]:
    """Columns and keys of p-values in a question's folder, and what it says of them."""
    folder = SOURCE.joinpath(*question.module.split(".")).parent
    trees = [tree_of(path) for path in folder.glob("*.py")]
    return {found for tree in trees for found in p_values_in(tree)}


def p_values_in(tree: ast.AST) -> set[str]:
    words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {word for word in words if _P.fullmatch(word) or _LEVEL.search(word)}


def test_what_counts_as_a_p_value():
    tree = ast.parse("{'p': 1, 'loss_p_holm': 2, 'keep': 3}; 'parts (p < .05)'; 'step'; 'up'")
    assert p_values_in(tree) == {"p", "loss_p_holm", "parts (p < .05)"}


@pytest.mark.parametrize("question", TESTING, ids=lambda one: one.name)
def test_who_has_p_values_has_a_null_and_a_reference_and_no_other_does(question):
    tests = bool(p_values(question))
    setting = [field for field in fields(question.config) if field.name == "null"]
    assert bool(question.null) == bool(question.reference) == bool(setting) == tests, p_values(question)
    if setting:
        assert setting[0].default is False, "it takes longer: on request alone"
        assert "--null" in question.description


def test_the_tables_rows_are_those_of_the_answers():
    question = registry.find("erase")

    def answer(layers: float):
        found = {("pos", "rank"): np.arange(200) < 3}
        numbers = [Number("layers_used", layers, n=6, of={"target": "pos"}), Number("chance", 0.5)]
        return question.result(tables={"null": panel(found, ["target", "like"])}, headline=numbers)

    both = {"tuned": answer(2.0), "random": answer(0.0)}
    row = ["pos, random, same rank", "200", "3", "18", "yes"]
    assert list(panel_rows(question, both)) == [["`erase`", name, *row] for name in both]
    assert list(reference_rows(question, both)) == [["`erase`", both["tuned"].headline[0].label, "2", "0"]]
    assert markdown(("a", "b"), [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_the_table_of_panels_has_every_question_with_p_values():
    block = BLOCK.search(METHODS.read_text(encoding="utf-8"))
    assert block, f"{METHODS}: add the two marks between which the table stands"
    assert {*re.findall(r"^\| `([\w-]+)` \|", block["table"], re.MULTILINE)} == {
        question.name for question in asked()
    }
