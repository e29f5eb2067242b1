r"""
---
title: A Transformer Learns to Write
summary: The classic model, trained on Shakespeare until it writes like a play.
---

Here everything comes together. **In:** a text of a million characters. **Out:** a model that
continues any beginning, one character at a time.

[What the model writes as it learns, at a temperature of
0.8](../../../results/recipes.json#tables.written)

The recipe is small enough for two cores and a few minutes. (On a GPU, the notebook trains a larger
model, and for longer.) The [model](autoregressive_model.py) has 810,306 parameters. In each step it
is [trained](../../training/loop.py) on 12 [windows](../../training/data.py) of 64 characters, which
are 768 predictions. 2,000 steps make 1.5 million predictions, and the training text has a million
characters: the model sees it about one and a half times.

It ends with a loss of [1.684](../../../results/recipes.json#tables.losses.classic.loss) on text
that it has not seen. $e^{-1.684}$ is 0.19: in the geometric mean, the right character gets a
probability of about a fifth, where guessing gives it 1/66.

[The training loss in the course of 2,000 steps, from one
seed](../../../results/recipes.json#figures.curves)
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from urllib.request import urlopen

import torch
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.mixed_step import MixedStep, training_type
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

# Tiny Shakespeare, and the checksum that tells whether what arrives is the same text.
ADDRESS = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
)
CHECKSUM = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"


def fit(
    model: nn.Module,
    tokens: Tensor,
    steps: int,
    seq_len: int,
    batch_size: int,
    seed: int = 1,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training

    `tokens` is the training text, on the device of the model. `after_step` is called
    with the number of steps done and the loss.
    """
    # A step makes `seq_len` times `batch_size` predictions, 64 times 12 with the recipe above. The
    # seed decides which windows they come from.
    batches = RandomWindows(tokens, seq_len, batch_size, seed)
    train(model, batches.at, [adamw(model)], steps, after_step=after_step)


def read_text(corpus: str) -> str:
    r"""
    ## The text

    Tiny Shakespeare for `shakespeare`, the sources of PyTorch's modules for `python`, which needs
    no network, or the path of a file of yours. A notebook has no copy of the package, so it fetches
    Tiny Shakespeare.
    """
    # A file of yours: a book, or your mails. The model learns whatever is in it.
    if corpus not in ("shakespeare", "python"):
        # Some editors begin a text with a mark, which “utf-8-sig” leaves out.
        try:
            return Path(corpus).read_text(encoding="utf-8-sig")
        # No such file, a folder, or a text in another encoding.
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"the text {corpus!r} can't be read ({error}): "
                "name a file that is saved as UTF-8, or shakespeare or python"
            ) from error

    # A text that isn't the expected one would give other losses, and nobody would know why.
    if corpus == "shakespeare":
        try:
            text = urlopen(ADDRESS, timeout=30).read()
        # Without a network there is another text on every computer with PyTorch.
        except OSError as error:
            print(f"Tiny Shakespeare can't be fetched ({error}): this is PyTorch's source instead.")
        # The checksum is that of the text of all recorded runs. With another text, no loss of this
        # site could be compared with yours.
        else:
            if sha256(text).hexdigest() != CHECKSUM:
                raise ValueError(f"the text from {ADDRESS} is not the one that was expected")
            return text.decode()

    # If you have PyTorch, you have its sources: programs in place of plays. Sorted, so that the
    # order isn't that of the disk.
    modules = Path(nn.__file__).parent.glob("modules/*.py")
    return "".join(path.read_text(encoding="utf-8") for path in sorted(modules))


