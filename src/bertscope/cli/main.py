"""The command line: names and help here, everything else loaded when a command runs."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter

from bertscope import __version__
from bertscope.cli.options import default_in_words
from bertscope.core.bug_log import write_bug
from bertscope.core.console import Console
from bertscope.core.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_UNREAD,
    EXIT_USER,
    BugError,
    UserError,
    refused_by_system,
)
from bertscope.core.harmless import harmless_output, is_utf8, one_line
from bertscope.core.progress import telling, verbosity
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.threads import be_considerate

app = App(
    name="bertscope",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(consume_multiple=True, negative_iterable=(), show_default=default_in_words),
    help="Open up BERT-family encoders before and after fine-tuning.\n\n"
    "MODEL is 'pocket' (built in), a folder, or a hub id. DATA is demo/sentiment, glue/rte, a file "
    "or a folder ('bertscope data DATA' says what it holds). Results are stored and never computed twice.",
)
_START = Group.create_ordered("Start here")
_GROUPS = {
    name: Group.create_ordered(heading)
    for name, heading in {
        "training": "Train, and compare trainings",
        "rows": "What it predicts, text by text",
        "attention": "What the heads attend to",
        "parts": "What the model needs",
        "layers": "What the layers hold",
        "smaller": "Make it smaller",
        "stored": "Stored answers",
    }.items()
}
"""The headings of help, in their order: by what a question does."""
_MORE = Group.create_ordered("More")
_MESSAGES = Group.create_ordered("Messages, for every command")
_OWN = {"claims": "bertscope.cli.claims:claims"}
"""Questions whose command isn't made from what they declare."""
_COMMANDS = (
    ("demo", "demo:demo", "Try everything once on the built-in model and language.", _START),
    ("inspect", "inspect:inspect", "What is going on in a model, and what to do about it.", _START),
    ("explore", "explore:explore", "Try a sentence on one or two models and switch parts off, live.", _START),
    ("data", "data:data", "What a data set holds: describe, show or write it.", _START),
    ("study", "study:study", "Run many questions from one file.", _START),
    ("convert", "convert:convert", "Turn pickled weights into safetensors.", _START),
    ("attention", "attention:attention", "Where does each head look in this text?", _GROUPS["attention"]),
    ("ls", "stored:ls", "List what is stored.", _GROUPS["stored"]),
    ("show", "stored:show", "Print a stored answer again.", _GROUPS["stored"]),
    ("report", "reports:report", "Turn stored results into one page.", _GROUPS["stored"]),
    ("rm", "stored:rm", "Delete stored answers.", _GROUPS["stored"]),
    ("verify", "verify:verify", "Compare what is stored with its seals.", _GROUPS["stored"]),
    ("train-patterns", "shapes:train_patterns", "Train the classifiers of attention maps.", _MORE),
)
"""Commands that ask no question."""

_TOLD_BY_DOCSTRING = {*_OWN, *(name for name, *_ in _COMMANDS)} - {"study", "report"}
"""Commands that are functions; the two others are apps, with a help of their own for each of theirs."""


def _add_commands() -> None:
    """Each in its group: questions in the order of the page, but a training before what compares trainings."""
    places = count()
    for name in sorted(QUESTIONS, key=lambda name: name != "finetune"):
        entry, target = QUESTIONS[name], _OWN.get(name, f"bertscope.cli.questions:{name}")
        if entry.group:
            app.command(target, name=name, help=entry.line, group=_GROUPS[entry.group], sort_key=next(places))
    for name, target, line, group in _COMMANDS:
        app.command(f"bertscope.cli.{target}", name=name, help=line, group=group, sort_key=next(places))
    app.register_install_completion_command(help="Let bash, zsh or fish complete commands and flags.")
    for flag in ("--install-completion", "--help", "--version"):
        app[flag].group = _MORE


_add_commands()


@app.meta.default
def launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    quiet: Annotated[bool, Parameter(name=("--quiet", "-q"), negative=(), group=_MESSAGES)] = False,
    verbose: Annotated[bool, Parameter(name=("--verbose", "-v"), negative=(), group=_MESSAGES)] = False,
) -> None:
    """Run a command.

    Parameters
    ----------
    quiet
        Print nothing to standard error but errors and the outcome.
    verbose
        Also print all settings of every step, and the traceback of a bug.
    """
    if quiet and verbose:
        raise UserError("--quiet and --verbose exclude each other; leave one out")
    with telling("quiet" if quiet else "verbose" if verbose else "normal"), _errors_in_one_line():
        _run(app, _spread([*words]))


