r"""
---
title: "Mistakes: Leaks That a Short Text Doesn't Show"
summary: Three ways in which a published model saw the future, and how long a text must be to tell.
know: language_model.py
---

Take a chunk of four numbers, 1, 2, 3 and 6. Their mean is 3. A model adds it to all four positions.
Change the 6 to 10: the mean is 4, and the first position has moved. It was told what comes later.

In August 2026 somebody showed [three training
scripts](https://github.com/karpathy/nanochat/issues/844) that reach 0.0018 to 0.077 bits for each
byte of a text in this way. Two of the three summarise *chunks* of 64 and of 16 tokens, and only
chunks that are complete. So a test with 12 tokens finds nothing. The third filters the waves that
the text is made of, and every wave reaches from its beginning to its end.

**In:** vectors, `[batch_size, seq_len, d_model]`. **Out:** the same with something of other
positions added.

Chunks and waves are written anew here. [A gate](../../../wrongline/leak_gate.py) for pull requests
tests with texts as long as the model allows, up to 256 tokens.
"""

import math

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.language_model import sees_later


class ChunkMeans(nn.Module):
    r"""
    ## The mean of a chunk

    Of each chunk one vector is kept, as a short memory.
    """

    def __init__(self, size: int) -> None:
        r"""
        * `size` is the number of tokens of a chunk
        """
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[batch_size, seq_len, d_model]`.
        """
        # What is left at the end is no chunk yet. A text that is shorter than one has none at all,
        # so nothing leaks in it.
        whole = x.shape[1] // self.size * self.size
        chunks = x[:, :whole].unflatten(1, (-1, self.size))

        # The first position of a chunk gets the mean of all of it, the last token included. Without
        # the leak it would be the mean of the chunk *before*.
        means = chunks.mean(dim=2).repeat_interleave(self.size, dim=1)
        return torch.cat([x[:, :whole] + means, x[:, whole:]], dim=1)


class Waves(nn.Module):
    r"""
    ## The whole text as waves

    For long texts, a filter in the frequencies costs less than attention. It is often written by a
    fast Fourier transform. Cosines show the leak as well.
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[batch_size, seq_len, d_model]`.
        """
        n = x.shape[1]
        # A row for each wave, which runs over all positions, the last one included.
        places = torch.arange(n) + 0.5
        waves = torch.cos(torch.arange(n)[:, None] * places * math.pi / n)

        # How much of each wave is in the text. This sum goes over all positions.
        spectrum = waves @ x

        # The slow half of the waves is kept. A right filter would be a convolution with what came
        # before. If a Fourier transform computes it, and it is as long as the text, as many zeros
        # have to stand beside the text: else the text's end would wrap around to its beginning.
        spectrum[:, n // 2 :] = 0
        return x + waves.T @ spectrum / n


class Model(nn.Module):
    r"""
    ## A model around it
    """

    def __init__(self, n_vocab: int, d_model: int, mixing: nn.Module) -> None:
        r"""
        * `n_vocab` and `d_model` are its sizes
        * `mixing` is the only part that lets positions exchange something
        """
        super().__init__()
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.mixing = mixing
        self.generator = nn.Linear(d_model, n_vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[batch_size, seq_len]` to logits, `[batch_size, seq_len, n_vocab]`.
        """
        return self.generator(self.mixing(self.tokens(tokens)))


def example(
    batch_size: int = 2, seq_len: int = 13, n_vocab: int = 11, d_model: int = 5
) -> dict[str, list[int]]:
    r"""
    ## Example

    In a text of 13 tokens a chunk of 13 is complete, and a chunk of 14 never is: then nothing is
    seen. Waves show at once.

    ### Exercises

    ??? question "Which position of a complete chunk sees nothing of the future?"
        The last one: all of its chunk lies before it. With chunks of 64, one position of 64 is
        right.

    ??? question "The model allows 1,024 tokens, and the test takes 256. What can still hide?"
        A chunk of more than 256 tokens. So the length is part of the answer: the tests say on how
        many tokens they were tried.

    ??? question "Why is a loss near 0 no proof of a leak, and a loss of 1.2 none of its absence?"
        A text can be easy, and a leak can be small: one of 17 positions, or one of 8 heads. Only a
        changed token shows what a position depends on.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    ways = {
        "a complete chunk": ChunkMeans(seq_len),
        "a longer chunk": ChunkMeans(seq_len + 1),
        "waves": Waves(),
    }

    # The last token changes, and the positions that notice are listed.
    seen = {}
    for name, mixing in ways.items():
        seen[name] = sees_later(Model(n_vocab, d_model, mixing), tokens, seq_len - 1)
    return seen
