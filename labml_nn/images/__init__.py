r"""
---
title: Images
summary: A transformer reads images, and learns to compare them with words.
---

A transformer reads a sequence of vectors, whatever they stand for: letters, or pieces of an image.
Each page answers a failure of the one before:

1. [Drawn digits](digits.py): there are no images without a data set, so we draw some, hard enough
   that a linear layer fails.
2. [Vision transformer](vit.py): an image has no tokens, so it is cut into patches.
3. [Images and words](clip.py): a classifier knows only its classes, so images are compared with
   texts.
4. [Read digits, name images](experiment.py): train both, and look.

[Models that read digits: means of three seeds](../../results/images.json#tables.models)

A vision transformer reads more of the digits than a linear layer. Its class token and registers did
not help here: the mean of the patches does as well. And at this size, a small convolutional network
is better than any of them, with
[0.990](../../results/images.json#tables.models.convolutions.accuracy) right.
"""
