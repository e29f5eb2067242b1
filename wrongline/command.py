r"""
---
title: From a Terminal
summary: The command that tests an attention or a model, in a file or in a library.
---

```sh
wrongline my_file.py:MyAttention
wrongline my_file.py:MyModel --arguments "dict(n_vocab=64, d=32)"
wrongline transformers:RoFormerForCausalLM
```

**In:** a class, or a function that makes a model, in a file or in an installed module. **Out:**
what the [tests of an attention](attention_tests.py) or of [a whole model](language_model.py) say
about it, with the line that a mistake is likely in. The exit status is 0 if nothing is wrong, 1 if
something is, and 2 if the model can't be run; with `--strict` it is 3 if something wasn't tried.

Its arguments, and the way to call an attention, [are guessed](guesses.py). (Sizes that stand above
the class, and targets, are only where you [paste it](pasted.py).) What was guessed is printed.
`--arguments` says it better; arguments that it leaves out keep their default, or are guessed if
they have none. Of a script that trains when it is imported, `--definitions` runs the
[definitions](definitions.py) alone. There is [a plugin of pytest](plugin.py), and a [workflow for
pull requests](leak_gate.py). A model reads three texts as long as it allows, but of 256 tokens at
most.

A class of the transformers library is made from a [tiny configuration](tiny.py).
"""

import argparse
import inspect
import re
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from torch import nn

from wrongline.attempts import Attempt, others
from wrongline.attention_tests import find_mistakes
from wrongline.classes_of_files import classes_of
from wrongline.configurations import Config, missing_in, said_parts, unguessed
from wrongline.functions import MATRICES, ROLES, OfFunction, left_over, roles_of, tries_of
from wrongline.guesses import guess_arguments, share_heads, sizes_in
from wrongline.language_model import find_in_language_model
from wrongline.loading import Makes, load
from wrongline.making import sees_past
from wrongline.model_tests import SEES
from wrongline.pasted_models import best_way, is_model
from wrongline.pasted_text import line_of, lines_about, shown
from wrongline.properties import nothing_from_the_future
from wrongline.sizes import SIZES
from wrongline.special_sizes import special_sizes
from wrongline.tiny import tiny
from wrongline.verdicts import ERROR, Findings, Verdict, told
from wrongline.ways_to_call import Refused, further
from wrongline.whole import reads_tokens, texts_for

# What the class of an attention is called, and what has a formula that isn't looked at.
ATTENTION = r"(?i)att(e?n|ention)|^(masked_?|self_?|causal_?)*head$|multi_?head|^mha$"
FORMULA = r"softmax\(|scaled_dot_product_attention"

# What its help says before and after the options.
ABOUT = (
    "Tests a language model or an attention before it is trained: does it see the future, mix the "
    "sequences of a batch, say something else with a cache? What is wrong is said in a sentence, "
    "and what couldn't be tried is listed. The file is run."
)
STATUSES = (
    "The exit status is 0 if nothing is wrong, 1 if something is, and 2 if the model couldn't be "
    "run; with --strict, 3 if something wasn't tried. What couldn't be guessed, such as `read` or "
    "`masked`, is an argument of check_language_model and check_attention, in Python."
)


def make(kind: Makes, arguments: str | None) -> tuple[nn.Module, dict[str, Any]]:
    r"""
    ## Make one of the class

    And the arguments that it was made with. One that has no default and no known name is an error
    that says so.
    """
    # What was said is a line of Python of your own, which may name what the file or module has.
    said: dict[str, Any] = {}
    if arguments:
        said = eval(arguments, {"Config": Config, **vars(sys.modules[kind.__module__])})
    # What has no default must be there.
    taken = inspect.signature(kind).parameters.values()
    needed = {one.name for one in taken if one.default is one.empty and one.kind.value in (1, 3)}
    if said and needed <= set(said):
        return kind(**said), said

    # A class that names the class of its configuration is one of the transformers library.
    config_class = getattr(kind, "config_class", None)
    if config_class is not None and not said:
        # Two layers, a width of 32.
        return kind(tiny(config_class, **special_sizes(config_class.model_type))), {}

    # The rest is guessed by its name, as on the page where code is pasted. What a configuration
    # needs is known by what its file reads from it.
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    given, unknown = guess_arguments(kind, text)
    if said:
        given = {name: value for name, value in given.items() if name in needed}
        given |= said_parts(given, said, {one.name for one in taken})
    # Heads that share keys in the wrong order show with more than one key head.
    else:
        share_heads(given)
    # Nobody can guess what this is.
    if unknown := [name for name in unknown if name not in said]:
        asked = "--arguments 'dict(" + ", ".join(f"{name}=..." for name in unknown) + ")'"
        wanted = f"{kind.__name__} wants {' and '.join(unknown)}, and nobody can guess "
        raise ValueError(f"{wanted}{'it' if len(unknown) == 1 else 'them'}: say {asked}")

    # What was guessed is shown, so that a wrong guess can be seen.
    print(f"{kind.__name__}({', '.join(f'{n}={shown(v)}' for n, v in given.items())})")
    try:
        return kind(**given), given
    except AttributeError as error:
        # Something is read from a configuration, and its name says nothing.
        for name, config in given.items():
            if isinstance(config, Config) and error.obj is config:
                missing = missing_in(error, config, text)
                raise ValueError(unguessed(name, config, missing)) from error
        raise
    # Another size is tried, if the error is about one.
    except Exception as error:
        for other in others(f"{type(error).__name__}: {error}", Attempt(given), {*said}):
            print(f"with {', '.join(f'{n}={shown(v)}' for n, v in other.arguments.items())}")
            return kind(**other.arguments), other.arguments
        raise


