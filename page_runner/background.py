r"""
---
title: In the background
summary: While a site is served, graphs are exported in the background.
---

A page is wanted as soon as its file is saved. A model that contains the saved code takes seconds to
export, and twenty pages may show one. So the page that was saved comes without its graph at first,
and other pages keep theirs. When all graphs are there, a file is touched that the server watches,
and the pages are built with them.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Thread


class PageModelError(Exception):
    r"""
    ## What the author has to do first
    """


class BackgroundExports:
    r"""
    ## One export after the other

    * `stamp` is touched when an export has ended
    * `say` is told what went wrong
    """

    def __init__(self, stamp: Path, say: Callable[[str], object]) -> None:
        self.stamp = stamp
        self.say = say
        self.wanted: Callable[[], None] | None = None
        self.running: Thread | None = None
        stamp.touch()

    def ask(self, export: Callable[[], None]) -> None:
        r"""
        ### What the next export does
        """
        self.wanted = export

    def start(self) -> None:
        r"""
        ### Export what was asked for, once the pages are there

        Not while something is being exported: the build that follows asks again.
        """
        if self.wanted is None or (self.running is not None and self.running.is_alive()):
            return
        self.running = Thread(target=self._run, args=(self.wanted,), daemon=True)
        self.wanted = None
        self.running.start()

    def _run(self, export: Callable[[], None]) -> None:
        try:
            export()
        except PageModelError as error:
            # The build that follows would fail again, and again.
            self.say(str(error))
        else:
            self.stamp.touch()
