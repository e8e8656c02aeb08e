"""What IDEs and type checkers see of the package is what is declared."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import bertscope
from bertscope.core.registry import QUESTIONS, find
from call_stub import STUB, docs_of, stub, written_type
from doc_pages import HERE, code_blocks

SETTINGS = """
[mypy]
mypy_path = SOURCE
strict = True
follow_imports = silent
ignore_missing_imports = True
[mypy-torch.*,transformers.*,tokenizers.*,safetensors.*,huggingface_hub.*,datasets.*,pandas.*,pyarrow.*,numpy.*]
follow_imports = skip
[mypy-scipy.*,sklearn.*,altair.*,jinja2.*,rich.*,yaml.*]
follow_imports = skip
"""
"""What is no part of the package isn't looked into: that would take minutes."""
MISTAKES = """
import bertscope

bertscope.ablate("pocket", "demo/sentiment", unit=["head"])  # call-arg
bertscope.ablate(3, "demo/sentiment")  # arg-type
bertscope.ablate("pocket", 3)  # arg-type
bertscope.ablate("pocket", "demo/sentiment", mode="zreo")  # arg-type
bertscope.ablate("pocket", "demo/sentiment", units=["haed"])  # list-item
bertscope.freeze("pocket", "demo/sentiment", seeds=range(5), store="my-store")
bertscope.freeze("pocket", "demo/sentiment", seeds="all")  # arg-type
bertscope.freeze("pocket", "demo/sentiment").encoder  # attr-defined
bertscope.finetune("pocket", ["a"], epochs=1, limit=5).encoder.save("there")
bertscope.patterns(["pocket", bertscope.load("tuned")], [{"text": "a text"}], tokenizer="pocket")
"""
"""Each line with what mypy says of it, if anything."""


def test_the_stub_is_what_the_declarations_give():
    assert STUB.read_text(encoding="utf-8") == stub(), "run: python tests/support/call_stub.py"
    assert (STUB.parent / "py.typed").exists()


def test_every_setting_is_a_keyword_with_its_docstring():
    written = STUB.read_text(encoding="utf-8")
    for name in bertscope.__all__:
        assert f" as {name}\n" in written or f"\ndef {name}(" in written, name
    for name in (name for name in QUESTIONS if QUESTIONS[name].group):
        function = written.partition(f"\ndef {name.replace('-', '_')}(\n")[2].partition("\ndef ")[0]
        for field in fields(find(name).config):
            assert f"\n    {field.name}: " in function, f"{name} has no {field.name}="
            assert f"\n        {field.name}: " in function, f"{name} says nothing of {field.name}="
        assert find(name).line in function and set(inspect.signature(find(name)).parameters)


def test_types_are_those_that_calls_take():
    assert written_type(tuple[int, ...]) == "int | Sequence[int]"
    assert written_type(Path | None) == "str | Path | None"
    assert docs_of(bertscope.AblateConfig)["repeats"] == "Bootstrap resamples behind each interval."


@pytest.mark.slow
def test_the_quickstart_passes_mypy_and_mistakes_dont(tmp_path):
    api = pytest.importorskip("mypy.api")
    blocks = [code for code, runs in code_blocks(HERE / "README.md", "python") if runs]
    (tmp_path / "quickstart.py").write_text("".join(blocks))
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    (tmp_path / "mypy.ini").write_text(SETTINGS.replace("SOURCE", str(STUB.parents[1])))
    found, crashed, _ = api.run(
        ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache"), "--no-error-summary",
         "--hide-error-context", str(tmp_path / "quickstart.py"), str(tmp_path / "mistakes.py")]
    )  # fmt: skip
    said = {}
    for line in filter(lambda line: ": error: " in line, found.splitlines()):
        file, number, *_ = line.removeprefix(f"{tmp_path}/").split(":")
        said[Path(file).name, int(number)] = line.rpartition("[")[2].rstrip("]")
    marked = {
        ("mistakes.py", number): line.partition("  # ")[2]
        for number, line in enumerate(MISTAKES.splitlines(), start=1) if "  # " in line
    }  # fmt: skip
    assert not crashed and said == marked, found
