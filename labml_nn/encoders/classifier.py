r"""
---
title: Classifier on an Encoder
summary: A task is learned from labels, by an encoder that has filled gaps in text without any.
know: ../transformers/variants/cross_attention.py
paper:
  title: "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
  authors: Devlin et al.
  year: 2018
  link: https://arxiv.org/abs/1810.04805
terms:
  padding: What fills up the shorter sequences of a batch, and has to be hidden by a mask.
  pooling: Makes one vector of the vectors of all positions, by a mean for example.
  pretraining: Training on text without labels, before a task is learned from a few labels.
---

You have 1,000 sentences with a label, question or statement, and want a program that labels others.
An encoder that is trained from scratch on them gets
[0.718](../../results/encoders.json#tables.classes.from%20scratch%2C%201000%20labels.right) of the
held-out sentences right. The same encoder gets
[0.771](../../results/encoders.json#tables.classes.pretrained%2C%201000%20labels.right), if it has
first [filled gaps](masked_model.py) in text without labels. Guessing gives 0.5. Labels are
expensive, and text isn't.

An encoder gives a vector for each position, and a classifier needs one for the text. *Pooling*
makes it, as the mean of all vectors, or as the vector of a mark before each text, as in BERT. Say
that a batch has “yes” and a longer sentence, both without a mark, and that one feature is 3, 6 and
9 for the letters of “yes” and 100 for what fills it up. The mean is (3 + 6 + 9) / 3 = 6. If two
filled positions counted, it would be 43.6.

**In:** tokens of several texts, `[seq_len, batch_size]`, the shorter ones filled up. **Out:**
logits for each text, `[batch_size, n_classes]`.

With $h_i$ for the vector of position $i$, $V$ for the set of positions that aren't filled up and
$|V|$ for their number, the logits are

$$
z = W_2 \tanh(W_1 \bar h + b_1) + b_2 \qquad \bar h = \frac{1}{|V|} \sum_{i \in V} h_i
$$

$W_1$, $b_1$, $W_2$ and $b_2$ are new, and everything below them is trained already. All of it is
trained further.
"""

import random
import re
from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from labml_nn.encoders.masked_model import BertEncoder
from labml_nn.encoders.masked_tokens import MaskTokenizer
from labml_nn.training.data import CharTokenizer

# A sentence without its mark, and whether it was a question.
Labelled = tuple[str, bool]