def notebook(
    corpus: str = "shakespeare",
    steps: int = 0,
    seed: int = 1,
    sample_length: int = 500,
    float16: bool = False,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    On a CPU the small model trains for 1,000 steps, and reaches a loss of about
    [1.85](../../../results/without.json#tables.without.The%20whole%20model.loss). On a GPU a larger
    one trains for 2,000, and reaches about
    [1.50](../../../results/gpu.json#tables.parts.the%20experiment.loss). With 0 `steps` the device
    decides. To keep the model, name a folder as `keep_in` before you run the cells below: after a
    break, the notebook goes on from it. It lies on your Drive if that is mounted, else on the
    machine, which Colab takes back. A GPU from 2020 or later multiplies in [16
    bits](../../training/mixed_step.py). An older one, such as Colab's T4, does so if you set
    `float16`, which we haven't tried on a GPU yet.
    """
    # ### Read a text
    # A million characters, or a file of yours.
    text = read_text(corpus)
    print(text[:200])

    # ### The model
    # On a GPU there is time for twice the width, two more layers, and more and longer windows. The
    # model's [run](../../training/run.py) keeps the optimizer, the step and the losses. To start
    # from scratch, run this cell again. If you named a folder in `keep_in`, remove the run's file
    # there first.
    device = choose_device()
    on_gpu = device.type != "cpu"
    d_model, heads, n_layers, seq_len, batch_size, dropout_prob = (
        # On a CPU, what can be trained in a minute or two. Dropout is for the larger model: its
        # 2,000 steps take as many characters as eight times the text has, and the 1,000 of the
        # small one not even as many as the text.
        (256, 8, 6, 128, 32, 0.1) if on_gpu else (128, 4, 4, 64, 12, 0.0)
    )
    tokenizer, training, validation = prepare(text, seq_len)
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(
        len(tokenizer), d_model, heads, n_layers, 4 * d_model, seq_len, dropout_prob
    ).to(device)
    torch.set_float32_matmul_precision("high")
    dtype = training_type(device, float16)
    mixed = MixedStep([adamw(model)], device, dtype)
    batches = RandomWindows(training, seq_len, batch_size, seed)
    how = {"gradients": mixed.gradients, "clip": mixed.clip}
    run = Run(model, batches.at, [mixed], keep_in=keep_in, **how)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}, {dtype}")
    print(write(model, tokenizer, "\n", 100, seq_len))  # It has learned nothing yet.

    # ### Train it
    # Now and then, what the model would write. Stop it when you like; run this cell again, and it
    # goes on. The curve goes up and down, because some texts are harder than others. More steps
    # make the small model better (below). With more for the large one, nothing was measured.
    run.train(
        # At 0 the device decides. It is read here, so a change of the form counts at once.
        steps or (2000 if on_gpu else 1000),
        lambda: print(f"{run.done:5,}", repr(write(model, tokenizer, "\n", 60, seq_len, 0.8))),
    )

    # ### How good is it?
    # Over the whole validation text, which the model has not seen.
    print(f"validation loss {evaluate(model, validation, seq_len):.3f}")

    # ### What it writes
    # Change the beginning and the temperature.
    print(write(model, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8))

    # ### What it looks at
    # The attention weights of the first head in the last layer. A row is a query, and sums to one.
    import matplotlib.pyplot as plt

    beginning = "First Citizen:"
    model.eval()
    with torch.no_grad():
        # A batch of one. Attention keeps the weights of its last call.
        model(tokenizer.encode(beginning).unsqueeze(1).to(device))
    weights = model.encoder.layers[-1].self_attn.attn[:, :, 0, 0]
    plt.imshow(weights.tolist(), cmap="Blues")
    plt.xticks(range(len(beginning)), list(beginning))
    plt.yticks(range(len(beginning)), list(beginning))
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 13) -> Tensor:
    r"""
    ## Example

    An alphabet over and over. Twenty steps are enough to see the loss begin to fall.

    ### Measured here

    [Counting](../../training/counting.py) pairs of letters gives a loss of
    [2.482](../../../results/counting.json#values.pairs), and counting four letters
    [1.688](../../../results/counting.json#values.best), almost as good as this model. Counting with
    a better mixture is [ahead of it](../../training/counting.py#example). So is the [modern
    transformer](../modern/__init__.py): with as many steps and slightly fewer parameters it reaches
    [1.538](../../../results/recipes.json#tables.losses.modern.loss). And this model goes on
    learning: in a longer run it reaches [1.522](../../../results/longer.json#values.steps.8000)
    after 8,000 steps.

    [Three seeds of each recipe. “From prefixes alone” is measured on the first 100 windows only, an
    easier part of the text: compare it with nothing but
    itself](../../../results/recipes.json#tables.losses)

    ### Exercises

    ??? question "The model gets better and better. Why does the loss of batches go up and down?"
        - [ ] Dropout makes every prediction random.
            - The model for a CPU has no dropout, and its curve goes up and down as well.
        - [x] Every batch has other windows, and some texts are harder to predict.
            - Yes. That is why the model is measured on all windows of the validation text.
        - [ ] The learning rate is too high, so the weights jump back and forth.
            - A rate that is far too high does that. But two batches have different losses for the
              very same weights.

    ??? question "The loss before training is a little above $\ln 66$. Why above, and not equal?"
        If all 66 logits were equal, the loss would be exactly that of guessing. Random logits give
        the right character sometimes more than 1/66, sometimes less. $-\ln p$ rises faster below
        1/66 than it falls above, so the mean is higher.

    ??? question "Give the model windows of one character. What is the lowest loss it can reach?"
        About 2.482, what the pairs of the training text give. One character is then all that it
        knows. (The pairs of the validation text itself would give 2.37, but it is held out.)

    ??? question "Evaluate the validation windows in another order. Does the loss change?"
        No. Each window is predicted on its own, and the loss is a mean over all of them.
    """
    # Two layers of eight features, and a text in which one token is enough to know the next.
    model = AutoregressiveTransformer(n_vocab, 8, 2, 2, 11, seq_len)
    text = torch.arange(100 * n_vocab) % n_vocab

    # The loss of each step. It starts near that of guessing, $\ln 13 = 2.56$. The losses stay
    # tensors: nobody needs them as numbers before the end.
    losses: list[Tensor] = []
    fit(model, text, 20, seq_len, batch_size, 1, lambda step, loss: losses.append(loss))
    return torch.stack(losses)
