r"""
---
title: Sampling
summary: "Text from a language model: draw one token, append it, and ask again."
terms:
  greedy decoding: Always take the likeliest token.
  temperature: Divides the logits before a token is drawn; below 1, likely tokens become likelier.
---

A language model doesn't write. It gives a score, a *logit*, to every token that may come next. To
get text, turn the logits into probabilities, draw one token, append it to the text, and call the
model again.

Say that after “th” the letters “e”, “a” and “o” have logits of 2, 1 and 0. The softmax makes
probabilities of them: 0.67, 0.24 and 0.09. In 100 texts you draw “e” about 67 times. There are two
ways to be more careful:

* *Greedy decoding* takes “e” each time. The text can then go round in circles. Say that a model
  sees one letter, and finds “h” likeliest after “t”, then “e”, then a space, then “t” again. It
  writes “the the the” for ever. With a longer window, the same begins once a whole window comes up
  for the second time.
* A *temperature* of 0.5 divides the logits by 0.5. They are 4, 2 and 0, and the probabilities
  0.867, 0.117 and 0.016. “a” still comes, but half as often.

[Top-k, top-p and min-p](strategies.py) leave out unlikely tokens. They are the next page.

**In:** a model, and a prompt, `[prompt_len, batch_size]`. **Out:** the same text with more tokens.

Here each new token costs a pass over the whole window. [The key/value
cache](../transformers/kv_cache.py) saves most of that work.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer

# What chooses a token: it gets logits and the generator, and may ignore the generator.
Choose = Callable[[Tensor, torch.Generator | None], Tensor]


def draw(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""
    ## Draw a token

    From logits, `[batch_size, n_vocab]`, to one token for each sequence, `[batch_size]`.
    """
    # The softmax makes probabilities of the logits: all positive, with a sum of 1.
    probabilities = logits.softmax(dim=-1)

    # A generator makes its numbers on its own device, so we draw there. With a generator on the
    # CPU, a seed gives the same random numbers whether the model is on a CPU or on a GPU.
    if generator is not None:
        probabilities = probabilities.to(generator.device)

    # A token with a probability of 0.3 is drawn in 3 of 10 cases, on average.
    token = torch.multinomial(probabilities, 1, generator=generator)
    return token.squeeze(-1).to(logits.device)


