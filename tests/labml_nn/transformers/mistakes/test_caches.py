import torch

from labml_nn.transformers.mistakes import caches as page
from wrongline.cache_tests import parts_of


def first_wrong(exhibit: type[page.Mistake], lengths: list[int]) -> int | None:
    r"""The first position that another output has when the text is read in these parts."""
    torch.manual_seed(1)
    attention, x = exhibit.make()(5, 20), torch.randn(3, 7, 20)
    far = attention.read(list(x.split(lengths, dim=1))) - page.RightRotary.forward(attention, x)
    wrong = (far.abs().amax(dim=(0, 2)) > 1e-4).nonzero()
    return wrong[0].item() if len(wrong) else None


def test_which_ways_fail_and_where_tells_the_mistake() -> None:
    found = {
        one.__name__: [first_wrong(one, lengths) for lengths in parts_of(7).values()]
        for one in page.CACHE_EXHIBITS[:3]
    }
    # A prompt of three, single tokens, several. The ways alone don't tell the first two apart.
    assert found == {
        "PrefillUnmasked": [0, None, 0],
        "OffsetJumps": [4, None, 5],
        "NoPositionForOne": [3, 1, None],
    }


def test_keys_in_turns_give_most_heads_a_key_that_is_not_their_own() -> None:
    for heads, others in ((4, 2), (8, 6)):
        keys = torch.arange(heads // 2)
        assert (keys.repeat(2) != keys.repeat_interleave(2)).sum() == others
