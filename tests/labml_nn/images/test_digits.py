import pytest
import torch
from torch import Tensor

from labml_nn.images.digits import (
    DISTORTIONS,
    EMPTY,
    STROKES,
    Pairs,
    all_scenes,
    caption,
    digits_at,
    draw,
    draw_scenes,
)
from tests.oracles.compare import largest


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def between(generator: torch.Generator, most: float, count: int) -> list[float]:
    return [most * (2 * one - 1) for one in torch.rand(count, generator=generator).tolist()]


def by_loops(digit: int, by: dict[str, float]) -> Tensor:
    r"""One digit, pixel by pixel and dot by dot, with the same random numbers."""
    generator = seeded()
    wobble = between(generator, by.get("wobble", 0.0), 18)
    (size,) = between(generator, by.get("size", 0.0), 1)
    (slant,) = between(generator, by.get("slant", 0.0), 1)
    to_right, down = between(generator, by.get("shift", 0.0), 2)
    pen = 0.65 + between(generator, 0.2, 1)[0]
    points = []
    for at, word in enumerate(STROKES.split()[9 * digit : 9 * digit + 9]):
        x = (0.5 * (int(word[0]) - 4) + wobble[2 * at]) * (1 + size)
        y = (0.7 * (int(word[1]) - 4) + wobble[2 * at + 1]) * (1 + size)
        points.append((3.5 + x + slant * y + to_right, 3.5 + y + down))
    dots = [points[-1]]
    for (x, y), (to_x, to_y) in zip(points, points[1:], strict=False):
        dots += [(x + (to_x - x) * k / 4, y + (to_y - y) * k / 4) for k in range(4)]
    places = torch.cartesian_prod(torch.arange(8), torch.arange(8)).tolist()
    nearest = [min((i - y) ** 2 + (j - x) ** 2 for x, y in dots) for i, j in places]
    noise = by.get("noise", 0.0) * torch.randn(8, 8, generator=generator)
    return (-torch.tensor(nearest) / (2 * pen**2)).exp().view(8, 8) + noise


CASES = [{}, DISTORTIONS, *({name: one} for name, one in DISTORTIONS.items())]


@pytest.mark.parametrize("by", CASES, ids=str)
def test_a_digit_is_what_loops_draw(by: dict[str, float]) -> None:
    for digit in (0, 4, 9):
        (found,) = draw(torch.tensor([digit]), seeded(), by)
        assert largest([found], [by_loops(digit, by)]) < 1e-5


def test_an_empty_place_has_noise_and_no_ink_and_distortions_are_what_is_used() -> None:
    empty = torch.full((500,), EMPTY)
    assert not draw(empty, seeded(), {}).any()
    assert draw(empty, seeded()).std().item() == pytest.approx(DISTORTIONS["noise"], abs=0.005)
    seven = torch.tensor([7])
    assert torch.equal(draw(seven, seeded()), draw(seven, seeded(), DISTORTIONS))


def test_pens_differ_from_image_to_image_and_are_one_to_two_pixels_thick() -> None:
    # The middle of a one that isn't distorted, two pixels beside its line.
    ones = draw(torch.full((500,), 1), seeded(), {})[:, 4, 5]
    pens = (1.5**2 / (-2 * ones.log())).sqrt()
    assert 0.45 < pens.min() < 0.46
    assert 0.84 < pens.max() < 0.85


def test_a_batch_depends_on_seed_and_step_alone_and_has_all_digits() -> None:
    images, digits = digits_at(3, 2, 500)
    again = digits_at(3, 2, 500)
    assert torch.equal(images, again[0])
    assert torch.equal(digits, again[1])
    assert len(torch.bincount(digits)) == 10
    assert torch.bincount(digits).min() > 25
    for other in ((4, 2), (3, 1), (4, 1)):
        assert not torch.equal(digits_at(*other, 500)[1], digits)
    # A seed has room for a million steps.
    assert torch.equal(digits_at(1_000_003, 1, 500)[1], digits)
    assert digits_at(0, 1)[0].shape == (64, 8, 8)
    assert not digits_at(3, 2, 500, {})[0].min() < 0


