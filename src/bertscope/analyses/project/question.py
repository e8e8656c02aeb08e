"""`project`: the path of a sentence's tokens through the layers, in two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODELS, Question

if TYPE_CHECKING:
    from bertscope.core.examples import Examples


@dataclass(frozen=True)
class ProjectConfig:
    """Which text, and how it is laid into a plane."""

    example: str = "1"
    """The text: its id, or its number in the data, counted from 1."""
    method: Literal["pca", "joint", "umap"] = "pca"
    """pca: each layer by itself, turned to match the layer below; joint: one plane for the tokens of all layers;
    umap: the same by UMAP, if it is installed."""
    seed: int = 0
    """Seed of UMAP; PCA has nothing random in it."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0)


def check(examples: Examples, config: ProjectConfig) -> None:
    """Refuse a text that isn't there."""
    text_row(examples, config.example)


def text_row(examples: Examples, example: str) -> int:
    """The place of the text of that id, or else of that number."""
    if example in examples.ids:
        return examples.ids.index(example)
    if example.isdecimal() and 1 <= int(example) <= len(examples):
        return int(example) - 1
    raise UserError(
        f"there is no text {example!r}; give its number, 1 to {len(examples):,}, or an id such as {examples.ids[0]!r}"
    )


project = Question(
    __name__,
    """The vectors of all tokens of one text, special ones included, in two dimensions, one layer at a time, with
    the share of the variance that the plane holds. The two texts of a pair, and a question's answers, each have
    their colour. Several checkpoints stand side by side.""",
    config=ProjectConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    version=1,
    main="explained_variance",
    cite="van Aken et al. 2020, VisBERT: Hidden-State Visualizations for Transformers",
    check=check,
    numbers={
        "explained_variance": "explained variance",
        "least_explained": "least explained, layer {layer}",
        "tokens": "tokens",
    },
    words={
        "kind": {
            "special": "special token",
            "text": "text",
            "first_text": "first text",
            "second_text": "second text",
            "answer": "answer",
        }
    },
)
