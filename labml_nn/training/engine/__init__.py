r"""
---
title: The Training Engine
summary: What long, resumed and distributed runs need, and the command that trains.
---

```sh
python -m labml_nn.training.engine --help
```

The lessons about training end with a [loop](../loop.py) of a few lines. This package is for runs
that take hours, get interrupted, or need several GPUs. It passes what they need to the loop as
arguments. So it imports the lessons, and no lesson imports anything from here; a test holds that.

* **Ask:** [the command line](command_line.py) and [what to run](plan.py): [options](options.py),
  [settings](config.py), [presets](presets.py) of [recipes](recipes.py), and the
  [source](source.py) of a text
* **Read:** [texts](text.py), as letters or [byte pairs](byte_pairs.py), and [tokens in a
  file](token_file.py) that was [written](write_tokens.py) once
* **Train:** [the steps](steps.py) of a [trainer](trainer.py), in [micro-batches and 16
  bits](mixed_precision.py), with an [attention for 16 bits](short_contexts.py) and [where the model
  is](placement.py); [records and samples](train.py) on the way, [Ctrl-C](stopping.py) and [losses
  that aren't finite](finite.py)
* **Spread:** [several processes](processes.py), [a batch](distributed.py) and [a
  model](sharded.py) that they share
* **Resume:** [checkpoints](checkpoint.py) and [their files](checkpoint_file.py), [the folder of a
  run](runs.py), [what it was](resume.py) and [atomic writes](files.py)
* **Look:** what is [measured](measurements.py), the [history](history.py) of a run and [its
  curves](curves.py), [samples](samples.py), [the result](result.py), [labml](recorder.py), [runs
  side by side](compare.py) and [memory](memory.py)
* **Show:** the [live models](live.py), which run in the browser, and [their step of
  writing](writing_step.py)
* **Fail:** [errors](errors.py), and [programs](program.py) that tell them in one sentence
"""
