import pytest
import torch
import torch.nn.functional as F
from transformers import DataCollatorWithFlattening

from labml_nn.fine_tuning import packing as page
from labml_nn.fine_tuning.dialogues import ChatTokenizer, inputs_and_targets
from labml_nn.fine_tuning.packing import PackedTransformer, answer, apart, pack
from labml_nn.training.loop import gradients
from labml_nn.training.sampling import draw
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

TOKENIZER = ChatTokenizer("what is hot? cold.")
BEGIN = TOKENIZER.marks["<begin>"]
SAID = [("hot?", "cold."), ("what is it?", "hot."), ("a?", "is"), ("hi", "o"), ("sold?", "a dot.")]
DIALOGUES = [
    [{"role": "user", "content": one}, {"role": "assistant", "content": other}]
    for one, other in SAID
]
RENDERED = [TOKENIZER.render(one) for one in DIALOGUES]
LENGTH = 37
SIZES = {"n_vocab": len(TOKENIZER), "d_model": 10, "heads": 2, "n_layers": 2, "d_ff": 7}
SIZES |= {"seq_len": LENGTH - 1, "dropout_prob": 0.1}


def models() -> tuple[PackedTransformer, AutoregressiveTransformer]:
    torch.manual_seed(1)
    packed = PackedTransformer(BEGIN, **SIZES).double().eval()
    plain = AutoregressiveTransformer(**SIZES).double().eval()
    plain.load_state_dict(packed.state_dict())
    return packed, plain


def from_each_alone() -> float:
    r"""How far loss and gradients of a packed batch are from those of each dialogue alone."""
    packed, plain = models()
    inputs, targets = inputs_and_targets(*pack(RENDERED, LENGTH, BEGIN))
    assert inputs.shape == (LENGTH - 1, 2)
    mine = gradients(packed, inputs, targets) * (targets != -100).sum()
    alone = []
    for tokens, counted in RENDERED:
        inputs, targets = inputs_and_targets(tokens[:, None], counted[:, None])
        logits = plain(inputs).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), reduction="sum")
        loss.backward()
        alone.append(loss.detach())
    n_counted = sum(int(counted.sum()) for _, counted in RENDERED)
    of_mine = [one.grad * n_counted for one in packed.parameters()]
    theirs = [sum(alone), *(one.grad for one in plain.parameters())]
    return largest([mine, *of_mine], theirs)


def from_collator() -> float:
    r"""How far tokens, positions and targets are from those of the collator of transformers."""
    both = [(one.tolist(), one.where(counted, -100).tolist()) for one, counted in RENDERED]
    rows = [dict(zip(("input_ids", "labels"), one, strict=True)) for one in both]
    theirs = DataCollatorWithFlattening()(rows)
    length = theirs["input_ids"].numel()
    tokens, counted = pack(RENDERED, length, BEGIN)
    mine = [tokens, apart(tokens, BEGIN)[1], inputs_and_targets(tokens, counted)[1]]
    expected = [theirs["input_ids"], theirs["position_ids"], theirs["labels"][:, 1:]]
    return largest([one.t() for one in mine], expected)


ORACLES = {"each dialogue alone": from_each_alone, "the collator of transformers": from_collator}
test_it_is_what_others_compute = equals(ORACLES)


def test_whole_dialogues_fill_the_windows_and_the_rest_does_not_count() -> None:
    # 14 and 20 letters and marks are in the first window, 9, 8 and 16 in the second.
    for number, filler in ((0, BEGIN), (1, False)):
        parts = [one[number] for one in RENDERED]
        rows = torch.cat(parts[:2]), torch.cat(parts[2:])
        expected = [F.pad(row, (0, LENGTH - len(row)), value=filler) for row in rows]
        assert pack(RENDERED, LENGTH, BEGIN)[number].t().equal(torch.stack(expected))


def test_a_dialogue_that_just_fits_is_taken_and_a_longer_one_refused() -> None:
    length = len(RENDERED[0][0])
    assert pack(RENDERED[:1] * 2, length, BEGIN)[0].shape == (length, 2)
    assert pack(RENDERED[:1] * 2, 2 * length, BEGIN)[0].shape == (2 * length, 1)
    nothing = TOKENIZER.render([])
    assert pack([nothing] * 3, 2, BEGIN)[0].tolist() == [[BEGIN, BEGIN]] * 2
    with pytest.raises(ValueError, match=f"of {length} tokens doesn't fit into {length - 1}"):
        pack(RENDERED[:1], length - 1, BEGIN)


def test_mask_and_prompts_are_where_tokens_and_model_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(torch.ones(5, 3, dtype=torch.long, device="meta"), 9)[0].is_meta
    seen = []
    written = torch.zeros(LENGTH, 1, dtype=torch.long)
    monkeypatch.setattr(page, "generate", lambda _, tokens, *__: seen.append(tokens) or written)
    answer(models()[0].to("meta"), TOKENIZER, [DIALOGUES[0][:1]], 1, LENGTH - 1)
    assert seen[0].is_meta


def test_dropout_falls_on_tokens_with_their_positions() -> None:
    packed, plain = models()
    outputs = []
    for model in (packed, plain):
        model.encoder = torch.nn.Identity()
        model.encoder.forward = lambda x, mask: x
        model.train()
        torch.manual_seed(3)
        outputs.append(model(torch.randint(BEGIN, (LENGTH - 1, 5))))
    assert largest(outputs[:1], outputs[1:]) < 1e-10


@pytest.mark.parametrize("n_tokens", [1, 7])
def test_questions_of_different_lengths_are_answered_as_each_alone(n_tokens: int) -> None:
    packed, _ = models()
    asked = [one[:1] for one in DIALOGUES]
    together = answer(packed, TOKENIZER, asked, n_tokens, LENGTH - 1)
    alone = [answer(packed, TOKENIZER, [one], n_tokens, LENGTH - 1)[0] for one in asked]
    assert together == alone
    tokens, _ = TOKENIZER.render(asked[0], to_be_answered=True)
    first = TOKENIZER.decode(packed(tokens[:, None])[-1].argmax(dim=-1))
    assert together[0].startswith(first.removeprefix("<end>"))


def test_what_comes_after_the_end_is_thrown_away_and_the_choice_is_the_caller_s() -> None:
    packed, _ = models()
    last = packed.generator.projection.requires_grad_(False)
    last.weight.zero_()
    last.bias.fill_(-100.0)[TOKENIZER.encode("h")] = 0.0
    last.bias[TOKENIZER.marks["<end>"]] = -1.0
    asked = [DIALOGUES[0][:1]] * 50
    assert answer(packed, TOKENIZER, asked[:2], 5, 36) == ["hhhhh"] * 2
    drawn = answer(packed, TOKENIZER, asked, 5, 36, draw, torch.Generator().manual_seed(1))
    assert drawn == answer(packed, TOKENIZER, asked, 5, 36, draw, torch.Generator().manual_seed(1))
    assert {len(one) for one in drawn} == {0, 1, 2, 3, 4, 5}
    assert {letter for one in drawn for letter in one} == {"h"}
