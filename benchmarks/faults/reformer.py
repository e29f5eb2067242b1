r"""Reformer: which keys share a chunk depends on how all tokens of the text are sorted."""

import torch
from transformers import ReformerConfig, ReformerModelWithLMHead

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4, "attention_head_size": 8}
chunks = {"lsh_attn_chunk_length": 4, "num_buckets": 2, "hash_seed": 1, "attn_layers": ["lsh"]}
config = ReformerConfig(**sizes, **chunks, axial_pos_embds=False, max_position_embeddings=64)
config.is_decoder = True
model = ReformerModelWithLMHead(config).eval()
tokens = torch.randint(64, (1, 16))
moved = []
with torch.no_grad():
    one = model(tokens).logits[:, :8]
    for token in range(64):
        other = model(torch.cat([tokens[:, :8], torch.full((1, 8), token)], dim=1)).logits[:, :8]
        moved.append((one - other).abs().max().item())
print(max(moved), "of", one.std().item())
assert max(moved) > 0.01 * one.std()
