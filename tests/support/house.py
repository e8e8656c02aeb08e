"""The package as its import statements draw it: files, rooms, who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import bertscope

SOURCE = Path(bertscope.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))

ROOMS: dict[str, set[str]] = {
    "core": set(),
    "data": {"core"},
    "models": {"core"},
    "training": {"core", "data", "models"},
    "analyses": {"core", "data", "models"},
    "experiments": {"core", "data", "models", "training", "analyses"},
    "study": {"core", "data", "models", "training", "analyses", "experiments"},
    "report": {"core"},
    "live": {"core", "data", "models", "analyses", "report"},
    "cli": {"core", "data", "models", "training", "analyses", "experiments", "study", "report", "live"},
}
"""What each may import beside itself."""


def module_of(path: Path) -> str:
    """`bertscope.core.step` for core/step.py."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("bertscope", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST, *, typing: bool = True) -> Iterator[str]:
    """Every module that is imported, wherever in the file, `from package import module` as `package.module`; with
    `typing=False` not what only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not typing and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imports(other, typing=False)
        elif not isinstance(node, ast.expr):  # most of a tree, and no statement is within
            yield from imports(node, typing=typing)


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """Which modules each module imports as it runs, late imports counted."""
    modules = {module_of(path): path for path in FILES}
    found = {}
    for name, path in modules.items():
        near = (one if one in modules else one.rpartition(".")[0] for one in imports(tree_of(path), typing=False))
        found[name] = frozenset(one for one in near if one in modules and one != name)
    return found


def cycles(edges: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Modules that import each other, directly or not: what is left when those that nobody left imports, and those
    that import nobody left, are taken away again and again."""
    left = dict(edges)
    while True:
        imported = {one for name in left for one in left[name]}
        ends = {name for name in left if name not in imported or not left[name] & left.keys()}
        if not ends:
            return _together(left)
        left = {name: edges[name] & (left.keys() - ends) for name in left if name not in ends}


def _together(left: Mapping[str, frozenset[str]]) -> list[list[str]]:
    reached = {name: _reached(name, left) for name in left}
    groups = {frozenset(one for one in reached[name] if name in reached[one]) for name in left}
    return sorted(sorted(group) for group in groups if group)


def _reached(name: str, edges: Mapping[str, frozenset[str]]) -> set[str]:
    found, waiting = set[str](), [name]
    while waiting:
        for one in edges[waiting.pop()] & edges.keys():
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
