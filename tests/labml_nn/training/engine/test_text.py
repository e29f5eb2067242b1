import hashlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError

import pytest

from labml_nn.training.corpora import (
    TINY_SHAKESPEARE,
    RemoteText,
    cache_folder,
    download,
    python_sources,
    read_corpus,
    read_text,
    tiny_shakespeare,
)
from labml_nn.training.data import InputError

CONTENT = "".join(f"line {number} of a text with an ä in it\n" for number in range(5000)).encode()

Answer = Callable[[BaseHTTPRequestHandler, threading.Event], None]


def send(handler: BaseHTTPRequestHandler, body: bytes, length: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def whole(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    send(handler, CONTENT)


def truncated(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    send(handler, CONTENT[:70_000], len(CONTENT))


def shorter(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    send(handler, CONTENT[:-1])


def corrupted(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    send(handler, CONTENT[:100] + b"?" + CONTENT[101:])


def oversize(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    # No length: it would go on for as long as somebody reads.
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        while not end.is_set():
            handler.wfile.write(CONTENT)


def hanging_before_the_answer(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    end.wait()


def hanging_in_the_middle(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    send(handler, CONTENT[:70_000], len(CONTENT))
    end.wait()


def not_found(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    handler.send_error(404)


def no_http(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    handler.wfile.write(b"what is this?\r\n\r\n")


def redirecting(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
    if handler.path == "/elsewhere":
        send(handler, CONTENT)
        return
    host, port = handler.server.server_address[:2]
    handler.send_response(302)
    handler.send_header("Location", f"http://{host}:{port}/elsewhere")
    handler.end_headers()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], RemoteText]]:
    r"""A function that starts a server on the loopback and says what should come from there."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    servers = []
    end = threading.Event()

    def start(answer: Answer) -> RemoteText:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self, end)

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}/text"
        return RemoteText(url, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())

    yield start
    end.set()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_good_download_is_kept_and_read_from_the_cache_next_time(
    serve: Callable[[Answer], RemoteText], tmp_path: Path
) -> None:
    source = serve(whole)
    arrived: list[int] = []
    text = tiny_shakespeare(source, tmp_path / "cache", progress=arrived.append)
    assert text == CONTENT.decode()
    assert sum(arrived) == len(CONTENT)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["tiny_shakespeare.txt"]

    # Nobody listens at the address now.
    gone = RemoteText("http://127.0.0.1:9/", source.size, source.sha256)
    assert tiny_shakespeare(gone, tmp_path / "cache") == text


@pytest.mark.parametrize(
    ("answer", "timeout", "reason"),
    [
        (truncated, 30, "only 70,000 of "),
        (shorter, 30, "only "),
        (corrupted, 30, "the SHA-256 differs"),
        (oversize, 30, "more than the expected "),
        (hanging_before_the_answer, 0.3, "timed out"),
        (hanging_in_the_middle, 0.3, "timed out"),
        (not_found, 30, "HTTP Error 404: Not Found"),
        (no_http, 30, "what is this?"),
        (redirecting, 30, "/elsewhere, which is not https"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_bad_download_is_told_in_one_sentence_and_leaves_nothing(
    serve: Callable[[Answer], RemoteText],
    tmp_path: Path,
    answer: Answer,
    timeout: float,
    reason: str,
) -> None:
    source = serve(answer)
    with pytest.raises(InputError) as caught:
        tiny_shakespeare(source, tmp_path, timeout=timeout)
    sentence = str(caught.value)
    assert sentence.startswith(f"cannot download {source.url} (")
    assert reason in sentence
    assert "--corpus python" in sentence
    assert "--text FILE" in sentence
    assert "\n" not in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_drips_is_left_before_it_has_finished(
    serve: Callable[[Answer], RemoteText], tmp_path: Path
) -> None:
    dripped = []

    def dripping(handler: BaseHTTPRequestHandler, end: threading.Event) -> None:
        send(handler, b"", len(CONTENT))
        with suppress(OSError):
            for byte in CONTENT[:100]:
                handler.wfile.write(bytes([byte]))
                dripped.append(byte)
                end.wait(0.05)

    with pytest.raises(InputError, match="it took longer than 0.3 seconds"):
        tiny_shakespeare(serve(dripping), tmp_path, timeout=0.3)
    assert 0 < len(dripped) < 100
    assert list(tmp_path.iterdir()) == []


def test_nobody_listening_is_told_in_one_sentence(tmp_path: Path) -> None:
    source = RemoteText("http://127.0.0.1:9/text", 3, "")
    with pytest.raises(InputError, match="(?i)refused.*--corpus python.*--text FILE"):
        tiny_shakespeare(source, tmp_path, timeout=5)


def test_a_damaged_copy_is_reported_and_replaced(
    serve: Callable[[Answer], RemoteText], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "tiny_shakespeare.txt"
    path.write_bytes(CONTENT[:-1] + b"?")
    with caplog.at_level(logging.WARNING):
        assert tiny_shakespeare(serve(whole), tmp_path) == CONTENT.decode()
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is damaged and is downloaded again"
    ]
    assert path.read_bytes() == CONTENT


def test_a_damaged_copy_is_never_used_and_never_lost(
    serve: Callable[[Answer], RemoteText], tmp_path: Path
) -> None:
    path = tmp_path / "tiny_shakespeare.txt"
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="404"):
        tiny_shakespeare(serve(not_found), tmp_path)
    assert path.read_bytes() == b"damaged"


def test_a_cache_that_cannot_be_written_is_named(
    serve: Callable[[Answer], RemoteText], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="cannot write .*file/cache/tiny_shakespeare.txt: "):
        tiny_shakespeare(serve(whole), tmp_path / "file" / "cache")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("url", ["http://localhost.example/text", "ftp://127.0.0.1/text"])
def test_only_https_is_downloaded(url: str) -> None:
    with pytest.raises(URLError, match="the address is not https"):
        download(RemoteText(url, 3, ""), timeout=1)


def test_the_address_of_tiny_shakespeare_is_https_and_its_size_and_hash_are_known() -> None:
    assert TINY_SHAKESPEARE.url.startswith("https://")
    assert TINY_SHAKESPEARE.size == 1_115_394
    assert TINY_SHAKESPEARE.sha256 == (
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    )


def test_the_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LABML_NN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "annotated-transformers"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/annotated-transformers")
    monkeypatch.setenv("LABML_NN_CACHE", "/own")
    assert cache_folder() == Path("/own")


def test_a_text_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffzwölf\r\n\tBoxkämpfer\n".encode())
    assert read_text(path) == "zwölf\r\n\tBoxkämpfer\n"


def test_bytes_that_are_not_utf8_are_named_with_their_position(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes(b"z" * 1234 + "ö".encode("latin-1") + b"lf")
    with pytest.raises(InputError, match=r"latin is not UTF-8: byte 0xf6 at position 1,234 "):
        read_text(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*/nowhere: No such file"):
        read_text(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        read_text(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match=r"/empty is empty"):
        read_text(tmp_path / "empty")


def test_the_library_is_read_in_order_and_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "b.py").write_text("second")
    (tmp_path / "a.py").write_text("first ")
    (tmp_path / "aa.py").write_bytes(b"\xff is not UTF-8")
    (tmp_path / "c.txt").write_text("no source")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "d.py").write_text("below")
    monkeypatch.setattr("sysconfig.get_path", {"stdlib": str(tmp_path)}.__getitem__)
    assert python_sources() == "first second"
    assert python_sources(max_length=8) == "first se"


def test_a_library_without_sources_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", {"stdlib": str(tmp_path)}.__getitem__)
    with pytest.raises(InputError, match="no Python sources in .*--text FILE"):
        python_sources()


def test_this_library_is_as_long_as_tiny_shakespeare_and_always_the_same() -> None:
    text = python_sources()
    assert len(text) == TINY_SHAKESPEARE.size
    assert python_sources() == text


def test_a_corpus_is_chosen_by_its_name_and_a_file_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("mine")
    assert read_corpus("anything", path) == "mine"
    assert read_corpus("python") == python_sources()
    with pytest.raises(InputError, match="unknown corpus 'x': .*tiny_shakespeare and python"):
        read_corpus("x")
