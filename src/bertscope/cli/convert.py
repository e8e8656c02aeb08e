"""`bertscope convert`: a model folder with pickled weights, written again with safetensors. Loads no torch."""

from __future__ import annotations

from pathlib import Path


def convert(model: str, /, *, allow_pickle: bool = False, out: Path | None = None) -> None:
    """Write a model again with its weights as safetensors. The folder itself is left as it is.

    A pickle can run any code when opened. Here only what makes tensors is read from it, in a process that has no
    network, starts no program and writes nothing but the weights. Still, take files only from people you trust.

    Parameters
    ----------
    model
        A folder with pytorch_model.bin (or adapter_model.bin), or a hub id.
    allow_pickle
        Open the pickle: say so if you trust where it came from.
    out
        Where to write the model; by default beside the folder, as NAME-safetensors.
    """
    from bertscope.models.convert import convert as converted

    print(f"written to {converted(model, out, allow_pickle)}")
