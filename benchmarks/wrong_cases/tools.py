r"""
Each tool as its own README says, on one subject.

A tool gives what it says: the name of a test, whether that fails or is a remark, and a sentence.
Whatever it raises is what a user would see, so it counts as something that it says.
"""

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.wrong_cases.case import (
    BATCH_SIZE,
    N_VOCAB,
    SEQ_LEN,
    Subject,
    causal_with_padding,
    logits_in,
)
from wrongline import find_in_language_model, find_in_training_step, find_mistakes
from wrongline.verdicts import ERROR, UNUSUAL, WRONG


@dataclass
class Said:
    r"""`fails` is false for a remark: what can be meant."""

    test: str
    fails: bool
    sentence: str


# The width of a head of the exhibits.
WIDTH = 4
LACKS = "a package is missing"


class CantBeAskedError(Exception):
    r"""The tool has no use for a subject; the text says why."""


@contextlib.contextmanager
def heard(said: list[Said], test: str) -> Iterator[None]:
    r"""What a call raises is what it says."""
    try:
        yield
    except CantBeAskedError:
        raise
    except ImportError as error:
        raise CantBeAskedError(f"{LACKS}: {error}") from error
    except Exception as error:
        said.append(Said(test, True, f"{type(error).__name__}: {error}"))


def wrongline(subject: Subject) -> list[Said]:
    r"""The three calls of ours; the third is for an attention, if the subject has one."""
    said: list[Said] = []

    def step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        return subject.train(model).step

    asked: dict[str, Callable[[], Any]] = {
        "model": lambda: find_in_language_model(subject.model, subject.inputs),
        "step": lambda: find_in_training_step(
            subject.model, subject.inputs, subject.targets, make_step=step, loss=subject.loss
        ),
    }
    if subject.attention is not None:
        attention = subject.attention
        options: dict[str, Any] = {"read": subject.read} if subject.read else {}
        if subject.takes_mask:
            options["masked"] = lambda attention, x, mask: attention(x, mask=mask)
        asked["attention"] = lambda: find_mistakes(
            attention(), heads=subject.heads, d_model=subject.heads * WIDTH, **options
        )
    for name, ask in asked.items():
        with heard(said, name):
            for one in ask().verdicts:
                if one.kind in (WRONG, ERROR, UNUSUAL):
                    fails = one.kind != UNUSUAL
                    said.append(Said(f"{name}: {one.test}", fails, one.sentence))
    return said


def torchtest2(subject: Subject) -> list[Said]:
    r"""`check_model` with the loss and the optimizer of the training."""
    import torchtest2

    optimizer = subject.train(subject.model).optimizer
    for group in optimizer.param_groups:
        # A schedule begins with a small rate, with which no batch is learned by heart.
        group["lr"] = group.get("initial_lr", group["lr"])
    report = torchtest2.check_model(
        subject.model,
        subject.inputs,
        subject.targets,
        loss_fn=lambda result, targets: subject.loss(logits_in(result), targets),
        optimizer=optimizer,
    )
    said = remarks(report)
    if subject.attention is not None and subject.takes_mask:
        # An attention by itself, with its mask.
        x = torch.randn(BATCH_SIZE, SEQ_LEN, subject.heads * WIDTH)
        given = {"x": x, "mask": causal_with_padding()}
        report = torchtest2.check_model(subject.attention(), given)
        said += remarks(report, "attention: ")
    return said


def remarks(report: Any, before: str = "") -> list[Said]:
    r"""What torchtest2 has to say."""
    return [
        Said(before + one.name, str(one.status) == "FAIL", one.message)
        for one in report.results
        if str(one.status) in ("FAIL", "WARN")
    ]


class Reader:
    r"""Reads a text chunk by chunk, with an attention that is given all chunks so far."""

    def __init__(self, subject: Subject, attention: nn.Module) -> None:
        assert subject.read is not None
        self.read, self.attention = subject.read, attention
        self.chunks: list[Tensor] = []

    def __call__(self, chunk: Tensor) -> Tensor:
        self.chunks.append(chunk)
        return self.read(self.attention, self.chunks)[:, -chunk.shape[1] :]


