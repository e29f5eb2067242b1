r"""
---
title: Comparing Drafts
summary: How many letters a pass of the target adds, and how many a second, for each draft.
know: speculative.py
---

A draft guesses four letters, and the target keeps the first two and adds one of its own: three
letters for one pass of the target. Does that pay? If the four guesses cost as much as one pass,
three letters cost two passes, and writing is 1.5 times as fast. If they cost as much as three
passes, it is slower than without a draft.

**In:** a target, some drafts, and prompts. **Out:** two numbers for each draft: the letters that a
pass adds, which tell how good its guesses are, and the letters a second, which tell whether it
pays.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from labml_nn.inference.prompt_lookup import PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import Propose, speculate

# From a temperature and a generator to a draft.
Make = Callable[[float, torch.Generator], Propose]


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
        # The same seed for each. At a temperature of 0 all of them write the same text. Else the
        # texts differ, since each draft uses the random numbers in its own way.
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

        # Tokens for each pass of the target, and tokens in a second. The first number doesn't
        # depend on how fast the machine is.
        found[name] = (sum(added) / len(added), sum(added) / seconds)
    return found


def example(n_text: int = 7, n_tokens: int = 5, n_draft: int = 3, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A draft that looks up letters and one that never guesses, for a target that isn't trained.

    ### Exercises

    ??? question "A draft adds 4 letters a pass, and writing is slower. How can that be?"
        - [ ] The target refuses its guesses.
            - Then a pass would add one letter.
        - [x] Its guesses cost more than they save.
            - Yes. Only the letters a second tell.
        - [ ] The prompts are too long.
            - They are the same for all drafts.

    ??? question "Why is the clock started after `make`?"
        - [x] What a draft prepares once, such as its counts, is no cost of a letter.
            - Yes. In a long text it would hardly count.
        - [ ] The generator has to be made first.
            - It is made before `make`, and takes no time.
        - [ ] The cache has to be empty.
            - It is cleared for each prompt, while the clock runs.

    ??? question "A draft that never guesses adds 1.00 letters a pass. Why exactly 1?"
        - [ ] The mean is rounded.
            - It is exact.
        - [x] Each pass adds one letter of the target's own, and nothing was guessed.
            - Yes. That is plain writing, with which all others are compared.
        - [ ] The temperature is 1.
            - At any temperature.
    """
    # Random weights, so a guess is kept by chance. With trained ones more would be kept, and nothing
    # else would change.
    target = RewindingTransformer(n_vocab, 8, 4, 2, 32, n_text + n_tokens + n_draft).eval()

    # Plain writing, to compare with, and a draft that finds what came before.
    drafts = {
        "none": lambda temperature, generator: PromptLookup(n_vocab, 0),
        "look-up": lambda temperature, generator: PromptLookup(n_vocab),
    }

    # The letters that a pass adds, for each of them. Their speed would be another one each time, so
    # it is left out. The prompt repeats itself, so there is something to look up at once.
    prompt = torch.arange(n_text) % 3
    found = compare(target, drafts, [prompt], n_tokens, n_draft)
    return torch.tensor([per_pass for per_pass, _ in found.values()])
