"""Make the README of the package: the repository's, with links and pictures that work on a package index."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class AbsoluteLinks(MetadataHookInterface):
    """Replaces links to files of the repository by addresses below its source."""

    def update(self, metadata: dict) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Source"]),
        }


def absolute(text: str, source: str) -> str:
    """Return the text with relative links made absolute: pictures as raw files, the rest as pages.

    >>> absolute("![a](docs/a.png) and [b](docs/b.md#c), [d](https://e.org)", "https://here")
    '![a](https://here/raw/main/docs/a.png) and [b](https://here/blob/main/docs/b.md#c), [d](https://e.org)'
    """

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match[1] == "!" else "blob"
        return f"{match[1]}[{match[2]}]({source}/{kind}/main/{match[3]})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)", link, text)
