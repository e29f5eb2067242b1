r"""
---
title: CUDA Graphs
summary: Record the kernels of a training step once, then start all of them with one call.
know: ../loop.py
terms:
  CUDA graph: Kernels and the memory they work on, recorded, so that one call runs all of them.
---

Most operations on tensors are one *kernel* or a few, which are functions that run on the GPU. The
program starts them one by one: it goes through Python, chooses a kernel, finds memory for the
result, and hands the kernel to the GPU. With small tensors this takes longer than the kernel runs,
and the GPU waits. If kernels run for 10 microseconds and one is started every 30, the GPU is idle
two thirds of the time.

But every step has the same kernels, on tensors of the same shapes. A CUDA graph records them once:
*which kernels, in which order, on which memory*. From then on one call starts all of them, and
Python doesn't go through the model again. Here forward and backward pass are recorded. On one H200,
a training step of the [preset for a GPU](../../../docs/on_a_gpu.md) took
[48](../../../results/gpu.json#values.steps.plain.step) ms without a graph and
[18](../../../results/gpu.json#values.steps.graph.step) ms with it.

**In:** a function that computes the loss and the gradients of a batch, such as
[that of the loop](../loop.py#gradients). **Out:** a function with the same results, which calls
the other one for the first batch only.

[A training step of the preset for a GPU, without a graph and with
one](../../../results/gpu.json#figures.step)

A graph knows memory, not variables. So a new batch is copied to where the first one was, shapes
never change, and whatever Python decides is decided once.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labml_nn.training.loop import gradients

Gradients = Callable[[nn.Module, Tensor, Tensor], Tensor]


class NotRecorded(ValueError):
    r"""
    ## A computation that can't be recorded

    Its message says why.
    """


class Tape(TorchDispatchMode):
    r"""
    ## A graph on a CPU

    A CUDA graph needs a GPU, and is hard to look into. This class records the same in a list, on
    any machine. It saves no time: Python still starts each call, and copies results as well.
    """

    def __init__(self) -> None:
        super().__init__()

        # For each call: the function of PyTorch, its arguments, and its result. The tensors in
        # there are the memory of the graph.
        self.calls: list[tuple[Any, tuple, dict, Any]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        r"""
        ### Record

        A class of this kind is a *mode*. Within its block, PyTorch hands every operation on tensors
        to this method, those of the backward pass, too.
        """
        # Python reads a number, maybe for an `if`. A replay would not decide anew, so this is an
        # error. CUDA refuses it, too, and whatever else waits for a result, such as `nonzero`.
        if function is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("Python reads a number out of a tensor")

        # CUDA only notes a kernel, and runs it when the graph is replayed. Until then its result
        # has memory, and no numbers. On a CPU the call gives both; a replay overwrites the numbers.
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        self.calls.append((function, args, kwargs, result))
        return result

    @torch.no_grad()
    def replay(self) -> None:
        r"""
        ### Replay

        The same calls in the same order. Those of the backward pass are among them, so nothing has
        to be differentiated again.
        """
        for function, args, kwargs, result in self.calls:
            # The arguments are the tensors of the first time, with the numbers of this time.
            again = function(*args, **kwargs)

            # The result goes to where it was the first time, because the calls after it read
            # there. A view is there already, and so is a tensor that was changed in place.
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if torch.is_tensor(old) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def new_graph(device: torch.device) -> tuple[Any, AbstractContextManager[Any]]:
    r"""
    ## A new graph

    Returns the graph, which has a method `replay`, and the block in which it records.
    """
    if device.type == "cuda":
        # It gets memory of its own, which no tensor outside will be given.
        graph = torch.cuda.CUDAGraph()
        return graph, torch.cuda.graph(graph)

    # Without a GPU. A tape is the graph and the block in one.
    tape = Tape()
    return tape, tape


class Recorded:
    r"""
    ## Recorded gradients
    """

    def __init__(self, gradients: Gradients) -> None:
        r"""
        * `gradients` computes the loss of a batch, `[]`, and leaves the gradients in the weights
        """
        self.gradients = gradients

        # Nothing is recorded before there is a batch.
        self.graph: Any = None

    def record(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
        r"""
        ### Record a batch

        Raises `NotRecorded` if the computation can't be recorded.
        """
        # Every later batch will be copied to here.
        self.inputs = inputs.clone()
        self.targets = targets.clone()

        # These two calls draw random numbers for dropout. At the end of the block the generators
        # are put back, so training goes on with the numbers that it would have drawn.
        with torch.random.fork_rng([inputs.device] if inputs.is_cuda else []):
            # First without a graph: a library such as cuBLAS sets itself up when it is called for
            # the first time, and that can't be recorded.
            self.gradients(model, self.inputs, self.targets)

            # The backward pass adds to gradients that are there. Recorded without any, it writes
            # them, and a replay overwrites those of the step before.
            model.zero_grad(set_to_none=True)
            graph, recording = new_graph(inputs.device)
            try:
                with recording:
                    self.loss = self.gradients(model, self.inputs, self.targets)
            except RuntimeError as error:
                # CUDA fails at the call, and again at the end of the block. The first error says
                # more.
                reason = str(error.__context__ or error).partition("\n")[0]
                raise NotRecorded(f"a step of this model can't be recorded: {reason}") from error

        # Each weight, and where the graph writes its gradient.
        self.written = [(one, one.grad) for one in model.parameters()]
        self.graph = graph

    def __call__(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### Replay it with another batch

        `inputs` and `targets` are `[seq_len, batch_size]`, in every step, and `model` is the one
        that was recorded. Returns the loss.
        """
        # At the first batch.
        if self.graph is None:
            self.record(model, inputs, targets)

        # A batch of one column would be copied into all columns, without an error.
        if inputs.shape != self.inputs.shape:
            recorded = list(self.inputs.shape)
            raise ValueError(f"recorded with batches {recorded}, got {list(inputs.shape)}")

        # The batch goes to where the graph reads, and the graph runs.
        self.inputs.copy_(inputs)
        self.targets.copy_(targets)
        self.graph.replay()

        # The loop has removed the gradients from the weights, and the graph knows no weights, only
        # their memory.
        for parameter, gradient in self.written:
            parameter.grad = gradient

        # A copy, because the next replay will overwrite this loss.
        return self.loss.clone()


