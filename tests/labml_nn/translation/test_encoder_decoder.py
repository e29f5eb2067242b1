import pytest
import torch
from torch import Tensor, nn
from transformers import PegasusConfig, PegasusForConditionalGeneration

from labml_nn.transformers.mha import causal_mask
from labml_nn.translation.encoder_decoder import EncoderDecoder, translate, translation_loss
from tests.labml_nn.transformers import seam
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import copied

N_VOCAB, HEADS, D_MODEL, D_FF, N_LAYERS = 17, 5, 20, 13, 2
PAD, START, END = 0, 1, 2
SOURCE = torch.tensor([[1, 5, 7, 3, 9, 16, 2], [1, 8, 3, 2, 0, 0, 0], [1, 4, 4, 6, 2, 0, 0]]).t()
TARGET = torch.tensor([[1, 4, 15, 9, 2], [1, 11, 3, 2, 0], [1, 2, 0, 0, 0]]).t()
NAMES = {
    "norm_self_attn": "self_attn_layer_norm",
    "norm_ff": "final_layer_norm",
    "feed_forward.layer1": "fc1",
    "feed_forward.layer2": "fc2",
}
PROJECTIONS = {f"{name}.linear": f"{name[0]}_proj" for name in ("query", "key", "value")}
PROJECTIONS |= {"output": "out_proj"}


def small(**options: float) -> EncoderDecoder:
    sizes = {"heads": HEADS, "n_layers": N_LAYERS, "d_ff": D_FF, "seq_len": 11}
    return seam.randomised(EncoderDecoder(N_VOCAB, D_MODEL, **sizes | options))


def variables(model: EncoderDecoder) -> list[Tensor]:
    return [model.embed.tokens.embedding.weight, *model.norm.parameters()]


