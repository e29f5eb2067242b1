import inspect
import math
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import InputError
from labml_nn.training.loop import evaluate
from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling
from labml_nn.transformers.basic.autoregressive_experiment import (
    AutoregressiveTransformer,
    Config,
    attention_map,
    example,
    main,
    make_trainer,
    notebook,
)
from labml_nn.transformers.positional_encoding import sinusoidal_positions

N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN = 13, 10, 5, 2, 17, 11
TEXT = "the quick brown fox jumps over the lazy dog; " * 40


def make_model(dropout_prob: float = 0.0) -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(
        n_vocab=N_VOCAB,
        d_model=D_MODEL,
        heads=HEADS,
        n_layers=N_LAYERS,
        d_ff=D_FF,
        seq_len=SEQ_LEN,
        dropout_prob=dropout_prob,
    )


def make_tokens(length: int, batch_size: int = 3) -> Tensor:
    return torch.randint(N_VOCAB, (length, batch_size), generator=torch.Generator().manual_seed(2))


def by_pytorch(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""The same weights in PyTorch's own encoder."""
    layer = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, dropout=0.0, activation="gelu", norm_first=True
    )
    encoder = nn.TransformerEncoder(
        layer, N_LAYERS, norm=nn.LayerNorm(D_MODEL), enable_nested_tensor=False
    )
    encoder = encoder.to(next(model.parameters()).dtype)
    state = {}
    for index, ours in enumerate(model.encoder.layers):
        attention = ours.self_attn
        parts = (attention.query.linear, attention.key.linear, attention.value.linear)
        parameters = {
            "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
            "self_attn.in_proj_bias": torch.cat([part.bias for part in parts]),
        }
        modules = {
            "self_attn.out_proj": attention.output,
            "linear1": ours.feed_forward.layer1,
            "linear2": ours.feed_forward.layer2,
            "norm1": ours.norm_self_attn,
            "norm2": ours.norm_ff,
        }
        for name, module in modules.items():
            parameters |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
        state |= {f"layers.{index}.{name}": value for name, value in parameters.items()}
    state |= {f"norm.{key}": value for key, value in model.encoder.norm.state_dict().items()}
    encoder.load_state_dict(state)

    weights = model.embed.tokens.embedding.weight
    positions = sinusoidal_positions(D_MODEL, SEQ_LEN)[: len(tokens), None].to(weights.dtype)
    x = F.embedding(tokens, weights) * math.sqrt(D_MODEL) + positions
    mask = nn.Transformer.generate_square_subsequent_mask(len(tokens), dtype=weights.dtype)
    return model.generator.projection(encoder(x, mask=mask))


@pytest.mark.parametrize("length", [1, 7, SEQ_LEN])
def test_logits_are_those_of_pytorchs_encoder_with_the_same_weights(length: int) -> None:
    model = make_model().double()
    tokens = make_tokens(length)
    torch.testing.assert_close(model(tokens), by_pytorch(model, tokens), rtol=0, atol=1e-12)


@pytest.mark.parametrize("fused", [True, False])
def test_no_logit_depends_on_a_later_token(fused: bool) -> None:
    model = make_model().double()
    for layer in model.encoder.layers:
        layer.self_attn.fused = fused
    tokens = make_tokens(SEQ_LEN)
    logits = model(tokens)
    for position in range(1, SEQ_LEN):
        changed = tokens.clone()
        changed[position:] = (tokens[position:] + 1) % N_VOCAB
        again = model(changed)
        torch.testing.assert_close(again[:position], logits[:position], rtol=0, atol=1e-12)
        assert not torch.allclose(again[position], logits[position])


def test_each_sequence_of_a_batch_is_on_its_own() -> None:
    model = make_model().double()
    tokens = make_tokens(7)
    logits = model(tokens)
    for column in range(3):
        alone = model(tokens[:, column : column + 1])[:, 0]
        torch.testing.assert_close(logits[:, column], alone, rtol=0, atol=1e-12)


def test_a_sequence_longer_than_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="12"):
        make_model()(make_tokens(SEQ_LEN + 1))


def test_the_loss_before_training_is_near_that_of_guessing() -> None:
    seed = torch.Generator().manual_seed(1)
    text = "".join(chr(97 + index) for index in torch.randint(26, (5000,), generator=seed).tolist())
    # What a machine would try before the default number of steps is no part of this.
    trainer, tokenizer = make_trainer(Config(device="cpu", steps=1), text)
    loss = evaluate(trainer.model, trainer.validation, 64)
    assert loss == pytest.approx(math.log(len(tokenizer)), abs=0.35)