def example(
    seq_len: int = 7, batch_size: int = 3, n_vocab: int = 5, d_model: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A model with dropout is recorded with one batch and replayed with another. The gradients are
    those of a plain backward pass, to the last bit.

    ### Measured here

    Without a graph, the step of 48 ms has
    [1,753](../../../results/gpu.json#values.steps.plain.kernels) kernels, which run for
    [16.8](../../../results/gpu.json#values.steps.plain.busy) ms together. With it, the program
    starts the kernels of the optimizer while those of the graph run.

    The losses of the first ten steps differ from those without a graph by
    [0.00005](../../../results/gpu.json#values.steps.graph.apart) at most, and two plain runs differ
    by as much. (Some kernels add their numbers in another order each time, we guess; PyTorch
    [warns](https://docs.pytorch.org/docs/stable/notes/randomness.html) of such kernels.) On another
    machine with the same GPU, a step took
    [46](../../../results/gpu_second.json#values.steps.plain.step) ms without a graph, and
    [18](../../../results/gpu_second.json#values.steps.graph.step) with it.

    ### What stays outside

    The optimizer isn't recorded here. Its learning rate is a number of Python, and changes in each
    step. A model whose forward pass changes something, such as the means of batch normalisation,
    needs more care: the call that warms up changes them once more.

    `torch.compile` with `mode="reduce-overhead"` records graphs, too, of what it has compiled;
    [compiling](compiled.py) takes longer than recording.

    ### Exercises

    ??? question "`forward` prints the shape of `x`. How many lines do 100 steps print?"
        Two: one in the call that warms up, one while recording. If it printed `x.mean().item()`,
        recording would stop with an error: Python reads a number there.

    ??? question "Keep the losses in a list, without `clone`. What is in the list at the end?"
        The same tensor over and over, with the loss of the last step.

    ??? question "Leave out `zero_grad` in `record`. What are the gradients of the second step?"
        Recorded with gradients that are there, the graph adds to them. No call sets them to zero,
        so they are sums over all steps, and over the call that warms up. (On the tape also over the
        call that is recorded, since the tape computes while it records.)

    ??? question "You record the optimizer's step, too. What happens to the learning rate?"
        A number stays what it was in the first step, without an error. Give the rate as a tensor,
        and change that tensor in place. (PyTorch's AdamW refuses to be recorded without
        `capturable=True`. With it, a rate that is a number stays as it was all the same.)

    ??? question "Why does dropout draw other numbers in each replay, not those of the recording?"
        - [ ] The numbers are drawn before the graph runs, and copied like the batch.
            - No numbers are drawn in advance.
        - [x] What is recorded is the call that draws, and the generator moves on with each replay.
            - Yes. Its state is memory, too.
        - [ ] Dropout isn't recorded.
            - All calls in the block are.
    """
    # With dropout, to see that a replay draws the numbers that a plain step would draw.
    model = nn.Sequential(
        nn.Embedding(n_vocab, d_model), nn.Dropout(0.1), nn.Linear(d_model, n_vocab)
    )
    first, second = torch.randint(n_vocab, (2, seq_len, batch_size))

    # The first batch is recorded, the second one replayed.
    recorded = Recorded(gradients)
    recorded(model, first, first)
    state = torch.get_rng_state()
    recorded(model, second, second)
    replayed = model[0].weight.grad.clone()

    # The same batch without a graph, with the same numbers for dropout.
    torch.set_rng_state(state)
    model.zero_grad()
    loss = gradients(model, second, second)
    torch.testing.assert_close(replayed, model[0].weight.grad, rtol=0, atol=0)
    return loss, replayed
