import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor, nn

from wrongline import command
from wrongline.command import examine, judge, main
from wrongline.loading import load

WRONG = """
import torch
from torch import nn


class MyAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.out = nn.Linear(config.n_embd, config.n_embd)
        self.heads = config.n_head

    def forward(self, x):
        b, n, d = x.shape
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.view(b, n, self.heads, -1).transpose(1, 2) for z in parts)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))


class Wide(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, query, key, value, attn_mask):
        return self.inner(query, key, value, attn_mask=attn_mask, need_weights=False)


class MyModel(nn.Module):
    def __init__(self, vocab_size, n_embd, dropout=0.1):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd)
        self.head = nn.Linear(n_embd, vocab_size)

    def forward(self, tokens):
        return self.head(self.table(tokens))


class Odd(nn.Module):
    def __init__(self, colour):
        super().__init__()
"""


def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_file.py"
    path.write_text(WRONG, encoding="utf-8")
    return path


def test_an_attention_is_made_by_guesses_and_its_mistake_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{file(tmp_path)}:MyAttention"]) == 1
    printed = capsys.readouterr().out
    assert "MyAttention(config=n_embd=24, n_head=3)\n" in printed
    assert "an attention: batch first, inputs: 1\n" in printed
    named = next(line for line in printed.splitlines() if line.startswith("* wrong: comparison"))
    assert "there is no causal mask" in named
    assert named.endswith(" (my_file.py, line 17?)")
    assert printed.splitlines()[-1].startswith("2 of the tests fail, ")


def test_the_way_to_call_it_is_found_and_its_sizes_can_be_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "dict(inner=__import__('torch').nn.MultiheadAttention(20, 5))"
    name = f"{file(tmp_path)}:Wide"
    assert main([name, "--arguments", said, "--width", "20", "--heads", "5"]) == 0
    printed = capsys.readouterr().out
    assert "an attention: sequence first, inputs: 3, mask attn_mask: true hides\n" in printed
    # With another width it runs in no way, and the first error says why.
    assert main([name, "--arguments", said]) == 2
    assert "* error: runs: " in capsys.readouterr().out


def test_a_model_is_told_from_an_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{file(tmp_path)}:MyModel"]) == 0
    assert "MyModel(vocab_size=19, n_embd=24, dropout=0.1)" in capsys.readouterr().out
    said = "dict(vocab_size=64, n_embd=8)"
    assert main([f"{file(tmp_path)}:MyModel", "--arguments", said]) == 0
    assert "\nnothing is wrong, " in capsys.readouterr().out


def test_a_class_of_the_transformers_library_is_tiny(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transformers:RoFormerForCausalLM"]) == 0
    assert main(["transformers:XLNetLMHeadModel"]) == 1
    assert "sees the future" in capsys.readouterr().out
    # Its sizes have to fit each other in a way of their own.
    assert main(["transformers:Mamba2ForCausalLM"]) != 2


def test_arguments_may_name_what_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "names.py"
    path.write_text(
        "from torch import nn\n\nclass Head(nn.Linear):\n    pass\n\n"
        "class Model(nn.Sequential):\n    def __init__(self, head, table):\n"
        "        super().__init__(table, head)\n"
    )
    said = "dict(head=Head(24, 19), table=nn.Embedding(19, 24))"
    assert main([f"{path}:Model", "--arguments", said]) == 0


def test_the_exit_status_says_what_was_found_and_programs_can_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{file(tmp_path)}:MyModel"
    assert main([name]) == 0
    assert main([name, "--strict"]) == 3
    # What nobody asked for isn't missed.
    assert main([name, "--strict", "--only", "model_prefix"]) == 0
    capsys.readouterr()

    # On the output of `--json` stands nothing else.
    junit, comment = tmp_path / "told.xml", tmp_path / "told.md"
    asked = [name, "--json", "--junit", str(junit), "--markdown", str(comment)]
    assert main([*asked, "--skip", "each_sequence_alone"]) == 0
    told = {one["test"]: one for one in json.loads(capsys.readouterr().out)["verdicts"]}
    assert told["model_prefix"]["kind"] == "right"
    assert told["each_sequence_alone"]["kind"] == "not tried"
    assert told["each_sequence_alone"]["sentence"] == "nobody asked for it"
    (suite,) = ElementTree.parse(junit).iter("testsuite")
    assert int(suite.get("tests", "")) == len(told)
    kinds = [one["kind"] for one in told.values()]
    assert int(suite.get("skipped", "")) == kinds.count("not tried")
    assert f"| not tried | `each_sequence_alone` | {told['each_sequence_alone']['sentence']} |" in (
        comment.read_text(encoding="utf-8").splitlines()
    )

    # What can't be made is told there, too.
    assert main([f"{file(tmp_path)}:Odd", "--markdown", str(comment)]) == 2
    assert "| error | `runs` | Odd wants colour" in comment.read_text(encoding="utf-8")


def test_what_can_not_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path)
    for name in ("nothing", f"{path}:Missing", "no_such_module:Class", f"{path}:Odd"):
        assert main([name]) == 2
    said = capsys.readouterr().err
    assert said.startswith("say FILE:CLASS or MODULE:CLASS, not nothing\n")
    assert "Odd wants colour" in said

    # Who names no class is told which there are.
    assert main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"say FILE:CLASS or MODULE:CLASS, not {path}; it has MyAttention, ")

    # Mistakes of the file, of the arguments and of the constructor, which Python names.
    (tmp_path / "broken.py").write_text("def")
    others = {
        (f"{path}:nn",): "nn in ",
        (f"{tmp_path / 'broken.py'}:Any",): "SyntaxError: ",
        (f"{path}:Odd", "--arguments=dict(colour=1, sound=1)"): "TypeError: ",
        (f"{path}:Odd", "--arguments=dict("): "SyntaxError: ",
    }
    for arguments, sentence in others.items():
        assert main([*arguments]) == 2
        assert capsys.readouterr().err.startswith(sentence)
    assert load("torch.nn:Linear") is nn.Linear


