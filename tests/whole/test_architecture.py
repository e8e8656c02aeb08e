"""The arrows between rooms, the catalogue, and what importing costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import bertscope
from bertscope.core import catalogue
from bertscope.core.errors import UserError

SOURCE = Path(bertscope.__file__).parent
ROOMS = {
    "core": set(),
    "data": {"core"},
    "models": {"core"},
    "training": {"core", "data", "models"},
    "analyses": {"core", "data", "models"},
    "experiments": {"core", "data", "models", "training", "analyses"},
    "study": {"core", "data", "models", "training", "analyses", "experiments"},
    "report": {"core"},
    "cli": {"core", "data", "models", "training", "analyses", "experiments", "study", "report"},
}
DRAWING = {"altair", "vl_convert", "matplotlib", "plotly"}
FILES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> list[str]:
    """Every module a file imports, wherever in the file, `from package import module` included."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def test_every_folder_is_a_room_of_the_design():
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} == set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path):
    room = room_of(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "bertscope" and len(parts) > 1 and parts[1] in ROOMS and room:
            assert parts[1] in ROOMS[room] | {room}, f"{room} may not import {name}"
        if room in {"core", "data", "report"}:
            assert parts[0] not in {"torch", "transformers"}, f"{room} may not import {name}"
        if room not in {"report", "cli"}:
            assert parts[0] not in DRAWING, f"{room} may not import {name}"


def test_the_arrow_test_sees_violations(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("def f():\n    from bertscope.training import loop\n    import torch.nn\n")
    assert imports(bad) == ["bertscope.training.loop", "torch.nn"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_readable(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_catalogue_and_declarations_agree(name):
    spec, entry = catalogue.spec(name), catalogue.entry(name)
    function = catalogue.resolve(entry.target)
    assert spec.name == name
    assert inspect.getdoc(function).splitlines()[0] == entry.line
    assert set(spec.inputs) <= set(catalogue.INPUT_KINDS)
    assert spec.cite and spec.main and spec.version >= 1
    assert all(parameter in inspect.signature(function).parameters for parameter in spec.inputs)
    documented = "".join(inspect.getsource(one) for one in spec.config_class.__mro__[:-1])  # fields may be inherited
    for field in fields(spec.config_class):
        after = documented.split(f"    {field.name}:", 1)[1].split("\n", 1)[1].lstrip()
        assert after.startswith('"""'), f"{spec.config_class.__name__}.{field.name} has no docstring"
    assert spec.config_class.__dataclass_params__.frozen
    assert name not in ROOMS, "no exported function has the name of a room"


@pytest.mark.parametrize("name", catalogue.CATALOGUE)
def test_what_a_setting_can_be_is_what_its_annotation_lists(name):
    config_class = catalogue.spec(name).config_class
    for field, hint in get_type_hints(config_class).items():
        for one in (hint, *get_args(hint)):
            if get_origin(one) is Literal:
                with pytest.raises(UserError, match=f"unknown .* 'nonsense'; known: {min(get_args(one))}"):
                    config_class(**{field: "nonsense" if one is hint else ("nonsense",)})


@pytest.mark.parametrize("name", [name for name, entry in catalogue.CATALOGUE.items() if entry.command])
def test_a_question_is_found_by_its_name(name):
    _, room, *rest = catalogue.entry(name).target.partition(":")[0].split(".")
    if room in {"analyses", "experiments"}:
        assert rest in ([name], [name, "question"])


def loaded_by(code: str) -> set[str]:
    probe = f"import sys\n{code}\nprint('loaded:', *sys.modules)"  # what the code itself prints is none of it
    said = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    return set(said.rpartition("loaded:")[2].split())


def test_importing_has_no_effects_and_loads_nothing_heavy():
    assert not loaded_by("import bertscope") & {"torch", "transformers", "pandas", "numpy", "rich", "cyclopts"}


def test_help_and_planning_load_neither_torch_nor_pandas():
    help_ = "from bertscope.cli.main import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    for name in catalogue.CATALOGUE:
        help_ += f"\ntry: app(['{name}', '--help'])\nexcept SystemExit: pass"
    planning = "from bertscope.study.file import read_study\n[step.id for step in read_study('demo').steps]"
    for code in (help_, planning):
        assert not loaded_by(code) & {"torch", "transformers", "pandas", "altair"}


def test_public_names_exist():
    for name in bertscope.__all__:
        assert getattr(bertscope, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bertscope.nonsense
