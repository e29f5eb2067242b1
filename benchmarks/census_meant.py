r"""
What a finding of the census comes from, as the code of the model says.

The keys are model types of `AutoModelForCausalLM`. A type that isn't here has a finding of which we
don't know whether it is meant.
"""

# With more than one new token, these compute without the recurrent state.
STATE = "no: the recurrent state of the cache is used for a single new token only"
# Which keys are looked at is decided by their scores, and many of them are exactly zero.
TIES = "no harm: of keys with equal scores (a ReLU makes them zero) it takes any"

MEANT: dict[str, str] = {
    "cpmant": "yes: the text is a prompt, whose positions all see each other",
    "xlm": "yes: `causal` is false unless asked for, since it fills gaps",
    "xlnet": "yes: `attn_type` is “bi”, and the order of its predictions is an argument",
    "dory": "no harm: rounding; in double precision, both give the same",
    "mamba": STATE,
    "falcon_mamba": STATE,
    "jamba": STATE,
    "zamba": STATE,
    "deepseek_v32": TIES,
    "glm_moe_dsa": TIES,
    "prophetnet": "no: relative positions are read in another order of axes than they are written",
    "reformer": "yes: which keys share a chunk depends on how all tokens of the text are sorted",
    "rwkv": "no: with one token in each of several sequences, they are mixed",
}
