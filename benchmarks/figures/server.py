r"""A server as hosts of static sites have it: gzip, types, caching, and a path to serve below."""

import gzip
import mimetypes
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

TYPES = {".js": "text/javascript", ".woff2": "font/woff2", ".ipynb": "application/json"}
TEXT = ("text/", "application/json", "application/xml", "image/svg+xml")
# What most hosts use; 9 gives pages that are a hundredth smaller.
LEVEL = 6


@dataclass(frozen=True)
class Answer:
    r"""What was sent: the path that was asked for, its type, and all bytes of the answer."""

    path: str
    status: int
    kind: str
    size: int


@dataclass
class Served:
    r"""A running server: its address, with a slash at the end, and what it has sent so far."""

    address: str
    answers: list[Answer] = field(default_factory=list)


@contextmanager
def served(
    folder: Path, prefix: str = "/", headers: Mapping[str, str] | None = None
) -> Iterator[Served]:
    r"""Serve a folder on a free port of the loopback, below a path, until the end of the block."""
    log: list[Answer] = []
    packed: dict[Path, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            r"""Requests are not worth a line on the terminal."""

        def do_GET(self) -> None:
            asked = unquote(urlsplit(self.path).path)
            inside = asked.removeprefix(prefix) if asked.startswith(prefix) else "\0"
            path = folder / (inside + "index.html" if inside == "" or inside[-1] == "/" else inside)
            known = "\0" not in inside and ".." not in inside and path.is_file()
            if not known and "\0" not in inside and (folder / inside).is_dir():
                self._send(301, asked, b"", "text/html", {"Location": f"{self.path}/"})
                return
            file = path if known else folder / "404.html"
            content = file.read_bytes() if file.is_file() else b""
            kind = TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "text/plain"
            extra = {"ETag": f'"{zlib.crc32(content):08x}"', "Vary": "Accept-Encoding"}
            if kind.startswith(TEXT):
                kind_sent = f"{kind}; charset=utf-8"
                if "gzip" in self.headers.get("Accept-Encoding", ""):
                    if file not in packed:
                        packed[file] = gzip.compress(content, LEVEL, mtime=0)
                    content = packed[file]
                    extra["Content-Encoding"] = "gzip"
            else:
                kind_sent = kind
            self._send(200 if known else 404, asked, content, kind_sent, extra)

        # Python in the page asks how long a file is before it fetches it.
        do_HEAD = do_GET

        def _send(
            self, status: int, asked: str, content: bytes, kind: str, extra: Mapping[str, str]
        ) -> None:
            lines = {
                "Content-Type": kind,
                "Content-Length": str(len(content)),
                "Cache-Control": "max-age=600",
                **extra,
                **(headers or {}),
            }
            head = f"HTTP/1.1 {status} {self.responses[status][0]}\r\n"
            head += "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
            whole = head.encode("latin-1") + (content if self.command != "HEAD" else b"")
            log.append(Answer(asked, status, kind.partition(";")[0], len(whole)))
            self.wfile.write(whole)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            r"""A browser that is closed hangs up; that is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}{prefix}", log)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
