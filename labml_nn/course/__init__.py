r"""
---
title: Course
summary: Twelve steps, from guessing letters to a modern transformer.
layout: path
terms:
  overfitting: A model gets better on its training text and worse on text that it has not seen.
---

You build a model that writes like Shakespeare, letter by letter, in twelve steps. Each step is
a page or a part of one, ten to twenty minutes of reading, and the answer to a failure of the step
before. You need Python and a little PyTorch. The text is *Tiny Shakespeare*, a million letters of
Shakespeare's plays.
The numbers are losses: the lower, the better the model predicts each next letter of a part of the
text that it was not trained on. The line beside the steps goes to the left where the loss falls.
Tick off what you have read; your browser remembers it, and nobody else does. If you want to know
first how a network learns at all, begin [at the bottom](../basics/__init__.py).

Each step also has a *program*: one file with the whole model and its training. It shows what
changes from one step to the next, and needs nothing but PyTorch and [the
text](https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt),
here saved as `tiny_shakespeare.txt`. This one trains for 400 steps:
`python step_04.py tiny_shakespeare.txt 400`. It says its loss every hundred steps, and then writes
a few words. A program's loss differs a little from that of the
page: it draws other batches, and its weight decay is PyTorch's. (The last one needs PyTorch 2.9,
for Muon. It differs from its page in more: it has only some of the modern parts, and its learning
rate falls along a cosine, not along a line.)

**A loss, and how far counting gets**

* [ ] **1. [A text and a loss](../training/data.py).** Before you can improve a model you have to
  measure it. *Guessing:* [4.190](../../results/course.json#tables.steps.Guessing.loss)

  [step_01.py](../../docs/course/step_01.py "program")

* [ ] **2. [Letters and pairs](../training/counting.py).** Guessing knows nothing of the text.
  Counting letters gives [3.347](../../results/course.json#tables.steps.Counted%20letters.loss), and
  counting pairs [2.482](../../results/course.json#tables.steps.Counted%20pairs.loss).

  [step_02.py](../../docs/course/step_02.py "program")

*A side road, for later:* [longer contexts](../training/counting.py#BackOff). Counting four letters
back gives [1.688](../../results/course.json#tables.steps.Counting%20four%20letters%20back.loss).
With more the loss goes up again: the mixture [trusts a long context too
much](../training/counting.py#example). After the short runs of this page, none of the models below
reaches 1.688.

* [ ] **3. [A table that learns](../training/loop.py).** Counting fills a table and nothing else.
  Training by gradients fits tables and, later, all the rest of a model. The learned table reaches
  [2.519](../../results/course.json#tables.steps.A%20learned%20table%20of%20pairs.loss) after 400
  steps at one rate, and [2.492](../../results/counting.json#values.learned) after 2,000 at a rate
  that rises and falls, which is nearly what counting gives. So the loop works. It stands
  at the top of the page, in ten lines; what else is there can wait.

  [step_03.py](../../docs/course/step_03.py "program")

**Looking back**

* [ ] **4. [The mean of the past](one_attention.py#MeanOfThePast).** A table sees the last letter
  only. The mean of all letters so far sees them all, and forgets which was the last:
  [3.170](../../results/course.json#tables.steps.The%20mean%20of%20the%20past.loss), *worse* than
  the table.

  [step_04.py](../../docs/course/step_04.py "program")

* [ ] **5. [One head](../transformers/ways/one_head_at_a_time.py).** A mean treats all letters
  alike. A head chooses: [2.555](../../results/course.json#tables.steps.One%20head.loss). That is no
  better than the table. Two things are missing: the head can't tell which letter was the last but
  one, and the last letter gets only a share of the mean.

  [step_05.py](../../docs/course/step_05.py "program")

* [ ] **6. [Positions](../transformers/positional_encoding.py)** tell the order:
  [2.492](../../results/course.json#tables.steps.One%20head,%20with%20positions.loss). (The
  *residual connection* of step 9 lets the last letter pass beside the head. In place of positions
  it gives
  [2.485](../../results/residual.json#tables.heads.One%20head%2C%20and%20a%20residual%20connection.loss),
  and together with them
  [2.297](../../results/residual.json#tables.heads.One%20head%2C%20with%20positions%2C%20and%20a%20residual%20connection.loss).)

  [step_06.py](../../docs/course/step_06.py "program")

* [ ] **7. [Many heads](../transformers/mha.py).** One head takes one average. With four heads, each
  a quarter as wide, there are as many weights, and the loss is
  [2.316](../../results/course.json#tables.steps.Many%20heads.loss). In a whole transformer of four
  layers we found *no* difference:
  [1.852](../../results/without.json#tables.without.One%20wide%20head.loss) with one wide head and
  [1.846](../../results/without.json#tables.without.The%20whole%20model.loss) with four, after 1,000
  steps.

  [step_07.py](../../docs/course/step_07.py "program")

**A transformer**

* [ ] **8. [The feed-forward network](../transformers/feed_forward.py).** What a head passes on
  is a weighted mean of linear projections. A network after the heads computes with it, at each
  position: [2.245](../../results/course.json#tables.steps.A%20feed-forward%20network.loss).

  [step_08.py](../../docs/course/step_08.py "program")

* [ ] **9. [The layer](../transformers/models.py).** Whatever the heads don't take along is lost.
  With residual connections and normalisation one layer reaches
  [2.134](../../results/course.json#tables.steps.One%20transformer%20layer.loss). Four reach
  [2.134](../../results/course.json#tables.steps.Four%20layers.loss), no better after so few steps.
  Without residual connections four layers stay at
  [3.348](../../results/without.json#tables.without.No%20residual%20connections.loss) even after
  1,000 steps.

  [step_09.py](../../docs/course/step_09.py "program")

* [ ] **10. [The recipe](../transformers/basic/autoregressive_experiment.py).** The same model, and
  the same highest learning rate, but the rate rises and falls, and long gradients are clipped:
  [2.125](../../results/course.json#tables.steps.The%20classic%20recipe.loss). In a short run that
  is no gain that three seeds could tell from noise. With 2,000 steps it reaches
  [1.684](../../results/recipes.json#tables.losses.classic.loss).

  [step_10.py](../../docs/course/step_10.py "program")

* [ ] **11. [The cache](../transformers/kv_cache.py).** The loss stays, but writing is slow: each
  new letter computes all the others again. With a cache, one more letter after 1,024 takes
  [4.1](../../results/kv_cache.json#tables.tokens.1024.cached) ms in place of
  [211.4](../../results/kv_cache.json#tables.tokens.1024.without) ms.

  [step_11.py](../../docs/course/step_11.py "program")

* [ ] **12. [The modern parts](../transformers/modern/model.py).** What has changed since 2017:
  [1.747](../../results/course.json#tables.steps.The%20modern%20parts.loss) after as many steps, and
  with 2,000 steps [1.538](../../results/recipes.json#tables.losses.modern.loss). The page has them
  all in one model; the program has three of them: rotary positions, a gated network and Muon.

  [step_12.py](../../docs/course/step_12.py "program")

**After the last step** you know every part of this language model. Choose a door:

* What is each modern part worth? [The ablation](../transformers/modern/ablation.py) measures it,
  and [each part](../transformers/modern/__init__.py) has a page of its own.
* Find mistakes, also in a model of yours: [the museum](../transformers/mistakes/__init__.py).
* Exchange a part: [saving memory](../transformers/memory/__init__.py),
  [positions](../transformers/positions/__init__.py),
  [variants](../transformers/variants/__init__.py) and [experts](../experts/__init__.py).
* Teach a model to answer: [fine-tuning](../fine_tuning/__init__.py) and [learning from
  rewards](../reinforcement/__init__.py).
* Write faster: [inference](../inference/__init__.py) and
  [quantisation](../quantisation/__init__.py).
* Load published weights: [real weights](../pretrained/__init__.py).
* See what happens inside: [looking inside](../inside/__init__.py).

## The losses

Counting has no seed. The models were trained for [400](../../results/course.json#values.steps)
steps each, from three seeds. That is short: a transformer learns much longer than a table. A
difference that is smaller than that between the lowest and the highest of three seeds says nothing.

[The loss after each step](../../results/course.json#tables.steps)

[The same as bars: red is counted, blue is trained, and a mark goes from the lowest to the highest
of three seeds](../../results/course.json#figures.steps)

## Where counting and training part

Counting gives its answer at once, and more time doesn't help it. A transformer goes on learning.
After 2,000 steps the classic one is level with counting: three seeds end between
[1.682](../../results/recipes.json#tables.losses.classic.low) and
[1.686](../../results/recipes.json#tables.losses.classic.high), a fourth run at
[1.678](../../results/longer.json#values.steps.2000), all a little below 1.688: by 0.002 to 0.010,
where the four differ by 0.008. After 4,000 steps it is ahead, with
[1.591](../../results/longer.json#values.steps.4000), and after 8,000 steps it reaches
[1.522](../../results/longer.json#values.steps.8000).

[The loss of longer and longer trainings, and of counting](../../results/longer.json#figures.steps)

Our counting can be improved: another mixture of the same counts reaches
[1.576](../../results/mixtures.json#tables.mixtures.6.kneser_ney) with six letters. Only with 8,000
steps is the transformer ahead of that, too. Why? We have a guess. A table knows a context only if
these very letters came up before. Of the contexts of six letters in the validation text,
[21](../../results/counting.json#tables.contexts.6.unseen) % never did, and for them the table can
only shorten the context. A transformer has no table: what it learns from one context changes its
weights, and so what it makes of others.

But it needs text. With a sixteenth of the training text, counting is better:
[2.428](../../results/longer.json#values.texts.16.counted) against
[2.749](../../results/longer.json#values.texts.16.trained). With a quarter, the transformer is
better: [2.033](../../results/longer.json#values.texts.4.trained) against
[2.233](../../results/longer.json#values.texts.4.counted). With 15,685 characters, each of which it
sees about 98 times, its loss is
[5.215](../../results/longer.json#values.texts.64.trained), worse than guessing: it *overfits*.

[2,000 steps with a sixty-fourth, a sixteenth, a quarter and all of the training text, and counting
in as much](../../results/longer.json#figures.texts)

Each of these points is one run. After 1,000 steps, three seeds of this model end between
[1.833](../../results/loop_parts.json#tables.parts.The%20loop%20as%20it%20is.low) and
[1.849](../../results/loop_parts.json#tables.parts.The%20loop%20as%20it%20is.high).

[One notebook](experiment.py) trains all these models, in a few minutes. The
[models](steps.py) are those of the lessons.
"""
