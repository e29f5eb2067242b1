r"""
---
title: Encoder and Decoder
summary: The whole transformer of the 2017 paper, which reads one text and writes another.
---

Text.
"""
