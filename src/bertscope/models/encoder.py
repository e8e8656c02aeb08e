"""A loaded model and its tokenizer, seen the same way whatever its family."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.folders import linked_folder, whole_folder
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.core.units import Mode, Unit
from bertscope.models.batches import WINDOW
from bertscope.models.config_notes import PARSER, notes_in, origin_in, origin_note
from bertscope.models.donors import Donors, donors
from bertscope.models.families import Family, descend, head_size_of
from bertscope.models.gates import Gates, Reference, open_gates
from bertscope.models.masked_words import right_pieces
from bertscope.models.means import Means, PlaceMeans, means, means_by_place
from bertscope.models.open_tokenizer import save_tokenizer, tokenizer_digest
from bertscope.models.outputs.kinds import model_output
from bertscope.models.outputs.masked_words import GuessedWords
from bertscope.models.outputs.sentence_vectors import WITHOUT_SCORES
from bertscope.models.predict import predict
from bertscope.models.quiet import quiet_library
from bertscope.models.sentence_modules import NAME as SENTENCE_MODULES
from bertscope.models.sentence_modules import SentenceModules, modules_of
from bertscope.models.source import KIND
from bertscope.models.surgery import cut

TaskHead = Literal[
    "none", "classifier", "masked-lm", "token-classifier", "span-qa", "multiple-choice", "parser", "discriminator"
]  # fmt: skip
_PASSING = ("_name_or_path", "architectures", "bertscope", "dtype", "torch_dtype", "transformers_version")
"""Of a config: where it came from and how it was last saved, and what the weights say as well."""

_ABOUT = ("name", "origin", "tuned_on", "shrunk", "cut")
"""Of our notes in it: what is told of the model, and isn't the model."""


@dataclass(frozen=True)
class Opened:
    """The files that a model was read from: as long as nothing was changed since, it is what these hold."""

    digest: str
    source: str
    made: str
    content: str
    """What it was in memory when it was open."""


