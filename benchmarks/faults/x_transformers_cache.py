r"""x-transformers 2.31.10: two options whose cache gives other logits for a new token."""

import torch
from x_transformers import Decoder, TransformerWrapper

for option in ("shift_tokens", "attn_data_dependent_alibi"):
    torch.manual_seed(0)
    layers = Decoder(dim=32, depth=2, heads=4, **{option: 1})
    model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    tokens = torch.randint(64, (1, 12))
    with torch.no_grad():
        whole = model(tokens)[:, -1]
        _, cache = model(tokens[:, :-1], return_intermediates=True)
        last, _ = model(tokens, cache=cache, return_intermediates=True)
    print(option, (last[:, -1] - whole).abs().max().item(), "of", whole.std().item())
    assert (last[:, -1] - whole).abs().max() > 0.01 * whole.std()
