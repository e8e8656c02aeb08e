"""Architecture differences as data: where each family keeps its layers, its attention and its MLPs.

A new family is a row here. Paths are attribute paths: `layers` from the base model, the others from one layer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.errors import UserError, did_you_mean
from bertscope.models.config_notes import PARSER
from bertscope.models.unsupported import UNSUPPORTED

if TYPE_CHECKING:
    from torch import nn

PoolerKind = Literal["first_token", "nothing", "task_head"]
"""A pooler takes all states and gives the first token's; takes and gives that; or is a whole task head."""

TASK_HEADS = ("classifier", "pre_classifier", "score", "qa_outputs", "sequence_summary", "dense", "head", PARSER)
"""What families have on top for a task, and are opened without where the task head is left off."""


@dataclass(frozen=True)
class Family:
    layers: str
    """The list of blocks."""
    attention: str
    """The module that turns hidden states into heads' outputs."""
    projection: str
    """The linear layer that takes the heads' concatenated outputs back to the hidden size."""
    mlp: str
    """The module that takes the MLP's input."""
    mlp_out: str
    """The linear layer whose output, bias included, is the MLP's output before residual and LayerNorm."""
    head_weights: tuple[str, ...]
    """The linear layers of queries, keys and values (and of positions), in which each head has rows of its own: once,
    or, where they are fused, several times. A model may lack some of them."""
    mlp_weights: tuple[str, ...]
    """The linear layers whose rows are the MLP's neurons: once, or, where a gate is fused in, twice."""
    mlp_width: str = "intermediate_size"
    """What the config calls the number of neurons."""
    shared_weights: tuple[str, ...] = ()
    """Those of `head_weights` in which several heads may share rows."""
    head_bias: int | None = None
    """Which argument of the attention module is a bias with a matrix for each head, the same in all layers."""
    value: str | None = None
    """Families that don't ask transformers' attention interface: the layer that gives the values, read by a hook."""
    mask: Literal["added", "allowed"] = "added"
    """Those families: whether the mask is added to the scores, or says with 1 where a token may look."""
    groups: str | None = None
    """Families that use one block for many layers: the blocks inside each of `layers`."""
    shifted_positions: bool = False
    """Whether positions start after the padding index, as in RoBERTa, which makes the longest input shorter."""
    padding: int | None = None
    """The padding index that positions start after, where the family's code has its own, whatever the config says."""
    reads: str | None = None
    """The config's name for how the classifier pools; None where it always reads the first token."""
    pretraining: Literal["masked-lm", "discriminator"] = "masked-lm"
    """What an architecture called ...ForPreTraining predicts."""
    pretraining_heads: tuple[str, ...] = ("cls.predictions", "cls.seq_relationship")
    """What checkpoints have on top from their pre-training, and are opened without: paths from the whole model."""
    relative_positions_dropped: bool = True
    """Whether `position_embedding_type` in a config once asked for positions that transformers computes no more."""
    closing: str = ""
    """The norm after the last layer, where there is one."""
    first_stays_because: str | None = None
    """Why the first layer can't be left out; None if it can."""
    first_stays_with: str | None = None
    """What the config has to have for that; None where it holds of every model of the family."""
    last_linear: str = "classifier"
    """The linear layer that gives a classifier's outputs. This path and the next ones start at the whole model."""
    pooler: tuple[tuple[str, PoolerKind], ...] = ()
    """The modules between the encoder and that layer, and what takes their place in a classifier without them; none
    where there are none, or the family's code has them in a form that can't be replaced."""
    dropout: str | None = "classifier_dropout"
    """What the config calls the dropout before that layer; None where it has no name of its own."""

    @property
    def hooked(self) -> bool:
        """Whether attention is read by hooks, because the family doesn't ask the attention interface."""
        return self.value is not None

    @property
    def attention_ends_at_heads(self) -> bool:
        """Whether the attention module gives the heads' outputs, the projection being somebody else's."""
        return not self.projection.startswith(f"{self.attention}.")

    def reads_first_token(self, config: Any) -> bool:
        """Whether a classifier of this family looks at nothing but the first token's last state."""
        return self.reads is None or getattr(config, self.reads) in ("cls", "bos")

    def first_stays(self, config: Mapping[str, Any]) -> bool:
        """Whether a model of that config can't do without its first layer."""
        return bool(self.first_stays_because and (not self.first_stays_with or config.get(self.first_stays_with)))

    def refuse_losing(self, layers: Collection[int], config: Mapping[str, Any], name: str) -> None:
        """Refuse to leave these layers (by number) out of a model of that name, if it can't do without."""
        if 1 in layers and self.first_stays(config):
            raise UserError(f"layer 1 of {name} can't be left out: {self.first_stays_because}")

    def refuse_holding(self, layers: Collection[int], n_layers: int, blocks: int, name: str) -> None:
        """Refuse to freeze some of a model's layers, if fewer blocks than that serve all of them."""
        if self.groups and layers and len(layers) < n_layers and blocks < n_layers:
            raise UserError(f"{name} has one block for many layers: freeze all {n_layers} of them, or none")

    def need_pooler(self, model_type: str) -> None:
        """Refuse to take off what is between the encoder and the last linear layer, where that can't be."""
        if not self.pooler:
            raise UserError(
                f"the layer before the classifier of a {model_type} can't be taken off: there is none, or it is "
                "part of the family's code and no module; leave the pooler on"
            )

    def need_dropout(self, model_type: str) -> str:
        """What the config calls the dropout before the last linear layer; refuses where it has no name."""
        if self.dropout is None:
            raise UserError(
                f"a {model_type} has no setting of its own for the dropout before the classifier; leave it out"
            )
        return self.dropout

    def maps(self, block: nn.Module, paths: Collection[str]) -> dict[str, nn.Linear]:
        """Those of a block's linear layers at these paths that it has."""
        found = {path: descend(block, path, None) for path in paths}
        return {path: linear for path, linear in found.items() if linear is not None}

    def blocks(self, base_model: nn.Module, n_layers: int) -> list[nn.Module]:
        """The block of each layer, in the order of the forward pass; a shared one occurs more than once."""
        found = list(descend(base_model, self.layers))
        if self.groups is None:
            return found
        per_group = n_layers / len(found)
        return [block for layer in range(n_layers) for block in descend(found[int(layer / per_group)], self.groups)]


