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

Does a lower temperature help? Suppose that the target finds “a” and “o” likely with 0.51 and 0.49,
and the draft with 0.49 and 0.51. If both draw, 0.98 of the guesses are kept. At the temperature 0,
the draft always says “o” and the target always wants “a”: no guess is kept. Here, too, the drafts
that draw add least to greedy text.
"""

import torch
from torch import Tensor

from labml_nn.inference.compare_drafts import Make, compare
from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import Draft, next_logits, speculate
from labml_nn.training.counting import BackOff
from labml_nn.training.data import CharTokenizer, RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def with_cache(model: AutoregressiveTransformer, *sizes: int) -> RewindingTransformer:
    r"""
    ## Give a model a cache

    `sizes` are what the model was made with.
    """
    # The same weights, in a model that [goes back](rewind.py) where a guess was wrong. Both have
    # the same names for them.
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


def notebook(
    corpus: str = "shakespeare",
    steps: int = 600,
    seed: int = 1,
    sample_length: int = 100,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    Two models of 600 steps. (Those of the tables on this page were trained for 2,000.) Take
    `python` as the corpus, and prompt look-up finds a little more. To keep the models, name a
    folder as `keep_in` before you run the cells below. It lies on your Drive if that is mounted,
    else on the machine, which Colab takes back.
    """
    # ### The text, and two models
    # The target has four layers, the draft a single one of half the width: a fourteenth of the
    # weights. Both are trained on the same windows, three at a time. A window has 256 letters, so
    # that there is something to look up. Each model has a [run](../training/run.py), which keeps
    # its optimizer, step and losses. To start from scratch, run this cell again. If you named a
    # folder in `keep_in`, remove the runs' files there first.
    seq_len = 256
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    n_vocab = len(tokenizer)
    device = choose_device()
    sizes = {
        "target": (n_vocab, 128, 4, 4, 512, seq_len),
        "draft": (n_vocab, 64, 4, 1, 256, seq_len),
    }
    runs = {}
    for name, numbers in sizes.items():
        # The seed decides the first weights, and which windows are seen. Three windows of 256
        # letters are as many letters as twelve of 64.
        torch.manual_seed(seed)
        model = AutoregressiveTransformer(*numbers).to(device)
        batches = RandomWindows(training, seq_len, 3, seed)
        runs[name] = Run(model, batches.at, [adamw(model)], name=name, keep_in=keep_in)

    # ### Training
    # On a GPU, if there is one. Stop it when you like; run this cell again, and it goes on.
    for run in runs.values():
        run.train(steps)

    # From here on all is computed on the CPU, where letters are counted and looked up. A model with
    # a cache has the same loss: no batch of windows continues the one before it, so the cache
    # begins anew each time.
    writers = {}
    for name, run in runs.items():
        # In the place of a model that was trained, one that writes.
        writers[name] = with_cache(run.model, *sizes[name])
        print(f"{name}: validation loss {evaluate(writers[name], validation, seq_len):.3f}")
    target = writers["target"]
    drafts = make_drafts(writers["draft"], tokenizer.decode(training), tokenizer)

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

    Neither model is trained. Each spreads its probability over all letters, and about two thirds of
    it overlap, so two guesses in three are kept. That says nothing about trained models.

    ### Measured here

    [Letters that a pass adds, at three
    temperatures](../../results/speculative.json#tables.temperatures)

    Prompt look-up adds most to greedy text, which repeats itself. The order isn't the same for all
    models: for a [weaker target](prompt_lookup.py#example) counted letters add *most* to greedy
    text, [3.62](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%200.counted)
    letters a pass, and
    [2.03](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%201.counted) at the
    temperature 1.

    ### Exercises

    ??? question "A draft of 4 adds 2.5 letters a pass, a guess costs 1/5 of a pass. Does it pay?"
        A round costs $1 + 4/5 = 1.8$ passes and gives 2.5 letters, so it is 1.4 times as fast,
        less what the pass over five letters costs more than one over a single letter.

    ??? question "Train the target for ten times as long, and not the draft. What happens?"
        They agree less, we guess: the target moves on, and the draft stays where both were. Counted
        letters should gain. At the temperature 1 they add
        [2.03](../../results/prompt_lookup.json#tables.texts.a%20play,%20temperature%201.counted)
        letters a pass with the weaker target of above, and
        [3.07](../../results/speculative.json#tables.drafts.counted,%203%20letters.per_pass) with
        the classic model. Train it for longer in the notebook, and look at the letters of a pass.

    ??? question "Set the corpus to `python`. Which draft gains, and which loses?"
        [Measured](../../results/prompt_lookup.json#tables.texts): source code repeats itself, in
        names and whole signatures, and prompt look-up gains a little. Counted letters lose; we
        don't know why.
    """
    # An alphabet over and over.
    text = "".join(chr(97 + index % (n_vocab - 1)) for index in range(20 * n_vocab))
    tokenizer, _, validation = prepare(text, n_text)

    # Room for the prompt, what is asked for, and the guesses of the last pass.
    n_vocab = len(tokenizer)
    context = n_text + n_tokens + n_draft

    # Two models and their weights as they begin, which is enough for the shapes.
    sizes = (n_vocab, 8, 4, 2, 32, context)
    target = with_cache(AutoregressiveTransformer(*sizes), *sizes)
    sizes = (n_vocab, 4, 4, 1, 16, context)
    small = with_cache(AutoregressiveTransformer(*sizes), *sizes)
    drafts = make_drafts(small, text, tokenizer)

    # All drafts, for one short text.
    prompt = validation[:n_text]
    compare(target, drafts, [prompt], n_tokens, n_draft)

    # The guesses themselves, the likeliest ones this time.
    propose = drafts["transformer"](0.0, torch.Generator())
    draft, _ = propose(prompt, n_draft)
    return draft
