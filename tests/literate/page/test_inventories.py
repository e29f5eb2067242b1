r"""What another site can look up here, and what is looked up of others."""

import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import sphobjinv

from literate.page import inventories
from literate.page.inventories import FILE, HEAD, NoInventory, documented, of_site, read, written
from literate.reading.source import parse
from literate.settings import Settings
from tests.literate.shown import Shown

SOURCES = {
    path: parse(text, path)
    for path, text in {
        "pkg/__init__.py": "def start(): pass\n",
        "pkg/part.py": "class A:\n    def f(self): pass\n    def f(self): pass\n"
        "    class B: pass\n\ndef g():\n    def inner(): pass\n",
    }.items()
}
URIS = {"pkg/__init__.py": "index.md", "pkg/part.py": "part.md"}
SITE = "https://other.org/docs/"


def test_a_reader_of_sphinx_reads_our_inventory() -> None:
    content = of_site("pkg", SOURCES, URIS)
    known = sphobjinv.Inventory(content)
    assert known.project == "pkg"
    assert {(one.name, one.role, one.uri_expanded) for one in known.objects} == {
        ("pkg", "module", "index.html"),
        ("pkg.start", "function", "index.html#start"),
        ("pkg.part", "module", "part/"),
        ("pkg.part.A", "class", "part/#A"),
        ("pkg.part.A.f", "method", "part/#A.f"),
        ("pkg.part.A.B", "class", "part/#A.B"),
        ("pkg.part.g", "function", "part/#g"),
    }
    assert {one.domain for one in known.objects} == {"py"}
    assert {one.dispname_expanded == one.name for one in known.objects} == {True}


def test_each_name_of_our_site_leads_to_an_anchor(site: Path) -> None:
    known = sphobjinv.Inventory(site / FILE)
    by_page: dict[str, set[str]] = {}
    for one in known.objects:
        page, _, anchor = one.uri_expanded.partition("#")
        file = page if page.endswith(".html") else f"{page}index.html"
        if file not in by_page:
            by_page[file] = {*Shown((site / file).read_text(encoding="utf-8")).values("id")}
        assert not anchor or anchor in by_page[file], one.name
    assert len(known.objects) > 2000
    names = {one.name for one in known.objects}
    assert "labml_nn.transformers.mha.MultiHeadAttention.forward" in names


def test_we_read_what_a_writer_of_sphinx_has_written() -> None:
    theirs = sphobjinv.Inventory()
    theirs.project, theirs.version = "theirs", "1"
    for name, domain, role, uri in [
        ("them.f", "py", "function", "api.html#$"),
        ("them.C", "py", "class", "c.html#C"),
        ("them", "py", "module", "#module-them"),
        ("them.far", "py", "function", "https://elsewhere.org/x"),
        ("a label", "std", "label", "index.html#a"),
    ]:
        theirs.objects.append(
            sphobjinv.DataObjStr(
                name=name, domain=domain, role=role, priority="1", uri=uri, dispname="-"
            )
        )
    content = sphobjinv.compress(theirs.data_file())
    assert read(content, SITE) == {
        "them.f": f"{SITE}api.html#them.f",
        "them.C": f"{SITE}c.html#C",
        "them": f"{SITE}#module-them",
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>", "isn't an inventory"),
        (HEAD.replace(b"2", b"1"), "isn't an inventory"),
        (HEAD + b"# Project: a\n# Version: \n# nothing\n", "aren't packed"),
        (HEAD + b"# Project: a\n# Version: \n# zlib\nnot packed", "can't be unpacked"),
        (
            HEAD + b"# Project: a\n# Version: \n# zlib\n" + zlib.compress(b"\xff"),
            "can't be unpacked",
        ),
    ],
)
def test_what_is_no_inventory_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(NoInventory, match=said):
        read(content, SITE)


def test_what_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventories, "MOST_UNPACKED", 1_000_000)
    bomb = HEAD + b"# Project: a\n# Version: \n# zlib\n" + zlib.compress(b"a" * 2_000_000)
    with pytest.raises(NoInventory, match="more than 1 MB"):
        read(bomb, SITE)


@pytest.fixture
def served() -> Iterator[tuple[str, dict[str, bytes]]]:
    r"""An address on the loopback, and the content of its inventory."""
    held: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = held.get(self.path)
            self.send_response(404 if known is None else 200)
            self.end_headers()
            self.wfile.write(known or b"")

        def log_message(self, format: str, *arguments: object) -> None:
            r"""Nothing on the terminal."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/docs", held
        finally:
            server.shutdown()
            thread.join()


def test_an_inventory_is_fetched_once_and_kept(
    served: tuple[str, dict[str, bytes]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, held = served
    settings = Settings(tmp_path, {}, inventories={"them": address})
    assert documented(settings) == {}
    said = capsys.readouterr().err
    assert said.startswith(f"names of them stay without links: {address}/{FILE}: ")
    assert said.count("\n") == 1
    held["/docs/objects.inv"] = b"no inventory"
    assert documented(settings) == {}
    assert "isn't an inventory" in capsys.readouterr().err
    held["/docs/objects.inv"] = written("them", [("them.f", "function", "api/#f")])
    assert documented(settings) == {"them.f": f"{address}/api/#f"}
    held.clear()
    assert documented(settings) == {"them.f": f"{address}/api/#f"}
    assert capsys.readouterr().err == ""
    for wrong in ("file:///etc/passwd", "them.org"):
        assert documented(Settings(tmp_path, {}, inventories={"them": wrong})) == {}
        assert "doesn't begin with https:" in capsys.readouterr().err