def examine(one: Any, width: int, heads: int, text: str = "", **options: Any) -> Findings:
    r"""
    ## Test it

    From the names of the tests that fail to sentences. `one` is a module or a function, and `text`
    the file that it is from. Options are `skip` and `only`.
    """
    # An attention reads vectors, in one way or another. (One may have a table of positions.) What
    # has no weights gets matrices around it, which are as wide as those of the tests.
    refused: Refused | None = None
    for module in tries_of(one, text):
        is_between = isinstance(module, OfFunction)
        wide = SIZES["d_model"] if is_between else width
        way, why = best_way(module, {}, wide)
        refused = further(refused, why) if why else refused
        if way is None or not sees_past(module, way, wide):
            continue
        mask = f", mask {way.name}: {way.mask}" if way.name else ""
        switch = f", {way.switch}={way.word!r}" if way.switch else ""
        turned = f", angles of 0 by {' and '.join(way.angles)}" if way.angles else ""
        around = f", between four matrices, {module.heads}" if is_between else ""
        print(f"an attention: {way.layout}, inputs: {way.inputs}{mask}{switch}{turned}{around}")
        many = heads if not is_between else 1 if module.heads == "no heads" else SIZES["heads"]
        return find_mistakes(module, many, wide, way, **options)

    # A model reads tokens.
    if isinstance(one, nn.Module) and (is_model(one) or reads_tokens(one)):
        return find_in_language_model(one, texts_for(one), **options)

    # It can't be called, and the error of the way that came furthest says why.
    failed = refused.placed if refused else ""
    return Findings([Verdict("runs", ERROR, f"it takes neither tokens nor vectors: {failed}")])


def judge(
    name: str,
    arguments: str | None = None,
    sizes: tuple[int | None, int | None] = (None, None),
    definitions: bool = False,
    **options: Any,
) -> tuple[Findings, Makes]:
    r"""
    ## Find it, make it, test it

    `arguments` are said or guessed, and so are `sizes`: the width and the heads of an attention.
    """
    # The same weights each time.
    torch.manual_seed(0)
    kind = load(name, definitions)
    # Somebody has made it already.
    made = kind if isinstance(kind, nn.Module) else None
    kind = kind if made is None else type(made)
    # A function of queries, keys and values is tested itself, and makes no model.
    is_attention = isinstance(kind, FunctionType) and not left_over(kind)
    is_attention = is_attention and bool(roles_of(kind, ROLES) or roles_of(kind, MATRICES))
    one: Any = kind if made is None else made
    given: dict[str, Any] = {}
    if made is None and not is_attention:
        one, given = make(kind, arguments)
    # Those that it was made with, if nobody has said them.
    known = sizes_in(one, given) if isinstance(one, nn.Module) else SIZES
    width = sizes[0] or known["d_model"]
    heads = sizes[1] or known["heads"] or SIZES["heads"]
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    return examine(one, width, heads, text, **options), kind


def shown_by_line(found: Findings, kind: Makes) -> str:
    r"""
    ## The table, with likely lines

    Where a mistake is likely to be mended: in the class, or in what it mentions. Other classes of
    the file have lines that look alike.
    """
    path = Path(inspect.getfile(kind))
    about = lines_about(kind.__name__, path.read_text(encoding="utf-8"))
    rows = found.table.splitlines()
    for name, sentence in found.items():
        line = line_of(sentence, about)
        if line:
            at = next(
                i for i, row in enumerate(rows) if row.startswith("* ") and f": {name}: " in row
            )
            rows[at] += f" ({path.name}, line {line}?)"
    return "\n".join(rows)


