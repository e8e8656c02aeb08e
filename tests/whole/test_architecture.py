"""The arrows between rooms, the rule for a question's files, the catalogue, and what importing costs."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.registry import KINDS, QUESTIONS, find, resolve
from house import FILES, ROOMS, SOURCE, TESTS, cycles, graph, imports, lines, module_of, room_of, tree_of

DRAWING = {"altair", "vl_convert", "matplotlib", "plotly"}
MOST = 300
"""Lines of a file."""
HEAVY = {"torch", "transformers", "pandas", "altair"}


def test_every_folder_is_a_room_of_the_design():
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} == set(ROOMS)


def test_imports_follow_the_arrows():
    for path in FILES:
        room = room_of(path)
        for name in imports(tree_of(path)):
            parts, where = name.split("."), f"{path.relative_to(SOURCE)} may not import {name}"
            if parts[0] == "bertscope" and len(parts) > 1 and parts[1] in ROOMS and room:
                assert parts[1] in ROOMS[room] | {room}, where
            if room in {"core", "data", "report"}:
                assert parts[0] not in {"torch", "transformers"}, where
            if room not in {"report", "cli"}:
                assert parts[0] not in DRAWING, where


def test_nothing_imports_the_catalogue_and_core_names_no_room():
    above = re.compile(rf"bertscope[./]({'|'.join(set(ROOMS) - {'core'})})\b")
    for path in FILES:
        assert not room_of(path) or "bertscope.catalogue" not in imports(tree_of(path)), path
        if room_of(path) == "core":
            strings = (one.value for one in ast.walk(tree_of(path)) if isinstance(one, ast.Constant))
            assert not [one for one in strings if isinstance(one, str) and above.search(one)], path


def test_no_module_imports_one_that_imports_it():
    assert cycles(graph()) == []


def test_the_tests_of_the_house_see_what_is_wrong():
    bad = ast.parse("def f():\n    from bertscope.training import loop\n    import torch.nn\n")
    assert list(imports(bad)) == ["bertscope.training.loop", "torch.nn"]
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n"
    assert "torch" in imports(ast.parse(typed)) and "torch" not in list(imports(ast.parse(typed), typing=False))
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": {"f"}, "f": {"g"}, "g": {"e", "b"}, "h": {"a"}}
    assert cycles({name: frozenset(to) for name, to in edges.items()}) == [["b", "c"], ["e", "f", "g"]]


def test_files_stay_readable():
    assert {str(path): lines(path) for path in (*FILES, *TESTS) if lines(path) > MOST} == {}


def test_test_files_dont_import_each_other():
    tests = {path.stem for path in TESTS if path.stem.startswith("test_")} | {"conftest"}
    assert {str(path): both for path in TESTS if (both := tests & {one.split(".")[0] for one in _tops(path)})} == {}


def _tops(path: Path) -> list[str]:
    return [name.rpartition(".")[0] or name for name in imports(tree_of(path))]


PLACES = ("question", "measure", "result", "consequence")
"""What a question's files are called."""


def test_a_questions_files_follow_the_rule():
    """`question.py` declares, `measure.py` computes, `result.py` tells. Another file is there only where what it
    holds would make the one that it belongs to too long."""
    asked = {Path(sys.modules[find(name).module].__file__) for name in QUESTIONS}
    for name in QUESTIONS:
        question = find(name)
        assert name == question.name == question.module.removesuffix(".question").rpartition(".")[2].replace("_", "-")
        declaring = Path(sys.modules[question.module].__file__)
        if declaring.name != "question.py":
            assert inspect.isfunction(resolve(f"{question.module}:measure"))
            continue
        folder = declaring.parent
        assert (folder / "__init__.py").exists(), f"{folder} is no package"
        assert inspect.isfunction(resolve(f"{question.module.removesuffix('question')}measure:"
                                          f"{'part' if question.shares_pass else 'measure'}"))  # fmt: skip
        beside = f"{question.module.removesuffix('question')}"
        for path, banned in ((declaring, ("measure", "result")), (folder / "result.py", ("measure",))):
            if path.exists():
                near = graph()[module_of(path)]
                assert not near & {f"{beside}{one}" for one in banned}, f"{path} imports what rests on it"
        for path in folder.glob("*.py"):
            if (
                path.name in {"__init__.py", "question.py", "measure.py", "result.py", "consequence.py"}
                or path in asked
            ):
                continue
            tells = "bertscope.core.figure.Figure" in imports(tree_of(path), typing=False)
            whole = folder / ("result.py" if tells else "measure.py")
            assert lines(path) + lines(whole) > MOST, f"{path} has room in {whole.name}"


