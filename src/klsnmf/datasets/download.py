"""Downloads: only over HTTP(S), up to a known size, with a known hash, and complete or not at all.

This uses the standard library. pooch would bring seven more packages, and sets no limit to the
number of bytes that a server may send.
"""

from __future__ import annotations

import hashlib
import http.client
import sys
import urllib.error
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib import request

from ..core.writing import written_aside

#: Is called with the bytes received and the bytes in total, None if the server does not say.
Progress = Callable[[int, int | None], None]

_TIMEOUT = 30.0
_CHUNK = 2**16


class DownloadError(RuntimeError):
    """A download that did not succeed. Nothing of it is left behind."""


def download(
    url: str, target: Path, sha256: Collection[str], size: int, progress: Progress
) -> None:
    """Put the file at ``url`` in the place of ``target`` if it has one of the hashes.

    It is written beside the target and renamed at the end, so that another process sees a whole
    file or none. An OSError means that the problem is the disk, not the network.
    """
    with _answer(url) as response:
        announced = response.headers.get("Content-Length", "")
        total = int(announced) if announced.isdecimal() and len(announced) < 20 else None
        if total is not None and total > size:
            raise DownloadError(f"{url} announces {total} bytes, more than the {size} expected")
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, done = hashlib.sha256(), 0
        with written_aside(target) as file:
            while part := _part(response, url):
                done += len(part)
                if done > size:
                    raise DownloadError(f"{url} sends more than the {size} bytes expected")
                digest.update(part)
                file.write(part)
                progress(done, total)
            if total is not None and done < total:
                raise DownloadError(f"the connection to {url} broke off at {done} of {total} bytes")
            if digest.hexdigest() not in sha256:
                raise DownloadError(
                    f"{url} gave a file that is not the one expected: its sha256 is "
                    f"{digest.hexdigest()}"
                )


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar if errors go to a terminal: that of rich if installed, else a plain one."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
    except ImportError:
        try:
            yield partial(_plain_bar, title)
        finally:
            print(file=sys.stderr)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn()]
    with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        bar = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


def _plain_bar(title: str, done: int, total: int | None) -> None:
    share = f"{100 * done // total:3d} % of {total / 1e6:.1f}" if total else f"{done / 1e6:.1f}"
    print(f"\r{title}: {share} MB", end="", file=sys.stderr, flush=True)


@contextmanager
def _answer(url: str) -> Iterator[http.client.HTTPResponse]:
    if not url.lower().startswith(("https://", "http://")):
        raise DownloadError(f"{url} is not a web address")
    asked = request.Request(url, headers={"User-Agent": "klsnmf"})
    try:
        response = _web_only().open(asked, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        # The usual words for the code, because those of the server could be anything.
        reason = http.client.responses.get(error.code, "unknown")
        raise DownloadError(f"{url} answered {error.code} ({reason})") from error
    except urllib.error.URLError as error:
        raise DownloadError(f"{url} could not be reached ({error.reason})") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DownloadError(f"{url} could not be reached ({error!r})") from error
    with response:
        yield response


def _web_only() -> request.OpenerDirector:
    """An opener that follows no redirection to a local file or to another protocol."""
    opener = request.OpenerDirector()
    for handler in (
        *(request.ProxyHandler, request.HTTPHandler, request.HTTPSHandler),
        *(request.HTTPDefaultErrorHandler, request.HTTPRedirectHandler),
        *(request.HTTPErrorProcessor, request.UnknownHandler),
    ):
        opener.add_handler(handler())
    return opener


def _part(response: http.client.HTTPResponse, url: str) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"the connection to {url} broke off ({error!r})") from error
