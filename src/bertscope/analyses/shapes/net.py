"""The classifiers of maps: small nets over closed-form features, one for each labeller and one for both.

Their weights ship with the package, and beside them what was measured of them; `learn` makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertscope.analyses.shapes import CLASSES, LABELS, Labels
from bertscope.analyses.shapes.features import NAMES

_SHIPPED = Path(__file__).parent / "classifiers.safetensors"
_FAR = 4.0  # deviations: a feature further from the mean counts as that far
MEMBERS, WIDTH = 16, 16


class FeatureNet(nn.Module):
    """The mean of some small nets over the features, standardised. One more input says in whose sense the classes are
    meant: 0 is that of the first set of labelled maps, which is what is asked for everywhere but in training."""

    def __init__(self) -> None:
        super().__init__()
        inputs = len(NAMES) + 1
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("deviation", torch.ones(inputs))
        self.hidden = nn.Parameter(torch.randn(MEMBERS, inputs, WIDTH) * inputs**-0.5)
        self.hidden_bias = nn.Parameter(torch.zeros(MEMBERS, 1, WIDTH))
        self.last = nn.Parameter(torch.randn(MEMBERS, WIDTH, len(CLASSES)) * WIDTH**-0.5)
        self.last_bias = nn.Parameter(torch.zeros(MEMBERS, 1, len(CLASSES)))

    def standardised(self, inputs: Tensor) -> Tensor:
        return ((inputs - self.mean) / self.deviation).clamp(-_FAR, _FAR)

    def logits(self, standardised: Tensor, dropout: float = 0.0) -> Tensor:
        """[member, map, class] of inputs [map, input], or of each member's own [member, map, input]."""
        hidden = nn.functional.gelu(standardised @ self.hidden + self.hidden_bias)
        return nn.functional.dropout(hidden, dropout) @ self.last + self.last_bias

    def forward(self, features: Tensor, meant: float = 0.0) -> Tensor:
        """[..., class]: how probable each class is, of features [..., feature]."""
        flat = features.flatten(0, -2)
        inputs = torch.cat([flat, flat.new_full((len(flat), 1), meant)], 1)
        return self.logits(self.standardised(inputs)).softmax(-1).mean(0).view(*features.shape[:-1], len(CLASSES))


def shipped(device: torch.device | str = "cpu") -> dict[Labels, FeatureNet]:
    """The trained classifiers that come with the package, by whose labels they were trained on."""
    return {labels: net.to(device) for labels, net in read_nets(_SHIPPED).items()}


def read_nets(path: Path) -> dict[Labels, FeatureNet]:
    nets: dict[Labels, FeatureNet] = {labels: FeatureNet() for labels in LABELS}
    with safe_open(path, "pt") as stored:
        for labels, net in nets.items():
            net.load_state_dict({name: stored.get_tensor(f"{labels}.{name}") for name in net.state_dict()})
    return {labels: net.eval() for labels, net in nets.items()}


def write_nets(nets: Mapping[Labels, FeatureNet], path: Path, facts: Mapping[str, Any]) -> None:
    """Write the weights, and beside them (in the same file) what is known of how good they are."""
    weights = {
        f"{labels}.{name}": tensor for labels, net in nets.items() for name, tensor in net.state_dict().items()
    }
    save_file(weights, path, metadata={"facts": json.dumps(facts)})


def facts() -> dict[str, Any]:
    """What was measured of the shipped classifiers when they were made."""
    with safe_open(_SHIPPED, "np") as stored:
        return json.loads(stored.metadata()["facts"])
