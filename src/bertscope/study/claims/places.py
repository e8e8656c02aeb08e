"""Which models the rows of the ledger are about: trainings that differ by their seed alone are one kind of model, and
what was written over another in the same folder has taken its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bertscope.core.model_record import ModelRecord
from bertscope.core.words import ModelNames


class Places:
    """The models that evidence is about, of each claim in turn."""

    def __init__(self, by_claim: Iterable[Sequence[ModelRecord]]) -> None:
        claims = [list(models) for models in by_claim]
        models = [model for mine in claims for model in mine]
        self.names = ModelNames(models)
        self._bearing = Counter(id for mine in claims for id in {model.id for model in mine})
        self._made = made = dict[str, str]()  # a copy is younger than what it is a copy of
        for model in models:
            made[model.id] = min(filter(None, (made.get(model.id), model.made)), default="")
        newest: dict[str, ModelRecord] = {}
        for model in models:
            if model.source and made[model.id] >= made[newest.setdefault(model.source, model).id]:
                newest[model.source] = model
        last = {model.id for model in newest.values()}
        self._heirs = {
            model.id: newest[model.source] for model in models if model.source and model.id not in last
        }  # fmt: skip
        # A model that was found in two places is one model.
        self._places: dict[str, str] = {}
        for model in models:
            self._places.setdefault(model.id, self._heirs.get(model.id, model).place)

    def of(self, model: ModelRecord) -> str:
        """By which models are put together."""
        return self._places[model.id]

    def is_replaced(self, model: ModelRecord) -> bool:
        """Whether another was written over it, wherever it was found."""
        return model.id in self._heirs

    def standing(self, model: ModelRecord) -> tuple[int, str]:
        """By which one of several is spoken of: of how many claims something is known of it, so that the ledger
        speaks of one model where it can; then the newest."""
        return self._bearing[model.id], self._made[model.id]
