r"""What stands between a transformer and the other ways to write attention."""

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_experiment import Config
from labml_nn.transformers.basic.comparison_experiment import make_both
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.ways import batch_first, folded_heads, one_head_at_a_time, seam
from labml_nn.transformers.ways.seam import CausalAtTheSeam, SelfAttentionAtTheSeam

SEQ_LEN, BATCH_SIZE, D_MODEL = 5, 3, 7


# Sums over the second axis, so that a mix-up of axes shows.
Running = type("Running", (nn.Module,), {"forward": lambda self, x: x.cumsum(dim=1)})


def test_positions_and_sequences_change_places_and_back() -> None:
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    found = CausalAtTheSeam(Running())(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN))
    assert torch.equal(found, x.cumsum(dim=0))


def at_seam(**inputs: Tensor) -> str:
    r"""What is said about inputs that are refused."""
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    with pytest.raises(ValueError) as caught:
        CausalAtTheSeam(Running())(**{"query": x, "key": x, "value": x} | inputs)
    return str(caught.value)


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_other_keys_and_values_are_refused(name: str) -> None:
    mask = causal_mask(SEQ_LEN)
    said = at_seam(**{name: torch.randn(2, BATCH_SIZE, D_MODEL)}, mask=mask)
    assert f"{name} [2, 3, 7]" in said
    same_shape = at_seam(**{name: torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL)}, mask=mask)
    assert "takes one tensor [seq_len, batch_size, d_model]" in same_shape


def test_a_tensor_without_a_batch_is_refused() -> None:
    x = torch.randn(SEQ_LEN, D_MODEL)
    assert "got query [5, 7]" in at_seam(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN))


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (None, "none"),
        (torch.ones(SEQ_LEN, SEQ_LEN, 1, dtype=torch.bool), "another one, torch.bool [5, 5, 1]"),
        (causal_mask(SEQ_LEN).transpose(0, 1), "another one, torch.bool [5, 5, 1]"),
        (causal_mask(SEQ_LEN).expand(-1, -1, 3), "another one, torch.bool [5, 5, 3]"),
        (causal_mask(4), "another one, torch.bool [4, 4, 1]"),
    ],
    ids=["none", "all", "the future", "of each sequence", "shorter"],
)
def test_a_mask_that_would_not_be_used_is_refused(mask: Tensor | None, said: str) -> None:
    found = at_seam(mask=mask)
    assert found.endswith(f"pass causal_mask(5), got {said}")
    assert "[5, 5, 1]" in found


def test_what_the_bare_seam_does_is_left_to_a_subclass() -> None:
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    with pytest.raises(NotImplementedError):
        SelfAttentionAtTheSeam(Running())(query=x, key=x, value=x)


@pytest.mark.parametrize(
    "page", [batch_first, folded_heads, one_head_at_a_time], ids=lambda page: page.__name__[26:]
)
def test_the_small_transformer_trains_and_writes_with_it(page: object) -> None:
    sizes = {"d_model": 14, "heads": 2, "d_ff": 11}
    config = Config(
        steps=1, batch_size=3, seq_len=5, device="cpu", precision="float32", n_layers=2, **sizes
    )
    parts = page.in_transformer(**sizes, seq_len=config.seq_len, dropout_prob=0.1)
    trainers, tokenizer = make_both(config, "to be or not to be " * 40, parts)
    model = trainers["changed"].model
    attention = [one for name, one in model.named_parameters() if ".self_attn." in name]
    before = [one.detach().clone() for one in attention]
    assert trainers["changed"].train_step().isfinite()
    assert not any(torch.equal(*pair) for pair in zip(before, attention, strict=True))

    model.eval()
    tokens = tokenizer.encode("to be").unsqueeze(1)
    assert torch.allclose(model(tokens)[:3], model(tokens[:3]), atol=1e-5)


def test_the_example_runs() -> None:
    assert seam.example(5, 3, 7).shape == (5, 3, 7)