def test_a_file_may_import_what_lies_beside_it_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("elsewhere", "here"):
        (tmp_path / place).mkdir()
        text = f"from torch import nn\n\nclass Beside(nn.Module):\n    place = {place!r}\n"
        (tmp_path / place / "beside_the_museum.py").write_text(text)
    # This one is found as well, by whoever looks at it first.
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    path = tmp_path / "here" / "imports_it.py"
    path.write_text("from beside_the_museum import Beside\n")
    assert load(f"{path}:Beside").place == "here"


def test_a_model_reads_three_texts_as_long_as_it_allows_of_tokens_that_are_not_special(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Tensor] = []
    monkeypatch.setattr(command, "find_in_language_model", lambda _, tokens: asked.append(tokens))
    model = nn.Embedding(19, 24)
    for length, said in ((256, None), (40, 40), (256, 1024)):
        model.block_size = said
        examine(model, 24, 3)
        tokens = asked.pop()
        assert tokens.shape == (3, length)
        assert tokens.min() >= 3
        assert tokens.max() < 19
    # Nobody has said that its table of positions has 64 rows.
    examine(Positions(), 24, 3)
    assert asked.pop().shape == (3, 64)


class Positions(nn.Embedding):
    r"""It has positions for 64 tokens."""

    def __init__(self) -> None:
        super().__init__(64, 24)

    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens) + super().forward(torch.arange(tokens.shape[1]))


GROUPED = """
import torch
from torch import nn

class Grouped(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d = n_heads, n_kv_heads, d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, n_kv_heads * self.d)
        self.v = nn.Linear(d_model, n_kv_heads * self.d)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x):
        q = self.q(x).unflatten(-1, (self.n_heads, self.d)).transpose(1, 2)
        k, v = (
            f(x).unflatten(-1, (self.n_kv_heads, self.d)).transpose(1, 2)
            .repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
            for f in (self.k, self.v)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).flatten(2))
"""


def test_heads_share_more_than_one_key_head(tmp_path: Path) -> None:
    right = tmp_path / "right.py"
    right.write_text(GROUPED)
    assert main([f"{right}:Grouped"]) == 0
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        GROUPED.replace(
            "repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)",
            "repeat(1, self.n_heads // self.n_kv_heads, 1, 1)",
        )
    )
    found, _ = judge(f"{wrong}:Grouped")
    assert [*found] == ["comparison"]
    assert "heads share keys in turns" in found["comparison"]


