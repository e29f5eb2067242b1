r"""A model of pictures is asked four questions, and none about the future."""

from typing import Any

import pytest

from wrongline.pasted import check
from wrongline.pictures import shape_of

VIT = """
class Patches(nn.Module):
    def __init__(self, dim, patch_size):
        super().__init__()
        self.cut = nn.Conv2d(3, dim, patch_size, patch_size)

    def forward(self, img):
        return self.cut(img).flatten(2).transpose(1, 2)


class Net(nn.Module):
    def __init__(self, image_size, patch_size, num_classes, dim):
        super().__init__()
        self.patches = Patches(dim, patch_size)
        self.places = nn.Parameter(torch.zeros((image_size // patch_size) ** 2, dim))
        self.mixing = nn.MultiheadAttention(dim, 3, batch_first=True)
        self.norm = nn.BatchNorm1d(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, img):
        x = self.patches(img) + self.places
        x = x + self.mixing(x, x, x)[0]
        return self.head(self.norm(x.mean(1)))
"""


def checked(text: str) -> dict[str, Any]:
    return {key: one for told in check(text, {}) for key, one in told.items()}


def test_a_right_one_is_accused_of_nothing() -> None:
    told = checked(VIT)
    assert told["assumed"]["class"] == "Net"
    assert told["assumed"]["pictures"] == [3, 20, 20]
    assert told["found"] == []
    asked = {"stays_finite", "same_twice", "sequences_apart", "every_matrix_is_used"}
    assert {*told["right"]} == asked


@pytest.mark.parametrize(
    ("right", "wrong", "test"),
    [
        ("x.mean(1)", "F.dropout(x.mean(1))", "same_twice"),
        ("x.mean(1)", "x.mean(1) + x.mean((0, 1))", "sequences_apart"),
        ("self.mixing(x, x, x)[0]", "x", "every_matrix_is_used"),
        ("x.mean(1)", "x.mean(1) / 0", "stays_finite"),
    ],
)
def test_what_is_wrong_is_named(right: str, wrong: str, test: str) -> None:
    assert right in VIT
    assert [one["test"] for one in checked(VIT.replace(right, wrong))["found"]] == [test]


def test_their_shape_is_that_of_the_arguments() -> None:
    assert shape_of({"img_size": [12], "in_chans": 1}) == (1, 12, 12)
    assert shape_of({"image_size": (12, 8)}) == (3, 12, 8)
