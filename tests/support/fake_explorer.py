"""An explorer without a model, for what is about the server alone: its answers say what was asked, and its texts say
how it behaves (`slow`, `mistake`, `bug`, `end`)."""

from __future__ import annotations

import threading

import numpy as np

from bertscope.core.attention_maps import AttentionMaps
from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord
from bertscope.live.messages import (
    About,
    AskHead,
    AskRows,
    Card,
    Checkpoint,
    Compare,
    Compared,
    Explain,
    Explained,
    Explanation,
    Fact,
    Limits,
    Look,
    LookAt,
    Moved,
    Patch,
    Patched,
    PatchedPart,
    Prediction,
    Reading,
    Row,
    Rows,
    Seen,
    Share,
    Token,
    Word,
)  # fmt: skip

SECRET = "the inside of the server"
"""What no client may ever read: it is in the traceback of `bug`."""


class FakeExplorer:
    """Counts calls, and how many of them there are at a time; `go` lets those on that are `slow`."""

    def __init__(self) -> None:
        self.go, self.entered = threading.Event(), threading.Event()
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self._within = threading.Lock()

    def about(self) -> About:
        one = Checkpoint("fake", "0" * 64, [2, 2], "classes", ["no", "yes"], [])
        return About(
            version="0", checkpoints=[one], pair=False, called=["Sentence", "Second text"], choices=False,
            modes=["zero", "uniform"], graft="it is one", data="", rows=2, example=Reading("a text"),
            colourings=[], presets=[], patterns=[], palettes={},
            limits=Limits(letters=2000, tokens=64, parts=100, compared=10),
        )  # fmt: skip

    def _asked(self, kind: str, text: str = "") -> None:
        assert self._within.acquire(blocking=False), "two calls of the model at once"
        try:
            self.calls.append(f"{kind} {text}".strip())
            self.threads.add(threading.current_thread().name)
            self.entered.set()
            if text.startswith("slow"):
                assert self.go.wait(30)
            if text == "mistake":
                raise UserError("this text\nis a mistake; give another")
            if text == "bug":
                raise RuntimeError(SECRET)
            if text == "end":
                raise SystemExit(SECRET)
        finally:
            self._within.release()

    def rows(self, ask: AskRows) -> Rows:
        self._asked("rows", ask.search)
        return Rows([Row("1", Reading("a"), "yes", ["no"], [0.75], False)], found=1)

    def look(self, ask: LookAt) -> Look:
        self._asked("look", ask.reading.text)
        off = [part for change in ask.changes for part in change.off]
        token = Token(ask.reading.text, 0, 0, len(ask.reading.text))
        return Look([Seen([token], said("before"), said(" ".join(off)), None)], [], 0.1)

    def explain(self, ask: Explain) -> Explained:
        self._asked("explain", ask.reading.text)
        return Explained([Explanation("yes", 1.0, 0.0, [Word(0, 0, 1, 0.5)]), None])

    def compare(self, ask: Compare) -> Compared:
        self._asked("compare")
        return Compared([[Moved(said("a"), said("b"), 0.5), None] for _ in ask.readings])

    def patch(self, ask: Patch) -> Patched:
        self._asked("patch", ask.reading.text)
        return Patched(1.0, -1.0, ["yes", "no"], [[], []], [PatchedPart("head:1.1", 0.5)])

    def head(self, ask: AskHead) -> Card:
        self._asked("head")
        if not 1 <= ask.layer <= 2:
            raise UserError(f"there is no layer {ask.layer}")
        return Card(f"layer {ask.layer}, head {ask.head}", [Fact("effect", "0.1")])

    def python(self, ask: LookAt) -> str:
        self._asked("python", ask.reading.text)
        return f"bertscope.load({ask.reading.text!r})"

    def maps(self, ask: LookAt) -> AttentionMaps:
        self._asked("maps", ask.reading.text)
        maps = [np.full((2, 3, 3), 1 / 3, dtype=np.float32)] * 2
        return AttentionMaps(
            ask.reading.text,
            ask.reading.pair,
            ["[CLS]", "a", "[SEP]"],
            [-1, 0, -1],
            {"id": ModelRecord("id", "fake")},
            {"id": maps},
        )


def said(words: str) -> Prediction:
    return Prediction("classes", words, 0.75, [Share("yes", 0.75, 1.0)])