def test_the_catalogue_and_the_declarations_agree():
    for name in QUESTIONS:
        question = find(name)
        assert question.line and question.cite and question.main and question.version >= 1
        assert question.line not in question.about, "the line is the catalogue's"
        for one in (*question.inputs.values(), *question.optional.values(), *question.given.values()):
            assert one.kind in KINDS
        assert not question.given or question.plan
        documented = "".join(inspect.getsource(one) for one in question.config.__mro__[:-1])  # may be inherited
        for field in fields(question.config):
            after = documented.split(f"    {field.name}:", 1)[1].split("\n", 1)[1].lstrip()
            assert after.startswith('"""'), f"{question.config.__name__}.{field.name} has no docstring"
        assert question.config.__dataclass_params__.frozen
        assert name not in ROOMS, "no exported function has the name of a room"


def test_what_an_input_is_said_to_be_is_what_the_measuring_function_takes():
    taken = {
        "model": ["Encoder"], "scorer": ["Scorer"], "task": ["Task"], "examples": ["Examples"],
        "data": ["Task | Examples"], "states": ["Given", "StatesStore"], "result": ["Result"],
        "pairs": ["MinimalPairs"], "map_labels": ["OwnLabels"],
        "corpus": ["StreamedTexts"], "division": ["Division"], "documents": ["Documents"], "survey": ["Sums"],
    }  # fmt: skip
    for name in QUESTIONS:
        question = find(name)
        function = resolve(f"{question._measuring}:{'part' if question.shares_pass else 'measure'}")
        parameters = inspect.signature(function).parameters
        assert [*parameters][: len(question.inputs) + 1] == [*question.inputs, "config"], name
        for which, one in {**question.inputs, **question.optional}.items():
            kinds = [f"{kind} | InTurn" if one.in_turn else kind for kind in taken[one.kind]]
            wanted = [f"Sequence[{kind}]" if one.many else kind for kind in kinds]
            assert parameters[which].annotation.removesuffix(" | None") in wanted, f"{name}: {which}"


def test_what_a_setting_can_be_is_what_its_annotation_lists():
    for name in QUESTIONS:
        config = find(name).config
        for field, hint in get_type_hints(config).items():
            for one in (hint, *get_args(hint)):
                if get_origin(one) is Literal:
                    with pytest.raises(UserError, match=f"unknown .* 'qqqq'; known: {min(get_args(one))}"):
                        config(**{field: "qqqq" if one is hint else ("qqqq",)})  # a word like no other


def loaded_by(code: str) -> set[str]:
    probe = f"import sys\n{code}\nprint('loaded:', *sys.modules)"  # what the code itself prints is none of it
    printed = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    return set(printed.rpartition("loaded:")[2].split())


def test_importing_has_no_effects_and_loads_nothing_heavy():
    assert not loaded_by("import bertscope") & {"torch", "transformers", "pandas", "numpy", "rich", "cyclopts"}


def test_help_and_planning_load_neither_torch_nor_pandas():
    help_ = "from bertscope.cli.main import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    for name in QUESTIONS:
        help_ += f"\ntry: app(['{name}', '--help'])\nexcept SystemExit: pass"
    planning = "from bertscope.study.file import read_study\n[step.id for step in read_study('demo').steps]"
    for code in (help_, planning):
        assert not loaded_by(code) & HEAVY


def test_public_names_exist():
    for name in bertscope.__all__:
        assert getattr(bertscope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bertscope.nonsense
