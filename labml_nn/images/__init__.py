r"""
---
title: Images
summary: A transformer reads images, and learns to compare them with words.
---

1. [Drawn digits](digits.py)
2. [Vision transformer](vit.py)
3. [Images and words](clip.py)
4. [Train both](experiment.py)
"""
