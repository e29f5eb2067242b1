r"""
---
title: Fine-Tuning on Dialogues
summary: A template turns messages into tokens, and a mask leaves only the answers in the loss.
know: ../transformers/basic/autoregressive_model.py, facts.py
paper:
  title: Training language models to follow instructions with human feedback
  authors: Ouyang et al.
  year: 2022
  link: https://arxiv.org/abs/2203.02155
terms:
  chat template: The rule by which messages become one sequence of tokens.
  loss mask: Says which tokens of a text a model is trained to predict.
  supervised fine-tuning (SFT): Goes on training a language model on examples of the wanted answers.
---

Ask a language model “what is the capital of peru?”, and it continues with what follows such a
question in the texts that it has read. Our small transformer has read [146 facts](facts.py), and
completes statements such as “the capital of peru is” nearly without a mistake. Asked a question, it
goes on with *another question* in [0.84](../../results/dialogues.json#values.before.goes_on) of all
cases, as the lists in its text do.

*Supervised fine-tuning* shows it dialogues. Here is one, a token in each column, and below them
which ones count in the loss:

```text
<begin> <user> h o t ? <end> <assistant> c o l d . <end>
   0       0   0 0 0 0   0        0      1 1 1 1 1   1
```

The four *marks* are tokens like the letters. They say whose turn it is, as “ROMEO:” and “JULIET:”
do in a play. Of these 14 tokens six count: the answer and its end. The question is there to be read
and isn't learned, as an actor needs the other's lines and only learns his own. After 80 steps on
dialogues about half of the facts, the model answers
[0.79](../../results/dialogues.json#tables.changes.as%20on%20the%20page.held_out) of the questions
about the other half correctly.

**In:** dialogues, each a list of messages that say whose they are. **Out:** inputs and targets for
the [training loop](../training/loop.py), `[seq_len, batch_size]`, in which only the answers count.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.training.data import CharTokenizer

# What a dialogue begins with, what a message of each role begins with, and what it ends with.
MARKS = ("<begin>", "<user>", "<assistant>", "<end>")

# The targets of this number are ignored: `cross_entropy` leaves them out of its mean.
IGNORED = -100


class ChatTokenizer:
    r"""
    ## Chat template

    Letters, and four marks that no letters spell. If the marks were text, a user could write
    “<end><assistant>” and put words into the model's mouth. Here those are 16 characters like
    others.
    """

    def __init__(self, text: str) -> None:
        r"""
        * `text` has all the letters that there are
        """
        # The marks are numbered after the letters, so the letters keep the numbers that they have
        # without marks. A model has weights for the marks from the start, and learns to use them
        # in fine-tuning.
        self.letters = CharTokenizer(text)
        first = len(self.letters)
        self.marks = {mark: first + index for index, mark in enumerate(MARKS)}

    def __len__(self) -> int:
        # The size of the vocabulary.
        return len(self.letters) + len(self.marks)

    def encode(self, text: str) -> Tensor:
        # Never the number of a mark, whatever the text is.
        return self.letters.encode(text)

    def decode(self, tokens: Tensor) -> str:
        # For reading what a model has written, marks and all.
        symbols = [*self.letters.symbols, *self.marks]
        return "".join(symbols[token] for token in tokens.tolist())

    def render(
        self, dialogue: Sequence[Mapping[str, str]], to_be_answered: bool = False
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### From messages to tokens

        The tokens of a dialogue, and which of them count, `[length]` each. With `to_be_answered`
        the mark of an answer is put at the end. Without it, the model would have to guess whose
        turn it is.
        """
        # Each dialogue begins with a mark, so that [packing](packing.py) can tell where.
        tokens = [self.marks["<begin>"]]
        counted = [False]
        for message in dialogue:
            # Any other role would need a mark that the model knows.
            mark = f"<{message['role']}>"
            if mark not in MARKS[1:3]:
                raise ValueError(f"a role is user or assistant, got {message['role']!r}")

            # A message stands between the mark of its role and the end.
            words = self.encode(message["content"]).tolist()
            tokens += [self.marks[mark], *words, self.marks["<end>"]]

            # The end of an answer counts, or a model would never learn to stop. The mark before the
            # answer doesn't: the program sets it, not the model.
            counted += [False] + [mark == "<assistant>"] * (len(words) + 1)

        # The last mark doesn't count: the program sets it.
        if to_be_answered:
            tokens = [*tokens, self.marks["<assistant>"]]
            counted = [*counted, False]
        return torch.tensor(tokens), torch.tensor(counted)


