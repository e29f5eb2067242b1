r"""
---
title: Lists
summary: All terms from A to Z, all papers by year, and a home page where a package has none.
---

A reader who meets a word goes to the list of terms, and one who holds a paper goes to the list of
papers. Both are made from the front matter of the pages, so nobody has to keep them. A package
whose `__init__.py` is empty gets a home page, too: the list of its pages.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from literate.page.escaping import literal
from literate.page.links import Links, relative
from literate.page.page import Page
from literate.page.templates import TEMPLATES
from literate.problems import Problem
from literate.reading.front_matter import FrontMatter, of_source, title_of

HOME, PAPERS, TERMS = "index.md", "papers.md", "terms.md"

Part = Mapping[str, str | list[str]]
Parts = list[Part]
# The address of a page, seen from a list. Both are given by where they are.
Address = Callable[[str, str], str]


@dataclass(frozen=True)
class Listed:
    r"""
    ## One list

    * `parts` are its sections, each with a name and entries in Markdown
    """

    uri: str
    title: str
    summary: str
    parts: Parts
    problems: tuple[Problem, ...] = ()


def pages(links: Links) -> Iterator[Page]:
    r"""
    ## The pages of the lists
    """
    template = TEMPLATES.get_template("list.md.jinja")
    for listed in lists(links, lambda _, uri: relative("", uri)):
        markdown = template.render(title=listed.title, summary=listed.summary, parts=listed.parts)
        yield Page(listed.uri, listed.title, listed.summary, markdown, {}, listed.problems)


def lists(links: Links, address: Address) -> Iterator[Listed]:
    r"""
    ## The lists of a site

    A site whose pages name no paper has no list of papers, and likewise for terms; where a page has
    the same place, it stays. A term that two pages explain is a problem of the second.
    """
    matters = {path: of_source(source)[0] for path, source in links.pages.items()}
    taken = {*links.uris.values(), *links.documents.values()}

    def seen_from(uri: str) -> Mapping[str, str]:
        return {path: address(uri, links.uri(path)) for path in matters}

    if HOME not in taken and links.pages:
        title = ", ".join(dict.fromkeys(path.partition("/")[0] for path in links.pages))
        summary = "All pages, in the order of their files."
        yield Listed(HOME, title, summary, list(_folders(matters, links, seen_from(HOME))))
    papers = list(_papers(matters, seen_from(PAPERS)))
    if papers and PAPERS not in taken:
        yield Listed(PAPERS, "Papers", "The papers that the pages implement, by year.", papers)
    terms, problems = _terms(matters, seen_from(TERMS))
    if terms and TERMS not in taken:
        yield Listed(TERMS, "Terms", "The terms of the pages, from A to Z.", terms, problems)


def _folders(
    matters: dict[str, FrontMatter], links: Links, addresses: Mapping[str, str]
) -> Iterator[Part]:
    by_folder: dict[str, list[str]] = {}
    for path, matter in matters.items():
        shown = f"[{literal(title_of(links.pages[path]))}]({addresses[path]})"
        entry = f"{shown}: {literal(matter.summary)}" if matter.summary else shown
        by_folder.setdefault(posixpath.dirname(path), []).append(entry)
    for folder, entries in by_folder.items():
        yield {"name": literal(folder), "entries": entries}


def _papers(matters: dict[str, FrontMatter], addresses: Mapping[str, str]) -> Iterator[Part]:
    # Several pages can implement the same paper.
    by_year: dict[str, dict[str, list[str]]] = {}
    for path, matter in matters.items():
        if matter.paper:
            paper = matter.paper
            words = f"[{literal(paper['title'])}]({paper['link']}), {literal(paper['authors'])}"
            shown = f"[{literal(matter.title)}]({addresses[path]})"
            by_year.setdefault(paper["year"], {}).setdefault(words, []).append(shown)
    for year in sorted(by_year):
        entries = [f"{words}: {', '.join(works)}" for words, works in by_year[year].items()]
        yield {"name": year, "entries": sorted(entries)}


def _terms(
    matters: dict[str, FrontMatter], addresses: Mapping[str, str]
) -> tuple[Parts, tuple[Problem, ...]]:
    explained: dict[str, str] = {}
    problems = []
    by_letter: dict[str, list[str]] = {}
    terms = [(term, path) for path, matter in matters.items() for term in matter.terms]
    for term, path in sorted(terms, key=lambda item: item[0].casefold()):
        other = explained.setdefault(term.casefold(), path)
        if other != path:
            told = f"the term `{term}` is explained by `{other}` already; keep one of the two."
            problems.append(Problem(path, 1, told))
        shown = f"[{literal(term)}]({addresses[path]}): {matters[path].terms[term]}"
        by_letter.setdefault(term[0].upper(), []).append(shown)
    letters: Parts = [{"name": letter, "entries": by_letter[letter]} for letter in by_letter]
    return letters, tuple(problems)
