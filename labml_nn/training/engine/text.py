r"""
---
title: Where the Text Comes From
summary: A file, a download that is checked byte for byte, or the sources of Python itself.
---

A model can be trained on any text. There are three ways to one here: a
[file](corpora.py#read_text) of your own;
[Tiny Shakespeare](corpora.py#tiny_shakespeare), which is what small language models have
been compared on for a decade; and [Python's own library](corpora.py#python_sources),
which is on every machine that can run this and needs no network.

A download can go wrong in more ways than there are lines on this page. The rule for
all of them: the bytes are compared with a hash that is written down here, nothing is
stored under its final name before that, and whatever goes wrong is told in one
sentence with another way to get a text.
"""

import hashlib
import http.client
import logging
import os
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from labml_nn.training.data import InputError
from labml_nn.training.files import replacing


def read_text(path: Path) -> str:
    r"""
    ## A text of your own

    The file must be UTF-8. Anything else is an `InputError` that names the file and,
    where there is one, the byte that is wrong.
    """
    try:
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: byte 0x{error.object[error.start]:02x} at position "
            f"{error.start:,} cannot stand there; save the file as UTF-8"
        ) from error
    if not text:
        raise InputError(f"{path} is empty")
    return text


def python_sources(max_length: int = 1_115_394) -> str:
    r"""
    ## Python's own library

    The modules of the standard library, put together in alphabetical order and cut at
    `max_length` characters, by default the length of Tiny Shakespeare. The text depends on
    the version of Python, so compare losses only between runs on the same one.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    text = ""
    for path in sorted(folder.glob("*.py")):
        if len(text) >= max_length:
            break
        # A source in another encoding is skipped, not guessed at.
        try:
            text += path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    if not text:
        raise InputError(f"there are no Python sources in {folder}: give a text with --text FILE")
    return text[:max_length]


@dataclass(frozen=True)
class RemoteText:
    r"""
    ## A text on a server

    Size and hash say which bytes are meant. With one comma corrected, all the losses that
    were ever measured on the text would no longer compare.
    """

    url: str
    size: int
    sha256: str

    def matches(self, content: bytes) -> bool:
        r"""
        ### Is this it?
        """
        return len(content) == self.size and hashlib.sha256(content).hexdigest() == self.sha256


# Forty thousand lines of Shakespeare, put together by Andrej Karpathy for
# [char-rnn](https://github.com/karpathy/char-rnn).
TINY_SHAKESPEARE = RemoteText(
    url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    size=1_115_394,
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


def tiny_shakespeare(
    source: RemoteText = TINY_SHAKESPEARE,
    cache: Path | None = None,
    timeout: float = 30.0,
    progress: Callable[[int], object] | None = None,
) -> str:
    r"""
    ## Tiny Shakespeare

    It is downloaded once and kept in `cache`, which is the [cache_folder](corpora.py#cache_folder)
    unless given. A kept file is checked too, each time, and one that
    differs is downloaded again. `progress` is called with the number of bytes of each
    block that arrives. Where nothing arrives, an `InputError` names the other two ways to a
    text.
    """
    path = (cache or cache_folder()) / "tiny_shakespeare.txt"
    if path.is_file():
        content = path.read_bytes()
        if source.matches(content):
            return content.decode("utf-8")
        logging.getLogger(__name__).warning("%s is damaged and is downloaded again", path)

    # Everything that a network can do is one of these two.
    try:
        content = download(source, timeout, progress)
    except (OSError, http.client.HTTPException) as error:
        reason = " ".join(str(error.reason if type(error) is URLError else error).split())
        raise InputError(
            f"cannot download {source.url} ({reason}): use --corpus python, which needs no "
            "network, or --text FILE with a text of your own"
        ) from error
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return content.decode("utf-8")


def cache_folder() -> Path:
    r"""
    ## Where downloads are kept

    `$LABML_NN_CACHE` if that is set, else a folder `annotated-transformers` where
    [XDG](https://specifications.freedesktop.org/basedir-spec/latest/) wants caches to be.
    """
    if folder := os.environ.get("LABML_NN_CACHE"):
        return Path(folder)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "annotated-transformers"


def download(
    source: RemoteText, timeout: float, progress: Callable[[int], object] | None = None
) -> bytes:
    r"""
    ## Download, and check

    Returns the bytes of `source` and no others; all else is an `OSError` or an
    `HTTPException`. `timeout` is in seconds, for the connection and again for all that
    comes through it.
    """
    address = urlsplit(source.url)
    if (address.scheme, address.hostname) != ("http", "127.0.0.1") and address.scheme != "https":
        raise URLError("the address is not https")
    content = bytearray()

    # An answer like "404 Not Found" is an error that holds a connection.
    try:
        response = build_opener(HttpsRedirects).open(source.url, timeout=timeout)
    except HTTPError as error:
        error.close()
        raise
    with response:
        deadline = time.monotonic() + timeout
        # `read1` gives what has arrived. `read` waits for a whole block, and a server that
        # drips could hold it forever.
        while block := response.read1(65_536):
            content += block
            if len(content) > source.size:
                raise URLError(f"more than the expected {source.size:,} bytes came")
            if time.monotonic() > deadline:
                raise URLError(f"it took longer than {timeout:g} seconds")
            if progress is not None:
                progress(len(block))

    if len(content) < source.size:
        raise URLError(f"only {len(content):,} of {source.size:,} bytes came")
    if not source.matches(content):
        raise URLError("something else came: the SHA-256 differs")
    return bytes(content)


class HttpsRedirects(HTTPRedirectHandler):
    r"""
    ## Follow redirects to https only
    """

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> Request | None:
        r"""
        ### Refuse the others
        """
        if urlsplit(newurl).scheme != "https":
            fp.close()
            raise URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def read_corpus(corpus: str, path: Path | None = None) -> str:
    r"""
    ## One of the three

    The file at `path` if there is one, else the text with the name `corpus`.
    """
    if path is not None:
        return read_text(path)
    corpora = {"tiny_shakespeare": tiny_shakespeare, "python": python_sources}
    if corpus not in corpora:
        raise InputError(f"unknown corpus {corpus!r}: there are {' and '.join(corpora)}")
    return corpora[corpus]()
