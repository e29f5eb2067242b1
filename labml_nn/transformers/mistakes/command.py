r"""
---
title: The Museum's Command
summary: An attention or a model, in a file or a library, is tested from a terminal.
---

```sh
python -m labml_nn.transformers.mistakes my_file.py:MyAttention
python -m labml_nn.transformers.mistakes my_file.py:MyModel --arguments "dict(n_vocab=64, d=32)"
python -m labml_nn.transformers.mistakes transformers:RoFormerForCausalLM
```

**In:** a class, in a file or in an installed module. **Out:** what the
[tests of an attention](attention_tests.py) or of [a whole model](language_model.py) say about it,
with the line that a mistake is likely in, and an exit status of 0 if that is nothing. Its
arguments, and the way to call an attention, [are guessed](guesses.py). (Sizes that stand above the
class, and targets, are only where you [paste it](pasted.py).) What was guessed is printed, and
`--arguments` says it better.

A class of the transformers library is made from a [tiny configuration](tiny.py).
"""

import argparse
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import torch
from torch import nn

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.guesses import SIZES, guess_arguments
from labml_nn.transformers.mistakes.language_model import find_in_language_model
from labml_nn.transformers.mistakes.pasted_models import best_way, is_model
from labml_nn.transformers.mistakes.pasted_text import line_of, shown
from labml_nn.transformers.mistakes.tiny import tiny


def load(name: str) -> type[nn.Module]:
    r"""
    ## Find the class

    `name` is that of a file or of a module, a colon, and that of a class.
    """
    # A colon can't be part of either.
    place, _, wanted = name.rpartition(":")
    if not place:
        raise ValueError(f"say FILE:CLASS or MODULE:CLASS, not {name}")

    # A file need not be anywhere in particular, but may import what lies beside it.
    path = Path(place)
    if path.suffix == ".py":
        # The folder of the file comes first, as for a script.
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        # What looks for its own module by name must find it.
        sys.modules[path.stem] = module
        # Now the file runs.
        spec.loader.exec_module(module)
    else:
        # Whatever Python can import here.
        module = importlib.import_module(place)

    # A class that isn't there is an error that names both.
    kind = getattr(module, wanted)
    if not isinstance(kind, type):
        raise ValueError(f"{wanted} in {place} is not a class")
    return kind


def make(kind: type[nn.Module], arguments: str | None) -> nn.Module:
    r"""
    ## Make one of the class

    An argument that has no default and no known name is an error that says so.
    """
    # What was said is a line of Python of your own.
    if arguments:
        return kind(**eval(arguments))

    # A class that names the class of its configuration is one of the transformers library.
    config_class = getattr(kind, "config_class", None)
    if config_class is not None:
        # Two layers, a width of 32.
        return kind(tiny(config_class))

    # By their names, as on the page where code is pasted. What a configuration needs is known by
    # what its file reads from it.
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    guessed, unknown = guess_arguments(kind, text)
    # Nobody can guess what this is.
    if unknown:
        raise ValueError(f"{kind.__name__} wants {unknown[0]}: say it by --arguments 'dict(...)'")

    # What was guessed is shown, so that a wrong guess can be seen.
    print(f"{kind.__name__}({', '.join(f'{n}={shown(v)}' for n, v in guessed.items())})")
    return kind(**guessed)


def examine(module: nn.Module, width: int, heads: int) -> dict[str, str]:
    r"""
    ## Test it

    From the names of the tests that fail to sentences.
    """
    # An attention reads vectors, in one way or another. (One may have a table of positions.)
    way, failed, _ = best_way(module, {}, width)
    if way:
        mask = f", mask {way.name}: {way.mask}" if way.name else ""
        print(f"an attention: {way.layout}, inputs: {way.inputs}{mask}")
        return find_mistakes(module, heads, width, way)

    # A model reads tokens: three texts of twelve, without the first three, which may be special.
    if is_model(module):
        return find_in_language_model(module, torch.randint(3, SIZES["n_vocab"], (3, 12)))

    # It can't be called, and the first error says why.
    return {"runs": failed}


def main(arguments: list[str] | None = None) -> int:
    r"""
    ## The command
    """
    parser = argparse.ArgumentParser(prog="python -m labml_nn.transformers.mistakes")

    # One name is enough for most classes.
    parser.add_argument("name", metavar="FILE:CLASS", help="or MODULE:CLASS")
    parser.add_argument("--arguments", metavar="PYTHON", help="a dict, in place of guesses")
    # An attention that was made by hand may have other sizes.
    parser.add_argument("--heads", type=int, default=SIZES["heads"], help="of an attention")
    parser.add_argument("--width", type=int, default=SIZES["d_model"], help="of an attention")
    said = parser.parse_args(arguments)

    # The same weights each time.
    torch.manual_seed(0)

    # What is wrong with the command is told in a sentence.
    try:
        kind = load(said.name)
        module = make(kind, said.arguments)
    # Nothing was tested: that is another exit status than a test that fails.
    except (ValueError, AttributeError, ImportError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    # The file or the class has a mistake of its own, or the arguments are not those of the class.
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2

    # One line for each test that fails, as in the assertion, and where it is likely to be mended.
    # Other classes of the file have lines that look alike.
    lines, first = inspect.getsourcelines(kind)
    found = examine(module, said.width, said.heads)
    for name, sentence in found.items():
        line = line_of(sentence, "".join(lines))
        print(f"* {name}: {sentence}" + (f" (line {first + line - 1}?)" if line else ""))

    # The last line says it in short.
    print(f"{len(found)} of the tests fail" if found else "all tests pass")

    # For programs, which don't read.
    return 1 if found else 0
