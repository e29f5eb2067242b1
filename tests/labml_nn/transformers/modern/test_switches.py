from collections.abc import Callable
from dataclasses import fields, replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.modern.switches import (
    SwitchedAttention,
    SwitchedTransformer,
    Switches,
)

N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, BATCH_SIZE = 13, 20, 5, 3, 11, 7, 2
NAMES = [field.name for field in fields(Switches)]
ON = Switches(**dict.fromkeys(NAMES, True))


def make(switches: Switches, dropout_prob: float = 0.0) -> SwitchedTransformer:
    r"""A model in which nothing is zero and no gain is one any more."""
    torch.manual_seed(1)
    model = SwitchedTransformer(
        switches, N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, dropout_prob
    ).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape))
    return model


def tokens(length: int = SEQ_LEN) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(N_VOCAB, (length, BATCH_SIZE), generator=generator)


def differences(
    model: nn.Module, other: Callable[[Tensor], Tensor], changes: dict[Tensor, tuple]
) -> float:
    r"""The largest one of logits and gradients.

    `changes` has for each parameter of the model the other's, and how its gradient becomes ours.
    """
    assert {*map(id, changes)} == {*map(id, model.parameters())}
    found, expected = model(tokens()), other(tokens())
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(3)).double()
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    gradients = [
        (mine.grad - change(theirs.grad)).abs().max().item()
        for mine, (theirs, change) in changes.items()
    ]
    return max((found - expected).abs().max().item(), *gradients)


def stacked(matrix: Tensor) -> Tensor:
    r"""Query, key and value, which lie side by side in GPT-2."""
    return matrix.t().reshape(3, D_MODEL, D_MODEL)


def of_gpt2(ours: SwitchedTransformer, gpt2: GPT2LMHeadModel) -> dict[Tensor, tuple]:
    r"""What belongs together, and how theirs becomes ours: matrices lie on their side there."""
    pairs = {
        ours.embedding.weight: (gpt2.transformer.wte.weight, Tensor.clone),
        ours.positions.weight: (gpt2.transformer.wpe.weight, Tensor.clone),
        ours.norm.weight: (gpt2.transformer.ln_f.weight, Tensor.clone),
    }
    for layer, block in zip(ours.layers, gpt2.transformer.h, strict=True):
        pairs |= {
            layer.norm_attention.weight: (block.ln_1.weight, Tensor.clone),
            layer.norm_feed_forward.weight: (block.ln_2.weight, Tensor.clone),
            layer.attention.project.weight: (block.attn.c_attn.weight, stacked),
            layer.attention.output.weight: (block.attn.c_proj.weight, Tensor.t),
            layer.feed_forward.layer1.weight: (block.mlp.c_fc.weight, Tensor.t),
            layer.feed_forward.layer2.weight: (block.mlp.c_proj.weight, Tensor.t),
        }
    return pairs


def hugging_face_gpt2() -> float:
    r"""All switches off, beside GPT-2 with exact GELU, a tied head and biases of zero."""
    ours = make(Switches())
    gpt2 = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=N_VOCAB,
            n_positions=SEQ_LEN,
            n_embd=D_MODEL,
            n_layer=N_LAYERS,
            n_head=HEADS,
            n_inner=D_FF,
            activation_function="gelu",
            layer_norm_epsilon=1e-5,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            use_cache=False,
            attn_implementation="eager",
            bos_token_id=0,
            eos_token_id=0,
        )
    ).double()
    pairs = of_gpt2(ours, gpt2)
    with torch.no_grad():
        for name, parameter in gpt2.named_parameters():
            parameter.mul_(0.0 if name.endswith("bias") else 1.0)
        for mine, (theirs, change) in pairs.items():
            mine.copy_(change(theirs))
    return differences(ours, lambda batch: gpt2(batch.t()).logits.transpose(0, 1), pairs)


def the_modern_transformer() -> float:
    r"""All switches on, beside the model that has none."""
    ours = make(ON)
    modern = ModernTransformer(N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, 0.0).double()
    modern.load_state_dict(ours.state_dict())
    theirs = dict(modern.named_parameters())
    pairs = {p: (theirs[name], Tensor.clone) for name, p in ours.named_parameters()}
    return differences(ours, modern, pairs)


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face GPT-2": hugging_face_gpt2,
    "the modern transformer": the_modern_transformer,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_computes_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_all_on_it_starts_with_the_very_weights_of_the_modern_transformer() -> None:
    states = []
    for make_one in (lambda *sizes: SwitchedTransformer(ON, *sizes), ModernTransformer):
        torch.manual_seed(5)
        states.append(make_one(N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, 0.0).state_dict())
    assert states[0].keys() == states[1].keys()
    assert [name for name in states[0] if not states[0][name].equal(states[1][name])] == []


