r"""The anchor's layout with our text, made when it is measured and kept nowhere.

The site that this one descends from is generated too: its repository has the built pages in a
folder `docs`. Its attention page gives the head, the styles and the scripts, as it loads them; its
rows are replaced by ours. What it loads from other hosts can't be reached: KaTeX's style sheet
comes from the same server instead, and the rest is left out, both to its advantage.
"""

import html
import re
import shutil
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser

from benchmarks.figures.browser import MHA, fresh
from benchmarks.figures.server import served

PAGE = "transformers/mha.html"

# Our rows: the note, and the lines of code with their numbers, neither with links into our page.
ROWS = """() => [...document.querySelectorAll('.row')].map(row => {
    const note = row.querySelector('.note')?.cloneNode(true);
    note?.querySelectorAll('.headerlink').forEach(one => one.remove());
    return {
        note: note?.innerHTML ?? '',
        lines: [...row.querySelectorAll('.line')].map(line => {
            const code = line.querySelector(':scope > span')?.cloneNode(true);
            code?.querySelectorAll('a').forEach(one => one.replaceWith(...one.childNodes));
            return [line.id.slice(1), code?.innerHTML ?? ''];
        }),
    };
})"""


def make_anchor(browser: Browser, docs: Path, site: Path, katex: Path, out: Path) -> str:
    r"""Write the page and what it loads to a folder; give the page's path in it."""
    with served(site) as server, fresh(browser) as page:
        page.route("**/*.js", lambda route: route.abort())
        page.goto(urljoin(server.address, MHA))
        rows = page.evaluate(ROWS)
    text = (docs / PAGE).read_text(encoding="utf-8")
    first = re.search(r"[ \t]*<div class='section' id='section-0'>", text)
    last = re.search(r"[ \t]*<div class='footer'>", text)
    if first is None or last is None:
        raise ValueError(f"{docs / PAGE} has no sections: it is not the anchor's attention page")
    sections = "\n".join(_section(number, row) for number, row in enumerate(rows))
    text = text[: first.start()] + sections + "\n" + text[last.start() :]
    text = re.sub(
        r'href="https://cdn\.jsdelivr\.net/npm/katex[^"]*"[^>]*>',
        'href="/katex/katex.min.css">',
        text,
    )
    (out / PAGE).parent.mkdir(parents=True)
    (out / PAGE).write_text(text, encoding="utf-8")
    for name in ("pylit.css", "interactive.js", "icon.png"):
        shutil.copyfile(docs / name, out / name)
    shutil.copytree(katex / "dist" / "fonts", out / "katex" / "fonts")
    shutil.copyfile(katex / "dist" / "katex.min.css", out / "katex" / "katex.min.css")
    return PAGE


def _section(number: int, row: dict[str, object]) -> str:
    lines = "\n".join(
        f'<span class="lineno">{html.escape(name)}</span>{code}' for name, code in row["lines"]
    )
    return (
        f"<div class='section' id='section-{number}'><div class='docs'>"
        f"<div class='section-link'><a href='#section-{number}'>#</a></div>{row['note']}</div>"
        f"<div class='code'><div class=\"highlight\"><pre>{lines}</pre></div></div></div>"
    )
