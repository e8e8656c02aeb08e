"""`bertscope demo`: the first thing a newcomer runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bertscope.cli.options import STORE
from bertscope.cli.questions import announce
from bertscope.core.errors import UserError
from bertscope.core.files import check_file, check_writable
from bertscope.core.store import Store


def demo(*, store: Path = STORE, page: Path = Path("demo-report.html"), seed: int = 0) -> None:
    """Fine-tune the built-in model on the built-in language, look at its attention before and after, switch its parts
    off one by one, and make a page of it.

    Takes a few minutes on two cores; what is stored already is not computed again.

    Parameters
    ----------
    store
        The folder where results are kept and found again.
    page
        The page to write.
    seed
        Decides the sentences, the new classifier's weights, the order of the examples and dropout.
    """
    from bertscope.report.build import MARK, build_report
    from bertscope.study.demo import plan

    check_file(page, MARK)
    check_writable(store / "steps")
    if seed < 0:
        raise UserError(f"seed is {seed}; it must be at least 0")
    started = time.perf_counter()
    shelf = Store(store)
    steps = plan(seed)
    made = [step for step in steps if not shelf.has(step)]
    say = announce()
    for step in steps:
        shelf.run(step, announce=say)
    if made or not page.exists():
        build_report(shelf, page, title="bertscope demo")
    print(f"done in {time.perf_counter() - started:.0f} s; open {page.resolve()}", file=sys.stderr)
