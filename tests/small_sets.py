"""Small data sets in the publishers' formats, made here, and a web server to download them from."""

import contextlib
import hashlib
import io
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from PIL import Image
from scipy.io import savemat

from klsnmf.datasets import REGISTRY
from klsnmf.datasets.arrays import as_arrays, content_hash


def empty_home(tmp_path, monkeypatch):
    """An empty folder for the data sets; no proxy stands between the tests and their server."""
    monkeypatch.setenv("KLSNMF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same(found, arrays):
    """A loaded data set has exactly these arrays."""
    assert found.data.dtype == np.uint8
    assert found.target.dtype == np.int64
    np.testing.assert_array_equal(found.data, arrays.X)
    np.testing.assert_array_equal(found.target, arrays.y)
    assert found.image_shape == arrays.image_shape


def small_arrays(name, seed=0):
    """Random images of the shape that the set has, three in each of a few classes."""
    dataset = REGISTRY[name]
    rng = np.random.default_rng(seed)
    n_classes = 10 if name == "semeion" else 4
    top = 1 if name in ("semeion", "alphadigit") else 255
    X = rng.integers(0, top, (3 * n_classes, dataset.n_features), endpoint=True)
    return as_arrays(X, np.repeat(np.arange(n_classes), 3), dataset.image_shape)


def original_of(name, arrays):
    """The bytes of a file in the publisher's format."""
    X, y, (height, width) = arrays
    if name == "semeion":
        one_hot = np.eye(10, dtype=int)[y]
        return b"".join(
            " ".join([*(f"{x:.4f}" for x in pixels), *map(str, row)]).encode() + b" \r\n"
            for pixels, row in zip(X, one_hot, strict=True)
        )
    stream = io.BytesIO()
    if name == "alphadigit":
        cells = np.empty((y.max() + 1, 3), dtype=object)
        for i, pixels in enumerate(X):
            cells[divmod(i, 3)] = pixels.reshape(height, width)
        savemat(stream, {"dat": cells})
    else:
        by_column = X.reshape(-1, height, width).transpose(0, 2, 1).reshape(len(X), -1)
        key = "y" if name == "jaffe" else "Y"
        savemat(stream, {"X": by_column.astype(float), key: (y + 1.0)[:, None]})
    return stream.getvalue()


def shrink(monkeypatch, name, url=None):
    """Put a small data set in the place of a real one; its arrays and its original."""
    arrays = small_arrays(name)
    content = original_of(name, arrays)
    register(monkeypatch, name, arrays, content, url)
    return arrays, content


def register(monkeypatch, name, arrays, content, url=None):
    dataset = REGISTRY[name]
    original = replace(
        dataset.original,
        sha256=(hashlib.sha256(content).hexdigest(),),
        size=len(content),
        url=url,
    )
    small = replace(
        dataset,
        n_samples=len(arrays.X),
        n_classes=int(arrays.y.max()) + 1,
        content=content_hash(arrays),
        original=original,
    )
    monkeypatch.setitem(REGISTRY, name, small)


def faces(people=("anna", "bert"), numbers=(1, 2, 10), size=(180, 200)):
    """Names and JPEG files of faces94, each of one grey, and that grey."""
    for i, person in enumerate(people):
        for number in numbers:
            stream = io.BytesIO()
            grey = 20 * i + number
            Image.new("RGB", size, (grey,) * 3).save(stream, "JPEG", quality=95)
            yield f"faces94/male/{person}/{person}.{number}.jpg", stream.getvalue(), grey


def zip_of(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


@contextlib.contextmanager
def serving(pages):
    """A server on the loopback address; its root.

    ``pages`` maps a path to the bytes it answers with, or to a function that is given the request
    handler. Other paths are not found.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path)
            if page is None:
                self.send_error(404)
            elif callable(page):
                page(self)
            else:
                answer(self, page)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def answer(handler, body, status=200, **headers):
    """Answer a request; ``Content_Length=None`` leaves that header out."""
    handler.send_response(status)
    for name, value in ({"Content_Length": len(body)} | headers).items():
        if value is not None:
            handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    # The client may leave as soon as it has seen enough.
    with contextlib.suppress(ConnectionError):
        handler.wfile.write(body)
