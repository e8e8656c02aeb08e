"""The command line: names and help here, everything else loaded when a command runs."""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path

from cyclopts import App, CycloptsError, Group, Parameter

from bertscope import __version__
from bertscope.cli.options import default_in_words
from bertscope.core.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USER, UserError
from bertscope.core.registry import QUESTIONS, find

app = App(
    name="bertscope",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(consume_multiple=True, negative_iterable=(), show_default=default_in_words),
    help="Open up BERT-family encoders before and after fine-tuning.\n\n"
    "MODEL is 'pocket' (built in), a folder, or a hub id. DATA is demo/sentiment, glue/rte, a file "
    "or a folder ('bertscope data DATA' says what it holds). Results are stored and never computed twice.",
)
_GROUPS = {
    name: Group.create_ordered(heading)
    for name, heading in {
        "attention": "What the heads attend to",
        "parts": "What the model needs",
        "layers": "What the layers hold",
        "training": "Train, and compare trainings",
        "smaller": "Make it smaller",
        "stored": "Read stored answers together",
    }.items()
}
"""The headings of help, in their order: by what a question does."""
_AROUND = Group.create_ordered("Data, studies and stored answers")
_OWN = {"claims": "bertscope.cli.claims:claims"}
"""Questions whose command isn't made from what they declare."""


for _name, _entry in QUESTIONS.items():
    if _entry.group:
        _target = _OWN.get(_name, f"bertscope.cli.questions:{_name}")
        app.command(_target, name=_name, help=_entry.line, group=_GROUPS[_entry.group])
for _name, _target, _line in (
    ("demo", "demo:demo", "Try everything once on the built-in model and language."),
    ("study", "study:study", "Run many questions from one file."),
    ("data", "data:data", "What a data set holds: describe, show or write it."),
    ("train-patterns", "shapes:train_patterns", "Train the classifiers of attention maps."),
    ("ls", "stored:ls", "List what is stored."),
    ("show", "stored:show", "Print a stored answer again."),
    ("rm", "stored:rm", "Delete stored answers."),
    ("report", "stored:report", "Turn stored results into one page."),
):
    app.command(f"bertscope.cli.{_target}", name=_name, help=_line, group=_AROUND)
for _flag in ("--help", "--version"):
    app[_flag].group = _AROUND


def main() -> None:
    """Run a command and leave with the right exit code: every error is one line, a bug's traceback goes to a log."""
    try:
        app(_spread(sys.argv[1:]), exit_on_error=False, print_error=False)
    except UserError as error:
        _leave(str(error), EXIT_USER)
    except CycloptsError as error:
        command = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in app else ""
        _leave(f"{' '.join(str(error).split())} (see bertscope {command}{' ' * bool(command)}--help)", EXIT_USER)
    except KeyboardInterrupt:
        _leave("interrupted; what was finished is stored, run the same command to go on", EXIT_INTERRUPTED)
    except PermissionError as error:
        _leave(f"{error}; choose a place that you may read and write", EXIT_USER)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does: nothing to say, nobody to say it to
    except Exception as error:
        with tempfile.NamedTemporaryFile("w", prefix="bertscope-", suffix=".log", delete=False) as log:
            log.write(f"{' '.join(sys.argv)}\n{traceback.format_exc()}")
        _leave(f"this is a bug in bertscope, not your mistake: {error!r}; details: {Path(log.name)}", EXIT_BUG)


_SEVERAL = {"data": ("--words",), "train-patterns": ("--method",), "report": ("--format",)}
"""The options of other commands than questions that take several values."""


def _spread(words: list[str]) -> list[str]:
    """`--seeds 0,1,2` as `--seeds 0 1 2`, for options that take several values."""
    if not words or words[0] not in {*_SEVERAL, *QUESTIONS}:
        return words
    several = set(_SEVERAL.get(words[0], ()))
    if words[0] in QUESTIONS:
        hints = find(words[0]).config.__annotations__
        several |= {f"--{name.replace('_', '-')}" for name, hint in hints.items() if "tuple[" in str(hint)}
    words = [part for word in words for part in (word.split("=", 1) if word.split("=")[0] in several else [word])]
    return [
        part for before, word in zip(["", *words], words, strict=False)
        for part in (word.split(",") if before in several else [word])
    ]  # fmt: skip


def _leave(line: str, code: int) -> None:
    print(f"bertscope: {line}", file=sys.stderr)
    raise SystemExit(code)
