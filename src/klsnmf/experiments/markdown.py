"""The Markdown of the pages."""

from __future__ import annotations


def line(*fields: object) -> str:
    return "| " + " | ".join(map(str, fields)) + " |"


def head(*fields: str) -> list[str]:
    return [line(*fields), "|" + "---|" * len(fields)]


def claim(words: str) -> list[str]:
    return ["", f"## Claim: {words}", ""]