def greedy(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""
    ## Greedy decoding

    Always the likeliest token. Nothing is drawn, so the same prompt gives the same text again.
    """
    # No softmax: it wouldn't change which one is the largest.
    return logits.argmax(dim=-1)


def with_temperature(temperature: float) -> Choose:
    r"""
    ## Temperature

    $$
    p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}}
    $$

    Token $i$ has the logit $z_i$, and gets the probability $p_i$; the sum is over all tokens $j$.
    The logits are divided by the temperature $T$ before the softmax. Below 1 their differences
    grow, and likely tokens get likelier. Above 1 the probabilities come closer to each other: at 2,
    the letters above have 0.51, 0.31 and 0.19. At 0 only the likeliest token is left.

    [Five tokens with logits of 4 to 0, drawn at four
    temperatures](../../results/model_drawings.json#figures.temperatures)

    [The classic transformer after “ROMEO:”, at three
    temperatures](../../results/recipes.json#tables.temperatures)
    """
    # A negative temperature would turn the order round, and prefer unlikely tokens.
    if temperature < 0:
        raise ValueError(f"the temperature must be at least 0, got {temperature}")

    # Dividing by zero fails, but we know the limit: all the probability on the likeliest token.
    if temperature == 0:
        return greedy

    # Draw as before, from other logits.
    return lambda logits, generator: draw(logits / temperature, generator)


@torch.no_grad()
def generate(
    model: nn.Module,
    tokens: Tensor,
    n_tokens: int,
    seq_len: int,
    choose: Choose = draw,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""
    ## Generate

    * `model` turns tokens into logits for the token after each of them
    * `tokens` are the prompts, `[prompt_len, batch_size]`, all of the same length
    * `n_tokens` is the number of tokens to append
    * `seq_len` is the context of the model
    * `choose` takes logits and the generator, and gives one token for each sequence
    * `generator` is for drawing the same text again
    """
    # Dropout is for training. A model that drops features predicts a little worse, and differently
    # each time.
    was_training = model.training
    model.eval()
    for _ in range(n_tokens):
        # The model has positions for `seq_len` tokens. It doesn't see what is further back.
        window = tokens[-seq_len:]

        # It predicts the next token at each position; only the last prediction is new. In 32 bits,
        # because a softmax over 16-bit numbers has few digits left.
        logits = model(window)[-1].float()

        # Append the token, and go on with the longer text.
        tokens = torch.cat([tokens, choose(logits, generator).unsqueeze(0)])

    # Dropout is on again if it was on before, so you can sample in the middle of a training.
    # (Without a generator of its own, drawing still moves the global random numbers.)
    model.train(was_training)
    return tokens


def write(
    model: nn.Module,
    tokenizer: CharTokenizer,
    prompt: str,
    n_tokens: int,
    seq_len: int,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> str:
    r"""
    ## From text to text

    Encode the prompt, generate, decode. The result begins with the prompt.
    """
    # A model predicts from what is there; from nothing it predicts nothing.
    if not prompt:
        raise ValueError("the prompt is empty: give at least one character to go on from")

    # A batch of one, on the device of the model.
    device = next(model.parameters()).device
    tokens = tokenizer.encode(prompt).to(device).unsqueeze(1)

    # One column comes out, too.
    choose = with_temperature(temperature)
    return tokenizer.decode(generate(model, tokens, n_tokens, seq_len, choose, generator)[:, 0])


def example(
    n_vocab: int = 3, batch_size: int = 5, prompt_len: int = 7, n_tokens: int = 11
) -> Tensor:
    r"""
    ## Example

    The model looks the next token up in a table, so it sees no more than the last token.

    ### Exercises

    ??? question "The model predicts at each position. Why is only the last prediction used?"
        - [ ] The others saw fewer tokens, so they are wrong.
            - They are as good as their context allows. What they predict is in the text already.
        - [x] The others predict tokens that the text already has.
            - Yes. Only the token after the last one is missing.
        - [ ] The model computes the last prediction only.
            - It computes all of them, in every call. To avoid that is the idea of the
              [cache](../transformers/kv_cache.py).

    ??? question "Logits of 2, 1 and 0. Which probabilities at temperature 1, and which at 0.5?"
        0.665, 0.245 and 0.090. At 0.5 the softmax gets 4, 2 and 0, which gives 0.867, 0.117 and
        0.016.

    ??? question "Add 100 to all logits. What changes?"
        Nothing, up to rounding. The softmax divides by the sum, and the factor $e^{100}$ cancels.

    ??? question "Leave out `model.eval()`. What happens to a model with dropout?"
        If it is in the middle of its training, it goes on dropping features while it writes. Even
        greedy text can then differ from one call to the next.

    ??? question "A model has a context of 64. Where does it begin to forget its prompt?"
        At the 66th character of the text: to choose it, the model sees characters 2 to 65.
    """
    # Row $i$ of the table has the logits of the token after token $i$.
    model = nn.Embedding(n_vocab, n_vocab)
    generator = torch.Generator().manual_seed(1)

    # Several prompts side by side: greedy, then drawn.
    prompts = torch.randint(n_vocab, (prompt_len, batch_size), generator=generator)
    generate(model, prompts, n_tokens, prompt_len, with_temperature(0.0))

    # The same from text to text.
    tokenizer = CharTokenizer("".join(chr(97 + token) for token in range(n_vocab - 1)))
    write(model, tokenizer, "a" * prompt_len, n_tokens, prompt_len, 0.8, generator)
    return generate(model, prompts, n_tokens, prompt_len, generator=generator)
