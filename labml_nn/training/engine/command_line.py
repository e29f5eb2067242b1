r"""
---
title: Training on the Command Line
summary: From words on the command line to a run, with mistakes that are told before the first step.
---

```sh
python -m labml_nn.training.engine --help
python -m labml_nn.training.engine --preset modern --steps 500
python -m labml_nn.training.engine --resume runs/modern/2026-11-21_12-00-00_1f0c
```

**In:** words on the command line. **Out:** a folder with the run, and its result on the terminal.

Training takes long, and a mistake should not. Whatever can be checked, down to the prompt of the
sample at the very end, is tried before the first step. (A missing matplotlib shows when the
figure is drawn, with the result saved.) This page is the order of things: which text, which
options, what to run; then make the model, try a [sample](train.py#Writer), open the
[folder](runs.py), [train](train.py#train), [measure](train.py#measure).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from labml_nn.training.engine.checkpoint import restore
from labml_nn.training.engine.config import TrainConfig, option_name
from labml_nn.training.engine.errors import InputError, Parser, checking_input, one_sentence
from labml_nn.training.engine.files import replacing, write_json
from labml_nn.training.engine.presets import PRESETS, Preset
from labml_nn.training.engine.processes import broadcast, process_group, rank
from labml_nn.training.engine.records import draw, read_history
from labml_nn.training.engine.runs import new_run, newest_good, read_about, resumed_config
from labml_nn.training.engine.text import (
    CORPORA,
    BytePairTokenizer,
    Prepared,
    prepare_text,
    read_text,
)
from labml_nn.training.engine.token_file import open_tokens
from labml_nn.training.engine.train import (
    Writer,
    add_sample,
    described,
    introduced,
    keep_freed_memory,
    measure,
    say,
    train,
)
from labml_nn.training.engine.trainer import Trainer

# What is learned if no option says anything else: the first text that has a name.
DEFAULT_SOURCE = {"corpus": next(iter(CORPORA))}


def add_text(group: argparse._ArgumentGroup) -> None:
    r"""
    ## Which text a run learns

    A text can be one of the [package](text.py), a file, or a [file of tokens](token_file.py).
    Options name its *source*, a small dictionary such as `{"corpus": "python", "n_vocab": 512}`. A
    run keeps it in its folder, and opens the same text again when it is resumed. The text itself
    isn't kept: it may be a thousand times as large as the model. A checksum tells whether it is
    still the same.
    """
    # A run learns one text, so two of these contradict each other.
    one_of = group.add_mutually_exclusive_group()
    one_of.add_argument(
        "--corpus", choices=tuple(CORPORA), help=f"(default: {DEFAULT_SOURCE['corpus']})"
    )
    one_of.add_argument("--text", type=Path, metavar="FILE", help="a text of your own, in UTF-8")

    # Made once by [a program](token_file.py#write_tokens).
    one_of.add_argument("--tokens", type=Path, metavar="FILE", help="a file of tokens")

    # This one goes with either of the first two.
    group.add_argument(
        "--n-vocab", type=int, metavar="INT", help="so many byte pairs, in place of characters"
    )


def source_of(arguments: argparse.Namespace) -> dict[str, Any]:
    r"""
    ### The source that options name

    Empty, if no option says it; then a resumed run takes its own.
    """
    # Absolute paths, because a run may be resumed from another folder.
    paths = {"file": arguments.text, "tokens": arguments.tokens}
    source: dict[str, Any] = {
        name: str(path.resolve()) for name, path in paths.items() if path is not None
    }

    # A name is looked up in a table when the text is opened.
    if arguments.corpus is not None:
        source["corpus"] = arguments.corpus

    # The tokens in a file were made long ago; they can't be made anew here.
    if arguments.n_vocab is not None:
        if "tokens" in source:
            raise InputError("--tokens has a vocabulary of its own: leave out --n-vocab")

        # Byte pairs of the usual text, if nothing else is named.
        source = (source or DEFAULT_SOURCE) | {"n_vocab": arguments.n_vocab}
    return source


def open_source(source: dict[str, Any], seq_len: int) -> Prepared:
    r"""
    ### Open it

    `seq_len` is the context, which the text must be long enough for.
    """
    # These may be larger than the memory, so they stay where they are.
    if "tokens" in source:
        # Their vocabulary comes with them.
        return open_tokens(Path(source["tokens"]))

    # Everything else is read whole and tokenized now, which takes a second for a million
    # characters. A text that is too short is a mistake of the user.
    named = CORPORA.get(source.get("corpus"))
    text = named() if named else read_text(Path(source["file"]))
    with checking_input():
        # Here it is cut into two parts, and byte pairs are learned.
        return prepare_text(text, seq_len, source.get("n_vocab"))


def make_parser(
    preset: str, presets: Sequence[str], config: type[TrainConfig], defaults: Mapping[str, Any]
) -> Parser:
    r"""
    ## All options

    They are made from the fields of a [configuration](config.py). A list of options beside it would
    be a second place for each name, type and default, and one day the two would differ. These are
    the options of one of the `presets`: its `config`, and the defaults that differ from the
    config's.

    The namespace has a value for each setting that was *given*, even if it is the default, and none
    for the others. A [resumed run](runs.py#resumed_config) needs to know: “--steps 2000” can
    contradict the run; an option that wasn't given can't.
    """
    # An abbreviation such as “--step” would mean something else as soon as there is another option
    # that begins with it.
    parser = Parser(
        # The name that works in a shell; by itself it would be “__main__.py”.
        prog="python -m labml_nn.training.engine",
        # Python would list all options here, and once more below.
        usage="%(prog)s [options]",
        # What people see first, and last, below the options.
        description="Train a model to write. The run, with its losses, checkpoints and figures, "
        "goes to a new folder below --runs.",
        epilog="Ctrl-C finishes the step and saves; --resume continues with the same bits.",
        allow_abbrev=False,
    )
    parser.add_argument(
        # A preset changes defaults, so the help says whose defaults it shows.
        "--preset",
        # The first parser took any word; this one tells which there are.
        choices=presets,
        help=f"{', '.join(presets)} (default: {presets[0]}, or that of the run that is resumed); "
        f"the defaults below are those of {preset}",
    )
    add_text(parser.add_argument_group("text"))

    # What every preset has is about training; what a preset adds is about its model.
    training = parser.add_argument_group("training")
    model = parser.add_argument_group("model")
    own = {field.name for field in fields(TrainConfig)}
    for field in fields(config):
        # A preset may have a better one.
        default = defaults.get(field.name, field.default)
        add_field(training if field.name in own else model, field, default)

    # Where the run is, and who is told.
    run = parser.add_argument_group("run")
    run.add_argument(
        # A folder for each preset is made in there.
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="(default: %(default)s)",
    )
    run.add_argument(
        # The one option that takes the place of nearly all others.
        "--resume",
        type=Path,
        metavar="RUN",
        help="the folder of a run, to go on from its newest good checkpoint, with its settings "
        "and its text",
    )

    # For scripts: everything else that is printed is for people.
    run.add_argument("--json", action="store_true", help="print the result as JSON, as last line")

    # Off by default, because it writes into your home folder.
    run.add_argument("--labml", action="store_true", help="record with labml, too")

    # Last, because it matters least: nothing that is trained depends on it.
    add_sample(parser.add_argument_group("sample"))
    return parser


def add_field(group: argparse._ArgumentGroup, field: Field[Any], default: Any) -> None:
    r"""
    ### A field as an option
    """
    # The type of the field turns “--steps many” into a sentence. `bool | None` is a switch that
    # needn't be set; of its types, the one that isn't None counts.
    kinds = [kind for kind in get_args(field.type) if kind is not NoneType] or [field.type]

    # The metavar is the word in the help: “--steps INT”.
    kind: dict[str, Any] = {"type": kinds[0], "metavar": kinds[0].__name__.upper()}

    # A switch needs a word for off, too: “--compile” and “--no-compile”.
    if kinds[0] is bool:
        kind = {"action": argparse.BooleanOptionalAction}

    # The default is shown and not set: `SUPPRESS` leaves out of the namespace what wasn't given.
    shown = "" if default is None else f" (default: {default})"
    group.add_argument(
        # With hyphens; in the namespace they become underscores again.
        option_name(field.name),
        default=argparse.SUPPRESS,
        help=f"{field.metadata['help']}{shown}",
        **kind,
    )


def choose_preset(argv: Sequence[str], presets: Mapping[str, Preset]) -> str:
    r"""
    ## What to run

    The preset that is named, else that of the run that is resumed, else the first.
    """
    # Which options there are depends on the preset. So a small parser reads these two words first,
    # and leaves all others to the [large one](command_line.py#make_parser).
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--resume", type=Path)

    # Unknown words are no mistake yet.
    arguments, _ = parser.parse_known_args(argv)

    # The name comes from a file that anybody may have written. It is only ever looked up in the
    # table, never imported.
    name = arguments.preset
    if name is None and arguments.resume is not None:
        # Only its name; all else is read when the options are known.
        name = read_about(arguments.resume)["preset"]
        if name not in presets:
            raise InputError(f"{arguments.resume} has an unknown preset, {name!r}")

    # If the option has an unknown name, the large parser says so, with all names.
    return name if name in presets else next(iter(presets))


def prepare_run(
    name: str, preset: Preset, arguments: argparse.Namespace
) -> tuple[dict[str, Any], TrainConfig, Prepared]:
    r"""
    ### Settings and text

    A run that is resumed brings both. Options may say the same once more, and nothing else. All of
    it is checked before a model is made, because it takes a moment and training takes hours.
    """
    # The namespace has only the settings that were given.
    names = {field.name for field in fields(preset.config)}
    given = {one: value for one, value in vars(arguments).items() if one in names}

    # If no option names a text, this is empty, and the run or the default decides.
    source = source_of(arguments)

    # What the run is about comes first, and options can only confirm it.
    resumed: dict[str, Any] = {}
    if arguments.resume is not None:
        resumed = read_about(arguments.resume)
        given = resumed_config(arguments.resume, resumed, name, names, given)

    # Here a value that makes no sense is refused, and a text that can't be read.
    config = preset.make_config(given)
    source = source or resumed.get("text", DEFAULT_SOURCE)
    text = open_source(source, config.seq_len)

    # The file may have been edited since. The run would then train on windows that it has never
    # seen, or measure on windows that it has trained on.
    if resumed and resumed["text_checksum"] != text.checksum:
        raise InputError(f"{arguments.resume} was trained on another text")

    # The same text in other tokens: the vocabulary would have another size, or other letters.
    if resumed and resumed["symbols"] != text.tokenizer.symbols:
        raise InputError(f"{arguments.resume} was trained on other tokens: leave out --n-vocab")

    # Numbers and texts only, because it goes into a file of JSON and into each checkpoint.
    about = {
        "preset": name,
        # All settings, also those that nobody gave: a default may be another one next year.
        "config": asdict(config),
        "text": source,
        # The text is looked up again; this tells whether it is the same.
        "text_checksum": text.checksum,
        # With these and the weights, the model can be used without the text.
        "symbols": text.tokenizer.symbols,
    }
    return about, config, text


@one_sentence
def main(argv: Sequence[str] | None = None, presets: Mapping[str, Preset] = PRESETS) -> int:
    r"""
    ## The program

    The exit status is 0 for a finished run, 1 for one whose loss isn't honest, 2 for something to
    put right, and as in a shell, 130 after Ctrl-C and 143 after a request to end.
    """
    # First the preset, because it decides which options there are.
    argv = sys.argv[1:] if argv is None else argv
    name = choose_preset(argv, presets)
    preset = presets[name]

    # The words are read once more, now with all options.
    parser = make_parser(name, tuple(presets), preset.config, preset.defaults)
    arguments = parser.parse_args(argv)

    # Nothing happens here unless torchrun has started several processes.
    with process_group():
        return run_preset(name, preset, arguments)


def run_preset(name: str, preset: Preset, arguments: argparse.Namespace) -> int:
    r"""
    ## A whole run

    In [several processes](distributed.py) each does all of this, and rank 0 prints and writes.
    """
    # The allocator is set before anything large is allocated. Then comes what can be refused
    # without a model.
    keep_freed_memory()
    about, config, text = prepare_run(name, preset, arguments)

    # The model has random weights now, those of the seed.
    trainer = preset.make_trainer(config, text)

    # The trainer has decided what was left to the machine. From now on that is a setting, so that
    # the run can't be resumed in another precision.
    config = trainer.config
    about["config"] = asdict(config)

    # One token tries everything that a sample needs.
    writer = Writer(trainer, text, arguments)
    writer.write(1)

    # The folder is made late, so that most mistakes leave none behind.
    if arguments.resume:
        # Absolute, because the result names it.
        run = go_on(arguments.resume.resolve(), about, trainer)
    else:
        run = begin(arguments.runs, about, text)

    # Now it is known what runs, and where.
    say(introduced(trainer, run, text))
    if arguments.resume:
        say(f"from step {trainer.step:,}")

    # A run that is complete can still be resumed, for another sample.
    if trainer.step < config.steps:
        # If it is interrupted, what follows is skipped: a half-trained model has no result.
        train(trainer, run, about, writer, arguments.labml)

    # With shards, each process has a part of the model, so all of them measure and write.
    result = measure(trainer, run, text)

    # From the prompt that was tried at the beginning.
    sample = writer.write(arguments.sample_length)
    if not rank():
        # Before anything is printed, so that a closed terminal loses nothing.
        write_json(run / "result.json", result)

        # The whole history, also of the parts before the run was resumed.
        draw(run / "losses.svg", read_history(run))

    # The sample comes last, because it can be long.
    say(f"{described(result, config.seq_len)}\n\n{sample}")

    # As last line, where a script finds it.
    if arguments.json:
        say(json.dumps(result))

    # A loss that isn't honest is worth less than none: a script must not take it for a success.
    if not result["honest"] and not rank():
        # On the other stream, like all errors.
        print(f"error: {result['honest_sentence']}", file=sys.stderr)
    return int(not result["honest"])


def begin(runs: Path, about: dict[str, Any], text: Prepared) -> Path:
    r"""
    ### Begin a run

    Makes its folder below `runs`.
    """
    # All processes must have the same name for it, and it has random letters.
    run = broadcast(lambda: new_run(runs, about["preset"]))
    if not rank():
        # From here on, the run can be resumed.
        write_json(run / "run.json", about)

        # In the format of the library that learned the byte pairs, for use elsewhere.
        if isinstance(text.tokenizer, BytePairTokenizer):
            with replacing(run / "tokenizer.json") as temporary:
                temporary.write_text(text.tokenizer.document, encoding="utf-8")
    return run


def go_on(run: Path, about: dict[str, Any], trainer: Trainer) -> Path:
    r"""
    ### Go on with a run

    The trainer gets the state of its newest good checkpoint. A run that was killed before its first
    checkpoint has none, and begins again.
    """
    if found := newest_good(run, about):
        state, path, refused = found

        # The trainer was made with the settings of the run, so the shapes fit.
        restore(trainer, state, path)

        # Steps are lost with a damaged checkpoint, and the disk may be at its end. The user should
        # know.
        for sentence in refused if not rank() else []:
            print(f"not used: {sentence}", file=sys.stderr)
    return run
