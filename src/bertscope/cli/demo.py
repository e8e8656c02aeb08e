"""`bertscope demo`: the first thing a newcomer runs."""

from __future__ import annotations

from pathlib import Path

from bertscope.cli.options import STORE
from bertscope.core.errors import UserError


def demo(*, store: Path = STORE, page: Path = Path("demo-report.html"), seed: int = 0, private: bool = False) -> None:
    """Ask everything once of the built-in model, on the built-in language, and make a page of it.

    This is `bertscope study run demo`: about ten minutes on two cores; what is stored already is not computed again.

    Parameters
    ----------
    store
        The folder where results are kept and found again.
    page
        The page to write.
    seed
        Decides the sentences, the new classifier's weights, the order of the examples and dropout.
    private
        Show paths, command lines and the system on the page too: for your own eyes.
    """
    from bertscope.cli.study import perform
    from bertscope.study.file import read_study

    if seed < 0:
        raise UserError(f"seed is {seed}; it must be at least 0")
    perform(read_study("demo", [f"seeds={seed}", f"data_seed={seed}"]), store, page, private=private)