def questions(text: str, longest: int, seed: int = 1) -> list[Labelled]:
    r"""
    ## Sentences with labels

    As many questions as statements, in a random order.
    """
    # A speech of a play is a name with a colon, then lines. Names are left out. (So is every line
    # of verse that ends with a colon; what follows it then counts as a sentence: 7 % of ours.)
    found: dict[str, list[Labelled]] = {"?": [], ".": []}
    for speech in re.sub(r"(?m)^.+:\n", "\n", text).split("\n\n"):
        # A sentence ends with one of three marks. Exclamations can be anything, so they are
        # left out.
        for sentence, mark in re.findall(r"([^.?!]+)([.?!])", " ".join(speech.split())):
            sentence = sentence.strip()
            if mark in found and 10 < len(sentence) <= longest:
                # The mark is the label, so it must not be in the input.
                found[mark].append((sentence, mark == "?"))

    # Equal numbers: a classifier that knows nothing is right in half of all cases. There are fewer
    # questions, so some statements are left out.
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

    Texts of a batch have different lengths, so a mark fills up the shorter ones:

    ```text
    <first>  W  h  o  _  i  s  _  t  h  e  r  e
    <first>  Y  e  s  <pad> <pad> <pad> <pad> <pad> <pad> <pad> <pad> <pad>
    ```

    A padded position must not be looked at by attention, nor count in the mean. If neither is
    masked, [0.461](../../results/encoders.json#values.padding.changed) of the trained classifier's
    answers change, and [0.541](../../results/encoders.json#values.padding.right) are right: what it
    says about a sentence then depends on how long the others in its batch are.
    """
    # The shorter ones are filled up at the end. The rows of an ordinary tensor are equally long, so
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
        self.encoder = encoder

        # `forward` needs to know which token is padding, and how many vectors become one.
        self.pad = pad
        self.pooling = pooling

        # These two layers are new. Everything below them has been trained.
        d_model = encoder.tokens.weight.shape[1]
        self.dense = nn.Linear(d_model, d_model)
        self.classes = nn.Linear(d_model, n_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Classify

        Logits for each text, `[batch_size, n_classes]`.
        """
        # Where a text isn't filled up, `[seq_len, batch_size]`. One mask of keys serves all
        # queries, so the axis of the queries has length one.
        visible = tokens != self.pad
        x = self.encoder(tokens, visible.unsqueeze(0))

        # One vector for each text, `[batch_size, d_model]`. The padded positions have vectors, too,
        # and even these have looked at the text. But how many there are depends on the rest of the
        # batch, so they must not count in the mean.
        if self.pooling == "mean":
            weight = visible.unsqueeze(-1)
            x = (weight * x).sum(dim=0) / weight.sum(dim=0)

        # Or the vector of the mark that stands before each text.
        else:
            x = x[0]

        # A hidden layer, then a score for each class.
        return self.classes(self.dense(x).tanh())


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_ff: int = 11,
    n_classes: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Texts of different lengths, and their classes by either kind of pooling.

    ### Measured here

    There are [448](../../results/encoders.json#values.asked) held-out sentences, and numbers are
    means of three seeds.

    [Right answers, by the number of labels: mean and range of three
    seeds](../../results/encoders.json#figures.shares)

    What did not help here (there is [a list](../../docs/what_did_not_help.md) of more such things):

    * *Pretraining, with very few labels.* With 100 of them, counting the words of questions and
      statements (naive Bayes) gives
      [0.660](../../results/encoders.json#tables.classes.counting%2C%20100%20labels.right), the
      pretrained encoder
      [0.660](../../results/encoders.json#tables.classes.pretrained%2C%20100%20labels.right), and
      one from scratch
      [0.639](../../results/encoders.json#tables.classes.from%20scratch%2C%20100%20labels.right).
      Even with 1,000 labels counting words is as good as the pretrained encoder, within what seeds
      differ: [0.757](../../results/encoders.json#tables.classes.counting%2C%201000%20labels.right).
    * *The mean in place of the first position.* The vector of the first mark gives
      [0.767](../../results/encoders.json#tables.classes.first%20token%2C%201000%20labels.right)
      with 1,000 labels, though the mark is never a target in pretraining.
    * *A frozen encoder:*
      [0.635](../../results/encoders.json#tables.classes.frozen%2C%201000%20labels.right), if only
      the two new layers are trained.
    * *No labels at all:* the masked model can be asked which mark it would fill in at the end. “.”
      is likelier for nearly all sentences, so
      [0.501](../../results/encoders.json#values.filling.likelier) are right. If the half of them
      where “?” is likeliest is called questions,
      [0.518](../../results/encoders.json#values.filling.median) are.

    [All classifiers](../../results/encoders.json#tables.classes)

    The task is easy to state and has its labels in the text: a sentence ends with “?” or “.”, and
    the model gets it without the mark. Exclamations are left out. BERT trains a new classifier for
    each task with a rate of about 0.00003; our small model takes a hundred times as much.

    ### Exercises

    ??? question "Two texts have 3 and 12 letters. What share of the padded batch is padding?"
        9 of 26 positions, 35 %, the marks of the beginning included. Sort texts by length, and
        there is less of it.

    ??? question "The mark at the end is part of the sentence. What does the classifier learn?"
        To look for “?”. It is right about every sentence, and has learned nothing about questions.

    ??? question "Take the mean over all positions, padded ones too. How do you notice?"
        By no shape. Call the classifier with a short text alone, and with a longer one beside it:
        its logits should be the same, and aren't.

    ??? question "Freeze the encoder, and train the two new layers alone. What is that good for?"
        The encoder runs once for each text, and its vectors can be kept, or serve several tasks. It
        is less accurate here.
    """
    # The longest has all the letters that fit behind the mark of the beginning. Every second text
    # is one letter shorter, and padded.
    tokenizer = MaskTokenizer(CharTokenizer("abc"))
    tokens = side_by_side(["a" * (seq_len - 1 - at % 2) for at in range(batch_size)], tokenizer)

    # One encoder can have several classifiers.
    d_model = heads * d_k
    encoder = BertEncoder(len(tokenizer), d_model, heads, 2, d_ff, seq_len)
    mean = Classifier(encoder, tokenizer.pad, n_classes)
    first = Classifier(encoder, tokenizer.pad, n_classes, pooling="first")
    return tokens, mean(tokens), first(tokens)
