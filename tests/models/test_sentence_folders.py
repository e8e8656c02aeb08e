"""Folders of sentence-transformers and SetFit: they open with their pooling, linear layers and normalisation, and the
vectors of texts are those that sentence-transformers gives."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.new_task_head import bare, with_classifier
from bertscope.models.sentence_vectors import sentence_vectors, text_vectors
from bertscope.models.source import model_root
from small_model_folders import edit, small_folder

sentence_transformers = pytest.importorskip("sentence_transformers")
from sentence_transformers.base.modules import Dense, Normalize, Transformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling  # noqa: E402

TEXTS = ["a good text .", "bad", "the text was good was bad was the text", "a a a a a a a a a a a a a a a a a a a a"]
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def written(folder, *rest, family="bert", longest=None, lower=False):
    """What sentence-transformers writes of an encoder and these modules; the model that wrote it."""
    base = small_folder(folder.parent / f"{folder.name}-base", family)
    encoder = Transformer(str(base), max_seq_length=longest, do_lower_case=lower)
    made = sentence_transformers.SentenceTransformer(modules=[encoder, *rest], device="cpu")
    made.save(str(folder))
    return made


def own(encoder, texts=TEXTS):
    return text_vectors(encoder, texts, layers=[encoder.n_layers]).own


def gives(made, encoder, texts=TEXTS):
    wanted = made.encode(texts, convert_to_numpy=True)
    np.testing.assert_allclose(own(encoder, texts), wanted, atol=2e-6)
    return wanted


@pytest.mark.parametrize("mode", [*MODES, ("cls", "mean", "max")])
def test_every_pooling_is_that_of_the_library(mode, tmp_path):
    made = written(tmp_path / "model", Pooling(8, mode))
    encoder = load(tmp_path / "model", device="cpu")
    assert encoder.task_head == "none" and encoder.sentence is not None
    gives(made, encoder)


def test_pooling_by_hand(tmp_path):
    written(tmp_path / "model", Pooling(8, MODES))
    encoder = load(tmp_path / "model", device="cpu")
    inputs = encoder.tokenizer([TEXTS[0]], return_tensors="pt")
    with torch.inference_mode():
        (states,) = encoder.model(**inputs).last_hidden_state
    count = len(states)
    weights = torch.arange(1, count + 1)[:, None]
    by_hand = [states[0], states.max(0).values, states.mean(0), states.sum(0) / count**0.5,
               (states * weights).sum(0) / weights.sum(), states[-1]]  # fmt: skip
    np.testing.assert_allclose(own(encoder)[0], torch.cat(by_hand), atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "mpnet", "distilbert", "roberta", "modernbert"])
def test_dense_layers_and_normalisation_follow_in_their_order(family, tmp_path):
    torch.manual_seed(2)
    rest = (Pooling(8, "mean"), Normalize(), Dense(8, 5, activation_function=torch.nn.GELU()), Dropout(0.5),
            Dense(5, 3, bias=False), Dense(3, 4, activation_function=None), Normalize())  # fmt: skip
    made = written(tmp_path / "model", *rest, family=family)
    encoder = load(tmp_path / "model", device="cpu")
    wanted = gives(made, encoder)
    assert wanted.shape == (4, 4) and encoder.sentence.in_words() == (
        "mean, normalised, dense to 5, dense to 3, dense to 4, normalised"
    )


def test_the_length_is_the_models(tmp_path):
    made = written(tmp_path / "model", Pooling(8, "mean"), longest=7)
    assert load(tmp_path / "model").max_length == 7  # this version keeps it in the tokenizer
    edit(tmp_path / "model" / "sentence_bert_config.json", max_seq_length=9)
    encoder = load(tmp_path / "model", device="cpu")
    made = sentence_transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert encoder.max_length == made.max_seq_length == 9
    gives(made, encoder)
    assert text_vectors(encoder, TEXTS, layers=[2]).truncated == 2


def test_lower_case_is_theirs_too(tmp_path):
    made = written(tmp_path / "model", Pooling(8, "mean"), lower=True)
    tokenizer = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    assert "Lowercase" in str(tokenizer["normalizer"])
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(tokenizer | {"normalizer": None}))
    edit(tmp_path / "model" / "sentence_bert_config.json", do_lower_case=True)
    gives(made, load(tmp_path / "model", device="cpu"), ["A GOOD text .", "BAD"])


def older(folder):
    """As versions before 2.3 wrote it: the encoder in a folder of its own, switches for pooling, no config of a
    normalisation."""
    inside = folder / "0_Transformer"
    inside.mkdir()
    for path in [path for path in folder.iterdir() if path.is_file()]:
        if path.name not in ("modules.json", "README.md", "config_sentence_transformers.json"):
            path.rename(inside / path.name)
    kinds = ("Transformer", "Pooling", "Normalize")
    listed = [{"idx": at, "name": str(at), "path": f"{at}_{kind}", "type": f"sentence_transformers.models.{kind}"}
              for at, kind in enumerate(kinds)]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(listed))
    shutil.rmtree(folder / "2_Normalize")
    switches = {"cls_token": False, "mean_tokens": True, "max_tokens": True, "mean_sqrt_len_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(
        {"word_embedding_dimension": 8} | {f"pooling_mode_{name}": on for name, on in switches.items()}
    ))  # fmt: skip


def test_folders_of_older_versions(tmp_path):
    made = written(tmp_path / "model", Pooling(8, ("max", "mean")), Normalize())
    older(tmp_path / "model")
    encoder = load(tmp_path / "model", device="cpu")
    gives(made, encoder)
    root = model_root(str(tmp_path / "model"))
    assert root.digest == encoder.id and encoder.name == "model"


def test_what_makes_the_vector_is_part_of_what_the_model_is(tmp_path):
    written(tmp_path / "mean", Pooling(8, "mean"), Dense(8, 8), Normalize())
    ids, contents = set(), set()

    def known(change):
        folder = shutil.copytree(tmp_path / "mean", tmp_path / f"{len(ids)}")
        change(folder)
        encoder = load(folder, device="cpu")
        assert model_root(str(folder)).digest == encoder.id
        ids.add(encoder.id)
        contents.add(encoder.record.content)

    def another_weight(folder):
        path = folder / "2_Dense" / "model.safetensors"
        save_file({name: held + 1 for name, held in load_file(path).items()}, path)

    known(lambda folder: None)
    known(lambda folder: edit(folder / "1_Pooling" / "config.json", pooling_mode="cls"))
    known(another_weight)
    known(lambda folder: (folder / "modules.json").unlink())
    assert len(ids) == len(contents) == 4


def test_a_copy_that_is_saved_is_one_of_theirs(tmp_path):
    made = written(tmp_path / "model", Pooling(8, ("cls", "mean")), Dense(16, 5), Normalize(), longest=9)
    encoder = load(tmp_path / "model", device="cpu")
    saved = encoder.save(tmp_path / "saved")
    again = load(saved, device="cpu")
    assert again.record.content == encoder.record.content and again.max_length == 9
    wanted = gives(made, again)
    theirs = sentence_transformers.SentenceTransformer(str(saved), device="cpu")
    np.testing.assert_allclose(theirs.encode(TEXTS), wanted, atol=2e-6)
    half = load_file(encoder.save(tmp_path / "half", half=True) / "model.safetensors").values()
    assert {tensor.dtype for tensor in half if tensor.is_floating_point()} == {torch.float16}
    cut = load(encoder.cut(["head:1.1"]).save(tmp_path / "cut"), device="cpu")
    assert own(cut).shape == (4, 5) and not np.allclose(own(cut), wanted, atol=1e-3)
    (saved / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    with pytest.raises(UserError, match=r"isn't as bertscope wrote it: 1_Pooling/config\.json"):
        model_root(str(saved))


def test_what_is_trained_of_it_has_its_own_top(tmp_path):
    written(tmp_path / "model", Pooling(8, "mean"), Dense(8, 5))
    encoder = load(tmp_path / "model", device="cpu")
    for made in (bare(encoder, name="b"), with_classifier(encoder, ("a", "b"))):
        assert made.sentence is None and load(made.save(tmp_path / made.task_head)).sentence is None
    plain = load(small_folder(tmp_path / "plain"), task_head="none")
    assert plain.sentence is None and own(plain) is None
    both = sentence_vectors(encoder, TEXTS, layers=[2])[0]
    assert both.shape == (2, 1, 4, 8)


@pytest.mark.parametrize(
    "marks", [("model_head.pkl",), ("config_setfit.json",), ("model_head.pkl", "config_setfit.json")]
)
def test_a_setfit_folder_is_its_encoder_and_says_so(marks, tmp_path):
    made = written(tmp_path / "model", Pooling(8, "mean"))
    for name in marks:
        (tmp_path / "model" / name).write_bytes(b"cos\nsystem\n(S'touch read'\ntR." if "pkl" in name else b"{}")
    encoder = load(tmp_path / "model", device="cpu")
    gives(made, encoder)
    (note,) = encoder.opening_notes
    assert "model_head.pkl) is a pickle" in note and "bertscope finetune model --on TASK" in note
    assert model_root(str(tmp_path / "model")).digest == encoder.id


def test_a_default_prompt_is_said_to_be_left_out(tmp_path):
    written(tmp_path / "model", Pooling(8, "mean"))
    edit(tmp_path / "model" / "config_sentence_transformers.json", prompts={"q": "query: "}, default_prompt_name="q")
    assert load(tmp_path / "model").opening_notes == ("texts are read without the model's default prompt, 'query: '",)


def test_a_folder_that_lost_its_list_of_modules_says_so(tmp_path):
    """It would be pooled another way than its maker's, and nobody would know."""
    written(tmp_path / "model", Pooling(8, "cls"), longest=9)
    (tmp_path / "model" / "modules.json").unlink()
    encoder = load(tmp_path / "model", device="cpu")
    (note,) = encoder.opening_notes
    assert encoder.sentence is None and encoder.task_head == "none"
    assert note == (
        "model has a 1_Pooling and no modules.json: texts' vectors are the mean of their tokens, special ones "
        "excepted; if its own are wanted, copy the model again"
    )
    assert model_root(str(tmp_path / "model")).digest == encoder.id
    (tmp_path / "model" / "model_head.pkl").write_bytes(b"")
    assert ["SetFit" in note for note in load(tmp_path / "model", device="cpu").opening_notes] == [False, True]


