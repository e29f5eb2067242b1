r"""transformers 5.12.0, GIT: by default, one new token after a cache ends in an error."""

import torch
from transformers import GitConfig, GitForCausalLM

torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
image = {"image_size": 16, "patch_size": 8, "num_hidden_layers": 1}
config = GitConfig(**sizes, num_hidden_layers=1, vocab_size=64, vision_config=sizes | image)
model = GitForCausalLM(config).eval()
seen = None
with torch.no_grad():
    cache = model(torch.tensor([[3, 4]]), use_cache=True).past_key_values
    try:
        model(torch.tensor([[5]]), past_key_values=cache, use_cache=True)
    except TypeError as error:
        seen = error
print(seen)
# A position that is left out is None, and the length of the cache is added to it.
assert "'NoneType' and 'int'" in str(seen)
