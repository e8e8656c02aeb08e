"""`python -m benchmarks.peers [names...]`: every peer's job, and docs/benchmarks.md of what was found."""

from __future__ import annotations

import argparse
import os
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.core.threads import allowed_threads, be_considerate

if TYPE_CHECKING:
    from benchmarks.peers.jobs import Compared

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
_ABOVE = """# Beside other libraries

The same job done by another library and by bertscope, taking turns within one run; of a few rounds the fastest
counts. `make bench-peers` measures everything anew in an environment of its own (`.venv-peers`) and writes this page.
Sizes are small, so that all of it takes minutes; [the benchmarks](../benchmarks/README.md) have larger ones, and some
on a GPU, with Trainer and a plain loop beside ours. Ratios within a run can be compared, times of two runs can't.

"""


def main() -> None:
    be_considerate()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("names", nargs="*", help="of peers; by default all, and the page is written")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that everything runs; no page")
    asked = parser.parse_args()
    from benchmarks.options import Options
    from benchmarks.peers.jobs import PEERS
    from benchmarks.side_by_side import machine

    started, rows, beyond = time.perf_counter(), [], []
    for peer in PEERS:
        if asked.names and peer.name not in asked.names:
            continue
        try:
            found = f"{peer.name} {version(peer.package)}"
            rows.append(_row(found, peer.work(Options(quick=asked.quick))))
        except PackageNotFoundError:
            rows.append(f"| {peer.name} | isn't installed | | | | |")
        except Exception as error:  # that it can't be run with today's libraries is a finding
            traceback.print_exc()
            first = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            rows.append(f"| {found} | doesn't run here: {first} | | | | |")
        beyond.append(f"- **{peer.name}**: {peer.beyond}.")
        print(rows[-1], flush=True)
    facts = machine("cpu")
    told = f"{facts['cpu']}, {facts['threads']} threads, torch {facts['torch']}, transformers {facts['transformers']}"
    load = os.getloadavg()[0]
    busy = " Others were busy there, too: ratios are rough." if load > allowed_threads() + 1 else ""
    lines = [
        "| library | job | the library | bertscope | bertscope is | |", "|---|---|---|---|---|---|", *rows, "",
        f"{told}; {time.perf_counter() - started:.0f} s in all; a load of {load:.1f} at the end.{busy}", "",
        "What they do that bertscope doesn't:", "", *beyond,
    ]  # fmt: skip
    if not asked.names and not asked.quick:
        PAGE.write_text(_ABOVE + "\n".join(lines) + "\n", encoding="utf-8")


def _row(library: str, found: Compared) -> str:
    faster = found.theirs / found.ours
    word = {"s": ("times as fast", "times as slow"), "MB": ("times as small", "times as large")}[found.unit]
    said = f"{faster:.2f} {word[0]}" if faster >= 1 else f"{1 / faster:.2f} {word[1]}"
    times = " | ".join(f"{value:.3g} {found.unit}" for value in (found.theirs, found.ours))
    return f"| {library} | {found.job} | {times} | {said} | {found.agreement} |"


if __name__ == "__main__":
    main()
