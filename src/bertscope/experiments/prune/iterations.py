"""The steps of a loop that takes long, on disk after each one: a run that was killed goes on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text, explained, write_text


class Iterations:
    """What happened so far, a row a step. A loop asks `take` for the row of the step it is about to make, and makes
    it only if there is none."""

    def __init__(self, folder: Path | None, recipe: Any) -> None:
        self.rows: list[dict[str, Any]] = []
        self._path = folder / "iterations.json" if folder else None
        self._recipe = digest_text(canonical_json(recipe))
        self._earlier: list[dict[str, Any]] = []
        if self._path and self._path.exists():
            try:
                said = json.loads(self._path.read_text(encoding="utf-8"))
                self._earlier = said["rows"] if said["recipe"] == self._recipe else []
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{self._path} is damaged ({error}); delete it and run again") from error

    def upcoming(self, size: int) -> np.ndarray | None:
        """The mask of that size which is the next step of an earlier run, where its name is the mask itself."""
        if not self._earlier:
            return None
        packed = np.frombuffer(bytes.fromhex(self._earlier[0]["step"]), np.uint8)
        return np.unpackbits(packed, count=size).astype(bool)

    def take(self, step: str) -> dict[str, Any] | None:
        """The next row of an earlier run, if it is about this step; from where the runs part, none is taken."""
        if self._earlier and self._earlier[0]["step"] == step:
            self.rows.append(self._earlier.pop(0))
            return self.rows[-1]
        self._earlier = []
        return None

    def add(self, step: str, row: dict[str, Any]) -> dict[str, Any]:
        self.rows.append(row | {"step": step})
        if self._path:
            with explained(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._path, json.dumps({"recipe": self._recipe, "rows": self.rows}))
        return self.rows[-1]
