"""`project`: one text as several encoders see it, every token's vector in every layer, laid into a plane so that the
picture moves no more than it must."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertscope.analyses.project.question import ProjectConfig, text_row
from bertscope.analyses.project.result import Projected, Sentence, project_result
from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Seen, observe
from bertscope.models.words import encode

SPECIAL, TEXT, FIRST, SECOND, ANSWER = "special token", "text", "first text", "second text", "answer"
_NEIGHBOURS = 15  # UMAP's own default


def measure(models: Sequence[Encoder], examples: Examples, config: ProjectConfig) -> Result:
    checkpoints = side_by_side(models)
    row = text_row(examples, config.example)
    sentence = read_sentence(list(checkpoints.values()), examples, row)
    pictures = dict(zip(checkpoints, _pictures(sentence, config), strict=True))
    about = subject(list(checkpoints), examples, weighted=False) | {"text": examples.ids[row]}
    return project_result(sentence, pictures, config, about, [*examples.notes])


def _pictures(sentence: Sentence, config: ProjectConfig) -> list[Projected]:
    """Each checkpoint's picture; later ones are turned onto the first."""
    if config.method == "umap":
        return [by_umap(states, config.seed) for states in sentence.states]
    lay = layer_by_layer if config.method == "pca" else jointly
    pictures: list[Projected] = []
    for states in sentence.states:
        pictures.append(lay(states, pictures[0].points[0] if pictures else None))
    return pictures


def read_sentence(encoders: Sequence[Encoder], examples: Examples, row: int) -> Sentence:
    """Read one text. It is given to the tokenizer whole, whatever words its source marks: so its pieces have places
    in it, and an answer's are known."""
    one = replace(examples.take([row]), words=None, first_words=None, marks={}, governors=None, links=None)
    reader = _Reader()
    try:
        observe(encoders, one, [reader], long="left_out")
    except UserError as error:
        if "longer than" not in str(error):
            raise
        raise UserError(f"the text {one.ids[0]!r} is longer than the model reads; choose a shorter one") from error
    tokens, kinds = _tokens(encoders[0], one)
    return Sentence(tokens, kinds, reader.states)


class _Reader:
    needs = frozenset({"hidden_states"})

    def __init__(self) -> None:
        self.states: list[np.ndarray] = []

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        """A batch of one text has no padding."""
        self.states = [np.stack([layer[0].float().cpu().numpy() for layer in one.hidden_states]) for one in seen]


def _tokens(encoder: Encoder, one: Examples) -> tuple[list[str], list[str]]:
    """Each token as the text has it, and what it is."""
    coded = encode(encoder.tokenizer, one).encodings[0]
    texts = (one.text[0], one.pair[0] if one.pair else "")
    answers = one.answers[0] if one.answers else ()
    tokens, kinds = [], []
    for token, which, (start, end) in zip(coded.tokens, coded.sequence_ids, coded.offsets, strict=True):
        if which is None:
            tokens.append(token)
            kinds.append(SPECIAL)
            continue
        tokens.append(texts[which][start:end].strip() or token)
        answered = which == 1 and any(start < to and end > at for at, to in answers)
        kinds.append(ANSWER if answered else (FIRST, SECOND)[which] if one.pair else TEXT)
    return tokens, kinds


def pca(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components of vectors [n, dim]: their axes [2, dim] and their shares of the variance.

    An axis points to where its farthest vector is.
    """
    centred = vectors - vectors.mean(0)
    _, strength, axes = np.linalg.svd(centred, full_matrices=False)
    axes, shares = axes[:2], strength[:2] ** 2 / max((strength**2).sum(), np.finfo(float).tiny)
    along = centred @ axes.T
    farthest = along[np.abs(along).argmax(0), np.arange(len(axes))]
    return axes * np.where(farthest < 0, -1, 1)[:, None], shares


def turn(points: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """The turn about the origin [2, 2], mirrored or not, after which points [n, 2] lie nearest to others
    (Procrustes)."""
    left, _, right = np.linalg.svd(points.T @ onto)
    return left @ right


def layer_by_layer(states: np.ndarray, like: np.ndarray | None = None) -> Projected:
    """PCA of each layer of states [layer, token, dim] by itself.

    Every layer's plane is made as large as the others (root mean square distance from the middle 1), and turned onto
    the layer below; the first onto `like` [token, 2], if that is given. So a component's share is of an axis as PCA
    finds it, before the turn.
    """
    points, explained, below = [], [], like
    for layer in states.astype(np.float64):
        axes, shares = pca(layer)
        found = (layer - layer.mean(0)) @ axes.T
        found = np.pad(found, [(0, 0), (0, 2 - len(axes))])  # a single vector has one axis
        size = np.sqrt((found**2).sum(1).mean())
        found /= size if size > 0 else 1.0
        below = found if below is None else found @ turn(found, below)
        points.append(below)
        explained.append(np.pad(shares, (0, 2 - len(shares))))
    return Projected(np.stack(points), np.stack(explained))


def jointly(states: np.ndarray, like: np.ndarray | None = None) -> Projected:
    """PCA of the tokens of all layers together: one plane, in which tokens also move with the middle of a layer.

    The shares are those of each layer's own variance that lies in the plane.
    """
    states = states.astype(np.float64)
    every = states.reshape(-1, states.shape[-1])
    axes, _ = pca(every)
    points = (states - every.mean(0)) @ axes.T
    inside = ((points - points.mean(1, keepdims=True)) ** 2).sum(1)
    whole = ((states - states.mean(1, keepdims=True)) ** 2).sum((1, 2))
    explained = np.divide(inside, whole[:, None], out=np.zeros_like(inside), where=whole[:, None] > 0)
    if like is not None:
        points = points @ turn(points[0], like)
    return Projected(points, explained)


def by_umap(states: np.ndarray, seed: int) -> Projected:
    """UMAP of the tokens of all layers together; distances in it mean little, neighbours more."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise UserError("UMAP isn't installed; pip install umap-learn, or choose --method pca") from error
    every = states.reshape(-1, states.shape[-1])
    found = UMAP(n_neighbors=min(_NEIGHBOURS, len(every) - 1), random_state=seed).fit_transform(every)
    return Projected(np.asarray(found, dtype=np.float64).reshape(*states.shape[:2], 2), None)
