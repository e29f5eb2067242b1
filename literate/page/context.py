r"""
---
title: Context
summary: What a page needs to know of all others, made once for a site.
---

A page links to other pages, shows parts of them, and is a step among them. What that takes is
worked out once, before the first page is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from literate.measuring.measure import Measurement
from literate.page.changes import Changes
from literate.page.excerpts import Excerpts
from literate.page.formulas import Formulas
from literate.page.links import Links
from literate.page.named_links import NamedLinks
from literate.page.steps import Step
from literate.problems import Problem
from literate.python.meanings import Meanings
from literate.python.references import Network, network
from literate.reading.page_source import page_source

NOT_MEASURED: Mapping[str, Measurement] = {}
NONE_FAILED: Mapping[str, tuple[Problem, ...]] = {}
NONE_DOCUMENTED: Mapping[str, str] = {}


@dataclass(frozen=True)
class Context:
    r"""
    ## What is known when a page is written

    * `links` is what notes can link to, and `formulas` sets formulas
    * `measurements` are those of all pages that were measured, by their paths
    * `references` are the names in the code of all pages, with what they stand for
    * `changes` are the [differences](differences.py) of all pages
    * `steps` are those of all [lists](steps.py)
    * `unmeasured` says of pages whose example failed what is wrong with it
    * `documented` are names of [other projects](inventories.py), with their addresses
    """

    links: Links
    formulas: Formulas
    measurements: Mapping[str, Measurement]
    references: Network
    changes: Changes
    steps: tuple[Step, ...] = ()
    unmeasured: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    documented: Mapping[str, str] = field(default_factory=dict)

    def title(self, path: str) -> str:
        r"""
        ### The title of a page

        By the path of its source.
        """
        return page_source(self.links.pages[path]).title

    @cached_property
    def excerpts(self) -> Excerpts:
        r"""
        ### What shows parts of other pages
        """
        return Excerpts(self.formulas, self.measurements, self.references, self.changes)

    @cached_property
    def named_links(self) -> NamedLinks:
        r"""
        ### Where names in notes lead
        """
        return NamedLinks(self.links, Meanings(self.references.modules), self.documented)


def context(
    links: Links,
    formulas: Formulas,
    measurements: Mapping[str, Measurement] = NOT_MEASURED,
    changes: Changes | None = None,
    steps: tuple[Step, ...] = (),
    unmeasured: Mapping[str, tuple[Problem, ...]] = NONE_FAILED,
    documented: Mapping[str, str] = NONE_DOCUMENTED,
) -> Context:
    r"""
    ## The context of the pages that can be linked to

    The names in their code are looked up here. Without `changes` there are no differences.
    """
    references = changes.references if changes else network(links.pages.values())
    none = Changes({}, {}, measurements, references)
    known = changes or none
    return Context(links, formulas, measurements, references, known, steps, unmeasured, documented)
