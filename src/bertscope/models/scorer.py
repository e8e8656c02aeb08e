"""Whatever answers: a model in torch, or an ONNX file of one.

Of a file only that is asked: what it says of examples. What is inside of it nobody sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.models.encoder import Encoder
from bertscope.models.export import OnnxModel, need_onnxruntime
from bertscope.models.load import described, open_model
from bertscope.models.onnx_file import beside, found, is_onnx, onnx_record
from bertscope.models.outputs.kinds import model_output


class OnnxScorer:
    """An ONNX file that answers a task, as an `Encoder` would."""

    def __init__(self, name: str | Path, tokenizer: Any = None) -> None:
        path = found(name)
        need_onnxruntime(path)
        parts = beside(path)
        encoder = described(path.name, parts, tokenizer)
        self.path, self.record = path, onnx_record(path, parts, encoder.task_head)
        self._model = OnnxModel(path, encoder)
        self._encoder = self._model.encoder
        self.name = self._encoder.name = self.record.name
        given = {*encoder.tokenizer.model_input_names, *(["words"] if encoder.task_head == "parser" else [])}
        if unknown := [one for one in self._model.takes if one not in given]:
            raise UserError(
                f"{path} takes {unknown[0]}, which the tokenizer beside it doesn't give; write the file again, or "
                "put the model's own tokenizer there"
            )

    def __repr__(self) -> str:
        return f"<OnnxScorer {self.name}: {self.path}, task head: {self.record.task_head}>"

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def labels(self) -> tuple[str, ...]:
        return self._encoder.labels

    @property
    def max_length(self) -> int:
        return self._encoder.max_length

    @property
    def tokenizer_digest(self) -> str:
        return self._encoder.tokenizer_digest

    @property
    def tuned_on(self) -> str | None:
        data = self.record.trained_on
        return data.id if data else None

    def form_of(self, kind: str, *, pairs: bool) -> str:
        return self._encoder.form_of(kind, pairs=pairs)

    def need(self, output: Output) -> None:
        """Refuse, with what to do, a file of other outputs than the task's."""
        wanted = model_output(self._encoder, output).gives
        if missing := [name for name in wanted if name not in self._model.gives]:
            raise UserError(
                f"{self.path} gives {', '.join(self._model.gives)}, and {output.kind} come of {missing[0]}; write it "
                "for this task, as bertscope shrink does"
            )

    def notes_on(self, output: Output, examples: Examples) -> tuple[str, ...]:
        return self._encoder.notes_on(output, examples)

    def marked(self, output: Output, examples: Examples) -> Examples:
        return self._encoder.marked(output, examples)

    def predict(self, examples: Examples | Sequence[str], output: Output | None = None) -> Predictions:
        """The file's outputs for every example, in their order."""
        return self._model.predict(Examples.of(examples), output)


Scorer = Encoder | OnnxScorer
"""Whatever answers."""


def open_scorer(given: Any, *, tokenizer: Any = None, base: str | None = None) -> Scorer:
    """An ONNX file, or a model as every question takes it."""
    if isinstance(given, OnnxScorer):
        return given
    return OnnxScorer(given, tokenizer) if is_onnx(given) else open_model(given, tokenizer=tokenizer, base=base)
