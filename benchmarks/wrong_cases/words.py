r"""
By which words a tool names a mistake: regular expressions, the same for all tools.

They are apart from the mistakes, so that nothing has to be run again when one of them changes.
"""

import re

from benchmarks.wrong_cases.case import Case

FUTURE = r"future|causal|later|LEAK"
SEES = rf"{FUTURE}|mask"
SHORT = r"short|too early|dropp|window|first tokens|oldest"
UNUSED = r"never used|unused|no gradient|no useful gradient"
ADDED = r"added|not divided|times too large|isn't divided"
CLEARED = r"zero_grad|left over|carry over|kept"

WORDS = {
    # The museum.
    "QueryForAll": r"key.*no (useful )?gradient|no (useful )?gradient.*key|query.* for all|same",
    "WidthAsFloat": r"float|TypeError",
    "ScaledByModelWidth": r"width",
    "Unscaled": r"scale|divided",
    "ScaledUp": r"scale|multiplied",
    "MaskUnused": SEES,
    "MaskOnlyInTraining": SEES,
    "MaskOffByOne": SEES,
    "MaskInverted": SEES,
    "MaskAfterSoftmax": SEES,
    "MaskAsZeros": SEES,
    "SoftmaxOverQueries": r"softmax.*quer|quer.*softmax",
    "SoftmaxOverHeads": r"softmax.*head|head.*softmax",
    "ViewForSplit": r"view|transpose|reshape",
    "ViewForMerge": r"view|transpose|reshape|merge",
    "SizeFromGlobal": r"number of heads|global|heads",
    "PositionsOfTheBatch": r"axis of the batch|position.*batch|batch.*position",
    "NoResidual": r"residual",
    "DropoutInEvaluation": r"dropout",
    "TargetsNotShifted": r"shift|targets are the inputs|copy",
    "TargetsShiftedTwice": r"shift|twice",
    "SoftmaxTwice": r"softmax",
    "GradientsKept": CLEARED,
    "EmptyRows": r"NaN|no key|all hidden",
    "StrictMask": r"itself|own position|diagonal|strict",
    "CausalFromTheTop": r"mask",
    "NewestForgotten": r"newest|in the cache",
    "PairsMixed": r"pairs",
    "PrefillUnmasked": r"mask",
    "OffsetJumps": r"its position|offset",
    "NoPositionForOne": r"its position|offset",
    "KeysInTurns": r"repeat|in turns",
    "PartsAddedUp": ADDED,
    "ClearedBetweenParts": r"clear|zero_grad|last part",
    "ClipAfterStep": r"clip",
    "WeightsLeftOut": r"optimizer",
    # What was reported.
    "the mask of new tokens begins at the top": r"mask",
    "the same, with the cache in the module": r"mask",
    "a chunk of the prompt has no mask": r"mask",
    "the first token isn't in the cache": r"in the cache",
    "the cache is shorter than the text": SHORT,
    "the newest token isn't seen with a cache": r"newest|in the cache|mask",
    "several new tokens raise an error": r"must match|size of tensor",
    "the window is one wider without a cache": r"window|mask",
    "a full window drops a token too early": SHORT,
    "distances begin at 0 with a cache": r"its position|distance",
    "the lengths of texts are ignored": r"[Mm]ask",
    "padding on the left takes positions": r"left",
    "documents see each other": r"document",
    "a norm over the time": FUTURE,
    "an expert chooses among later tokens": FUTURE,
    "the mean of a chunk of 64 tokens": FUTURE,
    "the mean of a chunk of 16 tokens": FUTURE,
    "a filter of the whole text": FUTURE,
    "a gain that is never applied": UNUSED,
    "projections that were fused, and stayed": UNUSED,
    "the window is in the other layers": r"window|layer",
    "rotary positions with another base": r"base|rotary|speed",
    "dropout in evaluation": r"dropout",
    "weights that stayed frozen": r"frozen|requires_grad",
    "gradients that nobody clears": CLEARED,
    "parts that are added up over calls": ADDED,
    "the mean of means of unequal parts": r"means of|unequal",
    "labels that are shifted twice": r"shift|twice",
    "the end of a text counts as padding": r"token 7|left out|ignore",
}

# Of an operator, by the part that it changes.
PARTS = {
    "masking": SEES,
    "qkv": r"quer|key|value|projection|head|frozen",
    "score": r"score|scale|dropout",
    "positional": r"position",
    "kernel": r"kernel|dropout",
    "variant": r"head",
    "kv_cache": r"cache",
    "embedding": r"embed",
    "ffn": r"ffn|feed|mlp|activation",
    "layernorm": r"norm",
    "residual": r"residual",
    "output": r"output|lm_head",
}

# A list of what can be the cause: in brackets, or from some words on.
BRACKETS = re.compile(r" \((?:[^()]|\(\))*\)")
SUSPECTS = re.compile(
    r"look (at|for)|hint:|\be\.g\.|is there an? |the mask leaks, the softmax", re.IGNORECASE
)


def words_of(case: Case) -> str:
    r"""What a sentence must have in it."""
    return PARTS[case.source] if case.kind == "operator" else WORDS[case.name]


def said_as_fact(sentence: str) -> str:
    r"""A sentence without its list of suspects."""
    return SUSPECTS.split(BRACKETS.sub("", sentence), maxsplit=1)[0]
