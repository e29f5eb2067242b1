r"""
---
title: Which Draft Pays
summary: Train a target and a small draft, and let four drafts guess for the same target.
---

Does [speculative decoding](speculative.py) make *your* model faster? It depends on the text, on the
temperature and on what a guess costs. So train and measure.

**In:** a text. **Out:** for each draft, how many letters a pass of the target adds, and how many
letters it writes in a second. The drafts are a transformer of one layer, [counted
letters](prompt_lookup.py#CountedLetters), [prompt look-up](prompt_lookup.py#PromptLookup), and
none.

[The classic transformer as the target, and its
drafts](../../results/speculative.json#tables.drafts)

Here the drafts that draw add least to greedy text. Suppose that target and draft both find “a” and
“o” about equally likely. If both draw, most guesses are kept. At the temperature 0, the guess is
lost if the target's likeliest letter is “a” and the draft's is “o”. Prompt look-up adds most to
greedy text, which repeats itself. (For a [weaker target](prompt_lookup.py#example) counted letters
add *most* to greedy text,
[3.62](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%200.counted) letters a
pass, and
[2.03](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%201.counted) at the
temperature 1.)

[Letters that a pass adds, at three
temperatures](../../results/speculative.json#tables.temperatures)
"""

import time
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import Draft, Propose, next_logits, speculate
from labml_nn.training.counting import BackOff
from labml_nn.training.data import CharTokenizer, prepare
from labml_nn.training.loop import evaluate
from labml_nn.transformers.basic.autoregressive_experiment import fit, read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

# From a temperature and a generator to a draft.
Make = Callable[[float, torch.Generator], Propose]


