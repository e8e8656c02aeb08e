"""What transformers has beside the families that are known, and why it isn't one: whoever brings one is told.

Every type with a head for masked words, classes, tokens, answers or text encoding is either in `FAMILIES` or here,
and so are other encoders of text; a test holds that, so that a new release of transformers is noticed.
"""

from __future__ import annotations

_REASONS = {
    "it is a decoder, whose tokens don't see those behind them": """
        apertus arcee axk1 axk2 biogpt bloom cohere_compass_text ctrl deepseek_v2 deepseek_v3 diffllama doge
        emu3 exaone4 falcon gemma gemma2 gemma3 gemma3_text glm glm4 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox
        gpt_oss gptj helium hunyuan_v1_dense hunyuan_v1_moe jamba jetmoe llama llama4 minicpm3 minimax ministral
        ministral3 mistral mistral4 mixtral mllama modernbert-decoder molmo2_text mpt nemotron olmo olmo2 olmo3
        openai-gpt opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_5 qwen3_5_text qwen3_moe qwen3_next
        seed_oss smollm3 stablelm starcoder2 zamba zamba2""",
    "it is an encoder with a decoder": """
        bart bert-generation bigbird_pegasus encoder-decoder mbart mt5 mvp plbart t5 t5gemma t5gemma2 umt5""",
    "its tokens see only some of the others, in blocks or by chance, so that there are no whole attention maps": """
        big_bird led longformer longt5 mra reformer yoso""",
    "its attention is approximated, so that there are no whole attention maps": "nystromformer",
    "its layers get shorter as tokens are pooled, so that there is no state for each token": """
        canine funnel perceiver""",
    "it has no attention": "fnet",
    "half of its heads are convolutions": "convbert",
    "its linear maps are convolutions": "squeezebert",
    "each of its layers has several MLPs, and attention narrower than the model": "mobilebert",
    "its maps compute with whole numbers": "ibert",
    "its queries, keys and values are one map that is mixed by head, and their biases lie beside it": "deberta",
    "its layers are no modules: it keeps all attentions in one list, all MLPs in another": "flaubert xlm",
    "it reads each token in two streams, with a memory of the texts before": "xlnet",
    "an adapter for each language follows its MLPs, and each text has to say its language": "xmod",
    "its experts take turns, so that an MLP isn't the same for each token": "openai_privacy_filter",
    "it reads entities beside tokens": "luke",
    "it reads shapes and sounds of characters beside tokens, which no fast tokenizer gives": "roc_bert",
    "it reads tables, with the place of each cell": "tapas",
    "it reads pages, with the place of each word": "bros layoutlm layoutlmv2 layoutlmv3 layoutxlm lilt markuplm udop",
    "it reads images beside text": """
        blip_2_qformer blip_text_model instructblip_qformer instructblipvideo_qformer lxmert modernvbert neomme
        tvp ultravbert vilt visual_bert""",
    "it is the text side of a model of images or sounds": """
        align_text_model altclip_text_model bridgetower_text_model chinese_clip_text_model clap_text_model
        clip_text_model clvp_encoder flava_text_model sam3_lite_text_text_model siglip2_text_model
        siglip_text_model tipsv2_text_model""",
    "it reads sounds": "qwen3_asr",
    "it reads proteins": "esm esmc",
    "transformers has neither a classifier nor masked words for it": "dpr embedding_gemma2_text splinter",
}
UNSUPPORTED = {model_type: reason for reason, types in _REASONS.items() for model_type in types.split()}
"""Why a `model_type` of transformers isn't known here."""
