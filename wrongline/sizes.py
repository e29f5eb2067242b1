r"""
---
title: What a Name Says
summary: Names of arguments say what they are, so a tiny model of any class can be made.
---

The names “n_embd”, “hidden_size” and “d_model” mean the same: the width of a position. Published
code has dozens of names for each size. Here they stand side by side, each with the size of the
tests.

**In:** the name of an argument. **Out:** what it is, and a size for it. [Arguments of a
class](guesses.py) are guessed so, and those of a [configuration](configurations.py).
"""

import inspect
import re
from typing import Any

import torch

# What published code calls the width, the number of heads, and so on.
NAMES = {
    # The width of a position and, where only one is named, of what goes in and comes out.
    "d_model": "d_model embed_dim n_embd emb_dim embed_size hidden_size dim d_embed embedding_dim "
    "embd_dim d_in d_out in_dim out_dim input_dim output_dim width model_dim num_hiddens emb k d c "
    "hidden n_embed embed emb_size d_emb hid_dim query_dim key_size query_size value_size "
    "in_features hidden_features model_size d_hidn num_embed n_state feature_dim embedding_size "
    "dmodel dims nx ninp emsize d_word_vec",
    # Heads, and the width of one of them.
    "heads": "heads n_heads num_heads n_head nhead num_attention_heads nheads h attn_heads "
    "num_attn_heads attention_heads head_num n_attention_heads",
    # Heads may share their keys and values.
    "key_heads": "key_heads n_kv_heads kv_heads num_kv_heads num_key_value_heads n_kv_head "
    "num_kv_groups n_kv_groups",
    "d_k": "d_k d_v d_head head_dim head_size dim_head dim_k dim_v dim_heads",
    # The greatest length of a text, for which masks are made in advance.
    "seq_len": "seq_len block_size context_length max_len max_seq_len n_ctx max_length "
    "context_size sequence_length max_position_embeddings n_positions t max_seq_length "
    "num_positions maxlen seq_length ctx_len n_seq num_steps context_window",
    # Sequences of a batch, for code that is told how many there are.
    "batch": "batch_size bs bsz max_batch_size max_gen_batch_size max_batch",
    # What only whole models have.
    "n_vocab": "n_vocab vocab_size vocab n_tokens num_tokens ntoken tgt_vocab_size src_vocab_size "
    "src_vocab tgt_vocab trg_vocab n_src_vocab n_trg_vocab n_tgt_vocab trg_vocab_size enc_voc_size "
    "dec_voc_size num_embeddings voc_size words n_words num_words",
    # Classes of images or texts.
    "n_classes": "n_classes num_classes n_class num_labels nb_classes",
    "n_layers": "n_layers n_layer num_layers num_hidden_layers depth n_blocks layers nlayers "
    "num_blks num_blocks",
    "d_ff": "d_ff ff_dim hidden_dim ffn_dim mlp_dim d_hidden d_hid dim_feedforward d_inner "
    "intermediate_size ffn_num_hiddens ffn_hidden feed_forward_hidden pf_dim dim_ff d_inner_hid "
    "mlp_hidden_dim filter_size nhid transformer_ff",
    # Images, the patches that they are cut into, and their channels.
    "image": "image_size img_size img_dim input_resolution image_dim",
    "patch": "patch_size patch_dim patch",
    "channels": "channels in_channels in_chans num_channels n_channels in_channel img_channels",
    # Networks of which a token gets a few.
    "experts": "num_experts n_experts num_local_experts n_routed_experts",
    "experts_per_token": "num_experts_per_tok num_experts_per_token experts_per_token top_k topk",
    # How far a token sees, or how many are read together.
    "window": "window window_size sliding_window sliding_window_size attention_window "
    "attn_window local_window local_window_size local_attn_window_size window_len chunk_size "
    "chunk_length chunk_len attention_chunk_size attn_chunk_size",
    # What is added before a root is taken.
    "eps": "eps norm_eps layer_norm_eps rms_norm_eps layernorm_eps layer_norm_epsilon ln_eps",
    "bias": "bias qkv_bias use_bias",
    # A switch, and not the mask itself.
    "causal": "causal is_causal mask masked use_mask autoregressive unidirectional causal_mask "
    "use_causal_mask causal_attention is_autoregressive is_decoder",
}


# Three heads of width 8: axes of different lengths can't change places unseen.
SIZES: dict[str, Any] = {
    "d_model": 24,
    "heads": 3,
    "key_heads": 1,
    "d_k": 8,
    # As the longest text of the tests. In one of 16 tokens no leak within a part of 64 shows.
    "seq_len": 256,
    # A tiny model is as right or wrong as a large one.
    "n_vocab": 19,
    "n_layers": 2,
    "d_ff": 32,
    "batch": 5,
    "experts": 6,
    "experts_per_token": 2,
    "n_classes": 13,
    # Patches of three colours, in rows of five.
    "image": 20,
    "patch": 4,
    "channels": 3,
    # Shorter than the text of the tests, so that a mistake at its edge shows.
    "window": 4,
    "eps": 1e-5,
    "bias": True,
    "causal": True,
}


