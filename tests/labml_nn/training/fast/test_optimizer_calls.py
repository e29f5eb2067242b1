import torch

from labml_nn.training.fast.optimizer_calls import step_fused, step_in_a_loop, step_with_lists


def test_each_way_is_the_first_step_of_pytorchs_optimizer() -> None:
    torch.manual_seed(1)
    start = [torch.randn(5, 3), torch.randn(7)]
    # The first gradient of all is zero, where without `eps` zero would be divided by zero.
    gradients = [torch.arange(15.0).view(5, 3), torch.randn(7)]
    expected = [one.clone().requires_grad_() for one in start]
    for parameter, gradient in zip(expected, gradients, strict=True):
        parameter.grad = gradient
    torch.optim.AdamW(expected, 0.01, betas=(0.9, 0.99), weight_decay=0.0, foreach=False).step()
    for step in (step_in_a_loop, step_with_lists, step_fused):
        moved = [one.clone() for one in start]
        step(moved, gradients, rate=0.01)
        torch.testing.assert_close(moved, [one.detach() for one in expected])
