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


def test_a_table_too_wide_is_printed_in_lots_and_each_says_whose_its_rows_are(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    many = {f"number_{at}": [at / 100, at / 10] for at in range(9)}
    table = pd.DataFrame({"layer": [1, 1], "head": [1, 2], "text": ["two\nlines", "one"], **many})
    print_table(Result("patterns", 1, {"heads": table}), "heads")
    printed = capsys.readouterr().out
    assert "…" not in printed and max(map(len, printed.splitlines())) <= 60
    lots = [lot.splitlines()[-3:] for lot in printed.strip().split("\n\n")]
    assert len(lots) > 1 and "two lines" in lots[0][1]
    for header, *lines in lots:
        assert header.split()[:2] == ["layer", "head"]
        assert [line.split()[:2] for line in lines] == [["1", "1"], ["1", "2"]]
    assert [name for header, *_ in lots for name in header.split()[2:]] == ["text", *many]
