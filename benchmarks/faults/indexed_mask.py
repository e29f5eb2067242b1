r"""transformers 5.12.0, DeepSeek 3.2 and GLM: a mask of bools shows the keys that aren't chosen."""

import torch
from transformers import AutoModelForCausalLM, DeepseekV32Config, GlmMoeDsaConfig

sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16}
parts = {"v_head_dim": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "index_topk": 4}
tokens = torch.randint(64, (1, 12))
mask = torch.tensor([[0] + [1] * 11])
for config in (DeepseekV32Config, GlmMoeDsaConfig):
    torch.manual_seed(0)
    dense = {"first_k_dense_replace": 2, "mlp_layer_types": ["dense", "dense"]}
    model = AutoModelForCausalLM.from_config(config(**sizes, **heads, **parts, **dense)).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.3)
    with torch.no_grad():
        whole = model(tokens, use_cache=False).logits[:, 6:9]
        cache = model(tokens[:, :6], use_cache=True).past_key_values
        part = model(tokens[:, 6:9], past_key_values=cache, use_cache=True).logits
        one = model(tokens, attention_mask=mask).logits[:, 1:]
        hidden = torch.cat([(tokens[:, :1] + 1) % 64, tokens[:, 1:]], dim=1)
        other = model(hidden, attention_mask=mask).logits[:, 1:]
    print(config.__name__, (part - whole).abs().max().item(), (one - other).abs().max().item())
    assert (part - whole).abs().max() > 0.01 * whole.std()
    assert (one - other).abs().max() > 0.01 * whole.std()