def test_there_are_110_scenes_with_110_captions_and_neither_comes_twice() -> None:
    scenes = all_scenes().tolist()
    captions = [caption(*scene) for scene in scenes]
    assert len(set(captions)) == len(captions) == len(set(map(tuple, scenes))) == 110
    assert {"a seven", "two threes", "a one and an eight", "an eight and a one"} <= set(captions)
    assert [caption(6, 6), caption(8, EMPTY), caption(0, 9)] == [
        "two sixes", "an eight", "a zero and a nine",
    ]
    assert scenes[77] == [7, 7]
    assert scenes[100:] == [[digit, 10] for digit in range(10)]


def halves(scene: list[int], n_images: int = 200) -> tuple[Tensor, Tensor]:
    images = draw_scenes(torch.tensor([scene] * n_images), seeded())
    assert images.shape == (n_images, 8, 16)
    return images[..., :8], images[..., 8:]


def test_two_digits_stand_in_their_order_and_one_by_itself_on_either_side() -> None:
    left, right = halves([1, 0])
    one, zero = (draw(torch.full((500,), digit), seeded(2)).mean(dim=0) for digit in (1, 0))
    assert (left.mean(dim=0) - one).abs().max() < 0.1 < (left.mean(dim=0) - zero).abs().max()
    assert (right.mean(dim=0) - zero).abs().max() < 0.1
    inked = [half.sum(dim=(1, 2)) > 8 for half in halves([0, EMPTY])]
    on_the_right = torch.rand(200, generator=seeded()) < 0.5
    assert torch.equal(inked[1], on_the_right)
    assert torch.equal(inked[0], ~on_the_right)


def test_twelve_captions_are_in_no_batch_but_each_digit_is_on_either_side() -> None:
    pairs = Pairs(seed=1, batch_size=98)
    new = [caption(*scene) for scene in pairs.scenes[pairs.unseen].tolist()]
    assert len(new) == 12
    assert {"two threes", "two sevens", "a two and a seven", "a zero and a one"} <= set(new)
    different = pairs.scenes[pairs.unseen & (pairs.scenes[:, 0] != pairs.scenes[:, 1])]
    assert [sorted(side.tolist()) for side in different.T] == [list(range(10))] * 2
    _, tokens = pairs.at(0)
    shown = {pairs.tokenizer.decode(one).rstrip("\n") for one in tokens.T}
    assert shown == {caption(*scene) for scene in pairs.scenes[~pairs.unseen].tolist()}


def test_no_caption_comes_twice_and_each_is_beside_an_image_of_it() -> None:
    pairs = Pairs(seed=1)
    (shown, tokens), again, other = pairs.at(5), Pairs(seed=1).at(5), Pairs(seed=2).at(5)
    assert shown.shape == (64, 8, 16)
    assert len(tokens.T.unique(dim=0)) == 64
    assert torch.equal(shown, again[0])
    assert torch.equal(tokens, again[1])
    assert not torch.equal(tokens, other[1])
    assert not torch.equal(tokens, pairs.at(6)[1])
    # A seed has room for a million steps.
    assert not torch.equal(tokens, Pairs(seed=4).at(2)[1])
    assert torch.equal(tokens, Pairs(seed=0).at(1_000_005)[1])
    # One digit has less ink than two.
    alone = torch.tensor([" and " not in pairs.tokenizer.decode(one) for one in tokens.T])
    alone &= torch.tensor(["two " not in pairs.tokenizer.decode(one) for one in tokens.T])
    inked = shown.clamp(min=0).sum(dim=(1, 2))
    assert inked[alone].mean() < 0.7 * inked[~alone].mean()


def test_texts_are_captions_with_an_end_and_images_to_measure_with_are_in_their_order() -> None:
    pairs = Pairs(seed=1)
    assert pairs.tokenizer.decode(pairs.texts[:, 77]) == "two sevens".ljust(21, "\n")
    assert pairs.texts[-1].unique().tolist() == [0]
    longest = pairs.texts[-2].nonzero().flatten()
    assert {len(caption(*scene)) for scene in pairs.scenes[longest].tolist()} == {20}
    shown, numbers = pairs.held_out(3)
    assert numbers.tolist() == [number for number in range(110) for _ in range(3)]
    # Their last ones have a digit and an empty place.
    assert shown[-30:].clamp(min=0).sum() < 0.7 * shown[:30].clamp(min=0).sum()
    # Those of seed 0, which no training has.
    assert torch.equal(shown, draw_scenes(pairs.scenes[numbers], torch.Generator().manual_seed(0)))
    assert len(pairs.held_out()[1]) == 20 * 110
