r"""
---
title: Finding Questions
summary: An encoder that has filled gaps is taught to tell questions from statements.
know: ../fine_tuning/lora.py
---

Is “who is there” a question? Sentences of Shakespeare, without the mark at their end, are labelled
by a [classifier](classifier.py) on a small encoder. The same training has two starts: the encoder
has [filled gaps](experiment.py) before, or its weights are random. With 1,000 labels, the first
start gets [0.771](../../results/encoders.json#tables.classes.pretrained%2C%201000%20labels.right)
of the answers right, and the second one
[0.718](../../results/encoders.json#tables.classes.from%20scratch%2C%201000%20labels.right): of
twenty sentences, filling gaps gets one more right.

How far can you trust such a share? Each of the 448 sentences counts 1 / 448 = 0.002. With 448 other
sentences the share would be another one: its standard deviation is
$\sqrt{0.77 \cdot 0.23 / 448} = 0.02$.

**In:** 1,000 sentences with labels, and a number of steps. **Out:** the share of held-out sentences
that are labelled correctly.

[Right answers, by the number of labels: mean and range of three
seeds](../../results/encoders.json#figures.shares)
"""

import random
from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.encoders.classifier import Classifier, Labelled, questions, side_by_side
from labml_nn.encoders.experiment import (
    SEQ_LEN,
    held_out_gaps,
    loss_in_gaps,
    masked_batches,
    small_encoder,
)
from labml_nn.encoders.masked_model import MaskedModel
from labml_nn.encoders.masked_tokens import MaskTokenizer
from labml_nn.training.data import CharTokenizer, prepare
from labml_nn.training.loop import adamw, train
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text

# What the training loop takes: the inputs and targets of a step.
BatchAt = Callable[[int], tuple[Tensor, Tensor]]


def labelled_batches(
    labelled: Sequence[Labelled], tokenizer: MaskTokenizer, seed: int, batch_size: int = 32
) -> BatchAt:
    r"""
    ## Batches of sentences

    Each is drawn from those that have a label.
    """

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # As in [RandomWindows](../training/data.py#RandomWindows): seed and step decide. A sentence
        # can come up twice in a batch, and then counts twice in its loss.
        chosen = random.Random(seed * 1_000_003 + step).choices(labelled, k=batch_size)
        sentences, labels = zip(*chosen, strict=True)

        # Sentences differ in length, so the shorter ones are padded: tokens, `[seq_len,
        # batch_size]`. The labels are 1 for a question and 0 for a statement, `[batch_size]`.
        return side_by_side(sentences, tokenizer), torch.tensor(labels).long()

    return batch_at


def label_gradients(model: nn.Module, tokens: Tensor, labels: Tensor) -> Tensor:
    r"""
    ## Gradients of a batch of sentences
    """
    # One prediction for each sentence, and not for each position.
    loss = F.cross_entropy(model(tokens), labels)

    # The encoder's weights have gradients as well, so it changes with the classifier.
    loss.backward()
    return loss.detach()


