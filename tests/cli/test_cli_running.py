"""Commands that run steps: exit codes in a pipe and on a terminal, what is told on the way, what another version
stored; completion, and help."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli.main import app
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.result import Result, result_root
from bertscope.core.store import Store
from bertscope.study.runner import run_steps

BUG = "bertscope: this is a bug in bertscope, not your mistake"
BROKEN = """
import sys
from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.question import Question
def broken(self, *args, **kwargs):
    raise {error}
Question.compute = broken
from bertscope.cli.main import main
main()
"""


@pytest.fixture
def results(tmp_path):
    """Two results to ask `overlap` and `claims` of: neither loads torch."""
    return [str(Result("overlap", 1, subject={"of": name}).save(tmp_path / name)) for name in "ab"]


def in_a_pipe(script, words, folder):
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not done.stdout
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "into", "code"),
    [
        (words, *into) for words in (["ls"], ["ls", "--json"], ["--help"], ["claims", "a"])
        for into in (("| true", 141), ("> /dev/full", 2), (">&-", 0))
    ],
)  # fmt: skip
def test_output_that_nobody_reads_or_that_finds_no_room(results, tmp_path, words, into, code):
    """A bug it is in no case."""
    run_steps([find("claims").step({"results.0": result_root(results[0])})], tmp_path / "bertscope-store")
    line = f"set -o pipefail; {sys.executable} -m bertscope {' '.join(words)} {into}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code and not done.stdout, done.stderr
    room = "No space left on device; free some space and run again"
    assert ("bertscope: " in done.stderr) == (room in done.stderr) == (code == 2), done.stderr
    assert "Exception" not in done.stderr


def test_what_an_encoding_lacks_is_written_out(tmp_path):
    (result,) = [Result("overlap", 1, subject={"of": "caf\u00e9 \u2026"}).save(tmp_path / "a")]
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "bertscope", "claims", str(result), *more], cwd=tmp_path, capture_output=True,
            check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"},
        )  # fmt: skip
        assert done.returncode == 0 and done.stdout.isascii(), done.stderr
    assert json.loads(done.stdout)["ledger"]


def on_a_terminal(script, words, folder):
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", script, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=follower
    )
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 4096):
            seen += chunk
    except OSError:  # how a terminal says that nobody writes any more
        pass
    os.close(leader)
    return done.wait(), seen.decode().replace("\r\n", "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        ("ZeroDivisionError('oops')", 1, f"{BUG}: ZeroDivisionError: oops; details: bertscope-store/logs/"),
        ("UserError('it can not be')", 2, "bertscope: it can not be"),
        ("FullDiskError('no room is left')", 2, "bertscope: no room is left"),
        ("PermissionError(13, 'Not for you')", 2, "bertscope: [Errno 13] Not for you; choose a place"),
        ("OSError(5, 'Input/output error', 'disk')", 2, "bertscope: [Errno 5] Input/output error: 'disk'; the disk"),
        ("KeyboardInterrupt", 130, "bertscope: interrupted; what was finished is stored"),
    ],
)  # fmt: skip
def test_a_step_that_fails_ends_alike_in_a_pipe_and_on_a_terminal(results, tmp_path, error, code, said):
    script, words = BROKEN.format(error=error), ["overlap", *results]
    piped, seen = in_a_pipe(script, words, tmp_path), on_a_terminal(script, words, tmp_path)
    assert piped[0] == seen[0] == code, (piped, seen)
    lines = [text.strip().splitlines()[-1] for _, text in (piped, seen)]
    assert lines[1].endswith(lines[0]) and lines[0].startswith(said), lines  # after the live view was wiped off
    assert "Traceback" not in piped[1] + seen[1]
    assert piped[1].splitlines()[0].startswith("running  overlap") and piped[1].count("\n") == 2


@pytest.mark.slow
def test_quiet_and_verbose_before_and_after_the_command(results, tmp_path):
    script = BROKEN.format(error="ZeroDivisionError('oops')")
    for words in (["-q", "overlap", *results], ["overlap", *results, "--quiet"]):
        code, err = in_a_pipe(script, words, tmp_path)
        assert code == 1 and err.startswith(BUG) and err.count("\n") == 1
    for words in (["-v", "overlap", *results], ["overlap", "--verbose", *results]):
        code, err = in_a_pipe(script, words, tmp_path)
        assert code == 1 and "in broken\n" in err and err.splitlines()[-1].startswith(BUG)


def test_what_is_told_on_the_way(command, results):
    code, out, err = command("claims", *results)
    first, last, stored = err.splitlines()
    assert code == 0 and out and stored.startswith("stored in ")
    assert first.startswith("running  claims") and last.startswith("done     claims") and last.endswith(" s")
    assert command("claims", *results)[2].startswith("stored   claims")
    code, out, err = command("-q", "claims", *results)
    assert code == 0 and out and err == f"{stored}\n"
    code, out, err = command("claims", *results, "--json")
    assert code == 0 and json.loads(out) and not err
    code, _, err = command("-q", "claims", *results, "-v")
    assert code == 2 and err == "bertscope: --quiet and --verbose exclude each other; leave one out\n"


def test_what_another_version_stored_is_skipped_counted_and_deleted(command, results, tmp_path):
    shelf = Store(tmp_path / "bertscope-store")
    for asked in (results, results[1:]):
        command("claims", *asked)
    for old in shelf.finished():
        record = json.loads((old.folder / "step.json").read_text())
        del record["format"]
        (old.folder / "step.json").write_text(json.dumps(record))
        (old.folder / "result" / "result.json").write_text("{}")
        (old.folder / "seal.json").unlink()  # there were none
    other, old = shelf.of_other_versions()
    command("claims", results[0])
    shutil.copytree("bertscope-store", "copy")
    counted = ("skipped 2 steps of an earlier version in bertscope-store; "
               "'bertscope rm --other-versions --yes' deletes them")  # fmt: skip
    for words in (["ls"], ["show", "claims"], ["report", "build"], ["report", "export", "--out", "all"],
                  ["report", "compare", "bertscope-store", "copy"], ["claims", results[0]],
                  ["study", "status", "demo"], ["study", "gc", "demo"],
                  ["study", "run", "demo", "--dry-run"]):  # fmt: skip
        code, out, err = command(*words)
        assert code == 0 and err.count(counted) == 1, (words, err)
        assert old.name not in out or "gc" in words
    assert command("ls", "-q")[2] == ""
    code, _, err = command("show", old.name)
    assert code == 2 and "no step" in err
    code, out, _ = command("rm", other.name, "--yes")
    assert code == 0 and out == f"{other.name}  of another version\ndeleted: 1\n"
    assert "would be deleted: 1" in command("rm", "--other-versions")[1] and old.exists()
    assert "deleted: 1" in command("rm", "--other-versions", "--yes")[1] and not old.exists()
    assert "skipped" not in command("ls")[2] and len(list(shelf.finished())) == 1


@pytest.mark.slow
def test_completion_names_commands_and_flags(tmp_path):
    """The script that is installed is plain bash: it asks nothing of Python, so nothing is loaded."""
    script = tmp_path / "bertscope.bash"
    script.write_text(app.generate_completion(shell="bash"))
    subprocess.run(["bash", "-n", script], check=True)
    complete = "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bertscope; echo ${COMPREPLY[@]}"
    for words, wanted in (
        ('bertscope ""', {name for name, entry in QUESTIONS.items() if entry.group} | {"ls", "study", "report"}),
        ("bertscope ablate --", {"--on", "--mode", "--units", "--store", "--quiet", "--verbose"}),
        ('bertscope report ""', {"build", "export", "compare"}),
        ("bertscope ablate pocket --mode ''", {"zero", "mean"}),
    ):
        call = ["bash", "-c", f"source {script}; COMP_WORDS=({words}); {complete}"]
        offered = subprocess.run(call, capture_output=True, text=True, check=True).stdout
        assert wanted <= {*offered.split()}, words
    for shell in ("zsh", "fish"):
        assert "finetune" in app.generate_completion(shell=shell)


def test_completion_is_installed_without_torch(tmp_path):
    script = """
import sys
from bertscope.cli.main import main
sys.argv = ["bertscope", "--install-completion", "--shell", "bash"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert not {"torch", "pandas", "transformers"} & {*sys.modules}
"""
    home = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file() and "bertscope" in path.read_text()]


def test_help_lists_questions_by_what_they_do(command, monkeypatch):
    for columns in ("80", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        out = command("--help")[1]
        assert max(map(len, out.splitlines())) <= int(columns)
        headings = [line.split("─ ")[1].split(" ─")[0] for line in out.splitlines() if line.startswith("╭")]
        assert headings[:2] == ["Start here", "Train, and compare trainings"]
        assert headings[2:4] == ["What it predicts, text by text", "What the heads attend to"]
        assert headings[-1] == "Messages, for every command" and "--quiet" in out
        training = out.split("Train, and compare trainings")[1].split("╰")[0]
        assert training.splitlines()[1].startswith("│ finetune") and "prune" not in training
    assert all(find(name).line.split()[0] in out for name, entry in QUESTIONS.items() if entry.group)
