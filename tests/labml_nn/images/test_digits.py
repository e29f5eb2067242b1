import pytest
import torch
from torch import Tensor

from labml_nn.images.digits import (
    DISTORTIONS,
    EMPTY,
    STROKES,
    all_scenes,
    caption,
    digits_at,
    draw,
    draw_scenes,
)
from tests.oracles.compare import largest

ALL = torch.arange(10)


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def by_loops(digit: int, thickness: float) -> Tensor:
    r"""One digit without distortion, pixel by pixel and dot by dot."""
    words = STROKES.split()[9 * digit : 9 * digit + 9]
    points = [(0.5 * (int(x) - 4) + 3.5, 0.7 * (int(y) - 4) + 3.5) for x, y in words]
    dots = [points[-1]]
    for (x, y), (to_x, to_y) in zip(points, points[1:], strict=False):
        dots += [(x + (to_x - x) * k / 4, y + (to_y - y) * k / 4) for k in range(4)]
    image = torch.zeros(8, 8)
    for row in range(8):
        for column in range(8):
            nearest = min((column - x) ** 2 + (row - y) ** 2 for x, y in dots)
            image[row, column] = torch.tensor(-nearest / (2 * thickness**2)).exp()
    return image


@pytest.mark.parametrize("digit", range(10))
def test_a_digit_is_what_loops_draw(digit: int) -> None:
    (found,) = draw(torch.tensor([digit]), seeded(), {})
    # Its darkest pixels tell nothing of the pen, so the others must.
    pen = min((0.45 + 0.01 * n for n in range(41)), key=lambda n: (by_loops(digit, n) - found).norm())
    exact = thickness_of_the_first_pen()
    assert abs(pen - exact) < 0.01
    assert largest([found], [by_loops(digit, exact)]) < 1e-5


def thickness_of_the_first_pen() -> float:
    r"""The pen is drawn after five distortions, whose numbers are drawn even if they are zero."""
    generator = seeded()
    for shape in ((1, 9, 2), (1, 1, 1), (1, 1), (1, 1, 2)):
        torch.rand(*shape, generator=generator)
    return 0.65 + 0.2 * (2 * torch.rand(1, 1, 1, generator=generator).item() - 1)
