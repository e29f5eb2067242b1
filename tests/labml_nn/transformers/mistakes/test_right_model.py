from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

from labml_nn.training.loop import learning_rate
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining
from tests.labml_nn.transformers.seam import copied, equals
from tests.oracles import hugging_face
from tests.oracles.compare import difference
from tests.oracles.hugging_face import attention_from_gpt2, randomise, transposed

N_VOCAB, D_MODEL, HEADS, N_LAYERS, MAX_LEN, BATCH_SIZE, SEQ_LEN = 13, 10, 5, 2, 11, 3, 7


def model() -> RightModel:
    torch.manual_seed(1)
    made = RightModel(
        N_VOCAB, D_MODEL, N_LAYERS, MAX_LEN, lambda: RightAttention(HEADS, D_MODEL)
    ).double()
    # Weights of some size, so that every one counts.
    for weight in made.parameters():
        nn.init.normal_(weight, std=0.5)
    return made


def text(length: int = SEQ_LEN + 1) -> Tensor:
    return torch.randint(N_VOCAB, (BATCH_SIZE, length), generator=torch.Generator().manual_seed(2))


def gpt2(ours: RightModel) -> GPT2LMHeadModel:
    sizes = {"vocab_size": N_VOCAB, "n_positions": MAX_LEN, "bos_token_id": 0, "eos_token_id": 0}
    options = {"activation_function": "gelu", "tie_word_embeddings": False}
    config = hugging_face.gpt2(HEADS, D_MODEL, 4 * D_MODEL, **sizes, **options)
    theirs = randomise(GPT2LMHeadModel(config))
    stack = theirs.transformer
    ours.positions.data.copy_(stack.wpe.weight)
    for mine, other in zip(ours.layers, stack.h, strict=True):
        attention_from_gpt2(other.attn, mine.attention)
        mine.network[0].load_state_dict(transposed(other.mlp.c_fc))
        mine.network[2].load_state_dict(transposed(other.mlp.c_proj))
        copied(other, mine, {"ln_1": "norms.0", "ln_2": "norms.1"})
    copied(stack, ours, {"wte": "tokens", "ln_f": "norm"})
    copied(theirs, ours, {"lm_head": "generator"})
    return theirs


def against_gpt2() -> float:
    ours = model()
    theirs = gpt2(ours)
    logits = ours(text()[:, :-1])
    expected = theirs(text()[:, :-1]).logits
    return difference(logits, expected, [ours.tokens.weight], [theirs.transformer.wte.weight])


ORACLES = {"Hugging Face GPT-2": against_gpt2}
test_it_is_what_others_compute = equals(ORACLES)


def test_the_first_guess_is_nearly_even_and_layers_differ() -> None:
    torch.manual_seed(4)
    made = RightModel(N_VOCAB, 50, 3, MAX_LEN, lambda: RightAttention(HEADS, 50))
    for name, weight in made.named_parameters():
        expected = {True: (0.0, 0.02), False: (float("norm" in name and "weight" in name), 0.0)}
        mean, spread = expected[weight.dim() > 1]
        assert weight.mean().item() == pytest.approx(mean, abs=0.005), name
        assert weight.std().item() == pytest.approx(spread, abs=0.005), name
    queries = [layer.attention.query.weight for layer in made.layers]
    assert not queries[0].equal(queries[1])
    assert made.generator(torch.randn(9, 50)).std() < 0.3


def test_steps_are_those_of_a_loop_without_methods() -> None:
    ours, theirs = model().float(), model().float()
    training = RightTraining(ours, 40, 0.01)
    optimizer = torch.optim.AdamW(theirs.parameters(), 0.01, betas=(0.9, 0.99), weight_decay=0.1)
    inputs, targets = text()[:, :-1], text()[:, 1:]
    for step in range(4):
        loss = training.step(*training.cut(text()))
        optimizer.param_groups[0]["lr"] = 0.01 * learning_rate(step, 40)
        optimizer.zero_grad()
        expected = F.cross_entropy(theirs(inputs).transpose(1, 2), targets)
        expected.backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
        assert not loss.requires_grad
    # The bias of the keys has no gradient but rounding, which Adam makes large.
    state = theirs.state_dict()
    wrong = {
        name
        for name, weight in ours.state_dict().items()
        if not torch.allclose(weight, state[name], atol=1e-5)
    }
    assert wrong <= {f"layers.{number}.attention.key.bias" for number in range(N_LAYERS)}


def test_the_usual_rate_is_this_and_a_loss_gets_32_bits_of_products_with_16() -> None:
    training = RightTraining(model().float(), 10, bfloat16=True)
    assert training.optimizer.defaults["lr"] == 0.003
    with patch.object(training, "loss", side_effect=training.loss) as loss:
        training.step(*training.cut(text()))
    (logits, _) = loss.call_args.args
    assert logits.dtype is torch.float32
    assert logits.equal(logits.bfloat16().float())


def test_a_huge_gradient_is_followed_for_ten_steps_and_shortens_a_hundred() -> None:
    weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    training = RightTraining(model(), 1)
    optimizer = torch.optim.Adam([weight], 1.0, training.optimizer.defaults["betas"])
    moves = []
    for step in range(250):
        weight.grad = torch.full_like(weight, 100.0 if step == 100 else -1.0)
        before = weight.item()
        optimizer.step()
        moves.append(weight.item() - before)
    # Usual steps go up. The huge one goes down, as far as a usual one at most.
    assert moves[99] == pytest.approx(1, abs=0.01)
    assert -1 < moves[100] < -0.5
    assert all(move < 0 for move in moves[101:111])
    assert all(abs(move) < 0.5 for move in moves[111:210])


def test_the_printed_loss_is_of_evaluation() -> None:
    made = RightModel(
        N_VOCAB, D_MODEL, N_LAYERS, MAX_LEN, lambda: RightAttention(HEADS, D_MODEL, 0.5)
    )
    training = RightTraining(made, 1)
    printed = training.printed(text())
    assert training.printed(text()) == printed
    logits = made(text()[:, :-1]).detach().transpose(1, 2)
    assert printed == pytest.approx(F.cross_entropy(logits, text()[:, 1:]).item())
    assert not made.training
    training.step(*training.cut(text()))
    assert made.training
