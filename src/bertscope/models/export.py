"""Models for onnxruntime: a file that needs neither torch nor transformers nor this package, and its int8 form."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import explained, need_room
from bertscope.core.predictions import Predictions
from bertscope.models.batches import batches
from bertscope.models.latency import Inputs

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_PACKAGES = ("onnx", "onnxscript", "onnxruntime")
_BUDGET = 2048  # tokens of a batch
_LARGEST = 2**31  # bytes that a file of this format can hold


def weight_bytes(encoder: Encoder) -> int:
    """How much room a model's weights take, on disk as in memory."""
    return sum(parameter.numel() * parameter.element_size() for parameter in encoder.model.parameters())


def refuse_large(encoder: Encoder) -> None:
    """Refuse a model whose weights one ONNX file can't hold."""
    if (size := weight_bytes(encoder)) >= _LARGEST:
        raise UserError(
            f"{encoder.name} has {size / 1e9:.1f} GB of weights, more than one ONNX file can hold (2.1 GB); leave it "
            "out with --no-onnx"
        )


def need_onnx() -> None:
    """Refuse, with what to do, if a package is missing."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise UserError(
            f"{' and '.join(missing)} must be installed to write ONNX: pip install 'bertscope[deploy]'; "
            "or leave it out with --no-onnx"
        )


def export_onnx(encoder: Encoder, path: Path) -> Path:
    """Write the encoder as ONNX, for any number of texts of any length up to the encoder's `max_length`: whoever uses
    it truncates. Its inputs are the tokenizer's outputs."""
    need_onnx()
    import onnx

    if encoder.task_head != "classifier":
        raise UserError(
            f"{encoder.name} can't be written as ONNX: it has no classifier on top (it is: {encoder.task_head})"
        )
    model = copy.deepcopy(encoder.model).cpu().eval()
    model.set_attn_implementation("eager")
    shape = (2, min(8, encoder.max_length))  # neither is 1: a size of 1 would be taken for a fixed one
    sample = {name: torch.ones(shape, dtype=torch.long) for name in encoder.tokenizer.model_input_names}
    with _hushed():
        program = torch.onnx.export(
            model, (), kwargs=sample, input_names=list(sample), output_names=["logits"], dynamo=True,
            verbose=False, dynamic_shapes={name: {0: "batch", 1: "length"} for name in sample},
        )  # fmt: skip
    assert program is not None
    written = program.model_proto
    del written.graph.value_info[:]  # what the exporter guessed of shapes in between; the quantiser trips over it
    for part in (written, written.graph, *written.graph.node, *written.graph.input, *written.graph.output):
        del part.metadata_props[:]  # where on this machine the code lies that each node comes from
    with explained(path):
        onnx.save(written, path)
    return path


def quantise(source: Path, target: Path) -> Path:
    """Write the int8 form of an ONNX file: weights in 8 bits, a scale for each column; activations as they come."""
    need_onnx()
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = onnx.load(source).graph
    empty = {weight.name for weight in graph.initializer if 0 in weight.dims}  # of a layer that lost all of its heads
    spared = [node.name for node in graph.node if empty.intersection(node.input)]
    # It writes a copy with the shapes of all that is in between beside the source, and doesn't notice a full disk.
    need_room(source.parent, source.stat().st_size * 5 // 4)
    with _hushed(), explained(target):
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, nodes_to_exclude=spared)
    return target


class OnnxClassifier:
    """A model in an ONNX file, run by onnxruntime on the CPU with as many threads as torch uses."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        need_onnx()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._tokenizer, self._max_length = encoder.tokenizer, encoder.max_length
        self._width, self._labels = encoder.model.config.num_labels, encoder.labels

    def __call__(self, inputs: Inputs) -> np.ndarray:
        """The logits of one batch, which may be on a GPU."""
        return self._session.run(["logits"], {name: tensor.cpu().numpy() for name, tensor in inputs.items()})[0]

    def predict(self, examples: Examples) -> Predictions:
        """As the encoder's own: the logits of every example, [example, class]."""
        logits, truncated = np.zeros((len(examples), self._width), dtype=np.float32), 0
        for batch in batches(self._tokenizer, examples, max_length=self._max_length, tokens=_BUDGET):
            logits[batch.rows] = self(batch.inputs)
            truncated += batch.truncated
        return Predictions(examples.ids, logits, self._labels, truncated)


@contextmanager
def _hushed() -> Iterator[Any]:
    """Keep the exporter's and the quantiser's advice to developers off the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