def test_a_cross_encoder_is_the_classifier_that_it_is(tmp_path):
    made = sentence_transformers.CrossEncoder(str(small_folder(tmp_path / "base", num_labels=1)), device="cpu")
    made.save(str(tmp_path / "model"))
    encoder = load(tmp_path / "model", device="cpu")
    assert encoder.task_head == "classifier" and encoder.sentence is None and encoder.labels == ()
    assert ["Sigmoid of it" in note for note in encoder.opening_notes] == [True]
    wanted = made.predict([(text, "a text") for text in TEXTS], activation_fn=torch.nn.Identity())
    from bertscope.core.examples import Examples

    pairs = Examples(ids=tuple("abcd"), text=tuple(TEXTS), pair=("a text",) * 4)
    np.testing.assert_allclose(encoder.predict(pairs).logits[:, 0], wanted, atol=2e-6)


@pytest.mark.parametrize(
    ("changes", "outputs", "said"),
    [
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, 1, "Sigmoid"),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}, 1, "Tanh"),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, 1, ""),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, 3, ""),
        ({"sentence_transformers": ["x"], "sbert_ce_default_activation_function": 5}, 3, ""),
        ({}, 1, ""),
    ],
)
def test_what_a_cross_encoders_maker_puts_behind_its_output_is_said(changes, outputs, said, tmp_path):
    folder = small_folder(tmp_path / "model", num_labels=outputs)
    edit(folder / "config.json", **changes)
    notes = load(folder, device="cpu").opening_notes
    note = f"the output is read as it is: the scores that model's maker gives are the {said} of it"
    assert notes == ((note,) if said else ())


