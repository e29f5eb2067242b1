r"""
---
title: The Wrong Line
summary: What somebody's model, attention or training step does that it shouldn't, and where.
---

A package that tests a language model before it is trained. It needs PyTorch and nothing else:

```sh
pip install "wrongline @ git+ADDRESS#subdirectory=wrongline"
wrongline my_file.py:MyModel
```

ADDRESS is that of the repository; `pip install ./wrongline` installs it from a copy. In a program:

```python
from wrongline import check_attention, check_language_model

check_language_model(model, tokens)
check_attention(MyAttention(24, 3), heads=3, d_model=24)
```

* [A whole model, and a training step](language_model.py)
* [An attention](attention_tests.py), whose mistake is named
* [From a terminal](command.py)
* [In a browser](pasted.py), where you paste it
* [The verdicts](verdicts.py): right, wrong, unusual, not tried, or an error

It was taken out of the [museum of mistakes](../labml_nn/transformers/mistakes/__init__.py), whose
exhibits it is tried on, and knows none of them.
"""

from wrongline.attention_tests import check_attention, find_mistakes
from wrongline.language_model import (
    check_language_model,
    check_training_step,
    find_in_language_model,
    find_in_training_step,
)

__all__ = [
    "check_attention",
    "check_language_model",
    "check_training_step",
    "find_in_language_model",
    "find_in_training_step",
    "find_mistakes",
]
