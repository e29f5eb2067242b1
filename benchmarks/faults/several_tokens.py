r"""transformers 5.12.0: after a cache, two tokens at once are read without it, or as if one."""

import torch
from transformers import (
    AutoModelForCausalLM,
    FalconH1Config,
    GraniteMoeHybridConfig,
    Lfm2MoeConfig,
    Mamba2Config,
    Zamba2Config,
)

sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}
scan = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_chunk_size": 8}
shared = {"layers_block_type": ["mamba", "hybrid"], "num_mem_blocks": 1}
models = (
    FalconH1Config(**sizes, **heads, **scan, mamba_d_ssm=64),
    GraniteMoeHybridConfig(**sizes, **heads, **scan, layer_types=["mamba", "attention"]),
    Lfm2MoeConfig(**sizes, **heads, layer_types=["conv", "full_attention"], num_experts=4),
    Mamba2Config(**sizes, num_heads=8, head_dim=8, chunk_size=8, n_groups=1),
    Zamba2Config(**sizes, **heads, **shared, n_mamba_heads=8, mamba_ngroups=1, chunk_size=8),
)
tokens = torch.randint(64, (1, 12))
for config in models:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    name = "cache_params" if config.model_type == "mamba2" else "past_key_values"
    with torch.no_grad():
        whole = model(tokens, use_cache=False).logits[:, 6:8]
        cache = {name: model(tokens[:, :6], use_cache=True)[name]}
        part = model(tokens[:, 6:8], **cache, use_cache=True).logits
    print(config.model_type, (part - whole).abs().max().item(), "of", whole.std().item())
    assert (part - whole).abs().max() > 0.01 * whole.std()
