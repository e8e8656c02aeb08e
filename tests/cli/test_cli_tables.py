"""Tables beside an answer's numbers: where a terminal is narrow, long texts give way and nothing else does."""

from __future__ import annotations

import pandas as pd
import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine
from bertscope.cli.answer import print_table
from bertscope.core.result import Result

MISTAKES = pd.DataFrame(
    {
        "row": ["reviews:4", "reviews:1024"],
        "text": ["the wine was cold, [bold]but the waiter was far from rude", "the soup was \x1b[31mcold"],
        "gold": ["positive", "negative"],
        "predicted": ["negative", "positive"],
        "p": [0.981, 0.97],
    }
)


@pytest.mark.parametrize("room", [60, 80, 200])
def test_only_long_texts_are_cut(room, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(room))
    print_table(Result("errors", 1, {"confident_mistakes": MISTAKES}), "confident_mistakes")
    _, _, header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == list(MISTAKES)
    assert len(lines) == 2 and max(map(len, lines)) <= room
    for line, (_, row) in zip(lines, MISTAKES.iterrows(), strict=True):
        assert line.split()[0] == row["row"]
        assert line.split()[-3:] == [row["gold"], row["predicted"], f"{row['p']:.3f}"]
        assert "\x1b" not in line
    assert ("…" in lines[0]) == (room < 100) and lines[0].split(maxsplit=1)[1].startswith("the wine")