# Its configuration comes from the class itself, and a published model's name brings other sizes.
GIVES = """
from torch import nn

class Node:
    def merge(self, other):
        vars(self).update(other)

class Table(nn.Module):
    @staticmethod
    def get_default_config():
        config = Node()
        config.model_type, config.n_embd, config.vocab_size = "large", None, None
        config.layer = {"bias": False}
        return config

    def __init__(self, config):
        super().__init__()
        assert (config.model_type is None) != (config.n_embd is None)
        config.merge({})
        self.table = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, **config.layer)

    def forward(self, tokens):
        return self.head(self.table(tokens).cumsum(1))
"""


def test_a_class_gives_its_own_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gives.py"
    path.write_text(GIVES)
    assert main([f"{path}:Table"]) == 0
    assert "Table(config=model_type=None, n_embd=24, vocab_size=19, layer=" in (
        capsys.readouterr().out
    )


def test_all_that_a_configuration_lacks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lacks.py"
    path.write_text(
        "from torch import nn\nclass A(nn.Module):\n    def __init__(self, config):\n"
        "        self.a = config.wobble\n        self.b = config.n_embd * config.colour\n"
        "        self.c = config.use_flash\n"
    )
    assert main([f"{path}:A"]) == 2
    said = capsys.readouterr().err
    assert "Config(n_embd=24, use_flash=False, wobble=..., colour=...)" in said


def test_what_the_arguments_leave_out_is_guessed_and_only_the_rest_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "half.py"
    path.write_text(
        "from torch import nn\nclass Half(nn.Sequential):\n"
        "    def __init__(self, words, dims, colour, sound, dropout=0.5):\n"
        "        super().__init__(nn.Embedding(words, dims), nn.Linear(dims, words))\n"
        "        self.dropout = dropout\n"
    )
    assert main([f"{path}:Half"]) == 2
    asked = "--arguments 'dict(colour=..., sound=...)'"
    assert capsys.readouterr().err == (
        f"Half wants colour and sound, and nobody can guess them: say {asked}\n"
    )
    # What has a default keeps it, and what was said counts.
    assert main([f"{path}:Half", "--arguments", "dict(dims=8, colour=1, sound=2)"]) == 0
    assert "Half(words=19, dims=8, colour=1, sound=2)\n" in capsys.readouterr().out


def test_a_package_is_found_from_where_the_command_is_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither folder has an `__init__.py`.
    (tmp_path / "my_folder" / "inner").mkdir(parents=True)
    (tmp_path / "my_folder" / "sizes_of_it.py").write_text("WIDTH = 8\n")
    (tmp_path / "my_folder" / "inner" / "table.py").write_text(
        "from torch import nn\nfrom my_folder.sizes_of_it import WIDTH\n\n"
        "class Table(nn.Sequential):\n    def __init__(self, vocab_size):\n"
        "        super().__init__(nn.Embedding(vocab_size, WIDTH), nn.Linear(WIDTH, vocab_size))\n"
    )
    name = "my_folder/inner/table.py:Table"
    monkeypatch.setattr("sys.path", [one for one in sys.path if one])
    monkeypatch.chdir(tmp_path / "my_folder")
    assert main([name.removeprefix("my_folder/")]) == 2
    assert capsys.readouterr().err == (
        "No module named 'my_folder': install it, or type the command in the folder that has it\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main([name]) == 0
    assert main(["my_folder.inner.table:Table"]) == 0


def test_what_a_right_model_may_still_have_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path)
    assert main([f"{path}:MyModel"]) == 0
    left = f"(wrongline {path}:MyAttention) and its loss (check_training_step, in Python)\n"
    assert f"not looked at: the formula of its attention {left}" in capsys.readouterr().out
    # By whatever name, and in no class of its own.
    path.write_text(path.read_text().replace("MyAttention", "MaskedHead"))
    main([f"{path}:MyModel"])
    assert f"(wrongline {path}:MaskedHead) and its loss" in capsys.readouterr().out
    path.write_text(path.read_text().replace("MaskedHead", "Mixes"))
    main([f"{path}:MyModel"])
    assert "not looked at: the formula of its attention and its loss" in capsys.readouterr().out
    # An attention has no loss.
    main([f"{path}:Mixes"])
    assert "not looked at" not in capsys.readouterr().out


WITHOUT_WEIGHTS = """
import torch
from torch import nn


def my_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores.masked_fill(mask == 0, -1e9).softmax(-1) @ v


class Core(nn.Module):
    def forward(self, q, k, v, mask=None):
        return my_attention(q, k, v, mask)


class Even(nn.Module):
    def forward(self, x, mask=None):
        x = x + 1
        assert x.shape[1] % 2 == 0
        return x
"""


