"""The form of a classifier: the family's own, or a changed one.

A changed form is written inside the model's config, as cuts are; `load` builds it again before it reads the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from bertscope.models.config_notes import notes_in
from bertscope.models.families import Family, descend

Classifier = Literal["linear", "relu"]
BETWEEN = 50
"""Hidden units of the classifier with a ReLU."""


@dataclass(frozen=True)
class ClassifierForm:
    classifier: Classifier = "linear"
    """linear: the family's own last linear layer; relu: two, with 50 hidden units and a ReLU between them."""
    pooler: bool = True
    """Whether what the family has between the encoder and the last linear layer (BERT's pooler, RoBERTa's dense
    layer) stays; otherwise the last one reads the first token's last state, or what else the family pools."""

    @classmethod
    def of(cls, config: Any) -> ClassifierForm:
        """What a model's config says of it."""
        return cls(**notes_in(config).get("top", {}))

    def write_down(self, config: Any) -> None:
        """Say in the model's config what is unlike the family's own."""
        others = {name: value for name, value in notes_in(config).items() if name != "top"}
        changed = {} if self == ClassifierForm() else {"top": {"classifier": self.classifier, "pooler": self.pooler}}
        config.bertscope = others | changed

    def put_on(self, model: Any, family: Family) -> None:
        """Give a newly built classifier this form; new weights are drawn as the family draws its own."""
        if self.classifier == "relu":
            parent, name = _parent(model, family.last_linear)
            setattr(parent, name, _two_linear(getattr(parent, name), model.config))
        if not self.pooler:
            _take_pooler_off(model, family)


class FirstToken(nn.Module):
    """In a pooler's place: the first token's state as it is."""

    def forward(self, states: Tensor) -> Tensor:
        return states[:, 0]


class FirstTokenClassifier(nn.Module):
    """In the place of a task head with a dense layer before the last linear one: the last one alone."""

    def __init__(self, task_head: Any) -> None:
        super().__init__()
        self.dropout, self.out_proj = task_head.dropout, task_head.out_proj

    def forward(self, features: Tensor, **kwargs: Any) -> Tensor:
        return self.out_proj(self.dropout(features[:, 0]))


def set_dropout(config: Any, family: Family, dropout: float) -> None:
    """Set the dropout before the last linear layer, under the name that the family's config has for it."""
    setattr(config, family.need_dropout(config.model_type), dropout)


def _two_linear(last: nn.Linear, config: Any) -> nn.Sequential:
    spread = getattr(config, "initializer_range", 0.02)
    first, second = nn.Linear(last.in_features, BETWEEN), nn.Linear(BETWEEN, last.out_features)
    for linear in (first, second):
        nn.init.normal_(linear.weight, std=spread)
        nn.init.zeros_(linear.bias)
    return nn.Sequential(first, nn.ReLU(), second)


def _take_pooler_off(model: Any, family: Family) -> None:
    family.need_pooler(model.config.model_type)
    for path, kind in family.pooler:
        parent, name = _parent(model, path)
        if kind == "first_token":
            setattr(parent, name, FirstToken())
        elif kind == "nothing":
            setattr(parent, name, nn.Identity())
        else:
            setattr(parent, name, FirstTokenClassifier(getattr(parent, name)))


def _parent(model: Any, path: str) -> tuple[Any, str]:
    above, _, name = path.rpartition(".")
    return (descend(model, above) if above else model), name