def test_all_off_weights_start_small_and_those_that_add_smaller() -> None:
    torch.manual_seed(1)
    model = SwitchedTransformer(Switches(), 101, 64, 4, 8, 256, 103, 0.0)
    for name, weight in model.named_parameters():
        adds = name.endswith(("output.weight", "layer2.weight"))
        matrix = weight.dim() >= 2
        expected = [0.0, 0.02, 0.005][matrix + (matrix and adds)]
        assert weight.std().item() == pytest.approx(expected, rel=0.03), name


def test_with_zero_outputs_layers_pass_on_and_all_tokens_are_equally_likely() -> None:
    switches = Switches(zero_outputs=True, untied=True)
    model = SwitchedTransformer(switches, N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, 0.0)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    assert model.layers[1](x, model.mask, None)[0].equal(x)
    assert model(tokens()).abs().max() == 0
    # A head that is the embedding can't be zero.
    tied = SwitchedTransformer(
        replace(switches, untied=False), N_VOCAB, D_MODEL, HEADS, 1, D_FF, SEQ_LEN, 0.0
    )
    assert tied.embedding.weight.std() > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_each_switch_makes_a_difference(name: str) -> None:
    # What one of these does is seen only where another one is on.
    base = Switches(rms=name == "plain_norms", wide_start=name != "wide_start")
    models = []
    for switches in (base, replace(base, **{name: True})):
        torch.manual_seed(1)
        model = SwitchedTransformer(switches, N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, 0.0)
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.add_(0.1 * ("share" in key or "mix" in key or "gain" in key))
        models.append(model)
    before, after = (model(tokens()) for model in models)
    assert (before - after).abs().max() > 1e-4


@pytest.mark.parametrize("name", [*NAMES, ""])
def test_the_future_is_not_seen_and_every_parameter_learns(name: str) -> None:
    model = make(replace(Switches(), **dict.fromkeys([name] * bool(name), True)))
    whole = model(tokens())
    for length in range(1, SEQ_LEN):
        torch.testing.assert_close(model(tokens(SEQ_LEN)[:length]), whole[:length])
    whole.square().sum().backward()
    assert [key for key, p in model.named_parameters() if not p.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("switches", [Switches(), ON], ids=["off", "on"])
def test_both_ways_of_attention_agree(switches: Switches) -> None:
    model = make(switches)
    whole = model(tokens())
    for layer in model.layers:
        layer.attention.kernel = False
    torch.testing.assert_close(model(tokens()), whole)


@pytest.mark.parametrize(
    ("changes", "parameters"),
    [
        ({}, 804_096),
        ({"rotary": True, "rms": True, "query_key_norm": True}, 795_904),
        ({"rotary": True, "rms": True, "gated": True, "zero_outputs": True}, 787_712),
    ],
)
def test_there_are_as_many_parameters_as_in_nanogpts(
    changes: dict[str, bool], parameters: int
) -> None:
    model = SwitchedTransformer(
        Switches(**changes), 65, 128, 4, 4, 336 if "gated" in changes else 512, 64, 0.0
    )
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


def test_dropout_is_for_training() -> None:
    model = make(Switches(), dropout_prob=0.5)
    assert not model(tokens()).equal(model(tokens()))
    model.eval()
    assert model(tokens()).equal(model(tokens()))


def test_under_autocast_logits_are_nearly_the_same() -> None:
    for switches in (Switches(), ON):
        model = make(switches).float()
        with torch.autocast("cpu", torch.bfloat16):
            rough = model(tokens())
        exact = model(tokens())
        assert (rough - exact).abs().max() < 0.1 * exact.abs().max()


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of heads, got d_model=20 and heads=3"):
        SwitchedAttention(Switches(), 20, 3, 7, first=True)
    with pytest.raises(ValueError, match="got d_model=20 and heads=0"):
        SwitchedAttention(Switches(), 20, 0, 7, first=True)


def test_gelu_is_the_exact_one() -> None:
    layer = make(Switches()).layers[0].feed_forward
    x = torch.randn(3, D_MODEL).double()
    hidden = F.linear(x, layer.layer1.weight)
    exact = 0.5 * hidden * (1 + torch.erf(hidden / 2**0.5))
    torch.testing.assert_close(layer(x), F.linear(exact, layer.layer2.weight))
