"""Models for onnxruntime: a file that needs neither torch nor transformers nor this package, and its int8 form."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import explained, need_room
from bertscope.core.limits import in_bytes
from bertscope.core.model_record import Origin
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.models.config_notes import notes_in, origin_note
from bertscope.models.latency import Inputs
from bertscope.models.library_failures import library_failures
from bertscope.models.onnx_file import BY as ONNX
from bertscope.models.open_tokenizer import save_tokenizer
from bertscope.models.outputs.kinds import model_output
from bertscope.models.predict import predicted
from bertscope.models.quiet import quiet_library

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_PACKAGES = ("onnx", "onnxscript", "onnxruntime")
_BUDGET = 2048  # tokens of a batch
_LARGEST = 2**31  # bytes that a file of this format can hold


def weight_bytes(encoder: Encoder) -> int:
    """How much room a model's weights take, on disk as in memory."""
    return sum(parameter.numel() * parameter.element_size() for parameter in encoder.model.parameters())


def why_no_onnx(encoder: Encoder) -> str:
    """Why this model can't be written as ONNX here, and what to do; nothing where it can."""
    if missing := _missing():
        return missing
    if (size := weight_bytes(encoder)) >= _LARGEST:
        return f"{encoder.name} has {in_bytes(size)} of weights, more than one ONNX file can hold (2.1 GB)"
    return ""


def need_onnx() -> None:
    """Refuse, with what to do, if a package is missing."""
    if missing := _missing():
        raise UserError(f"{missing}; or leave it out with --no-onnx")


def _missing() -> str:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if not missing:
        return ""
    return f"{' and '.join(missing)} must be installed to write ONNX: pip install 'bertscope[deploy]'"


def need_onnxruntime(path: Path) -> None:
    """Refuse, with what to do, if what runs such a file is missing."""
    if find_spec("onnxruntime") is None:
        raise UserError(f"onnxruntime must be installed to run {path}: pip install 'bertscope[deploy]'")


def export_onnx(encoder: Encoder, path: Path, output: Output | None = None) -> Path:
    """Write the encoder as ONNX, for any number of texts of any length up to the encoder's `max_length`: whoever uses
    it truncates. It takes the tokenizer's outputs, and gives what a task's `output` comes of, or what is on top."""
    need_onnx()
    asked = model_output(encoder, output)
    sizes = {"length": min(8, encoder.max_length), "batch": 2}
    shape = tuple(sizes.get(axis, 3) for axis in asked.axes)  # none is 1: a size of 1 would be taken for a fixed one
    sample = {name: torch.ones(shape, dtype=torch.long) for name in asked.reads}
    model = copy.deepcopy(encoder.model).cpu().eval()
    model.set_attn_implementation("eager")
    return write_onnx(asked.deployed(model), sample, asked.gives, asked.axes, path)


def write_onnx(model: nn.Module, sample: Inputs, gives: Sequence[str], axes: Sequence[str], path: Path) -> Path:
    """Write a module that takes the sample's tensors, in their order, and gives as many as are named."""
    import onnx

    with _hushed():
        program = torch.onnx.export(
            model, tuple(sample.values()), input_names=list(sample), output_names=list(gives), dynamo=True,
            verbose=False, dynamic_shapes={"inputs": tuple(dict(enumerate(axes)) for _ in sample)},
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


def write_description(encoder: Encoder, folder: Path) -> None:
    """Write what must lie beside an ONNX file of the encoder, where its weights don't: how texts are read, what
    outputs are called, what it was made of."""
    config = copy.deepcopy(encoder.model.config)
    config.architectures = [type(encoder.model).__name__]
    made = origin_note(Origin(ONNX, encoder.record))
    config.bertscope = notes_in(config) | {"name": encoder.name} | made
    with quiet_library(), explained(folder):
        config.save_pretrained(folder)
        if encoder.sentence:
            encoder.sentence.write(folder, encoder.hidden_size)
        save_tokenizer(encoder.tokenizer, folder)


class OnnxModel:
    """A model in an ONNX file, run by onnxruntime on the CPU with as many threads as torch uses."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self._session = _Session(path, encoder.model.config)
        self._encoder = replace(encoder, model=self._session)

    @property
    def encoder(self) -> Encoder:
        """The encoder with what runs the file in the place of its model."""
        return self._encoder

    @property
    def takes(self) -> tuple[str, ...]:
        """What the file has to be given, by name."""
        return self._session.takes

    @property
    def gives(self) -> tuple[str, ...]:
        """What it gives, by name."""
        return self._session.gives

    def __call__(self, inputs: Inputs) -> Mapping[str, Tensor]:
        """What the file gives for one batch, which may be on a GPU."""
        return self._session(**inputs)

    def predict(self, examples: Examples, output: Output | None = None) -> Predictions:
        """As the encoder's own: read, run and chosen by the same code, but for what runs."""
        return predicted(model_output(self._encoder, output), examples, tokens=_BUDGET)


class _Session(nn.Module):
    """Stands in for the library's model: called with the same, it gives what has the same names."""

    def __init__(self, path: Path, config: Any) -> None:
        super().__init__()
        need_onnxruntime(path)
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3  # what is wrong is raised, too
        with library_failures(f"{path} can't be run by onnxruntime", "write it again"):
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.takes, self.gives = (
            tuple(one.name for one in side) for side in (self.session.get_inputs(), self.session.get_outputs())
        )
        self.config = config
        self._where = nn.Parameter(torch.zeros(0), requires_grad=False)  # whoever asks on which device it is

    def forward(self, **inputs: Tensor) -> _Given:
        """A tokenizer may give more than the file takes, such as segments."""
        found = self.session.run(self.gives, {name: inputs[name].cpu().numpy() for name in self.takes})
        return _Given(zip(self.gives, map(torch.from_numpy, found), strict=True))


class _Given(dict[str, Tensor]):
    """Outputs by name, as the library has them: also as attributes."""

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the ONNX file gives {', '.join(self)}, not {name}") from None


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
