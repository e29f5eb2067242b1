r"""
---
title: A Tiny Model of Any Kind
summary: How a configuration of dozens of fields becomes that of a model that fits into a test.
---

A mistake in a mask doesn't depend on how large a model is. So a model with two layers and a width
of 32 shows it in a second, without any weights to download. **In:** the class of a configuration,
as the transformers library has them. **Out:** a configuration of that class for a tiny model.

There are nearly two hundred of these classes, and they call the same thing by many names. So each
size stands here under all the names that it has.
"""

import inspect
from typing import Any

from torch import Tensor, nn

# A size, and what configurations call it. No two axes of a model should have the same length where
# it can be helped.
NAMES: tuple[tuple[Any, str], ...] = (
    (64, "vocab_size vocab_size_per_layer_input max_position_embeddings n_positions n_ctx"),
    (32, "hidden_size d_model n_embd embed_dim dim emb_dim hidden_dim embedding_size"),
    (32, "input_embedding_size word_embed_proj_dim"),
    # Heads, of which two share a key.
    (4, "num_attention_heads n_head n_heads num_heads encoder_attention_heads"),
    (4, "decoder_attention_heads mamba_n_heads linear_num_key_heads linear_num_value_heads"),
    (8, "head_dim d_head v_head_dim qk_nope_head_dim qk_rope_head_dim rotary_dim index_head_dim"),
    (8, "mamba_d_head linear_key_head_dim linear_value_head_dim mamba_d_state state_size"),
    (2, "num_key_value_heads num_hidden_layers n_layer n_layers num_layers"),
    (2, "encoder_layers decoder_layers num_encoder_layers num_decoder_layers"),
    # The feed-forward network, or a few of them.
    (64, "intermediate_size ffn_dim n_inner dff d_ff encoder_ffn_dim decoder_ffn_dim"),
    (64, "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size"),
    (4, "num_experts n_routed_experts num_local_experts moe_num_experts index_n_heads"),
    (2, "num_experts_per_tok num_experts_per_token moe_topk experts_per_token moe_k index_topk"),
    (16, "q_lora_rank kv_lora_rank"),
    (1, "n_group topk_group first_k_dense_replace n_shared_experts"),
    # A window that is shorter than the text of the tests.
    (6, "sliding_window"),
    # An encoder's model can be asked to be a decoder. No token of the text is a special one.
    (True, "is_decoder"),
    (0, "pad_token_id bos_token_id eos_token_id num_nextn_predict_layers"),
)
SIZES = {name: size for size, names in NAMES for name in names.split()}


def known_names(config_class: type) -> set[str]:
    r"""
    ## Which names a configuration knows
    """
    # Other names for the same, if the class has any, and the arguments of its constructor and of
    # those of its base classes.
    known = set(getattr(config_class, "attribute_map", {}))
    for base in config_class.__mro__:
        known |= set(inspect.signature(base.__init__).parameters)  # type: ignore[misc]
    return known


def tiny(config_class: type, **special: Any) -> Any:
    r"""
    ## A tiny configuration

    `special` are values that only this class needs. A dictionary there is for the configuration
    that lies within it under that name.
    """
    # What has a known name gets its size. All else stays as it is.
    known = known_names(config_class)
    sizes = {name: size for name, size in SIZES.items() if name in known}

    # A configuration for text and images has one for each within it.
    for name, inner in getattr(config_class, "sub_configs", {}).items():
        # What `special` says about it, or nothing.
        within = special.pop(name, {})
        # A class of its own is made tiny in the same way. Else its class depends on the
        # configuration, which then gets what was said.
        if hasattr(inner, "model_type"):
            sizes[name] = tiny(inner, **within).to_dict()
        elif within:
            sizes[name] = within

    # What was said comes last, and wins.
    return config_class(**{**sizes, **special})


class Settings:
    r"""
    ## A configuration for the example
    """

    def __init__(
        self, vocab_size: int = 50257, n_embd: int = 768, activation: str = "gelu"
    ) -> None:
        r"""
        * `vocab_size` and `n_embd` are those of GPT-2
        * `activation` is the name of a function
        """
        # As large as GPT-2's, unless one says otherwise. Both names are known to mean a size.
        self.vocab_size = vocab_size
        self.n_embd = n_embd

        # A word is no size, and must stay.
        self.activation = activation


def example() -> tuple[Tensor, str]:
    r"""
    ## Example

    What has a known name becomes small. What has none stays.

    ### Exercises

    ??? question "Why is the window of a sliding attention set to 6?"
        The texts of the tests have more tokens. With a window that is longer than the text, a
        mistake in the window could not be seen.

    ??? question "Why are special tokens set to 0?"
        A model may treat padding in its own way, and hide it. The texts of the tests use other
        tokens.
    """
    # No library is needed for it: any class with such arguments will do.
    small = tiny(Settings)

    # Its table has 64 rows of 32 numbers, and not 50,257 of 768.
    table = nn.Embedding(small.vocab_size, small.n_embd).weight
    return table, small.activation