def streamed(subject: Subject) -> None:
    r"""A cache, as `assert_streaming_equivalent` asks for it."""
    from pytest_torch import assert_streaming_equivalent

    if subject.read is not None and subject.attention is not None:
        attention = subject.attention().eval()
        reader = Reader(subject, attention)
        x = torch.randn(3, 12, subject.heads * WIDTH)
        assert_streaming_equivalent(
            attention, reader, x, chunk_sizes=[1, 2, 5], reset=lambda: reader.chunks.clear()
        )
    model = subject.model.eval()
    if hasattr(model, "reset_cache"):
        assert_streaming_equivalent(
            model,
            lambda tokens: model(tokens, use_cache=True),
            subject.inputs,
            chunk_sizes=[1, 2, 5],
            reset=model.reset_cache,
        )
    if subject.cached:

        def call(tokens: Tensor) -> Tensor:
            return logits_in(model(tokens))

        def chunk(tokens: Tensor, past: Any) -> tuple[Tensor, Any]:
            result = model(tokens, past_key_values=past, use_cache=True)
            if isinstance(result, tuple):
                return result
            return result.logits, getattr(result, "past_key_values", None) or result.cache

        assert_streaming_equivalent(
            call, chunk, subject.inputs, chunk_sizes=[1, 2, 5], init_state=lambda: None
        )


def pytest_torch(subject: Subject) -> list[Said]:
    r"""The inference contract, padding, streaming, gradients, and the training step."""
    import pytest_torch as tool

    said: list[Said] = []
    model, inputs, targets = subject.model, subject.inputs, subject.targets
    if hasattr(model, "config"):
        # Two caches are never equal to it, so nobody wants one where nothing is read with it.
        model.config.use_cache = False
    with heard(said, "contract"):
        report = tool.check_inference_contract(model.eval(), inputs, raise_on_failure=False)
        said += [
            Said(f"contract: {one.name}", True, f"{one.message} hint: {one.hint}")
            for one in report.failures
        ]
    if subject.masked:
        mask = torch.ones_like(inputs)
        mask[::2, -3:] = 0
        given = {"input_ids": inputs, "attention_mask": mask}
        whole = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs)}
        with heard(said, "padding on the right"):
            tool.assert_padding_invariant(model.eval(), whole)
        # Its README leaves that out where positions are those of the padded text.
        if subject.left:
            with heard(said, "padding on the left"):
                tool.assert_padding_invariant(model.eval(), whole, side="left")
        with heard(said, "mask"):
            tool.assert_mask_invariant(model.eval(), given, vocab_size=N_VOCAB)
    with heard(said, "streaming"):
        streamed(subject)
    if subject.attention is not None and subject.takes_mask:
        with heard(said, "attention: contract"):
            x = torch.randn(BATCH_SIZE, SEQ_LEN, subject.heads * WIDTH)
            given = {"x": x, "mask": causal_with_padding()}
            report = tool.check_inference_contract(
                subject.attention().eval(), given, raise_on_failure=False
            )
            said += [
                Said(f"attention: {one.name}", True, f"{one.message} hint: {one.hint}")
                for one in report.failures
            ]

    def loss(result: Any) -> Tensor:
        return subject.loss(logits_in(result), targets)

    with heard(said, "gradients"):
        tool.assert_all_params_receive_grad(copy.deepcopy(model).train(), inputs, loss)
    with heard(said, "one batch"):
        tool.assert_overfits_one_batch(model, inputs, loss)
    with heard(said, "optimizer"):
        tool.assert_optimizer_coverage(model, subject.train(model).optimizer)
    training_loop(subject, said)
    return said


