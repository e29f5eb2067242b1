r"""
---
title: The Trainer
summary: Wires long, resumed and distributed runs to the training loop, through its arguments.
---

There is one [training loop](../loop.py), and it knows nothing of files, precision or several
processes. A trainer holds the state of a run, a model, its optimizers and how far they have come,
and passes the loop what such a run needs:

| argument of the loop | what the trainer passes |
| --- | --- |
| `model` | the model, data parallel, sharded or compiled |
| `batch_at` | this rank's columns of the batch |
| `optimizers` | one object that steps all optimizers through the gradient scaler |
| `gradients` | micro-batches in reduced precision, with a scaled loss |
| `clip` | the scale is removed first |
| `after_step` | check, record, evaluate, save, stop |
"""

import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows
from labml_nn.training.device import autocast, choose_device, choose_precision
from labml_nn.training.engine.config import TrainConfig
from labml_nn.training.engine.distributed import (
    all_reduce_mean,
    any_rank,
    broadcast,
    check_batch,
    data_parallel,
    no_sync,
    own_columns,
    seed_rank,
)
from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.training.engine.sharded import shard
from labml_nn.training.loop import adamw, clip_gradients, evaluate, learning_rate, train

Optimizers = list[torch.optim.Optimizer]
MakeOptimizers = Callable[[nn.Module, TrainConfig], Optimizers]


def adamw_for_all(model: nn.Module, config: TrainConfig) -> Optimizers:
    r"""
    ## AdamW for everything
    """
    return [adamw(model, config.learning_rate, config.weight_decay)]


class ScaledOptimizers:
    r"""
    ## Gradient scaling

    Gradients below $2^{-24}$ are zero in `float16`. So the loss is multiplied by a large number,
    the *scale*. If a gradient overflows, the step is skipped and the scale is halved. PyTorch's
    `GradScaler` does that. In other precisions it is disabled, and steps are plain steps.
    """

    def __init__(self, optimizers: Optimizers, scaler: torch.amp.GradScaler) -> None:
        r"""
        * `optimizers` are stepped one after another
        * `scaler` is PyTorch's
        """
        self.optimizers, self.scaler = optimizers, scaler

        # The loop sets the learning rate here.
        self.param_groups = [group for one in optimizers for group in one.param_groups]

    def step(self) -> None:
        r"""
        ### Step all of them
        """
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()


