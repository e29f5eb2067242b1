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
and an exit status of 0 if that is nothing. To make an object of the class, its arguments are
guessed from their names. What was guessed is printed, and `--arguments` says it better.

A class of the transformers library is made from a [tiny configuration](tiny.py).
"""

import argparse
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from labml_nn.transformers.mistakes.attention_tests import find_mistakes
from labml_nn.transformers.mistakes.language_model import find_in_language_model
from labml_nn.transformers.mistakes.tiny import tiny

# The sizes of what is made: three heads of width 8.
D_MODEL, HEADS, N_VOCAB = 24, 3, 64

# What constructors call them.
WORDS: dict[str, tuple[Any, str]] = {
    "width": (D_MODEL, "d_model n_embd embed_dim d_embed d_in d_out dim hidden_size width d"),
    "heads": (HEADS, "heads n_head n_heads num_heads nhead h num_attention_heads n_kv_head"),
    "vocabulary": (N_VOCAB, "n_vocab vocab_size n_tokens num_embeddings"),
    "length": (64, "block_size max_len context_length seq_len max_seq_len ctx_len n_positions"),
    "layers": (2, "n_layer n_layers num_layers depth num_hidden_layers"),
    "inside": (48, "d_ff hidden_dim mlp_dim d_hidden ffn_dim"),
    # Dropout would only be in the way, and a mask table has a length.
    "dropout": (0.0, "dropout dropout_prob attn_pdrop drop p"),
    "flag": (False, "bias qkv_bias"),
}
GUESSES = {name: value for value, names in WORDS.values() for name in names.split()}


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
    return getattr(module, wanted)


def guess(kind: type) -> dict[str, Any]:
    r"""
    ## Guess the arguments

    By their names. One that has no default and no known name is an error that says so.
    """
    # What has a default and no size is left as it is.
    found = {}
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        # The object itself, and whatever else may be given.
        if name in ("self", "args", "kwargs") or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            continue
        # One object with all sizes, as nanoGPT has it.
        # Each size is there under all of its names.
        if name in ("config", "cfg", "args"):
            found[name] = SimpleNamespace(**GUESSES)
        # A size. A bias stays as the class wants it.
        elif name in GUESSES and (parameter.default is parameter.empty or name != "bias"):
            found[name] = GUESSES[name]
        # Nobody can guess what this is.
        elif parameter.default is parameter.empty:
            raise ValueError(f"{kind.__name__} wants {name}: say it by --arguments 'dict(...)'")
    return found


def make(kind: type[nn.Module], arguments: str | None) -> nn.Module:
    r"""
    ## Make one of the class
    """
    # What was said is a line of Python of your own.
    if arguments:
        return kind(**eval(arguments))

    # A class that names the class of its configuration is one of the transformers library.
    config_class = getattr(kind, "config_class", None)
    if config_class is not None:
        # Two layers, a width of 32.
        return kind(tiny(config_class))

    # What was guessed is shown, so that a wrong guess can be seen.
    found = guess(kind)
    shown = {n: "sizes" if isinstance(v, SimpleNamespace) else v for n, v in found.items()}
    print(f"{kind.__name__}({', '.join(f'{n}={v}' for n, v in shown.items())})")
    return kind(**found)


def is_model(module: nn.Module) -> bool:
    r"""
    ## A whole model, or an attention?

    A model has a table with a vector for each token.
    """
    # Tables of relative positions are smaller than a vocabulary.
    tables = [one for one in module.modules() if isinstance(one, nn.Embedding)]
    # The vocabulary of what is made here is known.
    return any(table.num_embeddings >= N_VOCAB for table in tables)


def main(arguments: list[str] | None = None) -> int:
    r"""
    ## The command
    """
    parser = argparse.ArgumentParser(prog="python -m labml_nn.transformers.mistakes")

    # One name is enough for most classes.
    parser.add_argument("name", metavar="FILE:CLASS", help="or MODULE:CLASS")
    parser.add_argument("--arguments", metavar="PYTHON", help="a dict, in place of guesses")
    # An attention that was made by hand may have other sizes.
    parser.add_argument("--heads", type=int, default=HEADS, help="of an attention")
    parser.add_argument("--width", type=int, default=D_MODEL, help="of an attention")
    said = parser.parse_args(arguments)

    # The same weights each time.
    torch.manual_seed(0)

    # What is wrong with the command is told in a sentence.
    try:
        module = make(load(said.name), said.arguments)
    # Nothing was tested: that is another exit status than a test that fails.
    except (ValueError, AttributeError, ImportError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    # Three texts of twelve tokens, without the first three, which may be special.
    if is_model(module):
        tokens = torch.randint(3, N_VOCAB, (3, 12))
        found = find_in_language_model(module, tokens)
    # An attention is told by its width and heads.
    else:
        found = find_mistakes(module, said.width, said.heads)
    # One line for each test that fails, as in the assertion.
    for name, sentence in found.items():
        print(f"* {name}: {sentence}")

    # The last line says it in short.
    print(f"{len(found)} of the tests fail" if found else "all tests pass")

    # For programs, which don't read.
    return 1 if found else 0