def fine_tune(model: Classifier, batch_at: BatchAt, steps: int) -> list[float]:
    r"""
    ## Fine-tuning

    Returns the loss of each step, in nats a sentence.
    """
    # The loop of the other lessons, at its usual learning rate. Its usual loss is a mean over
    # positions. Here a text has one label, so the loop gets the function above. Each loss is kept,
    # to be drawn.
    losses: list[float] = []
    train(
        model,
        batch_at,
        [adamw(model)],
        steps,
        gradients=label_gradients,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    return losses


@torch.no_grad()
def share_right(model: Classifier, tokenizer: MaskTokenizer, asked: Sequence[Labelled]) -> float:
    r"""
    ## Share of right answers
    """
    # There are as many questions as statements, so the same answer to all of them is right in half
    # of all cases. Untrained classifiers that we tried were right about as often.
    sentences, labels = zip(*asked, strict=True)
    model.eval()

    # All sentences at once, and for each the class with the highest logit.
    found = model(side_by_side(sentences, tokenizer)).argmax(dim=-1)
    return (found == torch.tensor(labels)).double().mean().item()


def notebook(
    corpus: str = "shakespeare",
    steps: int = 600,
    fine_tuning_steps: int = 120,
    seed: int = 1,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    First `steps` steps of filling gaps, then `fine_tuning_steps` of finding questions from each of
    the two starts, as many as for the shares on this page. To keep the models, name a folder as
    `keep_in` before you run the cells below. It lies on your Drive if that is mounted, else on the
    machine, which Colab takes back.
    """
    # ### An encoder that fills gaps
    # As in [the experiment before](experiment.py). The last tenth of the text is held out for both
    # tasks. The model's [run](../training/run.py) keeps the optimizer, the step and the losses. To
    # start from scratch, run this cell again. If you named a folder in `keep_in`, remove the run's
    # file there first.
    letters, training, validation = prepare(read_text(corpus), SEQ_LEN)
    tokenizer = MaskTokenizer(letters)
    torch.manual_seed(seed)
    model = MaskedModel(small_encoder(len(tokenizer)), bias=False)
    gaps = masked_batches(training, tokenizer, seed, rate=0.4)
    filling = Run(model, gaps, [adamw(model)], name="gaps", keep_in=keep_in)

    # Stop it when you like; run this cell again, and it goes on. Then its loss in gaps of text that
    # it hasn't seen.
    filling.train(steps)
    _, inputs, targets = held_out_gaps(validation, tokenizer)
    print(f"validation loss {loss_in_gaps(model, inputs, targets):.3f} in gaps")

    # ### Sentences with labels
    # Those of the training text, 1,000 at most, and all those of the validation text.
    taught = questions(letters.decode(training), SEQ_LEN - 2)[:1000]
    asked = questions(letters.decode(validation), SEQ_LEN - 2)
    print(f"{len(taught)} sentences have labels, and {len(asked)} are asked about")

    # ### Two starts
    # The same training, for the encoder from above and for one whose weights are drawn now. Copies
    # are trained, so that you can go on with the model. To start from scratch, run this cell again.
    # If you named a folder in `keep_in`, remove the runs' files there first.
    torch.manual_seed(seed)
    starts = {"pretrained": model.encoder, "from scratch": small_encoder(len(tokenizer))}
    runs = {}
    for name, encoder in starts.items():
        # Both see the same sentences in the same order. What differs is where they start: the
        # encoders, and also the two new layers of each classifier, whose weights are drawn here.
        classifier = Classifier(deepcopy(encoder), tokenizer.pad)
        batch_at = labelled_batches(taught, tokenizer, seed)
        how = {"gradients": label_gradients, "name": name, "keep_in": keep_in}
        runs[name] = Run(classifier, batch_at, [adamw(classifier)], **how)

    # A lower loss isn't enough: sentences can be learned by heart. What counts is the share of
    # right answers about others.
    for name, run in runs.items():
        run.train(fine_tuning_steps)
        print(f"{name}: {share_right(run.model, tokenizer, asked):.3f} are right")

    # ### The losses
    # Each curve begins near $\ln 2$, the loss of guessing.
    import matplotlib.pyplot as plt

    for name, run in runs.items():
        # A step has the same sentences for both, so the curves can be compared.
        plt.plot(run.losses, label=name)
    plt.gca().set(xlabel="step", ylabel="loss, nats a sentence")
    plt.legend()
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Two sentences of an alphabet of two letters, drawn more than once, and a step of training.

    ### Measured here

    Do you need an encoder for this? Counting the words of questions and statements, without one,
    gets [0.757](../../results/encoders.json#tables.classes.counting%2C%201000%20labels.right) of
    the [448](../../results/encoders.json#values.asked) sentences right, as many as the first start
    within what seeds differ.

    Teaching takes [120](../../results/encoders.json#values.tuning_steps) steps of 32 sentences,
    about [5](../../results/encoders.json#values.tuning_seconds) seconds of one core.

    ### Exercises

    ??? question "The share of right answers is 0.80 of 448 sentences. How exact is that?"
        Its standard deviation is $\sqrt{0.8 \cdot 0.2 / 448} \approx 0.019$.

    ??? question "Both starts see the same sentences in the same order. What is that good for?"
        The luck of which sentences come up is then the same for both. What differs in their answers
        comes from the weights that they begin with. Those of the two new layers are drawn for each
        classifier, and are luck, too. The shares on this page are means of three seeds.

    ??? question "Why is a copy of the encoder trained, and not the encoder itself?"
        - [x] Fine-tuning changes the weights of the encoder.
            - Yes. Without the copy, the masked model would have another encoder afterwards. In a
              try with one seed, its loss in gaps rose from 1.8 to 3.2. Counting letters has 3.3.
        - [ ] So that the encoder stays frozen.
            - The copy is trained with all its weights. To freeze it takes `requires_grad_(False)`.
        - [ ] A classifier needs an encoder without the layer that makes the logits of letters.
            - That layer is in the masked model, and not in its encoder.

    ??? question "Teach 100 sentences and not 1,000, for as many steps. What happens to the curve?"
        Each sentence comes up about 38 times and not 4 times, and is learned by heart: in a try
        with one seed, the curve went nearly to zero, as it didn't with 1,000. Yet fewer held-out
        answers are right:
        [0.660](../../results/encoders.json#tables.classes.pretrained%2C%20100%20labels.right).
    """
    # Each sentence is as long as fits behind the mark of the beginning, so nothing is padded. One
    # is called a question, and the other one a statement.
    tokenizer = MaskTokenizer(CharTokenizer("ab"))
    labelled = [("a" * (seq_len - 1), True), ("b" * (seq_len - 1), False)]
    batch_at = labelled_batches(labelled, tokenizer, seed=1, batch_size=batch_size)
    tokens, labels = batch_at(0)

    # The random classifier, and what one step makes of it.
    model = Classifier(small_encoder(len(tokenizer)), tokenizer.pad)
    before = model(tokens)
    fine_tune(model, batch_at, steps=1)
    return tokens, labels, before, model(tokens)
