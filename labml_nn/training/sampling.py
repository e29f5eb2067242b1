r"""
---
title: Sampling
summary: "Text from a language model: draw one token, append it, and ask again."
---

A language model gives scores (*logits*) for what may come next. To write text, one token is
drawn from them, appended, and the model is asked again.

Two numbers shape the draw. The **temperature** $T$ divides the logits $z$,

$$
p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}},
$$

so that below one the likely becomes likelier, and above one everything evens out. And
**top-k** keeps the $k$ likeliest tokens only, which cuts off the long tail of
tokens that are each unlikely but together are not. With $k = 1$ nothing is left to chance.

The model reads the whole window anew for each token. Keeping the keys and values of
earlier tokens would save most of that work; it is left out here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from labml_nn.training.data import CharTokenizer, InputError


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    r"""
    ## Look, don't learn

    Within the block there is no dropout and there are no gradients. After it each module is in
    the mode it was in before, also where a model had parts in different modes.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def draw(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    r"""
    ## Draw a token

    `logits` is `[batch_size, n_vocab]`, the result is `[batch_size]`. A temperature or a
    `top_k` that isn't positive is an `InputError`.
    """
    if temperature <= 0:
        raise InputError(
            f"the temperature must be above 0, got {temperature:g}: "
            "to take the likeliest token, set top_k to 1"
        )
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k must be at least 1, got {top_k}")

    # The likeliest come first: `[batch_size, top_k]`.
    k = min(top_k or logits.shape[-1], logits.shape[-1])
    likeliest, tokens = logits.topk(k)

    # What is drawn is a place in that order: `[batch_size, 1]`.
    probabilities = (likeliest / temperature).softmax(dim=-1)
    place = torch.multinomial(probabilities, 1, generator=generator)
    return tokens.gather(-1, place).squeeze(-1)


def generate(
    model: nn.Module,
    tokens: torch.Tensor,
    n_tokens: int,
    seq_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    r"""
    ## Continue a batch of token sequences

    `tokens` is `[prompt_len, batch_size]`, all prompts of one length; the result has
    `n_tokens` more, `[prompt_len + n_tokens, batch_size]`. The model gives logits for each
    token of a window, from that token and those before it.
    """
    with evaluating(model):
        for _ in range(n_tokens):
            # The model has positions for `seq_len` tokens. What is further back is forgotten.
            logits = model(tokens[-seq_len:])[-1]

            # The draw is made where the generator lives, so that a seed means the same
            # text on every device.
            if generator is not None:
                logits = logits.to(generator.device)
            drawn = draw(logits.float(), temperature, top_k, generator)
            tokens = torch.cat([tokens, drawn.to(tokens.device).unsqueeze(0)])
    return tokens


def complete(
    model: nn.Module,
    tokenizer: CharTokenizer,
    prompt: str,
    n_tokens: int,
    seq_len: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> str:
    r"""
    ## Continue a text

    The result begins with the prompt. An empty prompt, or a character
    that the tokenizer doesn't know, is an `InputError`.
    """
    if not prompt:
        raise InputError("the prompt is empty: give at least one character to go on from")
    device = next(model.parameters()).device
    tokens = tokenizer.encode(prompt).to(device).unsqueeze(1)
    tokens = generate(model, tokens, n_tokens, seq_len, temperature, top_k, generator)
    return tokenizer.decode(tokens[:, 0])


def example(
    top_k: int = 2, n_vocab: int = 3, batch_size: int = 5, prompt_len: int = 7, n_tokens: int = 11
) -> torch.Tensor:
    r"""
    ## Example

    The model here has no context at all: it looks the next token up in a table.
    """
    model = nn.Embedding(n_vocab, n_vocab)
    generator = torch.Generator().manual_seed(1)
    prompts = torch.randint(n_vocab, (prompt_len, batch_size), generator=generator)
    tokens = generate(model, prompts, n_tokens, prompt_len, 0.8, top_k, generator)

    tokenizer = CharTokenizer("".join(chr(97 + index) for index in range(n_vocab)))
    complete(model, tokenizer, "a" * prompt_len, n_tokens, prompt_len, generator=generator)
    return tokens
