r"""
---
title: No Attention, One Head, Four
summary: What attention is worth, and what several heads are worth, in models that you train.
know: ../mha.py
---

What does [attention](../mha.py) do for a model, and what do several heads add? Three small
transformers start from the same seed and see the same batches:

* with nothing in the place of attention, so that each position has only its own letter,
* with one head of 128 features,
* with four heads of 32.

**In:** a text. **Out:** the losses of the three, and a picture of where each head of the last one
looks.

After 1,000 steps, means of three seeds, they reach
[2.489](../../../results/without.json#tables.without.No%20attention.loss),
[1.852](../../../results/without.json#tables.without.One%20wide%20head.loss) and
[1.846](../../../results/without.json#tables.without.The%20whole%20model.loss). Attention is worth
0.6 nats a letter. That four heads are better than one, these numbers don't show: the seeds of one
model differ by more.
"""

import torch
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class NoAttention(nn.Module):
    r"""
    ## No attention

    In the place of attention it adds nothing to what a position has.
    """

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The layer adds what it gets from here to its input, so the input goes on as it is.
        return torch.zeros_like(query)


def make_three(
    n_vocab: int, seq_len: int, seed: int, d_model: int = 128
) -> dict[str, AutoregressiveTransformer]:
    r"""
    ## Three models from one seed
    """
    makers = {
        "no attention": NoAttention,
        "one head": lambda: MultiHeadAttention(1, d_model, 0.0),
        "four heads": lambda: MultiHeadAttention(4, d_model, 0.0),
    }
    models = {}
    for name, make in makers.items():
        # Whatever isn't attention starts with the same numbers in all three.
        torch.manual_seed(seed)
        model = AutoregressiveTransformer(n_vocab, d_model, seq_len=seq_len)

        # One head and four have as many weights: the matrices are the same, cut in another way.
        put_in_place(model, {"self_attn": make})
        models[name] = model
    return models


@torch.no_grad()
def weights_of(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""
    ## Where the heads look

    The weights of the last layer for one text: `tokens` is `[seq_len]`, the result
    `[seq_len, seq_len, heads]`, a row for each query.
    """
    # A batch of one. Attention keeps the weights of its last call.
    model.eval()
    model(tokens.unsqueeze(1))
    return model.encoder.layers[-1].self_attn.attn[:, :, 0]


def notebook(
    corpus: str = "shakespeare", steps: int = 500, seed: int = 1, keep_in: str = ""
) -> None:
    r"""
    ## No attention, one head, four

    Three small transformers, trained for 500 steps each. The one with four heads reaches a loss of
    about [2.05](../../../results/longer.json#values.steps.500). To keep the models, name a folder
    as `keep_in` before you run the cells below. It lies on your Drive if that is mounted, else on
    the machine, which Colab takes back.
    """
    # ### The text and the models
    # Characters in, characters out. Each model has a [run](../../training/run.py), which keeps its
    # optimizer, step and losses. To start from scratch, run this cell again. If you named a folder
    # in `keep_in`, remove the runs' files there first.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    device = choose_device()
    batches = RandomWindows(training, seq_len, 12, seed)
    runs = {}
    for name, model in make_three(len(tokenizer), seq_len, seed).items():
        # All three see the same windows in the same order.
        model = model.to(device)
        runs[name] = Run(model, batches.at, [adamw(model)], name=name, keep_in=keep_in)
        print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters on {device}")

    # ### Training
    # One after the other. Stop it when you like; run this cell again, and it goes on. The loss is
    # over the whole validation text.
    for name, run in runs.items():
        run.train(steps)
        print(f"{name}: validation loss {evaluate(run.model, validation, seq_len):.3f}")

    # ### The loss curves
    # Each point is the mean of 20 steps, because single batches differ more than the last two
    # models do.
    import matplotlib.pyplot as plt

    for name, run in runs.items():
        # A mean belongs to the middle of its steps.
        means = torch.tensor(run.losses[: run.done // 20 * 20]).view(-1, 20).mean(dim=1).tolist()
        plt.plot([20 * at + 10.5 for at in range(len(means))], means, label=name)
    plt.xlabel("step")
    plt.ylabel("loss, nats a character")
    plt.legend()
    plt.show()

    # ### Look at the heads
    # The weights of the last layer, a picture for each of the four heads. A row is a letter that
    # looks, a column one that is looked at. What the mask hides is white. Try another line.
    line = "First Citizen:"
    weights = weights_of(runs["four heads"].model, tokenizer.encode(line).to(device))
    weights = weights.masked_fill(~causal_mask(len(line)).to(device), torch.nan)
    _, all_axes = plt.subplots(1, weights.shape[-1], figsize=(14, 4), layout="constrained")
    for head, axes in enumerate(all_axes):
        # The letters at both sides, the first query at the top.
        axes.imshow(weights[:, :, head].tolist(), cmap="Blues")
        axes.set_title(f"head {head + 1}")
        axes.set_xticks(range(len(line)), list(line))
        axes.set_yticks(range(len(line)), list(line))
    plt.show()


def example(
    seq_len: int = 7, batch_size: int = 3, n_vocab: int = 13, d_k: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The three models, untrained: what they say of one batch, and where the four heads look.

    ### Exercises

    ??? question "Without attention, how low can the loss get?"
        - [ ] As low as with it, if the training is long enough.
            - Each position still has only its own letter, however long you train.
        - [x] About as low as counting pairs of letters gets, 2.48.
            - Yes. To predict the next letter from the last one is all that is left. (The position
              is known as well. But windows begin anywhere, so it says nothing about the text.)
        - [ ] To that of guessing, $\ln 66 = 4.19$.
            - The last letter is still there, and tells a lot.

    ??? question "One head and four have equally many weights. Why?"
        The matrices have 128 rows and 128 columns in both. Four heads are four slices of the rows.

    ??? question "Train the last two from three seeds each. What do you expect?"
        Bands that overlap. A single run of each can come out in either order.
    """
    # A narrow model is enough for shapes. The letters are random.
    heads = 4
    d_model = heads * d_k
    models = make_three(n_vocab, seq_len, seed=1, d_model=d_model)
    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    logits = torch.stack([model(tokens) for model in models.values()])

    # Of the first text of the batch.
    return logits, weights_of(models["four heads"], tokens[:, 0])
