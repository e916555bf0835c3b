"""Let the search put a page first whose keywords, in its front matter, are what was typed."""

import json
import re
from pathlib import Path
from typing import Any

KEYWORDS = re.compile(r"\A---\n.*?^ +keywords: (.+?)$.*?^---\n", re.DOTALL | re.MULTILINE)


def keywords(docs: Path) -> dict[str, list[str]]:
    """Return the words that lead to each page, by its name."""
    found = {}
    for path in sorted(docs.glob("*/*.md")):
        if match := KEYWORDS.match(path.read_text(encoding="utf-8")):
            found[path.relative_to(docs).with_suffix("").as_posix()] = [word.strip() for word in match[1].split(",")]
    return found


def write_scorer(app: Any, config: Any) -> None:
    """Write the rules of the search with the pages' words in them, and let Sphinx take that file."""
    rules = (Path(app.srcdir) / "_static" / "scorer.js").read_text(encoding="utf-8")
    made = Path(app.outdir) / "scorer.js"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(f"var KEYWORDS = {json.dumps(keywords(Path(app.srcdir)))};\n{rules}", encoding="utf-8")
    config.html_search_scorer = str(made)


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write_scorer)
    return {"parallel_read_safe": True}
