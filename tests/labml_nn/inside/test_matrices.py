r"""Attention as two matrices."""

import torch
from torch import Tensor, nn

from labml_nn.inside import matrices as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

SEQ_LEN, BATCH_SIZE, HEADS, D_K, N_VOCAB = 7, 2, 3, 4, 11
D_MODEL = HEADS * D_K


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def attention() -> MultiHeadAttention:
    torch.manual_seed(4)
    return MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0, bias=False).double()


def model() -> AutoregressiveTransformer:
    r"""All gains and biases matter."""
    torch.manual_seed(5)
    made = AutoregressiveTransformer(N_VOCAB, D_MODEL, HEADS, 2, 13, SEQ_LEN).double()
    for norm in (made.encoder.norm, *(layer.norm_self_attn for layer in made.encoder.layers)):
        for weights in norm.parameters():
            nn.init.normal_(weights)
    return made.eval()


def from_scores() -> float:
    r"""How far scores of the matrices are from those of multi-head attention."""
    module, z = attention(), drawn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    scores = module.get_scores(module.query(z), module.key(z)) / D_K**0.5
    qk = page.qk_matrices(module)
    assert torch.linalg.matrix_rank(qk).tolist() == [D_K] * HEADS
    return largest([torch.einsum("ibm,hmn,jbn->ijbh", z, qk, z)], [scores])


def from_pytorch() -> float:
    r"""How far the sum of what the heads add is from PyTorch's attention."""
    module, z = attention(), drawn(SEQ_LEN, BATCH_SIZE, D_MODEL)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, bias=False).double()
    parts = (module.query, module.key, module.value)
    theirs.in_proj_weight.data = torch.cat([part.linear.weight for part in parts])
    theirs.out_proj.weight.data = module.output.weight
    mask = causal_mask(SEQ_LEN)[..., 0]
    expected, attn = theirs(z, z, z, attn_mask=~mask, average_attn_weights=False)
    found = torch.einsum("bhij,hmn,jbn->ibm", attn, page.ov_matrices(module), z)
    return largest([found], [expected])


ORACLES = {
    "the scores of multi-head attention": from_scores,
    "torch.nn.MultiheadAttention": from_pytorch,
}
test_they_are_the_attention_of_others = equals(ORACLES)


def test_parts_of_the_stream_and_the_bias_sum_to_what_a_layer_reads() -> None:
    norm, one, other = model().encoder.norm, drawn(SEQ_LEN, D_MODEL), drawn(SEQ_LEN, D_MODEL) ** 2
    norm.eps = 0.1
    found = sum(page.normalised_part(norm, part, one + other) for part in (one, other)) + norm.bias
    assert largest([found], [norm(one + other)]) < 1e-10


def test_tables_of_letters_are_what_a_stream_of_one_letter_gives() -> None:
    made = model()
    block = made.encoder.layers[1]
    module = block.self_attn
    letters = made.embed.tokens(torch.arange(N_VOCAB))
    z = block.norm_self_attn(letters) - block.norm_self_attn.bias
    for part in (module.query, module.key, module.value):
        nn.init.zeros_(part.linear.bias)
    looks, added = page.letter_tables(made, 1)
    q, k, v = (part(z) for part in (module.query, module.key, module.value))
    for head in range(HEADS):
        assert largest([looks[head]], [q[:, head] @ k[:, head].t() / D_K**0.5]) < 1e-10
        columns = module.output.weight[:, head * D_K : (head + 1) * D_K]
        logits = (v[:, head] @ columns.t() * made.encoder.norm.weight) @ (
            made.generator.projection.weight.t()
        )
        assert largest([added[head]], [logits - logits.mean(1, keepdim=True)]) < 1e-10


def test_a_composition_score_is_a_quotient_of_frobenius_norms() -> None:
    reads, writes = drawn(3, 5, 7), drawn(2, 7, 11)
    found = page.composition(reads, writes)
    for i, read in enumerate(reads):
        for j, write in enumerate(writes):
            norms = [one.square().sum().sqrt() for one in (read @ write, read, write)]
            assert largest([found[i, j]], [norms[0] / norms[1] / norms[2]]) < 1e-10


def test_the_head_made_by_hand_copies_the_letter_before_its_own() -> None:
    # "bacab": "a" looks for "d", which isn't there, so its weights are equal.
    tokens = torch.tensor([1, 0, 2, 0, 1])
    letters = torch.eye(4)[tokens, None]
    head = page.copying_head(4)
    moved = head(query=letters, key=letters, value=letters)[:, 0]
    assert moved[0].argmax() == moved[4].argmax() == 0
    assert moved[2].argmax() == 1
    # Two keys match, three don't.
    assert torch.allclose(moved[0, 0], 2 / (2 + 3 * torch.tensor(-8.0).exp()))
    assert torch.allclose(moved[1], torch.tensor([0.4, 0.4, 0.2, 0.0]))
