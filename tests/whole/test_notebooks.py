"""The notebooks run from their first cell to their last, and what they print stays out of git."""

from __future__ import annotations

import ast
import json

import pytest

from doc_pages import HERE

NOTEBOOKS = sorted((HERE / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch):
    pytest.importorskip("datasets")  # not on the bare GPU machine
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], start=1):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, f"clear the outputs of cell {number}"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), session)
        if isinstance(last, ast.Expr):  # a notebook shows it
            shown = eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), session)
            assert repr(shown)


def test_there_is_one():
    assert [path.stem for path in NOTEBOOKS] == ["quickstart"]
