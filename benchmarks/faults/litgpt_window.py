r"""litgpt 0.5.13: where a part of a text passes the end of a circular cache, it sees the future."""

import torch
from litgpt.config import Config
from litgpt.model import GPT

sizes = {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_query_groups": 2, "head_size": 8}
for name in ("Mistral-7B-v0.1", "Phi-3-mini-4k-instruct", "Gemma-3-1b-it"):
    torch.manual_seed(0)
    config = Config.from_name(name, **sizes, block_size=64, padded_vocab_size=64)
    config.sliding_window_size = 8
    model = GPT(config).eval()
    tokens = torch.randint(64, (1, 12))
    with torch.no_grad():
        whole = model(tokens)[:, 6:9]
        model.set_kv_cache(batch_size=1)
        model(tokens[:, :6], input_pos=torch.arange(6))
        part = model(tokens[:, 6:9], input_pos=torch.arange(6, 9))
        tokens[:, 8] = (tokens[:, 8] + 1) % 64
        other = model(tokens[:, 6:9], input_pos=torch.arange(6, 9))
    print(name, (part - whole).abs().max().item(), "of", whole.std().item())
    assert (part - whole).abs().max() > 0.01 * whole.std()
    assert (part - other)[:, 0].abs().max() > 0.01 * whole.std()
