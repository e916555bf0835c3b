"""A real Chromium for the tests of the page: Debian's, without a graphics card and without a network."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Where the browser is; CENTRALITY_CHROMIUM may name another one."""
    return os.environ.get("CENTRALITY_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


# Only the map is drawn on the emulated graphics card, not the whole page, and pages of one site share a process: to
# open a page takes a third of the work so. Benchmarks do without, as people's browsers do.
CHEAP = ("--disable-gpu-compositing", "--process-per-site")


@contextmanager
def opened(*more: str) -> Iterator[Any]:
    """A browser, closed at the end; `more` are further flags."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, *more])
        try:
            yield browser
        finally:
            browser.close()
