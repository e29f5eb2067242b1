r"""
---
title: Seen sources
summary: Which sources were looked into while something was made.
---

What is made of a few sources stays as it is while these do. Nobody has to say which they are: the
sources are handed over in a mapping that notes each one that is taken out of it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from literate.reading.source import Source


class Seen:
    r"""
    ## Which sources were looked into

    Since it last [began](#Seen.begin), through any of the mappings that are watched.
    """

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.watched: list[Watched] = []

    def begin(self) -> None:
        r"""
        ### Forget what was seen
        """
        self.paths = set()
        for sources in self.watched:
            sources.known = None

    def over(self, sources: Mapping[str, Source]) -> "Watched":
        r"""
        ### The same sources, watched

        Which names there are may be asked without looking into one.
        """
        watched = Watched(sources, self)
        self.watched.append(watched)
        return watched


class Watched(Mapping[str, Source]):
    r"""
    ## Sources that are watched

    What follows from all of them is kept in `known`, as in
    [Modules](statements.py#Modules), until it begins again.
    """

    def __init__(self, sources: Mapping[str, Source], seen: Seen) -> None:
        self.sources = sources
        self.seen = seen
        self.known: Any = None

    def __getitem__(self, name: str) -> Source:
        source = self.sources[name]
        self.seen.paths.add(source.path)
        return source

    def __contains__(self, name: object) -> bool:
        return name in self.sources

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)
