r"""A classifier on an encoder, and sentences with labels."""

from torch import Tensor, nn
from transformers import BertForSequenceClassification, ModernBertForSequenceClassification

from labml_nn.encoders.classifier import Classifier, questions, side_by_side
from labml_nn.encoders.masked_tokens import MaskTokenizer
from labml_nn.training.data import CharTokenizer, tiny_shakespeare
from tests.labml_nn.encoders import oracles
from tests.labml_nn.transformers.seam import equals, refuses
from tests.oracles.compare import gradients, largest
from tests.oracles.hugging_face import copied, randomise

PAD = oracles.N_VOCAB - 1


def apart(ours: Classifier, theirs: nn.Module, embeddings: nn.Module) -> float:
    found = ours(oracles.text())
    expected = theirs(oracles.text().T, attention_mask=oracles.visible().T.double()).logits
    of_ours = gradients(found, [ours.encoder.tokens.weight])[0]
    of_theirs = gradients(expected, [embeddings.weight])[0]
    return largest([found, of_ours[:-1]], [expected, of_theirs[:-1]])


def bert() -> float:
    ours = randomise(Classifier(oracles.bert_encoder(), PAD, n_classes=7, pooling="first"))
    config = oracles.bert_config()
    config.num_labels = 7
    theirs = BertForSequenceClassification(config).double().eval()
    oracles.into_bert(ours.encoder, theirs.bert)
    copied(ours, theirs, {"dense": "bert.pooler.dense", "classes": "classifier"})
    return apart(ours, theirs, theirs.bert.embeddings.word_embeddings)


def modern_bert() -> float:
    ours = randomise(Classifier(oracles.modern_encoder(), PAD, n_classes=7))
    options = {"classifier_pooling": "mean", "num_labels": 7}
    theirs = oracles.modern(ModernBertForSequenceClassification, **options)
    oracles.into_modern(ours.encoder, theirs.model)
    # Their layer between the mean and the classes is another one than BERT's, which is ours.
    theirs.head = nn.Sequential(ours.dense, nn.Tanh())
    copied(ours, theirs, {"classes": "classifier"})
    with oracles.doubled():
        return apart(ours, theirs, theirs.model.embeddings.tok_embeddings)


ORACLES = {"Hugging Face BERT, first": bert, "Hugging Face ModernBERT, mean": modern_bert}
test_it_is_what_others_compute = equals(ORACLES)
test_any_other_pooling_is_refused = refuses(
    Classifier, "pooling is mean or first, got 'last'",
    [{"encoder": nn.Identity(), "pad": 0, "pooling": "last"}],
)  # fmt: skip
test_a_text_without_questions_is_refused = refuses(
    questions, "no questions or no statements of up to 10 letters",
    [{"text": "Abcdefghijk. Lmnopqrstuv?", "longest": 10}],
)  # fmt: skip
PLAY = """A B:
Who is there, and
what do you want? Nothing at all, sir. Short?

C:
The king is coming now. Away with you all! Where is the queen today? And who are you, sir?
"""


def test_sentences_have_their_mark_as_label_and_not_in_them() -> None:
    asked = {"Who is there, and what do you want", "Where is the queen today"}
    told = {"Nothing at all, sir", "The king is coming now"}
    found = questions(PLAY, longest=40)
    assert len(found) == 4
    # Two of three questions are drawn.
    assert {one for one, label in found if label} < asked | {"And who are you, sir"}
    assert {one for one, label in found if not label} == told
    short = "Abcdefghijk. Lmnopqrstuv? Abcdefghij. Lmnopqrstu?"
    found = questions(short, longest=11)
    assert sorted(found) == [("Abcdefghijk", False), ("Lmnopqrstuv", True)]


def test_both_labels_are_equally_frequent_and_in_no_order() -> None:
    found = questions(tiny_shakespeare()[:200_000], longest=62)
    assert sum(label for _, label in found) * 2 == len(found) > 500
    assert 35 < sum(label for _, label in found[:100]) < 65
    assert questions(tiny_shakespeare()[:200_000], longest=62) == found
    assert questions(tiny_shakespeare()[:200_000], longest=62, seed=2) != found


def test_texts_are_padded_at_the_end() -> None:
    tokenizer = MaskTokenizer(CharTokenizer("abc"))
    found = side_by_side(["ab", "c", ""], tokenizer)
    pad, first = tokenizer.pad, tokenizer.first
    assert found.T.tolist() == [[first, 0, 1], [first, 2, pad], [first, pad, pad]]


def test_padding_and_the_other_texts_change_no_answer() -> None:
    for pooling in ("mean", "first"):
        model = randomise(Classifier(oracles.bert_encoder(), PAD, pooling=pooling))
        together: Tensor = model(oracles.text())
        assert largest([together[:1]], [model(oracles.text()[:7, :1])]) < 1e-12
        assert together.shape == (3, 2)
