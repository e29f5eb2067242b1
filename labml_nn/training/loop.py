r"""
---
title: The Training Loop
summary: A learning rate that rises and falls, the steps, and the loss over a whole text.
---

A step of training is four lines: predict, compare, differentiate, move. This page holds
those four, and what makes them work well.

The loop knows nothing of transformers. A *model* here is any module that takes tokens,
sequence first, and gives logits for the token after each.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.optimizers.schedules import up_and_down
from labml_nn.training.batches import ShuffledWindows
from labml_nn.training.data import InputError, fixed_windows
from labml_nn.training.device import autocast, choose_device
from labml_nn.training.distributed import (
    adding_up,
    any_of,
    check_parts,
    from_first,
    mean,
    own_chance,
    own_columns,
    replicate,
)
from labml_nn.training.joined import (
    forget_gradients,
    gather_gradients,
    parameters_in,
    side_by_side,
)
from labml_nn.training.sampling import evaluating
from labml_nn.training.sharded import shard
from labml_nn.training.speed import Way, fastest_way, take


@dataclass(frozen=True)
class TrainConfig:
    r"""
    ## How to train

    A value that makes no sense is an `InputError` right here, before anything is
    computed.
    """

    steps: int = 2000
    batch_size: int = 12
    seq_len: int = 64

    # A batch that is too large for the memory is computed in this many parts.
    micro_batches: int = 1

    # The highest learning rate, the share of the steps in which it rises to that, the share
    # of it that is left at the end, and the way down, `cosine` or `linear`.
    learning_rate: float = 3e-3
    warmup: float = 0.05
    final: float = 0.1
    schedule: str = "cosine"

    # How fast weights decay, and the length that gradients are cut to.
    weight_decay: float = 0.1
    clip: float = 1.0

    # See [device](device.py) for what `auto` is there, and [speed](speed.py) for the others.
    device: str = "auto"
    precision: str = "auto"
    attention: str = "auto"
    compile: str = "auto"

    # Whether [several processes](distributed.py) have a [shard](sharded.py) of the model each.
    sharded: bool = False

    # Steps from one point of the curves to the next, and from one checkpoint to the next.
    record_every: int = 20
    evaluate_every: int = 500
    save_every: int = 500
    seed: int = 1

    def __post_init__(self) -> None:
        counts = ("steps", "batch_size", "seq_len", "micro_batches")
        for name in (*counts, "record_every", "evaluate_every", "save_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("warmup", "final", "weight_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.batch_size % self.micro_batches:
            raise InputError(
                f"batch_size must be a multiple of micro_batches, got "
                f"batch_size={self.batch_size} and micro_batches={self.micro_batches}"
            )
        if self.schedule not in ("cosine", "linear"):
            raise InputError(f"schedule must be cosine or linear, got {self.schedule!r}")


def share_at(step: int, config: TrainConfig) -> float:
    r"""
    ## Learning rate of a step

    As a share of the highest rate: a straight line up, and then
    [down](../optimizers/schedules.py#up_and_down) in half a cosine or another straight line.

    At the start AdamW has seen too few gradients to know their usual size, hence the slow
    rise. At the end small steps settle what large ones kept in motion.
    """
    warmup_steps = round(config.warmup * config.steps)
    return up_and_down(step, config.steps, warmup_steps, config.final, config.schedule)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    r"""
    ## What decays

    Weight decay pulls matrices towards zero. Biases and the gains of normalisations
    are left alone: for a gain, zero is nothing to be drawn to. Each of the two groups is
    [one vector](joined.py), where that is faster.
    """
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.dim() >= 2]
    others = [p for p in parameters if p.dim() < 2]
    return [
        {"params": side_by_side(matrices), "weight_decay": weight_decay},
        {"params": side_by_side(others), "weight_decay": 0.0},
    ]


def adamw(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    r"""
    ## AdamW for everything

    A trainer is told how to make its optimizers, as a list: where matrices have one of their
    own, there are two. The rate that an optimizer is made with is its highest.
    """
    # Squared gradients are remembered for about 100 steps, not the usual 1,000: the runs
    # are short.
    groups = parameter_groups(model, config.weight_decay)
    fused = next(model.parameters()).device.type in ("cpu", "cuda")
    return [torch.optim.AdamW(groups, config.learning_rate, betas=(0.9, 0.99), fused=fused)]


def evaluate(model: nn.Module, tokens: torch.Tensor, seq_len: int, batch_size: int = 64) -> float:
    r"""
    ## The loss over a whole text

    The mean cross entropy, in nats a token, over [all windows](data.py#fixed_windows) of
    `tokens`. There is no chance in it. It is computed in `float32`, however the
    model was trained, and `batch_size` only bounds the memory that it takes.
    """
    total = 0.0
    device = next((one.device for one in model.parameters()), tokens.device)
    with evaluating(model):
        for inputs, targets in fixed_windows(tokens, seq_len):
            # Sums, not means: the last batch and the last window are smaller than the others.
            for x, y in zip(inputs.split(batch_size, 1), targets.split(batch_size, 1), strict=True):
                # Those of a file come from there just now.
                x, y = (one.to(device, torch.long) for one in (x, y))
                logits = model(x).flatten(0, 1)
                total += F.cross_entropy(logits, y.flatten(), reduction="sum").item()
    return total / (len(tokens) - 1)


class Trainer:
    r"""
    ## Trainer

    A model, its optimizers, and how far they have come.
    """

    def __init__(
        self,
        model: nn.Module,
        train: torch.Tensor,
        validation: torch.Tensor,
        config: TrainConfig,
        optimizers: Callable[[nn.Module, TrainConfig], list[torch.optim.Optimizer]] = adamw,
    ) -> None:
        r"""
        * `model` is moved to the device and trained in place
        * `train` and `validation` are the two parts of the text
        * `config` says how to train
        * `optimizers` makes them, once the model is where it is trained
        """
        self.device = choose_device(config.device)
        check_parts(config.batch_size, config.micro_batches)
        self.model = self.replica = model if config.sharded else model.to(self.device)
        # What is in a [file](token_file.py), in numbers of less than 64 bits, stays there.
        self.train, self.validation = (
            part.to(self.device) if part.dtype == torch.long else part
            for part in (train, validation)
        )
        self.batches = ShuffledWindows(self.train, config.seq_len, config.batch_size, config.seed)

        # Steps made, the time they took, and the lowest validation loss so far.
        self.step = 0
        self.seconds = 0.0
        self.best = math.inf

        # Since the last record: the losses, and their time.
        self.losses: list[torch.Tensor] = []
        self.interval = 0.0

        # From here on the configuration says what was chosen, wherever it said `auto`.
        self.config = config
        told = Way(config.precision, config.attention, config.compile)
        model.train()
        way = from_first(
            lambda: fastest_way(
                told, model, self.device, config.seq_len, config.steps, self.first_loss
            )
        )
        self.config = config = replace(config, **asdict(way))

        # What a step calls is, in one of several processes, not the model itself. It has the
        # weights of the model, which is there to be looked at.
        if config.sharded:
            shard(model, self.device)
            self.model = self.replica = model.to(self.device)
        else:
            self.replica = replicate(self.model, self.device)
        self.predict = take(way, self.replica)
        self.way, self.dtype = way, getattr(torch, way.precision)

        # Each group of parameters has a highest rate of its own.
        self.optimizers = optimizers(self.model, config)
        self.moved = parameters_in(self.optimizers)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["initial_lr"] = group["lr"]

        # Without float16 the scaler does nothing.
        scaling = self.dtype is torch.float16
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=scaling)
        own_chance(config.seed)

    def losses_of(
        self, way: Way, predict: Callable[[torch.Tensor], torch.Tensor]
    ) -> Iterator[torch.Tensor]:
        r"""
        ### The loss of a batch, in parts

        `predict` is the model, compiled or not. The sum of the parts is the loss, and the sum of
        their gradients its gradient.
        """
        x, y = (own_columns(part).to(self.device) for part in self.batches.at(self.step))
        n = self.config.micro_batches
        parts = zip(x.chunk(n, dim=1), y.chunk(n, dim=1), strict=True)
        for index, (part, targets) in enumerate(parts):
            # The logits are `[seq_len, batch_size, n_vocab]`. Each of them predicts, so a batch
            # holds as many examples as it has tokens.
            precise = autocast(self.device, getattr(torch, way.precision))
            with adding_up(self.replica, last=index == n - 1), precise:
                logits = predict(part)
                loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            yield loss / n

    def first_loss(self, way: Way, predict: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        r"""
        ### The first part alone

        To try a way with.
        """
        return next(self.losses_of(way, predict))

    def train_step(self) -> torch.Tensor:
        r"""
        ### One step

        Returns the loss of the batch. On a GPU nothing here waits for the result. One of several
        processes takes [its part](distributed.py) of the batch.
        """
        config = self.config
        share = share_at(self.step, config)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] * share

        forget_gradients(self.moved)
        total = torch.zeros((), device=self.device)
        for loss in self.losses_of(self.way, self.predict):
            self.scaler.scale(loss).backward()
            total += loss.detach()
        gather_gradients(self.moved)

        # All gradients together are cut to a length, so that one odd batch cannot
        # throw the model far away.
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(self.moved, config.clip)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()

        self.step += 1
        return mean(total)

    def check(self) -> None:
        r"""
        ### Is everything still a number?

        Looks at the losses since the last record and at the weights. If not, an `InputError` names
        the step, and says where in the training part the windows of its batch begin.
        """
        losses = torch.stack(self.losses).tolist()
        finite = [math.isfinite(loss) for loss in losses] + [
            not any_of(not all(bool(w.isfinite().all()) for w in self.model.parameters()))
        ]
        if all(finite):
            return

        # Weights are spoiled by the step after the last good loss.
        bad = min(finite.index(False), len(losses) - 1)
        what = (
            "the weights are"
            if finite.index(False) == len(losses)
            else f"the loss is {losses[bad]},"
        )

        step = self.step - len(losses) + bad
        # The same batch once more, of positions in place of characters.
        positions = torch.arange(len(self.train))
        config = self.config
        again = type(self.batches)(positions, config.seq_len, config.batch_size, config.seed)
        starts = again.at(step)[0][0].tolist()
        raise InputError(
            f"{what} not finite in step {step + 1}, whose batch has the windows from the "
            f"characters {', '.join(map(str, starts))} of the training part; train with a learning "
            f"rate below {config.learning_rate:g}"
        )

    def run(
        self,
        record: Callable[[int, dict[str, float]], None],
        progress: Callable[[range], Iterable[int]] = iter,
        save: Callable[[bool], None] = lambda best: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        r"""
        ### All the steps

        * `record` is called with the step and named numbers
        * `progress` wraps the steps that are left, as `tqdm` does
        * `save` is called at intervals, at the end, before an early end, and, with a true value,
          where the validation loss is lower than ever
        * `should_stop` is asked after each step

        Nothing is recorded or saved before a [check](loop.py#Trainer.check).
        """
        config = self.config
        self.model.train()
        start = time.perf_counter()
        for _ in progress(range(self.step, config.steps)):
            self.losses.append(self.train_step())
            end = self.step == config.steps
            stop = any_of(not end and should_stop())
            evaluation = end or self.step % config.evaluate_every == 0
            recording = evaluation or self.step % config.record_every == 0
            saving = end or stop or self.step % config.save_every == 0
            if not (recording or saving):
                continue

            # Reading the losses waits for the GPU: only now is the work done.
            self.check()
            seconds = time.perf_counter() - start
            self.seconds += seconds
            self.interval += seconds

            best = False
            if recording:
                n_tokens = len(self.losses) * config.batch_size * config.seq_len
                values = {
                    "loss.train": torch.stack(self.losses).mean().item(),
                    "learning_rate": config.learning_rate * share_at(self.step - 1, config),
                    "tokens_per_second": n_tokens / self.interval,
                }
                if evaluation:
                    loss = evaluate(self.model, self.validation, config.seq_len)
                    # All must agree on which is the best, to the last bit.
                    loss = from_first(lambda loss=loss: loss)
                    values["loss.validation"] = loss
                    best = loss < self.best
                    self.best = loss if best else self.best
                record(self.step, values)
                self.losses, self.interval = [], 0.0
            if saving or best:
                save(best)
            if stop:
                break
            start = time.perf_counter()


def example(
    batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7, d_model: int = 11
) -> dict[str, torch.Tensor]:
    r"""
    ## Example

    A model that sees one token only, and a text in which one token is enough.
    """
    model = nn.Sequential(nn.Embedding(n_vocab, d_model), nn.Linear(d_model, n_vocab))
    tokens = torch.arange(10 * n_vocab * seq_len) % n_vocab
    config = TrainConfig(
        steps=2, batch_size=batch_size, seq_len=seq_len, device="cpu", evaluate_every=2
    )
    history: list[tuple[int, dict[str, float]]] = []
    trainer = Trainer(model, tokens, tokens[: 2 * seq_len], config)
    trainer.run(lambda step, values: history.append((step, values)))
    return dict(model.state_dict())