def test_every_weight_gets_a_gradient() -> None:
    model = make_model()
    tokens = make_tokens(SEQ_LEN)
    F.cross_entropy(model(tokens[:-1]).flatten(0, 1), tokens[1:].flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # What a bias of the keys adds to a row of scores is the same in each column.
        expected = "key.linear.bias" not in name
        assert bool(parameter.grad.abs().max() > 1e-6) == expected, name


def test_layers_start_differently() -> None:
    first, second = (dict(layer.named_parameters()) for layer in make_model().encoder.layers)
    for name in first:
        differ = not first[name].equal(second[name])
        assert differ == ("norm" not in name), name


def test_one_batch_is_learned_by_heart() -> None:
    torch.manual_seed(1)
    model = AutoregressiveTransformer(N_VOCAB, 32, 4, 2, 64, SEQ_LEN, 0.0)
    tokens = make_tokens(SEQ_LEN + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(150):
        loss = F.cross_entropy(model(tokens[:-1]).flatten(0, 1), tokens[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05

    # And written down again, from the first token alone: no two sequences begin alike.
    assert tokens[0].unique().numel() == 3
    written = generate(model, tokens[:1], SEQ_LEN, SEQ_LEN, Sampling(top_k=1))
    assert written.equal(tokens)


def test_the_mask_is_no_weight() -> None:
    model = make_model()
    assert "mask" not in model.state_dict()
    assert {name for name, _ in model.named_buffers() if name.endswith("mask")} == {"mask"}


def test_dropout_acts_everywhere_and_in_training_only() -> None:
    model = make_model(dropout_prob=0.5)
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    # The embedding, and in each layer attention, feed-forward network and residual.
    assert rates == [0.5] * (1 + 3 * N_LAYERS)
    tokens = make_tokens(7)
    assert not model(tokens).equal(model(tokens))
    model.eval()
    assert model(tokens).equal(model(tokens))


def test_attention_maps_are_rows_of_weights_over_the_past() -> None:
    model = make_model(dropout_prob=0.5)
    tokens = make_tokens(7, batch_size=1)
    weights = attention_map(model, tokens)
    assert weights.shape == (7, 7, HEADS)
    torch.testing.assert_close(weights.sum(1), torch.ones(7, HEADS))
    assert float(weights.permute(2, 0, 1).triu(1).sum()) == 0
    # Nothing was dropped, or it would not come out the same.
    assert attention_map(model, tokens).equal(weights)
    assert model.training
    model(tokens)
    assert model.encoder.layers[-1].self_attn.attn is None


def test_the_way_of_attention_changes_no_loss() -> None:
    config = Config(device="cpu", precision="bfloat16", steps=5, d_model=8, d_ff=8)
    losses = []
    for fused in (True, False):
        trainer, _ = make_trainer(config, TEXT)
        for layer in trainer.model.encoder.layers:
            layer.self_attn.fused = fused
        losses.append([trainer.train_step().item() for _ in range(5)])
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


def test_the_recipe_is_that_of_the_page() -> None:
    config = Config()
    assert (config.n_layers, config.heads, config.d_model, config.d_ff) == (4, 4, 128, 512)
    assert (config.seq_len, config.batch_size, config.steps) == (64, 12, 2000)
    assert config.dropout_prob == 0


def test_the_same_seed_gives_the_same_bits() -> None:
    losses, weights = [], []
    for seed in (1, 1, 2):
        config = Config(device="cpu", seed=seed, d_model=8, d_ff=8, steps=3)
        trainer, _ = make_trainer(config, TEXT)
        weights.append(trainer.model.generator.projection.weight.tolist())
        losses.append([trainer.train_step().item() for _ in range(3)])
    assert losses[0] == losses[1] != losses[2]
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--heads=3", "d_model must be a multiple of heads, got d_model=128 and heads=3"),
        ("--heads=0", "heads must be at least 1, got 0"),
        ("--d-model=0", "d_model must be at least 1, got 0"),
        ("--n-layers=0", "n_layers must be at least 1, got 0"),
        ("--d-ff=-1", "d_ff must be at least 1, got -1"),
        ("--dropout-prob=1", "dropout_prob must be at least 0 and below 1, got 1.0"),
        ("--steps=0", "steps must be at least 1, got 0"),
    ],
)
def test_sizes_without_sense_are_told_in_one_sentence(
    option: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--text=anything", option]) == 2
    assert capsys.readouterr() == ("", f"error: {sentence}\n")


def test_settings_are_checked_when_they_are_made() -> None:
    with pytest.raises(InputError, match="d_model=128 and heads=5"):
        Config(heads=5)


def test_the_program_is_found_and_a_mistake_ends_with_status_2(
    tmp_path: Path, repository: Path
) -> None:
    module = "labml_nn.transformers.basic.autoregressive_experiment"
    done = subprocess.run(
        [sys.executable, "-m", module, "--text", "nowhere"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read nowhere: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


def test_the_notebook_trains_shows_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[list[tuple[int, int]]] = []

    def show() -> None:
        shown.append([(len(axes.lines), len(axes.images)) for axes in plt.gcf().axes])

    monkeypatch.setattr(plt, "show", show)
    (tmp_path / "text").write_text(TEXT)
    notebook(
        text_file=str(tmp_path / "text"),
        steps=60,
        learning_rate=0.01,
        seq_len=16,
        d_model=12,
        heads=3,
        n_layers=1,
        sample_length=30,
    )
    out, err = capsys.readouterr()
    # Two curves and the line of counting; then a map for each head.
    assert shown == [[(3, 0)], [(0, 1), (0, 1), (0, 1)]]
    assert "60/60" in err
    assert out.startswith(TEXT[:300])
    assert "counting alone reaches" in out
    plt.close("all")


def test_the_notebook_notices_that_nothing_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    (tmp_path / "text").write_text(TEXT)
    with pytest.raises(AssertionError, match="counting alone reaches"):
        notebook(text_file=str(tmp_path / "text"), steps=1, d_model=8, heads=1, n_layers=1)
    plt.close("all")


def test_the_example_runs_with_other_primes() -> None:
    values = example(d_k=7, batch_size=11, heads=13, seq_len=17, d_ff=19, n_vocab=23)
    assert values["attention"].shape == (17, 17, 13)
    assert math.isfinite(values["loss"].item())


def test_every_field_of_the_configuration_is_in_the_form_of_the_notebook() -> None:
    form = inspect.signature(notebook).parameters
    # A notebook saves no checkpoints, and is one process.
    left_out = ("save_every", "sharded")
    expected = {name: value for name, value in vars(Config()).items() if name not in left_out}
    assert expected.keys() <= form.keys()
    expected |= {"evaluate_every": 250}
    assert {name: form[name].default for name in expected} == expected