def training_loop(subject: Subject, said: list[Said]) -> None:
    r"""The user's own step, as pytest-torch calls it."""
    import pytest_torch as tool

    batch = (subject.inputs, subject.targets)
    made: list[Any] = []

    def setup() -> Any:
        torch.manual_seed(0)
        model = copy.deepcopy(subject.model)
        made.append(subject.train(model))
        return tool.TrainingSetup(model, made[-1].optimizer)

    with heard(said, "training"):
        run = tool.run_training(setup, batch, lambda _, given: made[-1].step(*given), steps=20)
        run.assert_healthy()
        run.assert_loss_decreases()
    if made and made[-1].in_parts is None:
        return

    def step(n: int) -> Callable[[Any, Any], Any]:
        waiting: list[tuple[Tensor, Tensor]] = []

        def one(_: Any, given: tuple[Tensor, Tensor]) -> Any:
            # A step that cuts its batch itself gets it when it is complete.
            waiting.append(given)
            if len(waiting) < n:
                return None
            inputs, targets = (torch.cat(every) for every in zip(*waiting, strict=True))
            waiting.clear()
            return made[-1].in_parts(inputs, targets, n)

        return one

    with heard(said, "accumulation"):
        tool.assert_accumulation_equivalent(setup, batch, step, accumulation_steps=2)


def causal_certificate(subject: Subject) -> list[Said]:
    r"""From the vectors of tokens to logits, with the longest text, and its monitor in training."""
    from causal_certificate import certify

    model = subject.model
    table = next(
        one
        for one in model.modules()
        if isinstance(one, nn.Embedding) and one.num_embeddings == N_VOCAB
    )
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(3, N_VOCAB, (2, subject.longest), generator=generator)
    x = table(tokens).detach()

    def call(vectors: Tensor) -> Tensor:
        handle = table.register_forward_hook(lambda *_: vectors)
        try:
            return logits_in(model(tokens))
        finally:
            handle.remove()

    said = []
    for mode, cuts in (("evaluation", "all"), ("training", "rand")):
        model.train(mode == "training")
        report = certify(call, x, cuts=cuts)
        if not report.ok:
            said.append(Said(mode, True, report.summary()))
    return said


def defaultplusplus(subject: Subject) -> list[Said]:
    r"""Its features of a short training, and its diagnosis by the weights that come with it."""
    from defaultplusplus import FeatureExtractor
    from defaultplusplus.diagnosis import load_pretrained
    from defaultplusplus.processing import RuntimeNormalizer

    model = subject.model
    try:
        extractor = FeatureExtractor(model, arch="decoder")
    except (ValueError, AttributeError) as error:
        raise CantBeAskedError(str(error)) from error
    # Three epochs of ten steps, with its own call of the model.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(3)
    model.train()
    for epoch in range(3):
        for _ in range(10):
            tokens = torch.randint(3, N_VOCAB, (8, 24), generator=generator)
            mask = torch.ones_like(tokens)
            result = model(
                input_ids=tokens,
                attention_mask=mask,
                labels=tokens,
                output_attentions=True,
                output_hidden_states=True,
            )
            result.loss.backward()
            extractor.step(
                loss=result.loss,
                outputs=result,
                input_ids=tokens,
                attention_mask=mask,
                labels=tokens,
                optimizer=optimizer,
            )
            optimizer.step()
            optimizer.zero_grad()
        extractor.epoch_end(epoch)
        extractor.record_validation(epoch, {"loss": float(result.loss)})
    encoded = RuntimeNormalizer.load("decoder").encode(extractor.finalize(), mode="raw")
    told = load_pretrained("decoder").predict(encoded).to_dict()
    if not told["is_faulty"]:
        return []
    # Another diagnosis than that of the right model is something else that it says.
    diagnosis = f"{told['category']}: {told['root_cause']}"
    return [Said(diagnosis, True, diagnosis)]


TOOLS: dict[str, Callable[[Subject], list[Said]]] = {
    "wrongline": wrongline,
    "torchtest2": torchtest2,
    "pytest-torch": pytest_torch,
    "causal-certificate": causal_certificate,
    "defaultplusplus": defaultplusplus,
}


def ask(tool: str, subject: Subject) -> list[Said]:
    r"""What a tool says, with its warnings left out."""
    said: list[Said] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with heard(said, "the call"):
            said += TOOLS[tool](subject)
    return said
