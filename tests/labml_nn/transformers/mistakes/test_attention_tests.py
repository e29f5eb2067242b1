from labml_nn.transformers.mistakes import attention_tests as page


def test_the_example_names_the_mistake_and_leaves_the_right_one_alone() -> None:
    right, wrong = page.example()
    assert right == {}
    assert "divided by the root of the whole width" in wrong["comparison"]
