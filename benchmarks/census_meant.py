r"""
What a finding of the census comes from, as the code of the model says, and what shows it.

The keys are model types of `AutoModelForCausalLM`. A type that isn't here has a finding of which we
don't know whether it is meant. Each that is here has a program of about ten lines in
`benchmarks/faults`, which imports none of our code, and ends in an error if the fault is gone.
What an older release has by itself stands in the two tables at the end.
"""

# With more than one new token, these compute without the recurrent state.
STATE = "no: the recurrent state of the cache is used for a single new token only"
# Nothing of the mask reaches the part of the model that keeps a state.
STATE_PADDED = "no: the mask of padding isn't used where the model keeps a state"
# `time_step_min` bounds the steps of a text and not the step of a single new token.
STEP = "no: a single new token has no least time step, and a text has"

MEANT: dict[str, str] = {
    "bamba": "no: without `position_ids`, the tokens after a cache begin at position 0",
    "cpmant": (
        "yes: the text is a prompt, whose positions all see each other; no: the mask of padding "
        "isn’t used"
    ),
    "deepseek_v4": "no: hidden tokens go into the summary of their chunk",
    "xlm": "yes: `causal` is false unless asked for, since it fills gaps",
    "xlnet": "yes: `attn_type` is “bi”, and the order of its predictions is an argument",
    "mamba": STATE,
    "falcon_mamba": STATE,
    "jamba": STATE,
    "zamba": STATE,
    "zamba2": STEP,
    "nemotron_h": STEP,
    "moshi": "no: the cache has a window, and the model without a cache has none",
    "prophetnet": "no: relative positions are read in another order of axes than they are written",
    "recurrent_gemma": f"{STATE_PADDED}; several new tokens miss what the convolution has kept",
    "reformer": "yes: which keys share a chunk depends on how all tokens of the text are sorted",
    "rwkv": f"{STATE_PADDED}; with one token in each of several sequences, they are mixed",
}

# The programs of `benchmarks/faults`, and what each of them shows the fault of.
SHOWN: dict[str, tuple[str, ...]] = {
    "bamba": ("bamba",),
    "cpmant": ("cpmant",),
    "deepseek_v4": ("deepseek_v4",),
    "fill_gaps": ("xlm", "xlnet"),
    "mamba": ("mamba", "falcon_mamba", "jamba", "zamba"),
    "mamba2": ("zamba2", "nemotron_h"),
    "moshi": ("moshi",),
    "prophetnet": ("prophetnet",),
    "recurrent_gemma": ("recurrent_gemma",),
    "recurrent_gemma_cache": ("recurrent_gemma",),
    "reformer": ("reformer",),
    "rwkv": ("rwkv",),
}

# The causes in release 5.12.0 where they are others than today. In 5.24.0 all of these are gone.
ENCODER = "no: a decoder asks for the mask of an encoder"
BOOLS = "no: a mask of bools is filled with the least number, which is true, so it shows those keys"
SEVERAL = "no: with a cache, several new tokens are computed as if they were one"
MEANT_IN: dict[str, dict[str, str]] = {
    "5.12.0": {
        "big_bird": ENCODER,
        "megatron-bert": ENCODER,
        "rembert": ENCODER,
        "roformer": ENCODER,
        "deepseek_v32": BOOLS,
        "glm_moe_dsa": BOOLS,
        "doge": "no: where the library leaves a causal mask out, its own mask has nothing of it",
        "falcon_h1": STATE,
        "granitemoehybrid": STATE,
        "git": "no: for a new token, positions that are left out end in an error",
        "lfm2_moe": SEVERAL,
        "mamba2": SEVERAL,
        "zamba2": SEVERAL,
    }
}
SHOWN_IN: dict[str, dict[str, tuple[str, ...]]] = {
    "5.12.0": {
        "doge": ("doge",),
        "encoder_mask": ("big_bird", "megatron-bert", "rembert", "roformer"),
        "git_cache": ("git",),
        "indexed_mask": ("deepseek_v32", "glm_moe_dsa"),
        "several_tokens": ("falcon_h1", "granitemoehybrid", "lfm2_moe", "mamba2", "zamba2"),
    }
}


def explained(kind: str, version: str) -> tuple[str, list[str]]:
    r"""Whether the findings of a type are meant, in a release, and the programs that show them."""
    meant, shown = MEANT, SHOWN
    if kind in MEANT_IN.get(version, {}):
        meant, shown = MEANT_IN[version], SHOWN_IN[version]
    return meant.get(kind, ""), [name for name, types in shown.items() if kind in types]
