"""Templates, styles and scripts of this folder as one HTML file that loads nothing.

Its policy allows one style and one script, by their hashes. Even if a name from a file were taken
for HTML, the browser would not run it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any


def fill(
    template: str,
    context: Mapping[str, Any],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    more_style: str = "",
    filters: Sequence[Callable[..., Any]] = (),
) -> bytes:
    """A page from a template. Styles are joined in their order, and so are scripts.

    The scripts share one scope that is not visible from outside.
    """
    style = "".join(_read(name) for name in styles) + more_style
    script = '(() => {\n"use strict";\n' + "".join(_read(name) for name in scripts) + "})();\n"
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = (
        _environment(tuple(filters))
        .get_template(template)
        .render(context, style=style, script=script, policy=policy)
    )
    return page.encode("utf-8")


@cache
def _environment(filters: tuple[Callable[..., Any], ...]) -> Any:
    """What compiles templates, once for all pages: that takes longer than to fill them."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed: pip install 'klsnmf[report]'."
        ) from error
    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {each.__name__: each for each in filters}
    return environment


def _read(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    """The hash of the allowed style or script in a Content-Security-Policy."""
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")