def listed(folder, **changes):
    path = folder / "modules.json"
    modules = json.loads(path.read_text())
    modules[-1] |= changes
    path.write_text(json.dumps(modules))


DAMAGES = {
    "no list": (lambda folder: (folder / "modules.json").write_text("{}"), "isn't a list of modules"),
    "no type": (lambda folder: listed(folder, type=None), "a module without a type or a path"),
    "outside": (lambda folder: listed(folder, path="../x"), r"names '\.\./x': only folders inside"),
    "another kind": (lambda folder: listed(folder, type="a.WordWeights"), r"'WordWeights' .* take modules\.json"),
    "pooled twice": (lambda folder: listed(folder, type="a.Pooling"), "has a 'Pooling' where it isn't computed"),
    "no config": (lambda folder: (folder / "2_Dense" / "config.json").unlink(), r"has no config\.json, and modules"),
    "odd pooling": (lambda folder: edit(folder / "1_Pooling" / "config.json", pooling_mode="median"),
                    r"pools by \['median'\]; known: cls, max"),
    "odd activation": (lambda folder: edit(folder / "2_Dense" / "config.json", activation_function="os.system"),
                       r"has the activation 'os\.system'; known: Tanh"),
    "residual": (lambda folder: edit(folder / "2_Dense" / "config.json", use_residual=True), "use_residual isn't"),
    "of tokens": (lambda folder: edit(folder / "2_Dense" / "config.json", module_input_name="token_embeddings"),
                  "the module reads or gives token_embeddings"),
    "odd size": (lambda folder: edit(folder / "2_Dense" / "config.json", in_features=-1), "from -1 to 5 numbers"),
    "pickled": (lambda folder: (folder / "2_Dense" / "model.safetensors").rename(
        folder / "2_Dense" / "pytorch_model.bin"), r"is a pickle, .* bertscope convert"),
    "no length": (lambda folder: edit(folder / "sentence_bert_config.json", max_seq_length="long"),
                  "max_seq_length is 'long'"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGES)
def test_what_cant_be_computed_is_refused_in_one_line(case, tmp_path):
    change, message = DAMAGES[case]
    written(tmp_path / "model", Pooling(8, "mean"), Dense(8, 5))
    change(tmp_path / "model")
    for opened in (load, lambda folder: model_root(str(folder))):
        with pytest.raises(UserError, match=message) as error:
            opened(tmp_path / "model")
        assert "\n" not in str(error.value) and ";" in str(error.value)


def test_dense_weights_are_held_to_their_config(tmp_path):
    written(tmp_path / "model", Pooling(8, "mean"), Dense(8, 5), LayerNorm(5))
    with pytest.raises(UserError, match="has a 'LayerNorm'"):
        load(tmp_path / "model")
    written(tmp_path / "other", Pooling(8, "mean"), Dense(8, 5))
    edit(tmp_path / "other" / "2_Dense" / "config.json", out_features=6)
    with pytest.raises(UserError, match=r"the weights in .*2_Dense aren't those of its config\.json"):
        load(tmp_path / "other")
    edit(tmp_path / "other" / "2_Dense" / "config.json", in_features=6)
    with pytest.raises(UserError, match="reads 6 numbers where there are 8"):
        load(tmp_path / "other")
