"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

STORE = Path("bertscope-store")


@dataclass(frozen=True)
class DataOptions:
    """How the data is read."""

    text: str | None = None
    """The column with the text; guessed from its name otherwise."""
    text_pair: str | None = None
    """The column with the second text of a pair."""
    label: str | None = None
    """The column with the label or score."""
    kind: Literal["classification", "regression"] | None = None
    """What the labels are; guessed from them otherwise."""
    limit: int | None = None
    """Use at most this many rows of each split."""
    data_seed: int = 0
    """Decides how one file is split, which rows a limit keeps, and what a demo language says."""

    def given(self) -> dict[str, Any]:
        """The options as `task_root` takes them."""
        return {
            "text": self.text,
            "text_pair": self.text_pair,
            "label": self.label,
            "kind": self.kind,
            "limit": self.limit,
            "seed": self.data_seed,
        }


@dataclass(frozen=True)
class RunOptions:
    """Where results go."""

    store: Path = STORE
    """The folder where results are kept and found again."""
    out: Path | None = None
    """Also write the result here (finetune: the model, as a plain Hugging Face folder)."""
    resume: bool = True
    """Go on from the last epoch of a training that was killed; --no-resume starts it over."""
    json: bool = False
    """Print the headline numbers as JSON."""