_launcher = app.meta


def main() -> None:
    """Run a command and leave with the right exit code: every error is one line, a bug's traceback goes to a log."""
    be_considerate()  # before anything loads torch
    with suppress(AttributeError):  # what its encoding lacks is written out, as on standard error
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with harmless_output(), _errors_in_one_line():
        _refuse_names_that_arent_utf8()
        try:
            _run(_launcher, sys.argv[1:])
        finally:
            sys.stdout.flush()  # while a full disk, or a reader that went away, can still be told


def _run(commands: App, words: list[str]) -> None:
    help_in_colours = Console(markup=True, highlight=True)
    with _whole_help(words):
        commands(words, exit_on_error=False, print_error=False, console=help_in_colours)


@contextmanager
def _whole_help(words: list[str]) -> Iterator[None]:
    """A command's line is for the list of commands: whoever asks for the help of one reads all that it says."""
    name = next((word for word in words if not word.startswith("-")), "")
    if name not in _TOLD_BY_DOCSTRING or not {"--help", "-h"} & set(words):
        yield
        return
    line, app[name].help = app[name].help, None
    try:
        yield
    finally:
        app[name].help = line


def _refuse_names_that_arent_utf8() -> None:
    """They could be opened, but not be written down in a result."""
    if strange := next((word for word in sys.argv[1:] if not is_utf8(word)), None):
        raise UserError(f"the argument {strange!r} isn't UTF-8; rename the file, or type it in UTF-8")
    try:
        here = str(Path.cwd())
    except FileNotFoundError as error:
        raise UserError("the folder that you are in was deleted; go to another") from error
    if not is_utf8(here):
        raise UserError(f"the name of the folder that you are in isn't UTF-8: {here!r}; rename it, or go to another")


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        _leave(str(error), EXIT_USER)
    except CycloptsError as error:
        command = " ".join(["bertscope", *(error.command_chain or ()), "--help"])
        _leave(f"{' '.join(str(error).split())} (see {command})", EXIT_USER)
    except KeyboardInterrupt:
        _leave("interrupted; what was finished is stored, run the same command to go on", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away, as `head` does: nothing to say
        _print_no_more()
        raise SystemExit(EXIT_UNREAD) from None
    except BugError as bug:
        _leave_with_bug(bug.reason, bug.trace, bug.log)
    except Exception as error:
        if refused := refused_by_system(error):
            _print_no_more()
            _leave(refused, EXIT_USER)
        trace = traceback.format_exc()
        _leave_with_bug(f"{type(error).__name__}: {error}", trace, write_bug(trace, " ".join(sys.argv)))


_COLUMNS = "--slice"  # of how data is read, which every question takes
_SEVERAL = {
    "data": ("--words", _COLUMNS),
    "train-patterns": (_COLUMNS,),
    "report": ("--format",),
    "explore": (_COLUMNS,),
}
"""The options of other commands than questions that take several values."""


def _spread(words: list[str]) -> list[str]:
    """`--seeds 0,1,2` as `--seeds 0 1 2`, for options that take several values."""
    if not words or words[0] not in {*_SEVERAL, *QUESTIONS}:
        return words
    several = set(_SEVERAL.get(words[0], ()))
    if words[0] in QUESTIONS:
        hints = find(words[0]).config.__annotations__
        several |= {_COLUMNS} | {
            f"--{name.replace('_', '-')}" for name, hint in hints.items() if "tuple[" in str(hint)
        }
    words = [part for word in words for part in (word.split("=", 1) if word.split("=")[0] in several else [word])]
    return [
        part for before, word in zip(["", *words], words, strict=False)
        for part in (word.split(",") if before in several else [word])
    ]  # fmt: skip


def _print_no_more() -> None:
    """Let go of what waits to be printed: Python would try again as it ends, and complain."""
    with suppress(OSError, ValueError), Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _leave(line: str, code: int) -> None:
    with suppress(OSError):  # on a full disk there may be nowhere to say it
        print(f"bertscope: {one_line(line)}", file=sys.stderr)
    raise SystemExit(code)


def _leave_with_bug(reason: str, trace: str, log: Path) -> None:
    if verbosity() == "verbose":
        print(trace.rstrip(), file=sys.stderr)
    reason = " ".join(reason.split())
    _leave(f"this is a bug in bertscope, not your mistake: {reason}; details: {log}", EXIT_BUG)
