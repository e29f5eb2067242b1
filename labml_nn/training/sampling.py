r"""
---
title: Sampling
summary: "Text from a language model: draw one token, append it, and ask again."
---

A language model gives scores (*logits*) for what may come next. To write text, one token is
[drawn from them](strategies.py), appended, and the model is asked again.

Asked in the plain way, a model reads the whole window anew for each token. One that can make a
[decoder](../transformers/basic/decoder.py) reads each token once: it keeps what later
positions need of earlier ones, so a token costs the same at the end of a long text as at its
beginning.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer, InputError
from labml_nn.training.strategies import Sampling, draw

# Up to here, one thread is the quickest: measured with two, at widths from 128 to 768.
FEW_PRODUCTS = 2**18


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


@contextmanager
def quick_calls(n_products: int) -> Iterator[None]:
    r"""
    ## Quick calls

    On a CPU, PyTorch hands some functions to the library oneDNN, which prepares each call anew.
    For the few numbers of one token, that takes longer than the function itself. Within the
    block they are left to PyTorch's own code.

    With few products of two numbers, `n_products` in the largest call, one thread is done before it
    could have told the others.
    """
    before, n_threads = torch.backends.mkldnn.enabled, torch.get_num_threads()
    torch.backends.mkldnn.enabled = False
    if n_products <= FEW_PRODUCTS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before
        torch.set_num_threads(n_threads)


def window_reader(model: nn.Module, seq_len: int) -> Callable[[Tensor], Tensor]:
    r"""
    ## Read the window anew

    The result is a function from all tokens so far to logits for the next. The model has
    positions for `seq_len` tokens, and what is further back is forgotten.
    """
    return lambda tokens: model(tokens[-seq_len:])[-1]


def cached_reader(decoder: nn.Module, seq_len: int) -> Callable[[Tensor], Tensor]:
    r"""
    ## Read each token once

    The same, with a decoder in place of the model. It is called with the new tokens only, and its
    `cache` says how much is filled and can be cleared. Within the window the result is that of
    [the other way](sampling.py#window_reader).

    Once the window is full they differ. Each position has another vector then than one token
    ago, and with it all keys and values, so nothing that was kept is of use. Here the later half of
    the window is read again, in one go, and there is room for another half. A token then
    costs about one more, and the model always sees between half a window and a whole one.
    """

    def read(tokens: Tensor) -> Tensor:
        # After the first time there is one new token.
        cache = decoder.cache
        n_new = 1
        if cache.filled == 0:
            n_new = min(len(tokens), seq_len)
        elif cache.filled == seq_len:
            n_new = max(1, seq_len // 2)
            cache.clear()
        return decoder(tokens[-n_new:])[-1]

    return read


def generate(
    model: nn.Module,
    tokens: Tensor,
    n_tokens: int,
    seq_len: int,
    sampling: Sampling | None = None,
    generator: torch.Generator | None = None,
    cached: bool = True,
) -> Tensor:
    r"""
    ## Continue a batch of token sequences

    `tokens` is `[prompt_len, batch_size]`, all prompts of one length; the result has
    `n_tokens` more, `[prompt_len + n_tokens, batch_size]`. The model gives logits for each
    token of a window, from that token and those before it.

    If it has a method `decoder` that doesn't return `None`, its tokens are read once, unless
    `cached` is false.
    """
    prompt_len, batch_size = tokens.shape
    device, sampling = tokens.device, sampling or Sampling()

    # All chance at once, made where the generator lives. So a seed means the same on every
    # device, and no token waits for another device.
    source = device if generator is None else generator.device
    chance = torch.rand(n_tokens, batch_size, generator=generator, device=source).to(device)
    text = torch.cat([tokens, tokens.new_zeros(n_tokens, batch_size)])

    decoder = model.decoder(batch_size) if cached and hasattr(model, "decoder") else None
    if decoder is None:
        read, calls = window_reader(model, seq_len), nullcontext()
    else:
        largest = max((one.numel() for one in model.parameters()), default=0)
        read, calls = cached_reader(decoder, seq_len), quick_calls(batch_size * largest)

    with evaluating(model), torch.inference_mode(), calls:
        # What each text has already, for the penalty: `[batch_size, n_vocab]`.
        seen: Tensor | None = None
        for position in range(prompt_len, prompt_len + n_tokens):
            logits = read(text[:position]).float()
            if sampling.repetition != 1:
                if seen is None:
                    seen = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, tokens.t(), True)
                else:
                    seen.scatter_(1, text[position - 1].unsqueeze(1), True)
            text[position] = draw(logits, chance[position - prompt_len], sampling, seen)
    return text


def complete(
    model: nn.Module,
    tokenizer: CharTokenizer,
    prompt: str,
    n_tokens: int,
    seq_len: int,
    sampling: Sampling | None = None,
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
    tokens = generate(model, tokens, n_tokens, seq_len, sampling, generator)
    return tokenizer.decode(tokens[:, 0])


def example(
    top_k: int = 2, n_vocab: int = 3, batch_size: int = 5, prompt_len: int = 7, n_tokens: int = 11
) -> Tensor:
    r"""
    ## Example

    The model here has no context at all: it looks the next token up in a table.
    """
    model = nn.Embedding(n_vocab, n_vocab)
    generator = torch.Generator().manual_seed(1)
    prompts = torch.randint(n_vocab, (prompt_len, batch_size), generator=generator)
    sampling = Sampling(temperature=0.8, top_k=top_k, repetition=1.2)
    tokens = generate(model, prompts, n_tokens, prompt_len, sampling, generator)

    tokenizer = CharTokenizer("".join(chr(97 + index) for index in range(n_vocab)))
    complete(model, tokenizer, "a" * prompt_len, n_tokens, prompt_len, generator=generator)
    return tokens
