"""Commands are understood alike where pydantic is loaded, as FastAPI does it: cyclopts then looks twice."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bertscope.core.registry import QUESTIONS

pytest.importorskip("pydantic")  # comes with an extra

CODE = """
import pydantic, sys
from bertscope.cli.main import app
for words in sys.argv[1:]:
    app.parse_args(words.split(), exit_on_error=False, print_error=False)
"""


def test_every_question_is_parsed_where_pydantic_is_loaded():
    lines = [f"{name} a b --on x.csv --limit 5" for name in ("change", "similarity", "graft")]
    lines += [f"{name} a --on x.csv --seed 1" for name in ("ablate", "finetune", "probe")]
    lines += ["explore a --on x.csv --limit 5", "inspect a --on x.csv", "overlap a b", "explain a --text b"]
    assert {line.split()[0] for line in lines} - {"explore", "inspect"} <= set(QUESTIONS)
    done = subprocess.run([sys.executable, "-c", CODE, *lines], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