def test_a_function_and_a_class_without_weights_are_compared_with_the_formula(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "core.py"
    path.write_text(WITHOUT_WEIGHTS)
    assert main([f"{path}:my_attention"]) == main([f"{path}:Core"]) == 0
    assert capsys.readouterr().out.count("- right: comparison\n") == 2
    path.write_text(WITHOUT_WEIGHTS.replace("softmax(-1)", "softmax(-2)"))
    assert main([f"{path}:my_attention"]) == 1
    assert "the softmax is over the queries (core.py, line 8?)" in capsys.readouterr().out
    # What it is, is said if it may see everything.
    path.write_text(WITHOUT_WEIGHTS.replace("mask == 0", "mask == 2"))
    assert main([f"{path}:Core"]) == 1
    assert "check_attention(..., sees_all=True)" in capsys.readouterr().out


def test_what_can_not_be_run_is_told_by_its_furthest_line_and_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "core.py"
    path.write_text(WITHOUT_WEIGHTS)
    assert main([f"{path}:Even"]) == 2
    printed = capsys.readouterr().out
    assert "AssertionError (core.py, line 19: assert x.shape[1] % 2 == 0)\n" in printed
    assert f"{path}:Even can't be run; core.py also has my_attention, Core\n" in printed
    assert main([f"{path}:Missing"]) == 2
    said = f"{path} has no Missing; it has my_attention, Core, Even\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_line_is_looked_for_in_what_a_class_mentions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "whole.py"
    model = WRONG.replace(
        "self.head(self.table(tokens))", "self.head(self.mix(self.table(tokens)))"
    )
    made = "self.mix = MyAttention(type('C', (), {'n_embd': n_embd, 'n_head': 2}))\n"
    model = model.replace("self.head = nn", made + " " * 8 + "self.head = nn")
    path.write_text(model + "\ndef other(x):\n    return x.softmax(-1)\n")
    assert main([f"{path}:MyModel"]) == 1
    assert "the model sees the future (whole.py, line 17?)\n" in capsys.readouterr().out


def test_another_width_is_tried_where_heads_must_divide_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wide.py"
    checked = "self.heads = config\n        assert width % config == 0, 'heads must divide it'"
    text = WRONG.replace("(self, config)", "(self, hidden_dim, heads)")
    text = text.replace("self.heads = config.n_head", checked)
    text = text.replace("config.n_embd", "hidden_dim").replace("config", "heads")
    path.write_text(text.replace("width", "hidden_dim"))
    assert main([f"{path}:MyAttention"]) == 1
    assert "with hidden_dim=24, heads=3\n" in capsys.readouterr().out
    # What was said stays, and the error has its line.
    assert main([f"{path}:MyAttention", "--arguments=dict(hidden_dim=32)"]) == 2
    assert "heads must divide it (wide.py, line 12: " in capsys.readouterr().err


BARE = '''
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    vocab_size: int
    hidden_dim: int = 512
    device: str = "cuda"


class Bare(nn.Module):
    r"""Its table of tokens is a parameter."""

    def __init__(self, config: Settings):
        super().__init__()
        assert config.hidden_dim % 17 == 0, "17 features a head"
        self.table = nn.Parameter(torch.randn(config.vocab_size, config.hidden_dim))
        self.head = nn.Linear(config.hidden_dim, config.vocab_size)
        self.device = config.device

    def forward(self, tokens):
        x = self.table[tokens] * torch.ones((), device=self.device)
        return self.head(x.cumsum(dim=1) BEHIND)
'''


@pytest.mark.parametrize(("behind", "status"), [("", 0), ("+ x.flip(1)", 1)])
def test_a_part_of_a_configuration_can_be_said_and_a_table_may_be_a_parameter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], behind: str, status: int
) -> None:
    path = tmp_path / "bare_table.py"
    path.write_text(BARE.replace("BEHIND", behind), encoding="utf-8")
    # The guessed width doesn't fit, and the device of its author isn't here.
    assert main([f"{path}:Bare"]) == 2
    assert "17 features a head" in "".join(capsys.readouterr())
    assert main([f"{path}:Bare", "--arguments", "dict(hidden_dim=34)"]) == status
