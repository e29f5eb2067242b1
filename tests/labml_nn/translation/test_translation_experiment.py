import pytest
import torch
from torch import Tensor

from labml_nn.training.loop import adamw, train
from labml_nn.translation import translation_experiment as page
from labml_nn.translation.dates import END, START, SYMBOLS, DatePairs, decode, encode, split
from labml_nn.translation.encoder_decoder import EncoderDecoder, translate, translation_loss
from tests.oracles.compare import largest

DAYS, HELD_OUT = split()
SOURCES, TARGETS = page.held_out_pairs(HELD_OUT[:3])


def small(way: type[EncoderDecoder] = EncoderDecoder, seed: int = 1) -> EncoderDecoder:
    torch.manual_seed(seed)
    return way(len(SYMBOLS), 20, 5, 2, 13)


def test_a_decoder_without_the_source_writes_the_same_for_every_source() -> None:
    model = small(page.NoSource)
    logits = model(encode(SOURCES), encode(["1987-03-05"] * 15))
    assert largest([logits], [logits[:, :1].expand_as(logits)]) < 1e-6
    different = small()(encode(SOURCES), encode(["1987-03-05"] * 15))
    assert largest([different[:, 0]], [different[:, 1]]) > 1e-3


def test_one_vector_is_the_mean_over_the_letters_without_the_padding() -> None:
    one, whole = small(page.OneVector), small()
    memory, visible = one.encode(encode(SOURCES))
    assert memory.shape == (1, 15, 20)
    assert visible.shape == (1, 1, 15) and visible.all()
    expected = [whole.encode(encode([source]))[0].mean(dim=0) for source in SOURCES]
    assert largest([memory[0]], [torch.cat(expected)]) < 1e-5
    assert list(page.WAYS.values()) == [page.NoSource, page.OneVector, EncoderDecoder]


def test_held_out_pairs_are_each_day_in_each_form() -> None:
    assert len(SOURCES) == len(set(SOURCES)) == 15
    assert [len(set(TARGETS[at : at + 5])) for at in (0, 5, 10)] == [1, 1, 1]
    assert len(set(TARGETS)) == 3


def test_the_training_is_that_of_the_loop_and_the_seed_decides_on_the_batches() -> None:
    def gradients(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
        loss = translation_loss(model, source, target)
        loss.backward()
        return loss.detach()

    losses: list[Tensor] = []
    page.fit(small(), DAYS, 1, 2, lambda step, loss: losses.append(loss))
    expected = translation_loss(small(), *DatePairs(DAYS, 32, 2).at(0))
    assert largest(losses, [expected]) < 1e-6 and not losses[0].requires_grad
    ours, other = small(), small()
    page.fit(ours, DAYS, 2)
    train(other, DatePairs(DAYS, 32, 1).at, [adamw(other)], 2, gradients=gradients)
    assert largest(list(ours.parameters()), list(other.parameters())) == 0


def test_exact_is_all_ten_letters_and_the_loss_is_that_of_the_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = small()
    almost = [*TARGETS[:-1], TARGETS[-1][:-1]]
    said = {(model, tuple(SOURCES)): almost}
    monkeypatch.setattr(page, "translations", lambda by, sources: said[by, tuple(sources)])
    loss, right = page.measure(model, HELD_OUT[:3])
    assert right == pytest.approx(14 / 15)
    assert loss == pytest.approx(translation_loss(model, encode(SOURCES), encode(TARGETS)).item())


def test_a_translation_has_at_most_eleven_tokens_and_does_not_depend_on_the_others() -> None:
    # After another start this model would write something else.
    model = small()
    found = page.translations(model, SOURCES)
    assert {len(one) for one in found} == {11}
    assert page.translations(model, SOURCES[4:5]) == found[4:5]
    other = translate(model, encode(SOURCES), END, START, 11)
    assert [decode(one) for one in other.t()] != found


def test_where_it_looks_is_a_row_for_each_token_that_it_writes() -> None:
    model = small()
    found, weights = page.looked_at(model, "3/5/1987")
    assert weights.shape == (len(found) + 1, len("<3/5/1987>"))
    assert largest([weights.sum(dim=1)], [torch.ones(len(found) + 1)]) < 1e-5
    model(encode(["3/5/1987"]), encode([found])[:-1])
    expected = model.decoder[1].cross_attn.attn[:, :, 0].mean(dim=-1)
    assert torch.equal(weights, expected) and not weights.requires_grad
