import pytest
import torch
from torch import Tensor

from labml_nn.images import digits as page
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
    for at, word in enumerate(page.STROKES.split()[9 * digit : 9 * digit + 9]):
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


CASES = [{}, page.DISTORTIONS, *({name: one} for name, one in page.DISTORTIONS.items())]


@pytest.mark.parametrize("by", CASES, ids=str)
def test_a_digit_is_what_loops_draw(by: dict[str, float]) -> None:
    for digit in (0, 4, 9):
        (found,) = page.draw(torch.tensor([digit]), seeded(), by)
        assert largest([found], [by_loops(digit, by)]) < 1e-5


def test_an_empty_place_has_noise_and_no_ink_and_distortions_are_what_is_used() -> None:
    empty = torch.full((500,), page.EMPTY)
    assert not page.draw(empty, seeded(), {}).any()
    noise = page.DISTORTIONS["noise"]
    assert page.draw(empty, seeded()).std().item() == pytest.approx(noise, abs=0.005)
    seven = torch.tensor([7])
    assert torch.equal(page.draw(seven, seeded()), page.draw(seven, seeded(), page.DISTORTIONS))


def test_there_are_110_scenes_with_110_captions_and_neither_comes_twice() -> None:
    scenes = page.all_scenes().tolist()
    captions = [page.caption(*scene) for scene in scenes]
    assert len(set(captions)) == len(captions) == len(set(map(tuple, scenes))) == 110
    assert {"a seven", "two threes", "a one and an eight", "an eight and a one"} <= set(captions)
    assert [page.caption(6, 6), page.caption(8, page.EMPTY), page.caption(0, 9)] == [
        "two sixes", "an eight", "a zero and a nine",
    ]  # fmt: skip
    assert scenes[77] == [7, 7]
    assert scenes[100:] == [[digit, 10] for digit in range(10)]


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    generator = seeded(2_000_003)
    digits = torch.randint(10, (500,), generator=generator)
    assert largest(page.digits_at(3, 2, 500), (page.draw(digits, generator), digits)) == 0
    assert page.digits_at(0, 1)[0].shape == (64, 8, 8)
    assert not page.digits_at(3, 2, 500, {})[0].min() < 0


def test_two_digits_stand_in_their_order_and_one_by_itself_on_either_side() -> None:
    for pair in ((1, 0), (0, page.EMPTY)):
        scenes, generator = torch.tensor([pair] * 200), seeded()
        moved = (torch.rand(200, generator=generator) < 0.5) & (pair[1] == page.EMPTY)
        digits = scenes.where(~moved[:, None], scenes.flip(1))
        sides = [page.draw(side, generator) for side in digits.T]
        assert largest([page.draw_scenes(scenes, seeded())], [torch.cat(sides, dim=2)]) == 0


def test_twelve_captions_are_in_no_batch_but_each_digit_is_on_either_side() -> None:
    pairs = page.Pairs(seed=1, batch_size=98)
    new = [page.caption(*scene) for scene in pairs.scenes[pairs.unseen].tolist()]
    assert len(new) == 12
    assert {"two threes", "two sevens", "a two and a seven", "a zero and a one"} <= set(new)
    different = pairs.scenes[pairs.unseen & (pairs.scenes[:, 0] != pairs.scenes[:, 1])]
    assert [sorted(side.tolist()) for side in different.T] == [list(range(10))] * 2


def test_no_caption_comes_twice_and_each_is_beside_an_image_of_it() -> None:
    pairs, generator = page.Pairs(seed=4), seeded(4_000_005)
    seen = (~pairs.unseen).nonzero().flatten()
    chosen = seen[torch.randperm(98, generator=generator)[:64]]
    expected = page.draw_scenes(pairs.scenes[chosen], generator), pairs.texts[:, chosen]
    assert largest(pairs.at(5), expected) == 0


def test_texts_are_captions_with_an_end_and_images_to_measure_with_are_in_their_order() -> None:
    pairs = page.Pairs(seed=1)
    assert pairs.tokenizer.decode(pairs.texts[:, 77]) == "two sevens".ljust(21, "\n")
    assert pairs.texts[-1].unique().tolist() == [0]
    shown, numbers = pairs.held_out(3)
    assert numbers.tolist() == [number for number in range(110) for _ in range(3)]
    # Those of seed 0, which no training has.
    assert torch.equal(shown, page.draw_scenes(pairs.scenes[numbers], seeded(0)))
    assert len(pairs.held_out()[1]) == 20 * 110
