r"""What is pasted is judged in the stand-in as with PyTorch, and is left as it was."""

from tests.browser_torch.worlds import PYTORCH, STAND_IN, run


def test_pasted_texts_are_judged_alike() -> None:
    expected, got = run(PYTORCH, "paste"), run(STAND_IN, "paste")
    assert got == expected
    # (Without the library, its text isn't pasted.)
    said = [[one["test"] for one in told[-1]["found"]] for told in expected]
    assert [*said, []][:12] == [
        [],
        ["comparison"],
        [],
        ["cache_agrees"],
        ["comparison", "nothing_from_the_future"],
        ["comparison"],
        [],
        ["model_prefix"],
        [],
        ["comparison"],
        [],
        [],
    ]
