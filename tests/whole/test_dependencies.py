"""What is imported is declared in pyproject.toml, and what is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from house import FILES, TESTS, imports, tree_of
from oldest import oldest

HERE = Path(__file__).resolve().parents[2]
BENCHMARKS = sorted((HERE / "benchmarks").rglob("*.py"))
ON_REQUEST = {"spacy", "umap", "rsatoolbox", "bertviz", "torch_pruning", "transformers_interpret"}
"""Modules that no extra installs: who uses what needs them is told so in a line; the last ones are peers, which
`make bench-peers` installs elsewhere."""
OURS = {"bertscope", "benchmarks", "patterns", *(path.stem for path in TESTS)}
PLUGINS = {"pytest-xdist"}
"""What pytest loads by itself."""


def declared(*extras: str) -> set[str]:
    """Distributions that pyproject.toml names, at run time or in these extras; `dask[distributed]` names two."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] if not extras else []
    for extra in extras:
        lines = [*lines, *project["optional-dependencies"][extra]]
    found = set()
    for requirement in map(Requirement, lines):
        found.add(canonicalize_name(requirement.name))
        for extra in requirement.extras:
            wanted = (line for line in requires(requirement.name) or () if f'extra == "{extra}"' in line)
            found |= {canonicalize_name(Requirement(line).name) for line in wanted}
    return found


def imported(paths: Iterable[Path]) -> set[str]:
    """Modules of others that import statements name, late ones counted."""
    tops = {name.partition(".")[0] for path in paths for name in imports(tree_of(path))}
    return tops - OURS - ON_REQUEST - set(sys.stdlib_module_names)


@cache
def installed() -> dict[str, str]:
    """Of every module that is installed, its distribution."""
    return {module: canonicalize_name(names[0]) for module, names in packages_distributions().items()}


def distributions(modules: Iterable[str]) -> set[str]:
    return {installed().get(module, module) for module in modules}


def mentioned(paths: Iterable[Path]) -> set[str]:
    """Those that are imported, and what a string names: `importorskip("onnx")`."""
    paths = list(paths)
    constants = (node.value for path in paths for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant))
    strings = {value.partition(".")[0] for value in constants if isinstance(value, str)}
    return imported(paths) | strings & installed().keys()


def test_what_the_package_imports_is_declared():
    assert distributions(imported(FILES)) - declared() - declared("deploy", "cluster", "live") == set()


def test_what_the_tests_import_is_declared():
    everything = declared() | declared("test", "deploy", "cluster", "live")
    assert distributions(imported([*TESTS, *BENCHMARKS])) - everything == set()


def test_what_is_declared_is_used():
    used = distributions(mentioned(FILES))
    extras = declared("deploy", "cluster", "live")
    assert declared() | extras <= used | {"dask"}  # Dask is there for its `distributed`
    assert declared("test") - PLUGINS <= distributions(mentioned([*TESTS, *BENCHMARKS]))
    assert not declared() & declared("test"), "what is there at run time needn't be declared for tests"


def test_what_is_declared_is_pinned():
    lines = (HERE / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(Requirement(line).name) for line in lines if line and not line.startswith("#")}
    assert declared() | declared("test", "deploy", "cluster", "live", "lint") <= pins


def test_the_oldest_versions_are_those_that_were_tried():
    page = (HERE / "docs" / "install.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `([\w-]+)` \| ([\w.]+) \|", page, re.MULTILINE)) == dict(oldest())
