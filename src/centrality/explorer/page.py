"""Put the built front end into one HTML frame, for the server and for a file that needs nothing else."""

import base64
import hashlib
import html
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from centrality._atomic import write_atomically
from centrality.explorer.header import Mark

if TYPE_CHECKING:
    from centrality.explorer.view import View

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}<title>{title}</title>
{style}
</head>
<body>
<div id="centrality-page"><noscript>This page needs JavaScript.</noscript></div>
{data}{marks}{script}
</body>
</html>
"""
FILL_WINDOW = "html,body{height:100%;margin:0}#centrality-page{height:100%}"


@cache
def built_file(name: str) -> str:
    """Return the text of a file of the built front end."""
    return (files("centrality.explorer") / "static" / name).read_text(encoding="utf-8")


def served_page(title: str) -> str:
    """Return the page that the server gives; it asks the server for the rest."""
    return FRAME.format(
        policy="",
        title=html.escape(title),
        style='<link rel="stylesheet" href="explorer.css">',
        data="",
        marks="",
        script='<script type="module" src="explorer.js"></script>',
    )


SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def style_sheet() -> str:
    """Return the style sheet of a page that the explorer has to itself."""
    return FILL_WINDOW + built_file("explorer.css")


def single_file_page(view: "View", marks: Sequence[Mark] = ()) -> str:
    """Return the page as one file, with marks in it: its policy lets it run its own script and reach nothing."""
    from centrality.explorer.marks import in_page  # NumPy and more, which the server's first answers do without
    from centrality.explorer.payload import pack

    script, style = built_file("explorer.js"), style_sheet()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    data = base64.b64encode(pack(view, pictures=True, reasons=True)).decode()
    return FRAME.format(
        policy=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        title=html.escape(view.title),
        style=f"<style>{style}</style>",
        data=f'<script type="application/octet-stream" id="centrality-data">{data}</script>\n',
        marks=in_page(marks),
        script=f'<script type="module">{script}</script>',
    )


def export(view: "View", path: str | os.PathLike[str], marks: Sequence[Mark] = ()) -> int:
    """Write the page to one file, with marks in it, completely or not at all, and return its size in bytes."""
    text = single_file_page(view, marks).encode()
    with write_atomically(path) as beside:
        beside.write_bytes(text)
    return len(text)


def _hash(text: str) -> str:
    """Return the text's hash as a content security policy spells it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