_BERT = Family(
    layers="encoder.layer",
    attention="attention.self",
    projection="attention.output.dense",
    mlp="intermediate",
    mlp_out="output.dense",
    head_weights=("attention.self.query", "attention.self.key", "attention.self.value"),
    mlp_weights=("intermediate.dense",),
    pooler=(("base_model.pooler", "first_token"),),
)
_WITH_DENSE = replace(_BERT, last_linear="classifier.out_proj", pooler=(("classifier", "task_head"),))
_ROBERTA = replace(_WITH_DENSE, shifted_positions=True, pretraining_heads=("lm_head",))
_LLAMA_LIKE = Family(
    layers="layers",
    attention="self_attn",
    projection="self_attn.o_proj",
    mlp="mlp",
    mlp_out="mlp.down_proj",
    head_weights=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    mlp_weights=("mlp.gate_proj", "mlp.up_proj"),
    relative_positions_dropped=False,
)
_EUROBERT = replace(
    _LLAMA_LIKE,
    shared_weights=("self_attn.k_proj", "self_attn.v_proj"),
    reads="classifier_pooling",
    closing="norm",
    dropout=None,
    pooler=(("dense", "nothing"), ("activation", "nothing")),
    pretraining_heads=("lm_head",),
)

FAMILIES = {
    "bert": _BERT,
    "ernie": _BERT,
    "electra": replace(
        _WITH_DENSE, pretraining="discriminator",
        pretraining_heads=("discriminator_predictions", "generator_predictions", "generator_lm_head"),
    ),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": Family(
        layers="transformer.layer",
        attention="attention",
        projection="attention.out_lin",
        mlp="ffn",
        mlp_out="ffn.lin2",
        head_weights=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        mlp_weights=("ffn.lin1",),
        mlp_width="hidden_dim",
        dropout="seq_classif_dropout",
        pretraining_heads=("vocab_transform", "vocab_layer_norm", "vocab_projector"),
        relative_positions_dropped=False,
    ),
    "albert": Family(
        layers="encoder.albert_layer_groups",
        groups="albert_layers",
        attention="attention",
        projection="attention.dense",
        mlp="ffn",
        mlp_out="ffn_output",
        head_weights=("attention.query", "attention.key", "attention.value"),
        mlp_weights=("ffn",),
        pooler=(("base_model.pooler", "nothing"), ("base_model.pooler_activation", "nothing")),
        dropout="classifier_dropout_prob",
        pretraining_heads=("predictions", "sop_classifier"),
    ),
    "modernbert": Family(
        layers="layers", attention="attn", projection="attn.Wo", mlp="mlp", mlp_out="mlp.Wo",
        reads="classifier_pooling", closing="final_norm", pooler=(("head", "nothing"),),
        first_stays_because="it is built unlike the others, without a norm before its attention",
        head_weights=("attn.Wqkv",), mlp_weights=("mlp.Wi",),
        pretraining_heads=("head", "decoder"), relative_positions_dropped=False,
    ),
    "nomic_bert": replace(_LLAMA_LIKE, pooler=(("base_model.pooler", "first_token"),)),
    "gte": replace(_LLAMA_LIKE, pooler=(("base_model.pooler", "first_token"),), pretraining_heads=("lm_head",)),
    "jina_embeddings_v3": replace(
        _LLAMA_LIKE, mlp_weights=("mlp.fc1",), mlp_out="mlp.fc2", pretraining_heads=("lm_head",),
        last_linear="classifier.out_proj", pooler=(("classifier", "task_head"),),
    ),
    "eurobert": _EUROBERT,
    "ultrabert": replace(
        _EUROBERT, dropout="classifier_dropout", pooler=(), pretraining_heads=("head", "cls"),
    ),
    "deberta-v2": replace(
        _BERT, value="attention.self.value_proj", mask="allowed", dropout="cls_dropout",
        head_weights=tuple(
            f"attention.self.{name}_proj" for name in ("query", "key", "value", "pos_query", "pos_key")
        ),
        pooler=(("pooler", "first_token"),),
        first_stays_because="a convolution follows it", first_stays_with="conv_kernel_size",
        pretraining_heads=("cls.predictions", "lm_predictions", "mask_predictions"),
        relative_positions_dropped=False,
    ),
    "mpnet": replace(
        _ROBERTA,
        attention="attention.attn",
        projection="attention.attn.o",
        value="attention.attn.v",
        head_weights=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        head_bias=2,
        padding=1,
        dropout=None,
        relative_positions_dropped=False,
    ),
    "roformer": replace(
        _WITH_DENSE, value="attention.self.value", dropout=None, relative_positions_dropped=False,
    ),
    "data2vec-text": _ROBERTA,
    "roberta-prelayernorm": replace(_ROBERTA, closing="LayerNorm"),
    "xlm-roberta-xl": replace(_ROBERTA, closing="encoder.LayerNorm"),
    "megatron-bert": replace(_BERT, value="attention.self.value", closing="encoder.ln", dropout=None),
    "rembert": replace(_BERT, value="attention.self.value", dropout="classifier_dropout_prob"),
}  # fmt: skip


def family_of(model_type: str) -> Family:
    """The row of that `model_type` (as config.json names it); unknown ones are refused."""
    if model_type not in FAMILIES:
        known = f"known: {', '.join(sorted(FAMILIES))}"
        if why := UNSUPPORTED.get(model_type):
            raise UserError(f"models of type {model_type!r} are not supported: {why}; {known}")
        close = did_you_mean(model_type, FAMILIES)
        close = "" if close.startswith("known") else f"{close} "
        raise UserError(f"models of type {model_type!r} are not supported; {close}{known}")
    return FAMILIES[model_type]


def refuse_rotated(config: Any, name: str, so_that: str) -> None:
    """Refuse a model that rotates its values by position, as keys are (a RoFormer's option): taps don't see that."""
    if getattr(config, "rotary_value", False):
        raise UserError(f"{name} rotates its values by position, so that {so_that}")


def head_size_of(config: Any) -> int:
    """How wide each head is, by a model's config."""
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


_NEEDED: Any = object()


def descend(module: Any, path: str, default: Any = _NEEDED) -> Any:
    """The part of a module that an attribute path leads to; where there is none, the default, if one is given."""
    for name in path.split("."):
        module = getattr(module, name) if default is _NEEDED else getattr(module, name, default)
    return module
