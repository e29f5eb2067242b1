r"""The logit lens and the tuned lens."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Categorical, kl_divergence

from labml_nn.inside import logit_lens as page
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

SEQ_LEN, BATCH_SIZE, N_VOCAB, N_LAYERS, D_MODEL = 5, 3, 13, 3, 14


def new(n_layers: int = N_LAYERS) -> AutoregressiveTransformer:
    r"""In double precision; the last normalisation has gains and biases that matter."""
    torch.manual_seed(5)
    model = AutoregressiveTransformer(N_VOCAB, D_MODEL, 7, n_layers, 11, SEQ_LEN + 2).double()
    for weights in model.encoder.norm.parameters():
        nn.init.normal_(weights)
    return model.eval()


def texts() -> Tensor:
    return torch.randint(N_VOCAB, (SEQ_LEN, BATCH_SIZE), generator=torch.Generator().manual_seed(6))


def randomised(tuned: page.TunedLens) -> page.TunedLens:
    for weights in tuned.parameters():
        nn.init.normal_(weights, std=0.3)
    return tuned.double()


def from_shorter_models() -> float:
    r"""How far readings and their losses are from those of models with so many layers."""
    furthest = 0.0
    model, tokens = new(), texts()
    readings = page.logit_lens(model, page.residual_streams(model, tokens))
    found = page.losses(readings, tokens.flip(0))
    assert len(readings) == len(found) == N_LAYERS + 1
    for n_layers, (reading, loss) in enumerate(zip(readings, found, strict=True)):
        shorter = new(n_layers)
        left = shorter.load_state_dict(model.state_dict(), strict=False)
        assert not left.missing_keys
        right = reading.log_softmax(-1).gather(-1, tokens.flip(0)[..., None])
        furthest = max(furthest, largest([reading, loss], [shorter(tokens), -right.mean()]))
    return furthest


def test_a_guess_has_settled_after_the_last_change() -> None:
    # As on the page, "e e d d d"; then a guess that came early and went away, and one that stayed.
    guesses = torch.tensor([[0, 0, 1, 1, 1], [1, 0, 1, 2, 1], [2, 2, 2, 2, 2], [0, 1, 2, 3, 4]])
    logits = F.one_hot(guesses.t(), 5).double()
    assert page.settled(logits).tolist() == [2, 4, 0, 4]


def test_each_layer_has_an_affine_map_of_its_own_but_the_last() -> None:
    tuned = randomised(page.TunedLens(N_LAYERS, D_MODEL))
    streams = page.residual_streams(new(), texts())
    # A new one is the logit lens.
    assert torch.equal(page.TunedLens(N_LAYERS, D_MODEL).double()(streams), streams)
    found = tuned(streams)
    for n in range(N_LAYERS):
        changed = streams[n] @ tuned.weight[n].t() + tuned.bias[n]
        assert largest([found[n]], [streams[n] + changed]) < 1e-10
    assert torch.equal(found[-1], streams[-1])
    assert {name: tuple(one.shape) for name, one in tuned.named_parameters()} == {
        "weight": (N_LAYERS, D_MODEL, D_MODEL),
        "bias": (N_LAYERS, 1, 1, D_MODEL),
    }


def from_divergence() -> float:
    r"""How far the loss of a tuned lens is from the divergence of its readings from the model."""
    model, tokens, tuned = new(), texts(), randomised(page.TunedLens(N_LAYERS, D_MODEL))
    readings = page.logit_lens(model, tuned(page.residual_streams(model, tokens)))
    target = Categorical(logits=model(tokens))
    apart = [kl_divergence(target, Categorical(logits=one)).mean() for one in readings]
    return largest([page.tuned_loss(model, tuned, tokens)], [torch.stack(apart).sum()])


ORACLES = {
    "models of fewer layers": from_shorter_models,
    "torch.distributions.kl_divergence": from_divergence,
}
test_it_is_what_others_compute = equals(ORACLES)


def test_training_a_tuned_lens_leaves_the_model_and_the_target_alone() -> None:
    model, tokens, tuned = new(), texts(), randomised(page.TunedLens(N_LAYERS, D_MODEL))
    page.tuned_loss(model, tuned, tokens).backward()
    assert all(weights.grad is None for weights in model.embed.parameters())
    assert all(weights.grad is None for weights in model.encoder.layers.parameters())
    mine = model.generator.projection.weight.grad

    # The last normalisation and the logits get gradients, though nobody uses them: those of a fixed
    # target.
    with torch.no_grad():
        streams, target = page.residual_streams(model, tokens), model(tokens).softmax(-1)
    model.zero_grad()
    readings = page.logit_lens(model, tuned(streams)).log_softmax(-1)
    (-(target * readings).sum(dim=(0, 3)).mean()).backward()
    assert largest([mine], [model.generator.projection.weight.grad]) < 1e-10


@torch.no_grad()
def test_the_stream_of_the_classic_model_grows_and_its_last_gains_matter_little(
    repository: Path,
) -> None:
    tokenizer, _, text = prepare(tiny_shakespeare(), 64)
    model = AutoregressiveTransformer(len(tokenizer)).eval()
    load(model, (repository / "results/weights/classic.safetensors").read_bytes())
    tokens = text[: 64 * 40 + 1]
    inputs, targets = (one.view(40, 64).t() for one in (tokens[:-1], tokens[1:]))
    streams = page.residual_streams(model, inputs)
    sizes = streams.std(dim=-1).mean(dim=(1, 2))
    assert (sizes.diff() > 0).all() and 3.3 < sizes[-1] / sizes[0] < 3.7
    raw, scaled = (page.losses(model.generator(x * streams), targets) for x in (1.0, 0.3))
    with_gains = page.losses(page.logit_lens(model, streams), targets)
    without = page.losses(model.generator(F.layer_norm(streams, (128,))), targets)
    # Smaller logits are better ones, and the third and fourth layer make them better.
    assert raw[4] > raw[3] > raw[2] and scaled[4] < scaled[3] < scaled[2]
    assert scaled[4] < raw[4] - 0.9 and 0 < without[4] - with_gains[4] < 0.05