def not_looked_at(name: str, kind: Makes, found: Findings) -> str:
    r"""
    ## What a right model may still have wrong

    A scale that is missing makes another good model, and a loss is computed outside of it or from
    targets. Each has tests of its own, so they are named.
    """
    if found or not any(one.test == "model_prefix" for one in found.verdicts):
        return ""
    # Not those that it imports: they may stand in other files.
    around = vars(sys.modules[kind.__module__]).items()
    parts = [
        name.rpartition(":")[0] + ":" + part
        for part, one in around
        if isinstance(one, type)
        and issubclass(one, nn.Module)
        and one.__module__ == kind.__module__
        and re.search(ATTENTION, part)
    ]
    # A softmax may be anywhere.
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    formula = "the formula of its attention" if re.search(FORMULA, text) else ""
    formula = f"the formula of its attention (wrongline {parts[0]})" if parts else formula
    formula += " and " if formula else ""
    return f"not looked at: {formula}its loss (check_training_step, in Python)"


def why_not(error: Exception) -> str:
    r"""
    ## Why nothing was tested

    Some errors are sentences of this command. Else the file or the class has a mistake of its own,
    or the arguments are not those of the class.
    """
    if isinstance(error, ModuleNotFoundError):
        return f"{error}: install it, or type the command in the folder that has it"
    is_ours = isinstance(error, ValueError | AttributeError | ImportError | OSError)
    return str(error) if is_ours else told(error)


def main(arguments: list[str] | None = None) -> int:
    r"""
    ## The command
    """
    parser = argparse.ArgumentParser(prog="wrongline", description=ABOUT, epilog=STATUSES)

    # One name is enough for most classes.
    parser.add_argument("name", metavar="FILE:CLASS", help="or MODULE:CLASS")
    parser.add_argument(
        "--arguments", metavar="PYTHON", help="a dict; what it leaves out is guessed"
    )
    # An attention that was made by hand may have other sizes.
    parser.add_argument("--heads", type=int, help="of an attention")
    parser.add_argument("--width", type=int, help="of an attention")
    # What is asked, and how it is told.
    parser.add_argument("--skip", nargs="*", default=[], metavar="TEST", help="tests to leave out")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEST", help="no other tests")
    parser.add_argument("--strict", action="store_true", help="3 if something wasn't tried")
    parser.add_argument("--json", action="store_true", help="the verdicts for a program")
    parser.add_argument("--junit", metavar="FILE", help="write the verdicts as JUnit's XML")
    parser.add_argument("--markdown", metavar="FILE", help="write them for a comment")
    # A script may train when it is imported, and not show it.
    only = "run the file's imports, functions, classes and plain values, and nothing else, as is "
    only += "done without asking if it trains at its outermost level"
    parser.add_argument("--definitions", action="store_true", help=only)
    said = parser.parse_args(arguments)

    # For a program nothing stands on the output but the verdicts.
    aside = redirect_stdout(sys.stderr) if said.json else nullcontext()
    # What is wrong with the command is told in a sentence.
    try:
        with aside:
            found, kind = judge(
                said.name,
                said.arguments,
                (said.width, said.heads),
                said.definitions,
                skip=said.skip,
                only=said.only,
            )
    # Nothing was tested: that is another exit status than a test that fails.
    except Exception as error:
        sentence = why_not(error) + classes_of(said.name)
        print(sentence, file=sys.stderr)
        if said.markdown:
            text = Findings([Verdict("runs", ERROR, sentence)]).as_markdown(said.name)
            Path(said.markdown).write_text(text, encoding="utf-8")
        return 2

    # For programs: the verdicts, and the exit status.
    if said.junit:
        Path(said.junit).write_text(found.as_junit(said.name), encoding="utf-8")
    if said.markdown:
        Path(said.markdown).write_text(found.as_markdown(said.name), encoding="utf-8")
    if said.json:
        print(found.as_json())
        return found.status(said.strict)

    # The last line says it in short.
    print(shown_by_line(found, kind))
    if others := classes_of(said.name) if found.status() == 2 else "":
        print(f"{said.name} can't be run{others}")
    if SEES in found.get("model_prefix", ""):
        print("if it is an encoder, which may see everything: --skip model_prefix")
    if nothing_from_the_future.__name__ in found:
        print(
            "if it is an encoder's, which may see everything: check_attention(..., sees_all=True), "
            "in Python"
        )
    if left := not_looked_at(said.name, kind, found):
        print(left)
    print(found.summary)
    return found.status(said.strict)
