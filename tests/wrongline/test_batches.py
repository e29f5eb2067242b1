r"""Models that read their tokens out of a dictionary."""

from typing import Any

import torch
from torch import Tensor

from tests.wrongline.others import Small, texts
from wrongline import find_in_language_model


class Batched(Small):
    ahead = 0.0

    def forward(self, batch: Any) -> Any:
        x = batch["input_ids"]
        logits, _ = self.logits(x)
        later = logits.roll(-1, dims=1) * batch["attention_mask"].unsqueeze(-1)
        loss = torch.nn.functional.cross_entropy(logits.mT, batch["labels"])
        return {"loss": loss, "logits": logits + self.ahead * later}


class Other(Small):
    def forward(self, batch: Any) -> Tensor:
        logits = super().forward(batch["input_ids"])
        return logits + batch["image"] if "image" in batch else logits


class Speaker(Other):
    def forward(self, batch: Any) -> Tensor:
        return super().forward({"input_ids": batch["input_ids"]}) + batch["speaker"]


def test_a_batch_is_a_dictionary_with_the_keys_that_are_read() -> None:
    assert find_in_language_model(Batched(), texts()) == {}
    model = Batched()
    model.ahead = 1.0
    assert "sees the future" in find_in_language_model(model, texts())["model_prefix"]
    # What nobody knows is left out: one model does without, and the other says what it lacks.
    assert find_in_language_model(Other(), texts()) == {}
    assert find_in_language_model(Speaker(), texts())["runs"].startswith("KeyError: 'speaker'")
