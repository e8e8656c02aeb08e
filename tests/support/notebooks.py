"""The notebooks in docs/notebooks: running them, and keeping under each cell what it shows.

`make notebooks` runs all of them, `python tests/support/notebooks.py lecture` one. Each is run in a process and an
empty folder of its own. What Jupyter would show under a cell is kept: what is printed, and the last expression as
HTML, picture or text. What is told on standard error (progress) isn't: it has times in it, and no reader needs it.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from doc_pages import HERE

FOLDER = HERE / "docs" / "notebooks"
NOTEBOOKS = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
_SHOWN_BY = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_"}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def write(notebook: dict[str, Any], path: Path) -> None:
    """As Jupyter writes it, so that saving it there again changes nothing."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def code_cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Its code cells, and their code."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell, "".join(cell["source"])


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run its cells in order, in the current folder; the notebook with what each of them shows."""
    session: dict[str, Any] = {"__name__": "__main__"}
    for count, (cell, code) in enumerate(code_cells(notebook), start=1):
        with redirect_stdout(io.StringIO()) as printed:
            last = _run_cell(code, f"cell {count}", session)
        cell["execution_count"] = count
        stream = {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        result = {"data": shown(last), "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        cell["outputs"] = [*([stream] if stream["text"] else []), *([result] if last is not None else [])]
    return notebook


def _run_cell(code: str, name: str, session: dict[str, Any]) -> Any:
    """What its last line gives, if that is an expression; nothing where a semicolon ends it, as in Jupyter."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), session)
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), name, "eval"), session)
    return None if code.rstrip().endswith(";") else value


def shown(value: Any) -> dict[str, Any]:
    """A value as Jupyter keeps it: by its kinds, text in lines."""
    bundle = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
    for kind, method in _SHOWN_BY.items():
        if kind not in bundle and hasattr(value, method) and (content := getattr(value, method)()) is not None:
            bundle[kind] = content
    bundle = {**bundle, "text/plain": bundle.get("text/plain") or repr(value)}
    return {kind: content.splitlines(keepends=True) for kind, content in sorted(bundle.items())}


def main(names: list[str]) -> None:
    """Run each in another process: what one loads or sets, the next doesn't find."""
    for name in names or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            call = [sys.executable, __file__, "--here", str(NOTEBOOKS[name])]
            support = os.pathsep.join([str(HERE / "src"), str(Path(__file__).parent)])
            subprocess.run(call, cwd=folder, env=os.environ | {"PYTHONPATH": support}, check=True)
        print(f"{name}: {NOTEBOOKS[name].stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        path = Path(sys.argv[2])
        write(run(read(path)), path)
    else:
        main(sys.argv[1:])