@dataclass(eq=False)
class Encoder:
    """What is studied. Made by `load`; layers and heads are numbered from 1 in everything public."""

    model: Any
    """The transformers model itself, untouched."""
    tokenizer: Any
    name: str
    """What reports call it: `pocket`, a hub id, a folder's name."""
    family: Family
    task_head: TaskHead
    """What sits on top of the encoder."""
    opened: Opened | None = None
    """The files that it was read from."""
    base: ModelRecord | None = None
    """What it was fine-tuned from, as the user or its files say, where its maker didn't record it."""
    opening_notes: tuple[str, ...] = ()
    """What a reader should know of how it was opened: every result about it says so."""

    def __repr__(self) -> str:
        least, most = min(self.head_counts, default=0), self.n_heads
        heads = f"{most}" if least == most else f"{least} to {most}"
        size = sum(weights.numel() for weights in self.model.parameters())
        return (
            f"<Encoder {self.name}: {self.model.config.model_type}, {self.n_layers} layers of {heads} heads, "
            f"{self.hidden_size} hidden units, {size:,} parameters, task head: {self.task_head}, on {self.device}>"
        )

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        """Heads per layer; in a model that was cut, of the layer that has most."""
        return max(self.head_counts, default=0)

    @cached_property
    def head_counts(self) -> list[int]:
        """The number of heads of each layer: all equal, unless the model was cut."""
        return [self.parts(block)[1].in_features // self.head_size for block in self.layers]

    @cached_property
    def neuron_counts(self) -> list[int]:
        """The number of hidden units of each layer's MLP."""
        return [self.parts(block)[3].in_features for block in self.layers]

    @property
    def head_size(self) -> int:
        return head_size_of(self.model.config)

    @property
    def hidden_size(self) -> int:
        return self.model.config.hidden_size

    @property
    def max_length(self) -> int:
        """The longest input the model reads, in tokens."""
        config = self.model.config
        padding = config.pad_token_id if self.family.padding is None else self.family.padding
        shift = padding + 1 if self.family.shifted_positions else 0
        return min(config.max_position_embeddings - shift, self.tokenizer.model_max_length)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @cached_property
    def layers(self) -> list[nn.Module]:
        """The block of each layer; a block that serves several layers is there several times."""
        return self.family.blocks(self.model.base_model, self.model.config.num_hidden_layers)

    @property
    def shares_blocks(self) -> bool:
        """Whether a block serves several layers, so that a cut in one is a cut in all (ALBERT)."""
        return len(set(self.layers)) < self.n_layers

    def parts(self, block: nn.Module) -> tuple[Any, Any, Any, Any]:
        """A block's attention, its output projection, the MLP's entry and the MLP's last linear layer."""
        family = self.family
        attention, projection, mlp, mlp_out = (
            descend(block, path) for path in (family.attention, family.projection, family.mlp, family.mlp_out)
        )
        return attention, projection, mlp, mlp_out

    @property
    def id(self) -> str:
        """What it is: the digest of the files that it was read from; once anything in it was changed, or where it was
        made in memory, that of what is there now."""
        return self.record.id

    @property
    def record(self) -> ModelRecord:
        """What is known of it: what it is, and where it came from. All of it is hashed, about a third of a second for
        bert-base: nothing else sees every way in which a weight can be written to."""
        content = self.content_digest
        read = self.opened if self.opened and self.opened.content == content else None
        found = ModelRecord(content, self.name, self._origin, self.task_head, content=content)
        return replace(found, id=read.digest, source=read.source, made=read.made) if read else found

    @property
    def _origin(self) -> Origin | None:
        return origin_in(self.model.config) or (Origin(base=self.base) if self.base else None)

    @property
    def fingerprint(self) -> str:
        """The digest of the weights as they are in memory now."""
        whole = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            whole.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
            whole.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)  # no copy
        return whole.hexdigest()[:16]

    @property
    def tokenizer_digest(self) -> str:
        """What decides into which tokens a text is cut, and where a long one ends."""
        return tokenizer_digest(self.tokenizer, self.max_length)

    @property
    def content_digest(self) -> str:
        """What it is in memory now: its weights, its config and its tokenizer; neither a name nor where it came from
        is part of it."""
        config = {name: value for name, value in self.model.config.to_dict().items() if name not in _PASSING}
        notes = {name: value for name, value in notes_in(self.model.config).items() if name not in _ABOUT}
        whole = [type(self.model).__name__, self.fingerprint, config, notes, self.tokenizer_digest]
        whole += [self.sentence.settings] if self.sentence else []
        return digest_text(canonical_json(whole))

    def gates(
        self, off: str | Iterable[str | Unit] = (), *, mode: Mode = "zero", reference: Reference | None = None
    ) -> AbstractContextManager[Gates]:
        """Switch parts off for the length of a block: `with encoder.gates(off=["head:3.7", "mlp:5"]): ...`"""
        return open_gates(self, off, mode=mode, reference=reference)

    def predict(
        self,
        examples: Examples | Sequence[str],
        output: Output | None = None,
        *,
        tokens: int | None = None,
        window: int = WINDOW,
    ) -> Predictions:
        """The outputs of what is on top (classifier, regressor, spans, parser, tagger) for every example, in their
        order; or those of a task's `output`, where one model can give several kinds."""
        return predict(self, Examples.of(examples), output, tokens=tokens, window=window)

    def shaped(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Inputs [row, token] as the library's forward pass takes them: for choices, one candidate each."""
        if self.task_head != "multiple-choice":
            return inputs
        return {name: tensor[:, None] for name, tensor in inputs.items()}

    def means(self, examples: Examples, output: Output | None = None) -> Means:
        """Every head's and MLP's average over real tokens, for `mode="mean"`; with an `output`, of what it reads."""
        return means(self, examples, output)

    def means_by_place(self, examples: Examples, output: Output | None = None) -> PlaceMeans:
        """The same at each place of a text, for `mode="position"`; with a task's `output`, of what it is read as."""
        return means_by_place(self, examples, output)

    def donors(self, examples: Examples, output: Output | None = None, *, seed: int = 0) -> Donors:
        """Every head's and MLP's output on some of these examples, for `mode="resample"`; likewise."""
        return donors(self, examples, output, seed)

    def cut(self, off: str | Iterable[str | Unit]) -> Encoder:
        """A smaller copy without these parts: `encoder.cut(["head:3.7", "mlp:5", "neuron:2.1", "layer:12"])`."""
        return cut(self, off)

    @property
    def labels(self) -> tuple[str, ...]:
        """What a classifier's outputs, a tagger's tags, or a parser's relations are called, in order; empty for
        scores and spans."""
        config = self.model.config
        if self.task_head == "parser":
            return tuple(notes_in(config)[PARSER]["relations"])
        if self.task_head == "classifier" and config.num_labels == 1:
            return ()
        if self.task_head not in ("classifier", "token-classifier"):
            return ()
        return tuple(config.id2label[place] for place in range(config.num_labels))

    @property
    def sentence(self) -> SentenceModules | None:
        """How its maker makes a vector of a whole text (a sentence-transformers model); None where nobody said."""
        return modules_of(self.model)

    @property
    def tuned_on(self) -> str | None:
        """The fingerprint of the data that this package trained it on last, if it did."""
        data = ModelRecord("", self.name, self._origin, self.task_head).trained_on  # nothing has to be hashed for it
        return data.id if data else None

    def form_of(self, kind: str, *, pairs: bool) -> str:
        """As which kind of output this model answers a task of that kind: of two labels, one with a single output
        says how far it is the second; scores of pairs by its vectors, where nothing on top of it gives scores."""
        if kind == "classification" and self.task_head == "classifier" and self.model.config.num_labels == 1:
            return "one_logit"
        return "vectors" if kind == "regression" and pairs and self.task_head in WITHOUT_SCORES else kind

    def need(self, output: Output) -> None:
        """Refuse, with what to do, if this model doesn't give such outputs."""
        model_output(self, output)

    def notes_on(self, output: Output, examples: Examples) -> tuple[str, ...]:
        """What a reader must know of how this model reads examples that are scored."""
        return model_output(self, output).notes_on_scored(examples)

    def marked(self, output: Output, examples: Examples) -> Examples:
        """The examples with what only this model's tokenizer can say of the right answers: the pieces of words that
        are masked."""
        if output.kind != GuessedWords.kind:
            return examples
        return replace(examples, label=right_pieces(self.tokenizer, examples, self.max_length))

    def save(self, folder: str | Path, *, half: bool = False, within: Mapping[str, Path] | None = None) -> Path:
        """Write a plain Hugging Face folder, whole or not at all; an older model there is replaced. `half` writes
        weights in half precision; folders of ours come with it, by the names that they have `within` it."""
        folder = Path(folder)
        with whole_folder(folder, KIND) as scratch, quiet_library():
            for name, other in (within or {}).items():
                linked_folder(other, scratch / name)
            config = self.model.config
            config.bertscope = {"name": self.name} | notes_in(config)
            if self.base and origin_in(config) is None:
                config.bertscope |= origin_note(self.record.origin)  # a copy's files say no more where it came from
            model = copy.deepcopy(self.model).half() if half else self.model
            # Where only we can open it, weights have the names that the library's modules have, not an older file's.
            how: dict[str, Any] = {"save_original_format": not {"top", "shape"} & set(config.bertscope)}
            if self.sentence:
                self.sentence.write(scratch, self.hidden_size)
                beside = f"{SENTENCE_MODULES}."
                whole = model.state_dict().items()
                how["state_dict"] = {name: held for name, held in whole if not name.startswith(beside)}
            model.save_pretrained(scratch, **how)
            save_tokenizer(self.tokenizer, scratch)
        return folder