def torch_transformer() -> float:
    r"""PyTorch's, between our embeddings and our logits."""
    ours, (source, target) = small(), (SOURCE, TARGET)
    layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, norm_first=True)
    stack = nn.TransformerEncoder(layer, N_LAYERS, nn.LayerNorm(D_MODEL), False)
    sizes = (D_MODEL, HEADS, N_LAYERS, N_LAYERS, D_FF)
    theirs = nn.Transformer(*sizes, custom_encoder=stack, norm_first=True).double().eval()
    for mine, other in zip(ours.encoder.layers, theirs.encoder.layers, strict=True):
        seam.torch_layer(mine, other)
    names = {"norm_self_attn": "norm1", "norm_cross_attn": "norm2", "norm_ff": "norm3"}
    names |= {"feed_forward.layer1": "linear1", "feed_forward.layer2": "linear2"}
    for mine, other in zip(ours.decoder, theirs.decoder.layers, strict=True):
        seam.joined(mine.self_attn, other.self_attn)
        seam.joined(mine.cross_attn, other.multihead_attn)
        copied(mine, other, names)
    copied(ours, theirs, {"encoder.norm": "encoder.norm", "norm": "decoder.norm"})
    hidden = (SOURCE == PAD).t()
    expected = ours.generator(
        theirs(
            ours.embed(source),
            ours.embed(target),
            tgt_mask=~causal_mask(len(target))[..., 0],
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
    )
    mine = [*variables(ours), *ours.encoder.norm.parameters()]
    others = [mine[0], *theirs.decoder.norm.parameters(), *theirs.encoder.norm.parameters()]
    return difference(ours(source, target), expected, mine, others)


def pegasus(ours: EncoderDecoder) -> PegasusForConditionalGeneration:
    r"""A whole model that normalises first as well, with our parameters."""
    sizes = {f"{side}_layers": N_LAYERS for side in ("encoder", "decoder")}
    sizes |= {f"{side}_attention_heads": HEADS for side in ("encoder", "decoder")}
    sizes |= {f"{side}_ffn_dim": D_FF for side in ("encoder", "decoder")}
    config = PegasusConfig(
        **sizes, vocab_size=N_VOCAB, d_model=D_MODEL, max_position_embeddings=11,
        activation_function="relu", scale_embedding=True, tie_word_embeddings=False,
        pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=START, forced_eos_token_id=None,
    )  # fmt: skip
    theirs = PegasusForConditionalGeneration(config).double().eval()
    model, embedding = theirs.model, ours.embed.tokens.embedding
    for part, layers in ((model.encoder, ours.encoder.layers), (model.decoder, ours.decoder)):
        part.embed_tokens = embedding
        part.embed_positions.weight.data.copy_(ours.embed.positions.encodings[:, 0])
        for mine, other in zip(layers, part.layers, strict=True):
            copied(mine, other, NAMES)
            copied(mine.self_attn, other.self_attn, PROJECTIONS)
    for mine, other in zip(ours.decoder, model.decoder.layers, strict=True):
        copied(mine, other, {"norm_cross_attn": "encoder_attn_layer_norm"})
        copied(mine.cross_attn, other.encoder_attn, PROJECTIONS)
    copied(ours, model, {"encoder.norm": "encoder.layer_norm", "norm": "decoder.layer_norm"})
    theirs.lm_head.weight = ours.generator.projection.weight
    theirs.final_logits_bias.copy_(ours.generator.projection.bias)
    return theirs


def hugging_face() -> float:
    ours = small()
    theirs = pegasus(ours)
    seen = (SOURCE != PAD).t()
    expected = theirs(SOURCE.t(), attention_mask=seen, decoder_input_ids=TARGET.t()).logits
    weight = ours.embed.tokens.embedding.weight
    return difference(ours(SOURCE, TARGET), expected.transpose(0, 1), [weight], [weight])


ORACLES = {"torch.nn.Transformer": torch_transformer, "Hugging Face Pegasus": hugging_face}
test_it_equals_what_others_compute = seam.equals(ORACLES)


def writer(**options: float) -> EncoderDecoder:
    r"""Without what all texts have in common, so that it doesn't write one token only."""
    model = small(**options)
    for constant in (model.norm.bias, model.generator.projection.bias):
        nn.init.zeros_(constant)
    nn.init.ones_(model.norm.weight)
    return model


# At 7 all end, one after the other; at 15 only one does.
@pytest.mark.parametrize(("end", "lengths"), [(7, [4, 3, 2]), (15, [10, 10, 3])])
def test_greedy_translations_are_those_of_another_library(end: int, lengths: list[int]) -> None:
    ours = writer(dropout_prob=0.5).train()
    theirs = pegasus(ours)
    options = {"attention_mask": (SOURCE != PAD).t(), "num_beams": 1, "do_sample": False}
    options |= {"decoder_start_token_id": 10, "eos_token_id": end}
    expected = theirs.generate(SOURCE.t(), **options, max_new_tokens=9)
    found = translate(ours, SOURCE, 10, end, 9)
    assert torch.equal(found.t(), expected)
    assert (found != PAD).sum(dim=0).tolist() == lengths
    assert ours.training and not found.requires_grad
    assert {part.p for part in ours.modules() if isinstance(part, nn.Dropout)} == {0.5}


def test_what_stands_behind_an_end_changes_nothing() -> None:
    model = small()
    together = model(SOURCE, TARGET)
    alone = model(SOURCE[:4, 1:2], TARGET[:4, 1:2])
    assert largest([together[:4, 1:2]], [alone]) < 1e-12


def test_the_loss_is_the_mean_over_what_follows_and_padding_does_not_count() -> None:
    model = small()
    expected = []
    for column in range(3):
        logits = model(SOURCE, TARGET)[:, column].log_softmax(dim=-1)
        tokens = TARGET[:, column]
        expected += [-logits[at, tokens[at + 1]] for at in range(4) if tokens[at + 1] != PAD]
    assert len(expected) == 4 + 3 + 1
    found = translation_loss(model, SOURCE, TARGET)
    assert largest([found], [torch.stack(expected).mean()]) < 1e-12


def test_any_token_can_be_the_padding() -> None:
    source, target = SOURCE.clone(), TARGET.clone()
    source[5, 0] = 4
    expected = translation_loss(small(), source, target)
    padded = (x.masked_fill(x == PAD, 16) for x in (source, target))
    assert largest([translation_loss(small(pad=16), *padded)], [expected]) < 1e-12


def test_the_sizes_are_what_the_page_says_and_all_is_made_on_the_device_of_the_input() -> None:
    model = EncoderDecoder(70)
    assert sum(p.numel() for p in model.parameters()) == 242_758
    assert len(model.embed.positions.encodings) == 64
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.0}
    assert model.to("meta")(SOURCE.to("meta"), TARGET.to("meta")).shape == (5, 3, 70)
    assert translation_loss(model, SOURCE.to("meta"), TARGET.to("meta")).device.type == "meta"