class Trainer:
    r"""
    ## Trainer
    """

    def __init__(
        self,
        model: nn.Module,
        train: Tensor,
        validation: Tensor,
        config: TrainConfig,
        optimizers: MakeOptimizers = adamw_for_all,
    ) -> None:
        r"""
        * `model` is moved to the device and trained in place
        * `train` and `validation` are the tokens of the two parts of the text
        * `config` says how to train
        * `optimizers` makes the optimizers, when the model is on its device
        """
        check_batch(config.batch_size, config.micro_batches)
        with checking_input():
            self.device = choose_device(config.device)
            self.dtype = choose_precision(config.precision, self.device)

        # From here on the configuration says what was chosen, so that a resumed run can't choose
        # something else. On a GPU, compiling pays nearly always; it needs Triton.
        compile = config.compile
        if compile is None:
            has_triton = importlib.util.find_spec("triton") is not None
            compile = self.device.type == "cuda" and has_triton
        precision = str(self.dtype).removeprefix("torch.")
        self.config = config = replace(config, precision=precision, compile=compile)

        # Tokens in a file stay there, in less than 64 bits.
        self.train = train.to(self.device) if train.dtype == torch.long else train
        self.validation = validation.to(self.device, torch.long)
        self.batches = RandomWindows(self.train, config.seq_len, config.batch_size, config.seed)

        # `self.model` has the weights. `self.replica` has the same, and is what the loop calls.
        if config.sharded:
            shard(model, self.device)
        self.model = self.replica = model.to(self.device)
        if not config.sharded:
            self.replica = data_parallel(self.model, self.device)
        if compile:
            self.replica = torch.compile(self.replica)

        # The loop sets the highest rate where it is missing. A checkpoint that is restored before
        # the first step has it, and PyTorch loads only what is there.
        self.optimizers = list(optimizers(self.model, config))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", group["lr"])

        is_float16 = self.dtype is torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=is_float16)
        seed_rank(config.seed)

        # Steps made, the time they took, and the lowest validation loss so far.
        self.step, self.seconds, self.best = 0, 0.0, math.inf

        # Since the last record: the losses, and their time.
        self.losses: list[Tensor] = []
        self.interval = 0.0

    def batch_at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### This rank's part of a batch
        """
        inputs, targets = self.batches.at(step)
        return (
            own_columns(inputs).to(self.device, torch.long),
            own_columns(targets).to(self.device, torch.long),
        )

    def share_of_rate(self, step: int, steps: int) -> float:
        r"""
        ### Learning rate of a step

        As a share of the highest rate.
        """
        config = self.config
        if config.schedule == "cosine":
            return learning_rate(step, steps, config.warmup, config.final)

        # Up in a straight line, as there, and down in another one.
        rising = round(config.warmup * steps)
        if step < rising:
            return (step + 1) / rising
        return 1 - (1 - config.final) * (step - rising) / max(1, steps - rising)

    def gradients(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### Gradients in micro-batches

        The sum of the micro-batches' losses is the loss of the batch, and the sum of their
        gradients is its gradient. Only one micro-batch's activations are in memory at a time.
        """
        n = self.config.micro_batches
        total = torch.zeros((), device=self.device)
        parts = zip(inputs.chunk(n, dim=1), targets.chunk(n, dim=1), strict=True)
        for index, (x, y) in enumerate(parts):
            with no_sync(model, last=index == n - 1):
                with autocast(self.device, self.dtype):
                    logits = model(x)
                    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / n
                self.scaler.scale(loss).backward()
            total += loss.detach()
        return all_reduce_mean(total)

    def clip(self, model: nn.Module) -> None:
        r"""
        ### Clip the gradients

        Their true length is known only when the scale is removed.
        """
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        clip_gradients(model, self.config.clip)

    def check_finite(self) -> None:
        r"""
        ### Is everything still finite?

        Looks at the losses since the last record and at the weights. If one is infinite or not a
        number, an `InputError` names the step, and where in the text its windows begin.
        """
        losses = torch.stack(self.losses).tolist()
        bad = [index for index, loss in enumerate(losses) if not math.isfinite(loss)]
        bad_weights = any_rank(not all(bool(w.isfinite().all()) for w in self.model.parameters()))
        if not bad and not bad_weights:
            return

        # Weights are spoiled by the step after the last good loss.
        index = bad[0] if bad else len(losses) - 1
        step = self.step - len(losses) + index
        what = f"the loss is {losses[index]}," if bad else "the weights are"

        # The same batch once more, of positions in place of tokens.
        config = self.config
        places = torch.arange(len(self.train))
        windows = RandomWindows(places, config.seq_len, config.batch_size, config.seed)
        starts = ", ".join(map(str, windows.at(step)[0][0].tolist()))
        raise InputError(
            f"{what} not finite in step {step + 1}, whose windows begin at the tokens {starts} of "
            f"the training text; train with a learning rate below {config.learning_rate:g}"
        )

    def measure(self, is_evaluated: bool) -> tuple[dict[str, float], bool]:
        r"""
        ### What is recorded

        The numbers, and whether the validation loss is lower than ever.
        """
        config = self.config
        n_tokens = len(self.losses) * config.batch_size * config.seq_len
        values = {
            "loss.train": torch.stack(self.losses).mean().item(),
            "learning_rate": config.learning_rate * self.share_of_rate(self.step - 1, config.steps),
            "tokens_per_second": n_tokens / self.interval,
        }
        self.losses, self.interval = [], 0.0
        if not is_evaluated:
            return values, False

        # All ranks must agree on the best loss to the last bit, so rank 0 tells it.
        loss = evaluate(self.model, self.validation, config.seq_len)
        values["loss.validation"] = loss = broadcast(lambda: loss)
        is_best = loss < self.best
        self.best = min(loss, self.best)
        return values, is_best

    def run(
        self,
        record: Callable[[int, dict[str, float]], None],
        save: Callable[[bool], None] = lambda is_best: None,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[], object] = lambda: None,
    ) -> None:
        r"""
        ### Train

        * `record` is called with a step and named numbers
        * `save` is called at intervals, at the end, before an early end, and, with a true value,
          when the validation loss is lower than ever
        * `should_stop` is asked after each step
        * `progress` is called after each step

        Nothing is recorded or saved before [it is checked](trainer.py#Trainer.check_finite).
        """
        config = self.config
        start = time.perf_counter()

        def after_step(step: int, loss: Tensor) -> bool:
            nonlocal start
            self.step = step
            self.losses.append(loss)
            progress()
            is_end = step == config.steps
            stop = any_rank(not is_end and should_stop())
            evaluating = is_end or step % config.evaluate_every == 0
            recording = evaluating or step % config.record_every == 0
            saving = is_end or stop or step % config.save_every == 0
            if not (recording or saving):
                return False

            # Reading the losses waits for the GPU. Only now is the work done.
            self.check_finite()
            seconds = time.perf_counter() - start
            self.seconds += seconds
            self.interval += seconds
            is_best = False
            if recording:
                values, is_best = self.measure(evaluating)
                record(step, values)
            if saving or is_best:
                save(is_best)
            start = time.perf_counter()
            return stop

        train(
            self.replica,
            self.batch_at,
            [ScaledOptimizers(self.optimizers, self.scaler)],
            config.steps,
            start=self.step,
            schedule=self.share_of_rate,
            gradients=self.gradients,
            clip=self.clip,
            after_step=after_step,
        )


def example(
    batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7, d_model: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    A model that sees one token only, and a text in which one token is enough.
    """
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(
        steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu", precision="float32"
    )
    trainer = Trainer(model, tokens, tokens[: 2 * seq_len], config)
    trainer.run(lambda step, values: None)
    return dict(model.state_dict())
