"""`bertscope demo`: the first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

from bertscope.cli.options import STORE
from bertscope.core.errors import UserError

_MOST = 4
"""Workers, unless the user says how many: each has a model and the library in memory."""


def demo(
    *,
    store: Path = STORE,
    page: Path = Path("demo-report.html"),
    seed: int = 0,
    workers: int | None = None,
    private: bool = False,
) -> None:
    """Ask everything once of the built-in model, on the built-in language, and make a page of the answers.

    The same as `bertscope study run demo`. Under ten minutes on two cores; what is stored isn't computed again.

    Parameters
    ----------
    store
        The folder where results are kept and found again.
    page
        The page to write.
    seed
        Seed of the sentences, the new classifier's weights, the order of the examples, and dropout.
    workers
        Run steps side by side in this many processes; 0 runs them one after the other in this one. By default one per
        core, at most four: a small model keeps only one core busy.
    private
        Show paths, command lines and the system on the page too: for your own eyes.
    """
    from bertscope.cli.study import perform
    from bertscope.core.threads import allowed_threads
    from bertscope.study.file import read_study

    if seed < 0:
        raise UserError(f"seed is {seed}; it must be at least 0")
    makers = min(allowed_threads(), _MOST) if workers is None else workers
    perform(read_study("demo", [f"seeds={seed}", f"data_seed={seed}"]), store, page, private=private, workers=makers)
