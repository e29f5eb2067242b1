r"""
---
title: Filling Gaps
summary: A small encoder learns to fill gaps in Shakespeare, in a quarter of a minute.
---

Which letter is missing in “the k_ng”? A small encoder learns to fill gaps in Shakespeare, from the
text alone: nobody writes a label. Its loss in the gaps of scenes that it hasn't seen ends at
[1.821](../../results/encoders.json#tables.objectives.40%20percent.loss) nats, so the right letter
has a probability of $e^{-1.821} = 0.16$ in the geometric mean. Guessing among 65 letters gives 1 /
65 = 0.015.

[What the model fills into some lines](../../results/encoders.json#tables.filled)

**In:** a text, and a number of steps. **Out:** the loss in gaps of held-out scenes, and guesses for
some lines. What the encoder has learned is then [of use with 1,000
labels](classifier_experiment.py). With 100 the gain is smaller than the differences between seeds.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.encoders.masked_model import MaskedModel
from labml_nn.encoders.masked_tokens import MaskTokenizer, corrupt
from labml_nn.encoders.modern_encoder import ModernEncoder
from labml_nn.training.data import CharTokenizer, RandomWindows, prepare
from labml_nn.training.loop import adamw
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.fused_attention import FusedAttention

# The context, mark of the beginning included, and the windows of a batch.
SEQ_LEN = 64
BATCH_SIZE = 16

# Features, heads and layers: small enough to be trained in a quarter of a minute of one core.
D_MODEL = 64
HEADS = 4
N_LAYERS = 3
SIZES = (D_MODEL, HEADS, N_LAYERS)


def small_encoder(n_vocab: int) -> ModernEncoder:
    r"""
    ## The encoder
    """
    # The second and the third layer see eight letters to each side. The gated network has three
    # matrices, so two thirds of the usual width are as many weights.
    d_ff = 8 * D_MODEL // 3
    distance = 8

    # The fused kernel, because nobody looks at these weights.
    return ModernEncoder(n_vocab, *SIZES, d_ff, SEQ_LEN, distance, attention=FusedAttention)


def masked_batches(
    text: Tensor, tokenizer: MaskTokenizer, seed: int, **shares: float
) -> Callable[[int], tuple[Tensor, Tensor]]:
    r"""
    ## Batches with gaps

    `shares` are those of [corrupt](masked_tokens.py#corrupt).
    """
    # Windows as for a language model, one letter shorter: the mark takes its place.
    windows = RandomWindows(text, SEQ_LEN - 1, BATCH_SIZE, seed)

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # A window, behind the mark of the beginning. Its targets are the next letters: not needed.
        tokens = F.pad(windows.at(step)[0], (0, 0, 1, 0), value=tokenizer.first)

        # Other gaps each time a window comes up. BERT hid tokens before training, and saw each
        # text with a few choices of gaps.
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        return corrupt(tokens, tokenizer, generator, **shares)

    return batch_at


def held_out_gaps(text: Tensor, tokenizer: MaskTokenizer) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Gaps to measure with

    The same ones for all models: tokens, inputs and targets, a column for each window.
    """
    # Windows side by side, without the rest at the end. Each of them is asked for its gaps once,
    # whatever the seed of the training.
    n_windows = len(text) // (SEQ_LEN - 1)
    tokens = text[: n_windows * (SEQ_LEN - 1)].view(n_windows, -1).t()
    tokens = F.pad(tokens, (0, 0, 1, 0), value=tokenizer.first)

    # All chosen letters are hidden: a letter that was kept would be easy to guess.
    generator = torch.Generator().manual_seed(1)
    return tokens, *corrupt(tokens, tokenizer, generator, masked=1.0, replaced=0.0)


@torch.no_grad()
def loss_in_gaps(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    r"""
    ## Loss

    The mean over all gaps, in nats a letter.
    """
    # All windows at once. Places without a gap are left out of the mean.
    model.eval()
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()


@torch.no_grad()
def guesses(model: MaskedModel, tokenizer: MaskTokenizer, text: str) -> list[str]:
    r"""
    ## Fill gaps

    The three likeliest letters of each gap, written “_”, with their probabilities.
    """
    # A batch of one text. Dropout would make each answer another one. (The encoder above has none.)
    model.eval()
    tokens = tokenizer.encode(text, gap="_").unsqueeze(1)

    # All gaps at once. None sees what another one is filled with.
    probabilities = model(tokens)[:, 0].softmax(dim=-1)[tokens[:, 0] == tokenizer.mask]

    # Marks have a place in the vocabulary, too, but a mark was never right: they are left out.
    letters = tokenizer.letters.symbols
    best = probabilities[:, : len(letters)].topk(3)
    return [
        ", ".join(f"{letters[at]!r} {row[at]:.2f}" for at in places)
        for row, places in zip(probabilities, best.indices.tolist(), strict=True)
    ]


def notebook(
    corpus: str = "shakespeare", steps: int = 600, seed: int = 1, keep_in: str = ""
) -> None:
    r"""
    ## Try it

    600 steps, as for the loss on this page. To keep the model, name a folder as `keep_in` before
    you run the cells below. It lies on your Drive if that is mounted, else on the machine, which
    Colab takes back.
    """
    # ### The text and the model
    # Gaps need no labels, so all of the training text is used. The last tenth of the text is held
    # out. The seed decides the first weights, the windows and the gaps. The chosen letters are 40
    # %, with which this model learns faster than with BERT's 15 %. The model's
    # [run](../training/run.py) keeps the optimizer, the step and the losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the run's file there first.
    letters, training, validation = prepare(read_text(corpus), SEQ_LEN)
    tokenizer = MaskTokenizer(letters)
    torch.manual_seed(seed)
    model = MaskedModel(small_encoder(len(tokenizer)), bias=False)
    batch_at = masked_batches(training, tokenizer, seed, rate=0.4)
    run = Run(model, batch_at, [adamw(model)], keep_in=keep_in)

    # ### Filling gaps
    # Stop it when you like; run this cell again, and it goes on. Then it is measured in gaps of
    # text that it hasn't seen, the same for every model, and fills some lines.
    run.train(steps)
    _, inputs, targets = held_out_gaps(validation, tokenizer)
    print(f"validation loss {loss_in_gaps(model, inputs, targets):.3f}")
    for line in ("the k_ng of Engl_nd", "I pray you, _ell me", "what is your n_me, sir?"):
        # A line below for each gap, with its three likeliest letters.
        print(line, *guesses(model, tokenizer, line), sep="\n    ")

    # ### The loss curve
    # After some 40 steps it is below 3.31, the loss of knowing how frequent letters are. No
    # neighbour is needed for that: copying letters that were kept gets to
    # [3.07](modern_encoder.py#example). Below that, neighbours are used.
    import matplotlib.pyplot as plt

    plt.plot(run.losses)
    plt.gca().set(xlabel="step", ylabel="loss in gaps, nats a letter")
    plt.show()


def example(n_letters: int = 13, n_windows: int = 5) -> tuple[Tensor, ...]:
    r"""
    ## Example

    An alphabet over and over, with gaps, and a batch to train on.

    ### Measured here

    [Filling gaps: means of three seeds](../../results/encoders.json#tables.objectives)

    The encoder is the [modern one](modern_encoder.py), with three layers of 64 features, and has
    about 156,000 weights. It is trained for [600](../../results/encoders.json#values.steps) steps,
    about [14](../../results/encoders.json#tables.objectives.40%20percent.seconds) seconds of one
    core, with 40 % of the letters hidden. With BERT's 15 %, the loss ends at
    [1.886](../../results/encoders.json#tables.objectives.both%20sides.loss).

    ### Exercises

    ??? question "Why do gaps change each time a window comes up?"
        A window that comes up again then teaches something new.

    ??? question "Fill “_” in “I will not _ell you” yourself. Which letters fit?"
        “s” and “t”, for example. No model can be sure, so its loss in gaps can't be zero.

    ??? question "What does a loss of 1.821 nats say about the probability of the right letter?"
        Its geometric mean over all gaps is $e^{-1.821} \approx 0.16$; guessing among 65 letters
        gives 0.015.

    ??? question "Two gaps in one word: “m__n”. What can go wrong with the likeliest letters?"
        - [x] Each is likely by itself, and together they make no word.
            - Yes. If “moon” and “mean” are equally likely, so are “o” and “e” in the first gap, and
              “o” and “a” in the second one. Nothing prevents “meon”.
        - [ ] The second one is guessed better, because the first one is filled already.
            - All gaps are guessed in one call, and a gap stays a gap in it.
        - [ ] The model sees that two letters belong together, and guesses pairs.
            - Its logits are one list of scores for each position, and none for pairs.
    """
    # The three marks are numbered from 13 on.
    alphabet = "".join(chr(97 + index) for index in range(n_letters - 1))
    tokenizer = MaskTokenizer(CharTokenizer(alphabet))
    text = torch.arange(n_windows * SEQ_LEN) % n_letters
    inputs, targets = masked_batches(text, tokenizer, seed=1)(0)

    # The gaps that all models are measured with: windows of 63 letters behind the first mark.
    return inputs, targets, *held_out_gaps(text, tokenizer)