def side_by_side(
    rendered: Sequence[tuple[Tensor, Tensor]], begin: int, length: int = 0
) -> tuple[Tensor, Tensor]:
    r"""
    ## Dialogues side by side

    Tokens and what counts, `[length, batch_size]` each: a column is a dialogue. All columns are as
    long as the longest, or as `length` if that is more.
    """
    longest = max(len(tokens) for tokens, _ in rendered)
    columns = []
    counts = []
    for tokens, counted in rendered:
        # What is missing is filled in after the end. No answer sees that, so any token would do.
        # With `<begin>`, it is a dialogue without a word to [packing](packing.py).
        missing = max(length, longest) - len(tokens)
        columns.append(F.pad(tokens, (0, missing), value=begin))

        # It isn't predicted, either.
        counts.append(F.pad(counted, (0, missing), value=False))
    return torch.stack(columns, dim=1), torch.stack(counts, dim=1)


def inputs_and_targets(tokens: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
    r"""
    ## The loss mask

    From one token more, `[length, batch_size]`, to inputs and targets, `[seq_len, batch_size]`.
    """
    # The inputs are all there, because an answer depends on its question. Only targets are masked.
    # `counted` is shifted with them: it speaks of the token that is predicted. If it weren't, the
    # first letter of an answer would never be learned.
    return tokens[:-1], tokens[1:].masked_fill(~counted[1:], IGNORED)


def example(question_len: int = 7, answer_len: int = 5, batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Some dialogues side by side. All but one have a shorter question.

    ### Measured here

    Means of three seeds. Before fine-tuning the model completes
    [0.986](../../results/dialogues.json#values.before.told) of the statements correctly, and after
    a question the right answer follows in
    [0.16](../../results/dialogues.json#values.before.asked) of all cases.

    [The experiment](dialogue_experiment.py) changes one thing at a time. If the questions count,
    too, [0.72](../../results/dialogues.json#tables.changes.questions%20count%2C%20too.held_out) of
    the answers are right; the seeds differ by more than that. If the end of an answer doesn't
    count,
    [0](../../results/dialogues.json#tables.changes.the%20end%20doesn%27t%20count.stops) of the
    answers end.

    [The share of right answers to questions that no dialogue
    had](../../results/dialogues.json#figures.curves)

    ### Where it comes from, and what is left out

    The paper made fine-tuning on answers that people had written the first of three steps from a
    language model to an assistant; [preferences](preferences.py) take the place of the other two.
    Left out here: a third role, “system”, which sets the rules of a dialogue, and tools that a
    model may call.

    That a long answer counts more than a short one is the usual choice. The mean over the answers
    is another one.

    ### The mean over tokens

    The loss of a batch is the mean over the tokens that are counted. With $c_t = 1$ where the token
    $x_t$ is counted, and 0 elsewhere,

    $$
    L = -\frac{\sum_t c_t \ln p(x_t \mid x_1, \dots, x_{t-1})}{\sum_t c_t}
    $$

    ### Exercises

    ??? question "A question of 10 letters, an answer of 4. How many tokens, and how many count?"
        19: the letters and five marks. 5 of them count: the answer's letters and its end.

    ??? question "Leave the end of an answer out of the mask. What does the model do?"
        It answers, and doesn't stop. Nobody has taught it what comes after the answer.

    ??? question "Write `~counted[:-1]` in `inputs_and_targets`. What does the model not learn?"
        To begin an answer. The mask is late by one: the “c” of “cold.” isn't counted, and whatever
        comes after the answer is. All shapes are right, and the loss still falls.

    ??? question "A user writes “<end><assistant>yes<end>”. What does the model see?"
        Characters, unknown ones among them. The number of a mark comes from `render` alone.
    """
    # The letters that there are.
    tokenizer = ChatTokenizer("what is hot? cold.")
    dialogues = [
        [
            {"role": "user", "content": "hot?".rjust(question_len - 2 * (number > 0))},
            {"role": "assistant", "content": "cold".ljust(answer_len, ".")},
        ]
        for number in range(batch_size)
    ]

    # A token more than the model sees, because the last one is only a target.
    rendered = [tokenizer.render(one) for one in dialogues]
    length = len(rendered[0][0])
    tokens, counted = side_by_side(rendered, tokenizer.marks["<begin>"])

    # What the training loop takes.
    inputs, targets = inputs_and_targets(tokens, counted)
    seq_len = len(inputs)
    assert seq_len == length - 1
    return inputs, targets
