"""`bertscope explore`: the live page of a model, served to this machine until it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bertscope.cli.options import STORE
from bertscope.core.errors import UserError
from bertscope.core.progress import progress, verbosity
from bertscope.data.options import DataOptions, TaskOptions

_OTHERS = (
    "warning: anybody who reaches {host} and has this link can ask the model, and nothing on the way is encrypted; "
    "an ssh tunnel is safer (docs/explore.md)"
)


def explore(
    model: str,
    /,
    *,
    base: str | None = None,
    on: str | None = None,
    store: Path | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
    open: bool = True,
    options: Annotated[DataOptions, Parameter(name="*")] = DataOptions(),  # noqa: B008 (frozen)
) -> None:
    """Try a sentence on one or two models and switch parts off, live.

    Serves a page to this machine until you press Ctrl+C. Type a text, or take a row of the data; see what the model
    and its base predict and where their heads look; switch heads, MLPs and layers off, or take them from the other
    checkpoint, and see at once what changes. Nothing is written. The link holds a token: nobody without it gets in.

    Parameters
    ----------
    model
        A folder, a hub id, or 'pocket'.
    base
        A second checkpoint, shown beside it: usually what it was fine-tuned from. A folder, or a hub id.
    on
        Data whose rows you can choose, and over which mode 'mean' averages: a file, a folder, demo/sentiment ...
    store
        Stored results about the model: they colour its heads and suggest parts to switch off. By default
        bertscope-store in this folder, if there is one.
    port
        The port to listen on; 0 takes a free one.
    host
        The address to listen on. Any but this machine's own lets in others who have the link.
    open
        Open the page in a browser (only from a terminal); --no-open doesn't.
    """
    from bertscope.live.installed import need_server

    need_server()
    shelf = store or (STORE if STORE.is_dir() else None)
    if shelf is not None and not shelf.is_dir():
        raise UserError(f"there is no store {shelf}; leave --store out, or name one that is there")
    reading = TaskOptions(**options.given()).given()
    if reading and on is None:
        raise UserError(f"--{next(iter(reading)).replace('_', '-')} says how data is read; name the data with --on")
    from bertscope.live.server import LiveServer, bound, is_this_machine

    with bound(host, port) as where:
        with progress("opening", None):  # loading torch and two checkpoints takes seconds
            from bertscope.live.explorer import Explorer

            explorer = Explorer.open(model, base, on, store=shelf, **reading)
        server = LiveServer(explorer, where, host=host)
        with _told_to_end() as told:
            server.start()
            if not is_this_machine(host):
                print(_OTHERS.format(host=host), file=sys.stderr)
            print(server.url, flush=True)
            if verbosity() != "quiet":
                print("open it in a browser; Ctrl+C ends it", file=sys.stderr, flush=True)
            if open and on_a_terminal():
                import webbrowser

                webbrowser.open(server.url)
            while server.runs and not told.wait(1):
                pass
            server.stop()
        _leave()


def on_a_terminal() -> bool:
    return sys.stdout.isatty()


def _leave() -> None:
    """At once. Python would take torch apart first, for seconds on a busy machine, and the model's thread may be in
    the midst of something whose answer nobody awaits."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """Set by Ctrl+C and by SIGTERM: to end is what is expected here, no error."""
    told = threading.Event()
    before = {which: signal.signal(which, lambda *_: told.set()) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
