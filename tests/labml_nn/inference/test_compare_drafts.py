r"""How it calls each draft is tested in test_speculative_experiment.py."""

import torch

from labml_nn.inference.compare_drafts import compare
from labml_nn.inference.prompt_lookup import PromptLookup
from labml_nn.inference.rewind import RewindingTransformer


def test_without_guesses_each_pass_adds_one_letter() -> None:
    target = RewindingTransformer(11, 8, 4, 1, 16, 20).eval()
    drafts = {"none": lambda temperature, generator: PromptLookup(11, 0)}
    found = compare(target, drafts, [torch.arange(5), torch.arange(3)], 6)
    assert found["none"][0] == 1.0
