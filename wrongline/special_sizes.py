r"""
---
title: Special Sizes
summary: What some classes of the transformers library need beside the tiny sizes of all.
---

Most models of that library become tiny by [the names of their sizes](tiny.py). Some have sizes that
depend on each other: the heads of Mamba-2 are together twice as wide as the model. Here is what
these need. A dictionary within a dictionary is for the configuration within the configuration.

**In:** the type of a model. **Out:** its special sizes.
"""

import copy
from typing import Any

# Keys and values of latent attention are made anew for each head.
LATENT: dict[str, Any] = {"num_key_value_heads": 4}
# The heads of a state-space layer are together as wide as its inside, twice the width of the model.
MAMBA: dict[str, Any] = {"mamba_n_heads": 8}
# One layer of each kind.
MIXED: dict[str, Any] = {"layer_types": ["linear_attention", "full_attention"]}

# A small model that sees, beside the language model that is tested.
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "image_size": 28,
    "patch_size": 14,
}
SEEN: dict[str, Any] = {"hidden_size": 32, "mlp_dim": 64, "num_hidden_layers": 1, "image_size": 64}
# A language model within, where the class of its configuration is a matter of choice.
TEXT: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
# Layers without an embedding of their own.
ALONE: dict[str, Any] = {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
ROTARY: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4}

SPECIAL: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        (
            "axk1",
            "axk2",
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "glm4_moe_lite",
            "glm_moe_dsa",
            "longcat_flash",
            "minicpm3",
            "sarvam_mla",
            "youtu",
            "dots3_note_text",
        ),
        LATENT,
    ),
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "qwen4_exp_text"), MIXED),
    "bailing_hybrid": LATENT | MIXED,
    "kimi_linear": LATENT | MIXED | {"linear_num_heads": 4, "linear_head_dim": 8},
    "bamba": MAMBA | {"attn_layer_indices": [1]},
    "falcon_h1": MAMBA | {"mamba_d_ssm": 64},
    "granitemoehybrid": MAMBA | {"layer_types": ["mamba", "attention"]},
    "mamba2": {"num_heads": 8, "head_dim": 8},
    "blt": {"encoder_hash_byte_group_vocab": 50},
    "cohere_compass_text": {
        "layer_types": ["sliding_attention", "full_attention"],
        "rope_parameters": {"sliding_attention": ROTARY, "full_attention": ROTARY},
    },
    "deepseek_v4": {
        "layer_types": ["compressed_sparse_attention", "heavily_compressed_attention"],
        "compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 8},
    },
    "dory": {"num_hidden_layers": 3, "n_input_layers": 1, "n_output_layers": 1},
    "dots3_note": {"text_config": LATENT | {"per_layer_config": {}}},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 6},
    "inkling2_loop_text": {
        "num_hidden_layers": 3,
        "loop_layer_index_start": 1,
        "loop_layer_index_end": 2,
        "n_layers_per_attn_res_block": 1,
    },
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_dt_rank": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "lfm3": {"layer_types": ["conv", "full_attention"]},
    "recurrent_gemma": {"num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 6},
    "reformer": {
        "attention_head_size": 8,
        "attn_layers": ["local", "lsh"],
        "axial_pos_shape": (8, 8),
        "axial_pos_embds_dim": (8, 24),
        "feed_forward_size": 64,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_buckets": 2,
        "hash_seed": 1,
    },
    "xlstm": {"num_heads": 2, "num_blocks": 2, "embedding_dim": 32, "qk_dim_factor": 0.5},
    "xmod": {"default_language": "en_XX"},
    "zamba": {
        "attention_hidden_size": 64,
        "head_dim": 16,
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "mamba_dt_rank": 4,
    },
    "zamba2": {"layers_block_type": ["linear_attention", "hybrid"], "n_mamba_heads": 8},
    "zaya": {"num_experts_per_tok": 1, "layer_types": ["hybrid", "hybrid"]},
    "gemma3": {"vision_config": VISION},
    "gemma4_unified": {"vision_config": {"mm_embed_dim": 32, "patch_size": 4}},
    "moshi": {"audio_vocab_size": 64},
    "musicgen_decoder": {"num_codebooks": 1},
    "musicgen_melody_decoder": {"num_codebooks": 1},
    "dbrx": {
        "attn_config": {"rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"moe_top_k": 2},
    },
    "fuyu": {"text_config": TEXT | {"model_type": "persimmon"}},
    "got_ocr2": {"text_config": TEXT | {"model_type": "qwen2"}, "vision_config": SEEN},
    # An assistant: without a size of its own, it is as large as the model that it helps.
    "gemma4_assistant": {"text_config": TEXT | {"model_type": "gemma4_text"} | ALONE},
    "gemma4_unified_assistant": {
        "text_config": TEXT | {"model_type": "gemma4_unified_text"} | ALONE
    },
    "moss_transcribe_diarize": {"text_config": TEXT | {"model_type": "qwen3"}},
}
# Within these configurations, the causal language model has one of its own.
INNER = {
    "emu3": "text_config",
    "llama4": "text_config",
    "qwen3_5": "text_config",
    "qwen3_5_moe": "text_config",
    "qwen4_exp": "text_config",
    "musicgen": "decoder",
    "musicgen_melody": "decoder",
}


def special_sizes(model_type: str) -> dict[str, Any]:
    r"""
    ## What a type needs

    Nothing, for most of them. It is a copy, which may be changed.
    """
    return copy.deepcopy(SPECIAL.get(model_type, {}))


def example() -> dict[str, Any]:
    r"""
    ## Example

    Mamba-2 has eight heads of width 8, which is twice the width of the tiny model.
    """
    return special_sizes("mamba2")
