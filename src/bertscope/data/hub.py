"""Tasks from the Hugging Face hub, through `datasets`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import Columns
from bertscope.data.known import Known
from bertscope.data.squad import spans, to_examples
from bertscope.data.table import Table
from bertscope.data.tasks import Declared, Hub, SplitName


@dataclass(frozen=True)
class OnHub(Known):
    """A task as the hub has it."""

    hub: Hub

    @property
    def source(self) -> str:
        return self.task.name

    @property
    def there(self) -> tuple[SplitName, ...]:
        return tuple(split for split in ("train", "dev", "test") if self.hub.split(split))

    @property
    def columns(self) -> Columns:
        return self.hub.columns

    def identity(self) -> str:
        """What the hub has of the task now, or had when it was downloaded. Loads neither `datasets` nor pandas."""
        try:
            return f"{self.task.name}-{self.hub.version}@{revision_of(self.hub.id)}"
        except Exception as error:  # whatever the network can do
            raise self._unreachable(error) from error

    def tables(self, split: SplitName, bad: BadRows) -> list[Table]:
        rows = self._load(split)
        path = Path(f"{self.hub.id}:{split}")
        lines = range(1, len(rows) + 1)
        return [Table(path, tuple(rows.column_names), lines, lambda name: rows[name][:], split, "row")]

    def answers(self, split: SplitName, bad: BadRows) -> Examples:
        found = []
        for row in self._load(split):
            answers, context = row["answers"], row["context"]
            starts = [
                {"answer_start": start, "text": text}
                for start, text in zip(answers["answer_start"], answers["text"], strict=True)
            ]
            try:
                found.append((str(row["id"]), row["question"].strip(), context, spans(context, starts)))
            except ValueError as error:
                bad.refuse("broken question", f"{self.task.name}, question {row['id']}: {error}")
        return to_examples(self.task.name, found)

    def called(self, split: SplitName) -> str:
        return f"the hub's {self.hub.split(split)}"

    def _load(self, split: SplitName) -> Any:
        self.identity()  # where the hub can't be reached, `datasets` would go on trying for a long time
        try:
            return loaded(self.hub.id, self.hub.config, self.hub.split(split))
        except Exception as error:  # whatever the network, the hub or the library can do
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> UserError:
        return UserError(
            f"{self.task.name} can't be had from the hub ({type(error).__name__}): is there a network? "
            "If you have its files, say with --root which folder holds them"
        )


def revision_of(id: str, named: str | None = None) -> str:
    """Which revision of a data set the hub has, or had when it was downloaded; `named` is what it calls one."""
    from huggingface_hub import HfApi, constants

    try:
        return str(HfApi().dataset_info(id, revision=named, timeout=10).sha)
    except Exception:  # whatever the network can do
        kept = Path(constants.HF_HUB_CACHE) / f"datasets--{id.replace('/', '--')}" / "refs" / (named or "main")
        if not kept.is_file():
            raise
        return kept.read_text(encoding="utf-8").strip()


def loaded(
    id: str, config: str | None, split: str | None = None, *, revision: str | None = None, streaming: bool = False
) -> Any:
    """A data set, or one of its splits, downloaded to the library's own cache, or as a stream that keeps nothing."""
    from datasets import load_dataset

    how: dict[str, Any] = {"revision": revision, "streaming": True} if streaming else {}
    return load_dataset(id, config, split=split, **how)


def on_hub(task: Declared) -> OnHub:
    if task.hub is None:
        raise UserError(f"{task.name} isn't on the hub; say with --root which folder holds it")
    return OnHub(task, task.hub)