def train_writer(
    tokens: Tensor, n_vocab: int, d_model: int, n_layers: int, seq_len: int, steps: int, seed: int
) -> RewindingTransformer:
    r"""
    ## Train a model, and give it a cache
    """
    # The seed decides the first weights, and which windows it sees.
    sizes = (n_vocab, d_model, 4, n_layers, 4 * d_model, seq_len)
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes)

    # Long windows, and few at a time: as many letters a step as twelve windows of 64.
    fit(model, tokens, steps, seq_len, max(1, 768 // seq_len), seed)

    # The same weights in a model that [goes back](rewind.py).
    writer = RewindingTransformer(*sizes).eval()
    writer.load_state_dict(model.state_dict())
    return writer


def make_drafts(
    small: RewindingTransformer, text: str, tokenizer: CharTokenizer
) -> dict[str, Make]:
    r"""
    ## Four drafts

    `text` is the training text, to be counted.
    """
    # Both predict the next letter; a guess is drawn from what they predict.
    model = next_logits(small)
    counted = CountedLetters(BackOff(text, 3, tokenizer.symbols))

    # To look up a run of no letters finds nothing: then each pass adds one letter.
    n_vocab = len(tokenizer)
    return {
        "none": lambda temperature, generator: PromptLookup(n_vocab, 0),
        # The two that draw get the temperature.
        "transformer": lambda temperature, generator: Draft(model, temperature, generator),
        "counted letters": lambda temperature, generator: Draft(counted, temperature, generator),
        # This one doesn't draw.
        "prompt look-up": lambda temperature, generator: PromptLookup(n_vocab),
    }


def compare(
    target: RewindingTransformer,
    drafts: Mapping[str, Make],
    prompts: Sequence[Tensor],
    n_tokens: int,
    n_draft: int = 4,
    temperature: float = 1.0,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    r"""
    ## Compare drafts

    The letters that each pass adds, and the letters a second, by the name of the draft.
    """
    found = {}
    for name, make in drafts.items():
        # The same seed for each. The texts still differ, since each draft uses the random numbers
        # in its own way.
        generator = torch.Generator().manual_seed(seed)

        # What a draft has to prepare, such as its counts, it has prepared before the clock starts.
        propose = make(temperature, generator)
        added = []
        start = time.perf_counter()

        # A text of its own for each prompt, so the cache begins anew.
        for prompt in prompts:
            target.clear()
            numbers = (n_tokens, n_draft, temperature)
            added += speculate(target, propose, prompt, *numbers, generator)[1].tolist()

        # The last pass of a text may have added more than was asked for, and that counts, too. The
        # time is that of a clock, so let nothing else run.
        seconds = time.perf_counter() - start

        # Tokens for each pass of the target, and tokens in a second.
        found[name] = (sum(added) / len(added), sum(added) / seconds)
    return found


def notebook(
    corpus: str = "shakespeare", steps: int = 600, seed: int = 1, sample_length: int = 100
) -> None:
    r"""
    ## In a notebook

    Three minutes on two cores. Take `python` as the corpus, and prompt look-up finds a little more.
    """
    # ### The text, and two models
    # The target has four layers, the draft a single one of half the width: a fourteenth of the
    # weights. Both are trained on the same windows, for as many steps. A window has 256 letters, so
    # that there is something to look up.
    seq_len = 256
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    target = train_writer(training, len(tokenizer), 128, 4, seq_len, steps, seed)
    small = train_writer(training, len(tokenizer), 64, 1, seq_len, steps, seed)
    for name, writer in (("target", target), ("draft", small)):
        # Windows from different places have nothing in common, so no cache is of use here.
        print(f"{name}: validation loss {evaluate(writer, validation, seq_len):.3f}")
    drafts = make_drafts(small, tokenizer.decode(training), tokenizer)

    # ### The drafts
    # Eight texts go on from 128 letters each, which are spread over the validation text.
    n_prompt = 128
    n_texts = 8
    every = (len(validation) - n_prompt) // n_texts
    prompts = [validation[at * every :][:n_prompt] for at in range(n_texts)]

    # Greedy text first, and then text that is drawn from all that the target finds possible.
    for temperature in (0.0, 1.0):
        found = compare(target, drafts, prompts, sample_length, 4, temperature, seed)

        # If a draft pays, its letters a second are more than without one.
        for name, (per_pass, speed) in found.items():
            print(f"temperature {temperature}, {name}: {per_pass:.2f} a pass, {speed:.0f} a second")

    # ### Letters a second
    # At the temperature 1. A draft pays if its bar is longer than that of none.
    import matplotlib.pyplot as plt

    plt.barh(list(found), [speed for _, speed in found.values()])
    plt.xlabel("letters a second")
    plt.show()

    # ### Where the letters come from
    # Between two bars are the letters of one pass: guesses that were kept, and one of the target.
    # The cache still has the last text, and is cleared.
    generator = torch.Generator().manual_seed(seed)
    propose = drafts["counted letters"](1.0, generator)
    target.clear()
    text, added = speculate(target, propose, prompts[0], sample_length, generator=generator)

    # The places where a pass ends are the running sums of what passes have added.
    passes = text[n_prompt:].tensor_split(added.cumsum(dim=0)[:-1])
    print("|".join(tokenizer.decode(one) for one in passes))


def example(n_text: int = 7, n_tokens: int = 5, n_draft: int = 3, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    Both models are trained for one step. They still predict all letters about equally, so they
    agree, and most guesses of the transformer are kept. That says nothing about trained models.

    ### Exercises

    ??? question "A draft of 4 adds 2.5 letters a pass, a guess costs 1/5 of a pass. Does it pay?"
        A round costs $1 + 4/5 = 1.8$ passes and gives 2.5 letters, so it is 1.4 times as fast,
        less what the pass over five letters costs more than one over a single letter.

    ??? question "Train the target for ten times as long, and not the draft. What happens?"
        They agree less, we guess: the target moves on, and the draft stays where both were. Counted
        letters should gain, as a better target is nearer to what was counted. Train it for
        longer in the notebook, and look at the share of guesses that are kept.

    ??? question "Set the corpus to `python`. Which draft gains, and which loses?"
        [Measured](../../results/prompt_lookup.json#tables.texts): source code repeats itself, in
        names and whole signatures, and prompt look-up gains a little. Counted letters lose; we
        don't know why.
    """
    # An alphabet over and over.
    text = "".join(chr(97 + index % (n_vocab - 1)) for index in range(20 * n_vocab))
    tokenizer, training, validation = prepare(text, n_text)

    # Room for the prompt, what is asked for, and the guesses of the last pass.
    n_vocab = len(tokenizer)
    context = n_text + n_tokens + n_draft

    # One step of training each, for the shapes.
    target = train_writer(training, n_vocab, 8, 2, context, 1, 1)
    small = train_writer(training, n_vocab, 4, 1, context, 1, 1)
    drafts = make_drafts(small, text, tokenizer)

    # All drafts, for one short text.
    prompt = validation[:n_text]
    compare(target, drafts, [prompt], n_tokens, n_draft)

    # The guesses themselves, the likeliest ones this time.
    propose = drafts["transformer"](0.0, torch.Generator())
    draft, _ = propose(prompt, n_draft)
    return draft
