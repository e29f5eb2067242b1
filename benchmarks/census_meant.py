r"""
What a finding of the census comes from, as the code of the model says, and what shows it.

The keys are model types of `AutoModelForCausalLM`. A type that isn't here has a finding of which we
don't know whether it is meant. Each that is here has a program of about ten lines in
`benchmarks/faults`, which imports none of our code, and ends in an error if the fault is gone.
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
