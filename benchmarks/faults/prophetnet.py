r"""ProphetNet: the first of three tokens sees the two others."""

import torch
from transformers import ProphetNetConfig, ProphetNetForCausalLM

torch.manual_seed(0)
sizes = {"vocab_size": 64, "hidden_size": 32, "num_decoder_attention_heads": 16}
more = {"num_decoder_layers": 2, "decoder_ffn_dim": 64, "is_decoder": True, "ngram": 2}
config = ProphetNetConfig(**sizes, **more, is_encoder_decoder=False, add_cross_attention=True)
model = ProphetNetForCausalLM(config).eval()
for weight in model.parameters():
    if weight.dim() > 1:
        torch.nn.init.normal_(weight, std=0.3)
with torch.no_grad():
    one = model(torch.tensor([[3, 4, 5]])).logits[:, 0]
    other = model(torch.tensor([[3, 9, 9]])).logits[:, 0]
print((one - other).abs().max().item(), "of", one.std().item())
assert (one - other).abs().max() > 0.01 * one.std()