# With one key head, those that heads share in turns are those that they share in groups.
GROUPED = {"heads": 6, "key_heads": 2, "d_k": 4}


NOTHING = inspect.Parameter.empty


def meaning(name: str) -> str:
    r"""
    ## What an argument is

    Empty, if its name says nothing.
    """
    # Any kind of dropout has the word in its name.
    if "drop" in name.lower():
        return "dropout"

    # As the paper has it. (A small one may be anything.)
    if name == "N":
        return "n_layers"

    # Capitals make no difference: some write “T” and “C”.
    known = next((one for one, names in NAMES.items() if name.lower() in names.split()), "")
    # Images are cut into patches in several ways at once, and must fit all of them.
    parts = re.search(r"(?i)_(patch|image|img)_size$", name)
    return known or ("" if not parts else "patch" if parts[1].lower() == "patch" else "image")


# How names end that say what they are, with something before it: “cls_depth”, “i_vocab_size”.
ENDS = (
    (r"vocab(_size)?$|n_token$|_tokens$", "n_vocab"),
    (r"kv_?heads$", "key_heads"),
    (r"heads?$", "heads"),
    (r"depth$|layers?$|blocks$", "n_layers"),
    (r"patch_size$", "patch"),
    (r"(img|image)_size$", "image"),
    (r"head_(dim|size)$|dim_head$", "d_k"),
    (r"(ff|ffn|mlp|inner)_?(num_)?(dim|hidden|size)\w*$", "d_ff"),
    (r"max_\w*len\w*$|_len$", "seq_len"),
    (r"classes$", "n_classes"),
    (r"(^|_)(dim|dimension|size|width|hidden|channels|features|embed|embd|units)$", "d_model"),
    (r"^dim_", "d_model"),
    (r"window", "window"),
    # How many of something: a few.
    (r"^(num|n)_|mult$|ratio$|factor$|expansion$|bands$|freq$|^max_", "n_layers"),
)


# What published code calls the precision of its numbers.
PRECISIONS = ("dtype", "param_dtype", "torch_dtype")


def likely(name: str) -> Any:
    r"""
    ## What an argument must be that has no default

    By the end of its name; or an index of a special token, a place or a type. None, if nothing says
    so.
    """
    if name == "device":
        return "cpu"
    if name in PRECISIONS:
        return torch.float32
    # No text of a test has this token.
    if re.search(r"(?i)(idx|_id|_token|_index)$|^(pad|bos|eos|sos)$", name):
        return 0
    what = next((one for end, one in ENDS if re.search(end, name.lower())), "")
    return SIZES.get(what)


def on_this_machine(name: str, value: Any) -> Any:
    r"""
    ## A device that is there

    Many classes are made for a GPU by default, as `device="cuda"`. Without one, it is the CPU.
    """
    if name != "device" or "cuda" not in str(value) or torch.cuda.is_available():
        return value
    return torch.device("cpu") if isinstance(value, torch.device) else "cpu"


def size_for(name: str, default: Any, sizes: dict[str, Any]) -> Any:
    r"""
    ## The size of the test for a name

    A window is no longer than that of the test. One that is off, or said in another way, stays. So
    does a switch whose name has the word of a size in it, such as `drop_mask=False`.
    """
    size = sizes[meaning(name)]
    # One for each axis, or for each stage.
    if isinstance(default, tuple | list) and default and type(default[0]) is int:
        return type(default)([size] * len(default))
    if isinstance(default, bool) and not isinstance(size, bool):
        return default
    # What is zero by default is off, such as the classes of a head.
    if default == 0 and type(default) is int or meaning(name) == "eps" and default is not NOTHING:
        return default
    if meaning(name) != "window" or default is NOTHING:
        return size
    return min(size, default) if type(default) is int else default


def is_yes_or_no(annotation: Any) -> bool:
    r"""
    ## Is an annotation that of a switch?
    """
    return annotation in (bool, "bool")


def is_off(parameter: inspect.Parameter) -> bool:
    r"""
    ## Is a switch off by default?

    Or None, where its annotation says that it is one.
    """
    is_one = "bool" in str(parameter.annotation)
    return parameter.default is False or parameter.default is None and is_one


def is_switch(name: str) -> bool:
    r"""
    ## Is a name that of a switch?

    As “use_flash” or “return_dict”. What nobody has turned on is off.
    """
    return bool(
        re.match(r"(use|is|has|with|enable|output|return|do|tie|add)_|gradient_check", name)
    )


def example() -> tuple[list[str], list[Any]]:
    r"""
    ## Example

    Three names of a width, and an argument that has no default.

    ### Exercises

    ??? question "Why not four heads of width 4?"
        Code that exchanges heads and features would give the same shapes.
    """
    names = ("n_embd", "hidden_size", "d_model")
    return [meaning(name) for name in names], [likely("text_vocab_size"), likely("colour")]
