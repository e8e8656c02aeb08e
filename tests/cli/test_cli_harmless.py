"""What data, names and stored answers hold commands no terminal, whichever command shows it."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

import bertscope
from bertscope.core.console import Console
from bertscope.core.model_record import ModelRecord
from bertscope.core.progress import Bars
from house import tree_of
from planted_page import ablation, id_of, put

WINDOW, WIPE, RED, TURNED = "\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\u202e"
HOSTILE = f"{WINDOW}{WIPE}{RED}{TURNED}[/b][red]"
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SOURCE = Path(bertscope.__file__).parent
STUDY = 'model: pocket\ntitle: "{0}"\ncorpus: "{0}.csv"\nquestions:\n  - patterns: {{of: model, on: corpus}}\n'
IN_YAML = r"\e]0;owned\a\e[2J\x9b31m\u202e"


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return kept | {"TERM": "xterm-256color", "COLUMNS": "200", "PYTHONPATH": str(SOURCE.parent)}


def shows_hostile(code: int, *said: str) -> str:
    """That something of it was shown, as characters that command nothing; gives what was said."""
    both = "".join(said)
    assert not (found := COMMANDING.search(both)), f"{found[0]!r} in {both!r}"
    assert code in (0, 2) and "owned" in both, both
    return both


@pytest.fixture
def store(tmp_path) -> Path:
    """A store with an answer about a model and data of such names."""
    name = f"model{HOSTILE}"
    models = {id_of(name): ModelRecord(id_of(name), name)}
    found = ablation(models=models, subject={"task": HOSTILE}, notes=[HOSTILE], provenance={"created": "2026-11-16"})
    found.tables[f"heads{WIPE}"] = pd.DataFrame({HOSTILE: [HOSTILE]})
    put(tmp_path / "bertscope-store", found, model=name, task=HOSTILE, mode=HOSTILE)
    return tmp_path / "bertscope-store"


def test_stored_answers_command_nothing(store, command):
    name = shows_hostile(*command("ls")).split("ablate-")[1][:8]
    shows_hostile(*command("show", f"ablate-{name}"))
    shows_hostile(*command("rm", f"ablate-{name}"))
    shutil.copytree(store, store.with_name(f"other{HOSTILE.replace('/', '')}"))
    shows_hostile(*command("report", "compare", store, f"other{HOSTILE.replace('/', '')}"))
    shows_hostile(*command("ls", "--store", HOSTILE))


def test_json_says_what_was_stored(store, command):
    code, out, err = command("ls", "--json")
    shows_hostile(code, out, err)
    assert json.loads(out)[0]["subject"] == {"task": HOSTILE} and json.loads(out)[0]["notes"] == [HOSTILE]


def test_data_commands_nothing(tmp_path, command):
    file = tmp_path / f"reviews{HOSTILE.replace('/', '')}.csv"
    labels = [f"{HOSTILE}{row % 2}" for row in range(40)]
    rows = {"text": [f"a text {HOSTILE} {row}" for row in range(40)], "label": labels, HOSTILE: 1}
    pd.DataFrame(rows).to_csv(file, index=False)
    shows_hostile(*command("data", file, "--show", 2))
    code, out, err = command("data", file, "--json")
    shows_hostile(code, out, err)
    assert set(json.loads(out)["splits"]["test"]["labels"]) == set(labels)
    shows_hostile(*command("data", file, "--text", "none"))
    shows_hostile(*command("patterns", "pocket", "--on", f"nowhere{HOSTILE}"))
    shows_hostile(*command("patterns", f"nowhere{HOSTILE}", "--on", file))


def test_a_models_folder_commands_nothing(model, tmp_path, csv, command):
    folder = tmp_path / HOSTILE.replace("/", "")
    model.rename(folder)
    shows_hostile(*command("patterns", f"./{folder.name}", "--on", csv, "--verbose"))
    (folder / "config.json").write_text(json.dumps({"model_type": HOSTILE}))
    shows_hostile(*command("patterns", f"./{folder.name}", "--on", csv))


def test_a_study_commands_nothing(tmp_path, csv, command):
    name = f"study{TURNED}.yaml"
    (tmp_path / name).write_text(STUDY.format(IN_YAML))
    shows_hostile(*command("study", "run", name))
    csv.rename(tmp_path / f"{WINDOW}.csv")
    (tmp_path / name).write_text(STUDY.format(r"\e]0;owned\a"))
    for words in (["run", "--dry-run"], ["show"], ["status"]):
        shows_hostile(*command("study", words[0], name, *words[1:]))
    (tmp_path / name).write_text(f'model: pocket\n"{IN_YAML}": 1\n')
    shows_hostile(*command("study", "show", name))


def test_arguments_command_nothing(command):
    for words in ([HOSTILE], ["ls", HOSTILE], ["ls", f"--{HOSTILE}"], ["claims", HOSTILE]):
        shows_hostile(*command(*words))


def test_an_argument_that_isnt_utf8_is_refused(command):
    for words in (["ls", "\udcff"], ["data", "a\udc80.csv"], ["study", "run", "\udcff"], ["\udcff"]):
        code, out, err = command(*words)
        assert code == 2 and not out and err.count("\n") == 1 and "isn't UTF-8" in err


def test_names_of_files_and_folders_that_arent_utf8_are_no_bug(tmp_path, csv, command, monkeypatch):
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "\udcff.txt").write_text("not read")
    sentence = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n2\tb\tb\tNOUN\t_\t_\t1\tdep\t_\t_\n\n"
    (folder / "plain.conllu").write_text(20 * sentence)
    assert command("data", folder, "--show", 1)[0] == 0
    (folder / "plain.conllu").rename(folder / "\udcff.conllu")
    for words in (["data", folder, "--write", "x.jsonl"], ["patterns", "pocket", "--on", folder]):
        code, _, err = command(*words)
        assert code == 2 and err.count("\n") == 1 and r"isn't UTF-8: '\udcff.conllu'; rename it" in err, err
    here = tmp_path / "here\udcff"
    here.mkdir()
    monkeypatch.chdir(here)
    code, _, err = command("data", csv)
    assert code == 2 and err.count("\n") == 1 and "the folder that you are in isn't UTF-8" in err
    here.rmdir()
    code, _, err = command("data", csv)
    assert code == 2 and err == "bertscope: the folder that you are in was deleted; go to another\n"
    monkeypatch.chdir(tmp_path)


def test_an_error_is_one_line_whatever_is_named(command):
    code, out, err = command("data", "none.csv\nbertscope: all is well")
    assert code == 2 and not out and err.count("\n") == 1


def test_warnings_logs_and_tracebacks_command_nothing():
    writing = (
        "import logging, sys, traceback, warnings\nfrom bertscope.core.harmless import harmless_output\n"
        "with harmless_output():\n    warnings.warn(sys.argv[1])\n    logging.warning(sys.argv[1])\n"
        "    traceback.print_exception(ValueError(sys.argv[1]))\n    sys.stderr.writelines([sys.argv[1]])\n"
    )
    run = [sys.executable, "-c", writing, HOSTILE]
    said = subprocess.run(run, env=environment(), capture_output=True, check=True, timeout=60).stderr.decode()
    assert said.count("owned") == 4 and not COMMANDING.search(said)


def test_bars_command_nothing():
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    bars = Bars(console)
    with bars.bar(HOSTILE, 10) as bar:
        bar.advance(1, loss=HOSTILE)
        console.print(bars.shown.get_renderable())
    drawn = console.file.getvalue()
    assert drawn.count("owned") == 2 and not COMMANDING.search(drawn)


@pytest.mark.skipif(os.name != "posix", reason="a terminal of its own")
def test_a_terminal_has_colours_but_only_ours(store):
    import pty

    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "bertscope", "ls", "--store", store],
        stdout=theirs, stderr=theirs, env=environment(), check=True, timeout=60,
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    assert "\x1b[1m" in shown and "owned" in shown
    assert not COMMANDING.search(re.sub(r"\x1b\[[0-9;]*m|\r\n", "", shown))


def test_only_one_place_draws_on_terminals():
    """What is drawn elsewhere is either harmless without colours, or not harmless."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [f"rich.{one.name}" for one in node.names] if names == ["rich"] else []
            allowed = path.name == "console.py" and path.parent.name == "core"
            assert allowed or "rich.console" not in names or _only_groups(node), path
            past = isinstance(node, ast.Attribute) and node.attr in ("__stdout__", "__stderr__", "buffer")
            assert not past or not isinstance(node.value, ast.Name) or node.value.id != "sys", path


def _only_groups(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and [one.name for one in node.names] == ["Group"]
