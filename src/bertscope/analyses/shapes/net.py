"""The classifiers of maps: a small net over closed-form features, and the paper's network over the picture.

Both give [row, head, class] probabilities for a layer's maps. Their weights ship with the package; `learn` makes
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.features import NAMES, features

if TYPE_CHECKING:
    from bertscope.analyses.shapes.labelled import LabelledMaps

Method = Literal["features", "cnn"]
_SHIPPED = Path(__file__).parent


class Classifier(Protocol):
    def __call__(self, maps: LayerMaps) -> Tensor:
        """[row, head, class]: how probable each class is."""


class FeatureNet(nn.Module):
    """Closed-form features, standardised, through one hidden layer."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(len(NAMES)))
        self.register_buffer("deviation", torch.ones(len(NAMES)))
        self.layers = nn.Sequential(
            nn.Linear(len(NAMES), width), nn.GELU(), nn.Dropout(0.2), nn.Linear(width, len(CLASSES))
        )

    def prepare(self, labelled: LabelledMaps) -> None:
        """Take the features' means and deviations from the maps that it will be trained on."""
        found = torch.cat([features(layer)[:, 0] for _, layer in labelled.batches(2**20)])
        self.mean, self.deviation = found.mean(0).to(self.mean), found.std(0).clamp_min(1e-3).to(self.mean)

    def logits(self, maps: LayerMaps) -> Tensor:
        return self.layers((features(maps) - self.mean) / self.deviation)

    def forward(self, maps: LayerMaps) -> Tensor:
        return self.logits(maps).softmax(-1)


class PictureNet(nn.Module):
    """The paper's eight convolutions over the map itself, padded so that they also fit a map of 8 tokens.

    A cell of a map of n tokens is about 1/n, so that cells are given times n, as logarithms; a second channel says
    which cells are real. Averages are over real cells only: padding doesn't show.
    """

    def __init__(self) -> None:
        super().__init__()
        stages = ((2, 16, 16), (16, 32, 32), (32, 64, 64))
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=1) for one, two, three in stages for a, b in ((one, two), (two, three))
        )
        self.narrow = nn.Conv2d(64, 16, 1)
        self.last = nn.Linear(16, len(CLASSES))

    def prepare(self, labelled: LabelledMaps) -> None:
        """Nothing to take from the maps."""

    def logits(self, maps: LayerMaps) -> Tensor:
        rows, heads = maps.maps.shape[:2]
        real = maps.view.real.to(maps.maps.dtype)
        cells = (real[:, :, None] * real[:, None])[:, None].expand_as(maps.maps)
        scaled = (maps.maps * maps.view.lengths[:, None, None, None]).log1p()
        x = torch.stack([scaled * cells, cells], dim=2).flatten(0, 1)
        real_cells = x[:, 1:]
        for place, convolution in enumerate(self.convolutions):
            x = convolution(x).relu() * real_cells
            if place in (1, 3):
                x, real_cells = (nn.functional.max_pool2d(one, 2, ceil_mode=True) for one in (x, real_cells))
        x = self.narrow(x) * real_cells
        return self.last(x.sum((2, 3)) / real_cells.sum((2, 3))).unflatten(0, (rows, heads))

    def forward(self, maps: LayerMaps) -> Tensor:
        return self.logits(maps).softmax(-1)


NETS: dict[Method, Any] = {"features": FeatureNet, "cnn": PictureNet}


def shipped(method: Method, device: torch.device | str = "cpu") -> nn.Module:
    """The trained classifier that comes with the package."""
    return read_net(_SHIPPED / f"{method}.safetensors", method).to(device)


def read_net(path: Path, method: Method) -> nn.Module:
    net = NETS[method]()
    with safe_open(path, "pt") as stored:
        net.load_state_dict({name: stored.get_tensor(name) for name in stored.keys()})  # noqa: SIM118 (not a dict)
    return net.eval()


def write_net(net: nn.Module, path: Path, facts: Mapping[str, Any]) -> None:
    """Write the weights, and beside them (in the same file) what is known of how good they are."""
    save_file(net.state_dict(), path, metadata={"facts": json.dumps(facts)})


def facts(method: Method) -> dict[str, Any]:
    """What was measured of the shipped classifier when it was made."""
    with safe_open(_SHIPPED / f"{method}.safetensors", "np") as stored:
        return json.loads(stored.metadata()["facts"])
