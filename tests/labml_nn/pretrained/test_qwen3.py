from functools import partial

from labml_nn.pretrained import qwen3 as page
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.pretrained import folders
from tests.labml_nn.transformers.seam import equals

ROPE = {"rope_type": "default", "rope_theta": 100.0}
MODELS = [
    partial(folders.qwen3, tie_word_embeddings=tied, rope_parameters=ROPE) for tied in (True, False)
]
FREQUENCIES = inverse_frequencies(10, 100.0)
ORACLES = {
    "Hugging Face Qwen3": partial(folders.from_transformers, page.load_qwen3, MODELS, FREQUENCIES),
}
test_the_logits_are_those_of_transformers = equals(ORACLES)
test_a_llama_is_refused = folders.refuses(
    page.load_qwen3, {"has model_type='llama', and needed is 'qwen3'": folders.llama}
)
