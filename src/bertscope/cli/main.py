"""The command line: names and help here, everything else loaded when a command runs."""

from __future__ import annotations

import sys
import tempfile
import traceback
from pathlib import Path

from cyclopts import App, CycloptsError, Parameter

from bertscope import __version__
from bertscope.core.catalogue import CATALOGUE, spec
from bertscope.core.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USER, UserError

app = App(
    name="bertscope",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(consume_multiple=True, negative_iterable=()),
    help="Open up BERT-family encoders before and after fine-tuning.\n\n"
    "MODEL is 'pocket' (built in), a folder, or a hub id. DATA is demo/sentiment, glue/rte, a file "
    "or a folder ('bertscope data DATA' says what it holds). Results are stored and never computed twice.",
)
app.command("bertscope.cli.demo:demo", name="demo", help="Try everything once on the built-in model and language.")
_OWN = {"claims": "bertscope.cli.claims:claims"}
"""Questions whose command isn't made from what they declare."""
for _name, _entry in CATALOGUE.items():
    if _entry.command:
        app.command(_OWN.get(_name, f"bertscope.cli.questions:{_name}"), name=_name, help=_entry.line)
app.command("bertscope.cli.study:study", name="study", help="Run many questions from one file.")
app.command("bertscope.cli.data:data", name="data", help="What a data set holds: describe, show or write it.")
app.command(
    "bertscope.cli.shapes:train_patterns", name="train-patterns", help="Train the classifiers of attention maps."
)
app.command("bertscope.cli.stored:ls", name="ls", help="List what is stored.")
app.command("bertscope.cli.stored:report", name="report", help="Turn stored results into one page.")


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
    if not words or words[0] not in {*_SEVERAL, *CATALOGUE}:
        return words
    several = set(_SEVERAL.get(words[0], ()))
    if words[0] in CATALOGUE:
        hints = spec(words[0]).config_class.__annotations__
        several |= {f"--{name.replace('_', '-')}" for name, hint in hints.items() if "tuple[" in str(hint)}
    words = [part for word in words for part in (word.split("=", 1) if word.split("=")[0] in several else [word])]
    return [
        part for before, word in zip(["", *words], words, strict=False)
        for part in (word.split(",") if before in several else [word])
    ]  # fmt: skip


def _leave(line: str, code: int) -> None:
    print(f"bertscope: {line}", file=sys.stderr)
    raise SystemExit(code)
