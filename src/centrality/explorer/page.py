"""The page: one HTML frame around the built front end, for the server and for a file that stands alone."""

import base64
import hashlib
import html
import os
from functools import cache
from importlib.resources import files

from centrality._atomic import write_atomically
from centrality.explorer.payload import pack
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
{data}{script}
</body>
</html>
"""
FILL = "html,body{height:100%;margin:0}#centrality-page{height:100%}"


@cache
def built(name: str) -> str:
    """A file of the built front end."""
    return (files("centrality.explorer") / "static" / name).read_text(encoding="utf-8")


def served(title: str) -> str:
    """The page that the server gives; it asks the server for the rest."""
    return FRAME.format(
        policy="",
        title=html.escape(title),
        style='<link rel="stylesheet" href="explorer.css">',
        data="",
        script='<script type="module" src="explorer.js"></script>',
    )


SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def styles() -> str:
    """The style sheet of a page that holds nothing else."""
    return FILL + built("explorer.css")


def alone(view: View) -> str:
    """The page as one file: its policy lets it run its own script and reach nothing."""
    script, style = built("explorer.js"), styles()
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
        script=f'<script type="module">{script}</script>',
    )


def export(view: View, path: str | os.PathLike[str]) -> int:
    """Write the page to one file, whole or not at all; its size in bytes."""
    text = alone(view).encode()
    with write_atomically(path) as beside:
        beside.write_bytes(text)
    return len(text)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
