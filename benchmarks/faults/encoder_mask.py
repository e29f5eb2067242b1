r"""transformers 5.12.0: four decoders ask for the mask of an encoder, with and without a cache."""

import torch
from transformers import (
    AutoModelForCausalLM,
    BigBirdConfig,
    MegatronBertConfig,
    RemBertConfig,
    RoFormerConfig,
)

sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
tokens = torch.randint(64, (1, 12))
for config in (BigBirdConfig, MegatronBertConfig, RemBertConfig, RoFormerConfig):
    torch.manual_seed(0)
    small = config(**sizes, intermediate_size=64, is_decoder=True)
    model = AutoModelForCausalLM.from_config(small).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    with torch.no_grad():
        one = model(tokens, use_cache=False).logits
        begun = model(tokens[:, :6], use_cache=False).logits
        cache = model(tokens[:, :6], use_cache=True).past_key_values
        next_one = model(tokens[:, 6:7], past_key_values=cache, use_cache=True).logits[:, 0]
    print(config.__name__, (one[:, :6] - begun).abs().max().item(), "of", one.std().item())
    assert (one[:, :6] - begun).abs().max() > 0.01 * one.std()
    assert (one[:, 6] - next_one).abs().max() > 0.01 * one.std()
