r"""
---
title: The Experiment with labml
summary: The small transformer, configured, trained and recorded by labml and labml-helpers.
---

This is the [small transformer](autoregressive_experiment.py) again, on Tiny Shakespeare. But here
[labml](https://github.com/labmlai/labml) does what surrounds the training: it keeps the
configuration, shows the progress, and records the losses. Its helpers have the parts that nearly
every experiment has: a device, a random seed, a loop and an accuracy.

**In:** a folder, and settings that differ from the defaults. **Out:** a trained model, and a run in
that folder, with its configuration in “configs.yaml” and its numbers in “log.jsonl”.

A run in the folder “runs” begins with `python -m labml_nn.transformers.basic.labml_experiment`. It
needs the packages labml and labml-helpers. Nothing is sent over the network: the run writes to the
screen and to files, and to no server.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from labml import experiment, lab, logger, monit, tracker
from labml.configs import option
from labml_helpers.device import DeviceConfigs
from labml_helpers.metrics.accuracy import Accuracy
from labml_helpers.seed import SeedConfigs
from labml_helpers.training_loop import TrainingLoopConfigs

from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, clip_gradients, evaluate, learning_rate
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer


class Configs(TrainingLoopConfigs):
    r"""
    ## Configuration

    Each attribute is a setting. One with a value can be changed by name. One without a value, such
    as `model`, is computed by one of its [options](#tokens) when it is first used. So the model is
    made only after the seed is set.
    """

    # What the helpers bring. `device` is a CUDA GPU if there is one, else the CPU.
    device: torch.device = DeviceConfigs()
    seed = SeedConfigs()
    accuracy = Accuracy()

    # The loop: its steps, and after how many steps numbers are written and a line is ended.
    loop_count: int = 2000

    # A line for every step would fill the screen.
    log_write_interval: int = 10
    log_new_line_interval: int = 200

    # The data. A setting that has a type and no value needs an option.
    text: str = "tiny_shakespeare"
    data: Any
    seq_len: int = 64
    batch_size: int = 12

    # The sizes of the model, and the model.
    d_model: int = 128
    heads: int = 4
    n_layers: int = 4
    d_ff: int = 512
    model: AutoregressiveTransformer

    # Training. The value of `optimizer` is the name of its default option.
    highest_rate: float = 3e-3
    optimizer: torch.optim.Optimizer = "adamw_optimizer"

    # What the sample in the end begins with, and its length.
    prompt: str = "ROMEO:\n"
    n_tokens: int = 200

    def run(self) -> None:
        r"""
        ### Train

        `training_loop` counts the steps and tells the tracker. At Ctrl-C it saves what is known
        before the interrupt ends it.
        """
        # All random numbers after this depend on the seed: weights and samples.
        self.seed.set()

        # Here `data` is computed, by its option below.
        tokenizer, train_tokens, validation_tokens = self.data
        batches = RandomWindows(train_tokens, self.seq_len, self.batch_size, self.seed.seed)

        # `tracker` prints and writes whatever is added under a name; a dot makes groups. Its count
        # of steps goes on from another run of the same process, so it is set.
        tracker.set_global_step(0)
        tracker.set_scalar("loss.*", is_print=True)
        tracker.set_scalar("accuracy.*", is_print=True)

        # The accuracy counts hits and misses until it is asked.
        self.accuracy.set_state(self.accuracy.create_state())

        for step in self.training_loop:
            # Both the model and the optimizer are computed in the first step.
            self.train_step(step, *batches.at(step))

            # Now and then, and in the end: the accuracy since the last time, and the loss over the
            # whole validation text.
            if (step + 1) % self.log_new_line_interval == 0 or step + 1 == self.loop_count:
                # Closes the count of right guesses, and begins a new one.
                with tracker.namespace("train"):
                    self.accuracy.on_epoch_end()
                self.accuracy.on_epoch_start()

                # Silent: else the name of this section stands between the step and the numbers.
                with monit.section("Evaluate", is_silent=True):
                    loss = evaluate(self.model, validation_tokens, self.seq_len)

                # It is on the screen at once. The file gets what has come together once in a while,
                # and when the run ends.
                tracker.save(step + 1, {"loss.validation": loss})

        # What the model writes now.
        text = write(self.model, tokenizer, self.prompt, self.n_tokens, self.seq_len)
        logger.log([(self.prompt, logger.Text.meta), text.removeprefix(self.prompt)])

    def train_step(self, step: int, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        r"""
        ### A step

        As in [the loop](../../training/loop.py).
        """
        # Dropout is on, and the learning rate is that of the step.
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.highest_rate * learning_rate(step, self.loop_count)

        # Predict and compare.
        inputs = inputs.to(self.device)
        targets = targets.to(self.device)
        logits = self.model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())

        # Differentiate and move.
        self.optimizer.zero_grad()
        loss.backward()
        clip_gradients(self.model)
        self.optimizer.step()

        # With the next numbers, the screen shows the mean over the steps between. The file gets the
        # loss of each step.
        tracker.add("loss.train", loss.item())
        self.accuracy(logits.detach(), targets)


@option(Configs.data)
def tokens(c: Configs) -> tuple:
    r"""
    ## Options

    An option is a function that computes a setting from the others. This one splits the text;
    `text` is a name or the path of a file.
    """
    # In UTF-8, whatever the machine prefers.
    text = tiny_shakespeare() if c.text == "tiny_shakespeare" else Path(c.text).read_text("utf-8")
    return prepare(text, c.seq_len)


@option(Configs.model)
def transformer(c: Configs) -> AutoregressiveTransformer:
    r"""
    ### The model

    As many tokens as the tokenizer has, and the sizes of the configuration.
    """
    # Computed once: every later use gets the same data.
    tokenizer, _, _ = c.data
    model = AutoregressiveTransformer(
        len(tokenizer), c.d_model, c.heads, c.n_layers, c.d_ff, c.seq_len
    )

    # The helper has chosen the device. Which one it is stands in “configs.yaml”.
    return model.to(c.device)


@option(Configs.optimizer)
def adamw_optimizer(c: Configs) -> torch.optim.Optimizer:
    r"""
    ### AdamW

    The default. If a setting has several options, you choose one by the name of its function.
    """
    return adamw(c.model, c.highest_rate)


@option(Configs.optimizer)
def sgd_optimizer(c: Configs) -> torch.optim.Optimizer:
    r"""
    ### Gradient descent

    The other option: `run(folder, {"optimizer": "sgd_optimizer", "highest_rate": 0.3})`.
    """
    # AdamW divides each gradient by its usual size, and plain descent doesn't. Gradients are small
    # here, so it needs a higher rate.
    return torch.optim.SGD(c.model.parameters(), c.highest_rate)


def run(folder: Path, settings: Mapping[str, Any]) -> Configs:
    r"""
    ## Run the experiment

    `settings` are those that differ from the defaults. The run is written below `folder`.
    """
    # labml would take the folder of the calling program for its project. It gets the given one,
    # which has to be there.
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lab.configure({"path": str(folder), "experiments_path": str(folder)})

    # The writers: lines on the screen and files. labml's own choice is the screen and a server, and
    # no file with the numbers.
    experiment.create(name="labml_experiment", writers={"screen", "file"})

    # From the class with its defaults and the settings, labml computes what is needed, and says so
    # when it does. What came out goes into “configs.yaml”, and which settings were given.
    conf = Configs()
    experiment.configs(conf, dict(settings))

    # When a run starts, labml adds its project to a list in the home directory. Here that list is
    # in the folder too, that of the first run if a process has several.
    with patch.object(Path, "home", return_value=folder):
        watcher = experiment.start()

    # The end of the block records whether the run was completed, interrupted or broken.
    with watcher:
        conf.run()
    return conf


# The classic recipe, below the folder where you are.
if __name__ == "__main__":
    run(Path("runs"), {})
