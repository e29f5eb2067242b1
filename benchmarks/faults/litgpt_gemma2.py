r"""litgpt 0.5.13, Gemma 2: with a cache, the mask (true or false) is added to the scores."""

import torch
from litgpt.config import Config
from litgpt.model import GPT

torch.manual_seed(0)
sizes = {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_query_groups": 2, "head_size": 8}
config = Config.from_name("Gemma-2-2b", **sizes, block_size=64, padded_vocab_size=64)
model = GPT(config).eval()
tokens = torch.randint(64, (1, 6))
with torch.no_grad():
    whole = model(tokens)
    model.set_kv_cache(batch_size=1)
    prompt = model(tokens, input_pos=torch.arange(6))
print((prompt - whole).abs().max().item(), "of", whole.std().item())
assert (prompt - whole).abs().max() > 0.01 * whole.std()
