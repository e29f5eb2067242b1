import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Encoder, Generator, TransformerLayer
from labml_nn.transformers.positional_encoding import PositionalEncoding
from labml_nn.transformers.variants.cross_attention import LayerWithMemory


class EncoderDecoder(nn.Module):
    def __init__(
        self, n_vocab: int, d_model: int = 64, heads: int = 4, n_layers: int = 2, d_ff: int = 256,
        max_len: int = 64, dropout_prob: float = 0.0, pad: int = 0,
    ) -> None:
        super().__init__()
        self.pad = pad
        positions = PositionalEncoding(d_model, dropout_prob, max_len)
        self.embed = Embeddings(n_vocab, d_model, positions)
        self.encoder = Encoder(
            (
                TransformerLayer(
                    d_model=d_model,
                    self_attn=MultiHeadAttention(heads, d_model, dropout_prob),
                    feed_forward=FeedForward(d_model, d_ff, dropout_prob),
                    dropout_prob=dropout_prob,
                )
                for _ in range(n_layers)
            ),
            d_model,
        )
        self.decoder = nn.ModuleList(
            LayerWithMemory(d_model=d_model, heads=heads, d_ff=d_ff, dropout_prob=dropout_prob)
            for _ in self.encoder.layers
        )
        self.norm = nn.LayerNorm(d_model)
        self.generator = Generator(n_vocab, d_model)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        visible = (source != self.pad).unsqueeze(0)
        return self.encoder(self.embed(source), visible), visible

    def decode(self, target: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        mask = causal_mask(len(target)).to(target.device)
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x=x, memory=memory, mask=mask, visible=visible)
        return self.generator(self.norm(x))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, *self.encode(source))


def translation_loss(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    logits = model(source, target[:-1])
    return F.cross_entropy(
        logits.flatten(0, 1), target[1:].flatten(), ignore_index=model.pad
    )


@torch.no_grad()
def translate(model: EncoderDecoder, source: Tensor, start: int, end: int, n_tokens: int) -> Tensor:
    was_training = model.training
    model.eval()
    memory, visible = model.encode(source)
    target = torch.full_like(source[:1], start)
    done = torch.zeros_like(source[0], dtype=torch.bool)
    for _ in range(n_tokens):
        token = model.decode(target, memory, visible)[-1].argmax(dim=-1)
        token = token.masked_fill(done, model.pad)
        target = torch.cat([target, token.unsqueeze(0)])
        done |= token == end
        if done.all():
            break
    model.train(was_training)
    return target


def example(
    source_len: int = 11, target_len: int = 7, batch_size: int = 3, heads: int = 5,
    n_pairs: int = 2, d_ff: int = 17, n_vocab: int = 13,
) -> tuple[Tensor, Tensor]:
    d_model = heads * 2 * n_pairs
    model = EncoderDecoder(n_vocab, d_model, heads, 2, d_ff)
    source = torch.randint(1, n_vocab, (source_len, batch_size))
    source[-4:, 0] = model.pad
    target = torch.randint(1, n_vocab, (target_len, batch_size))
    logits = model(source, target)
    translation_loss(model, source, target)
    return logits, translate(model, source, 1, 2, target_len)
