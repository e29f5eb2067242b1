r"""
---
title: Classifier on an Encoder
summary: x
---
"""

import random
import re
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from labml_nn.encoders.masked_model import BertEncoder, MaskTokenizer
from labml_nn.training.data import CharTokenizer

# A sentence without its mark, and whether it was a question.
Labelled = tuple[str, bool]


def questions(text: str, longest: int, seed: int = 1) -> list[Labelled]:
    r"""
    ## Sentences with labels

    As many questions as statements, in a random order.
    """
    # A speech of a play is a name with a colon, then lines. Names are left out.
    found: dict[str, list[Labelled]] = {"?": [], ".": []}
    for speech in re.sub(r"(?m)^.+:\n", "\n", text).split("\n\n"):
        # A sentence ends with one of three marks. Exclamations can be anything, so they are
        # left out.
        for sentence, mark in re.findall(r"([^.?!]+)([.?!])", " ".join(speech.split())):
            sentence = sentence.strip()
            if mark in found and 10 < len(sentence) <= longest:
                # The mark is the label, so it must not be in the input.
                found[mark].append((sentence, mark == "?"))

    # Equal numbers: a classifier that knows nothing is right in half of all cases.
    number = min(map(len, found.values()))
    if not number:
        raise ValueError(f"the text has no questions or no statements of up to {longest} letters")
    draw = random.Random(seed)
    chosen = [one for kind in found.values() for one in draw.sample(kind, number)]
    return draw.sample(chosen, len(chosen))


def side_by_side(texts: Sequence[str], tokenizer: MaskTokenizer) -> Tensor:
    r"""
    ## Padding

    A column for each text, `[seq_len, batch_size]`, as long as the longest.
    """
    # The shorter ones are filled up at the end. A tensor has no rows of different lengths, so
    # something must stand there, and something must hide it.
    return pad_sequence([tokenizer.encode(text) for text in texts], padding_value=tokenizer.pad)


class Classifier(nn.Module):
    r"""
    ## Classifier
    """

    def __init__(
        self, encoder: nn.Module, pad: int, n_classes: int = 2, pooling: str = "mean"
    ) -> None:
        r"""
        * `encoder` is [BERT's](masked_model.py#BertEncoder) or a [modern
          one](modern_encoder.py#ModernEncoder), trained or not
        * `pad` is the number of the mark that fills up
        * `n_classes` is the number of classes
        * `pooling` is `mean` or `first`: how many vectors become one
        """
        super().__init__()
        if pooling not in ("mean", "first"):
            raise ValueError(f"pooling is mean or first, got {pooling!r}")

        # The encoder is trained further, with a gradient for all its weights.
        self.encoder, self.pad, self.pooling = encoder, pad, pooling

        # These two layers are new. Everything below them has been trained.
        d_model = encoder.tokens.weight.shape[1]
        self.dense = nn.Linear(d_model, d_model)
        self.classes = nn.Linear(d_model, n_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Classify

        Logits for each text, `[batch_size, n_classes]`.
        """
        # Where a text has letters, `[seq_len, batch_size]`. One mask of keys serves all queries, so
        # the axis of the queries has length one.
        visible = tokens != self.pad
        x = self.encoder(tokens, visible.unsqueeze(0))

        # One vector for each text, `[batch_size, d_model]`. The padded positions have vectors, too,
        # which say nothing: they must not count in the mean.
        if self.pooling == "mean":
            weight = visible.unsqueeze(-1)
            x = (weight * x).sum(dim=0) / weight.sum(dim=0)

        # Or the vector of the mark that stands before each text.
        else:
            x = x[0]

        # A hidden layer, then a score for each class.
        return self.classes(self.dense(x).tanh())


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2, d_ff: int = 11,
    n_classes: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Texts of different lengths, and their classes by either kind of pooling.

    ### Exercises

    ??? question "Two texts have 3 and 12 letters. What share of the padded batch is padding?"
        9 of 26 positions, 35 %, the marks of the beginning included. Sort texts by length, and
        there is less of it.

    ??? question "The mark at the end is part of the sentence. What does the classifier learn?"
        To look for “?”. It is right about every sentence, and has learned nothing about questions.

    ??? question "Take the mean over all positions, padded ones too. Which test notices?"
        The one that calls the classifier with a text alone and with others. All shapes are right.

    ??? question "Freeze the encoder, and train the two new layers alone. What is that good for?"
        The encoder runs once for each text, and its vectors can be kept, or serve several tasks. It
        is less accurate here.
    """
    # The longest has all the letters that fit behind the mark of the beginning.
    tokenizer = MaskTokenizer(CharTokenizer("abc"))
    tokens = side_by_side(["a" * (seq_len - 1 - at % 2) for at in range(batch_size)], tokenizer)

    # One encoder can have several classifiers.
    d_model = heads * d_k
    encoder = BertEncoder(len(tokenizer), d_model, heads, 2, d_ff, seq_len)
    mean = Classifier(encoder, tokenizer.pad, n_classes)
    first = Classifier(encoder, tokenizer.pad, n_classes, pooling="first")
    return tokens, mean(tokens), first(tokens)
