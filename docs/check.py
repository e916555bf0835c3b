"""Checks the built site: links and anchors, every public name, tutorials, thirty questions. `make docs` runs it."""

import json
import re
import sqlite3
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "_build" / "html"
LIVE = "houses.html"  # an exported explorer, no page of the site
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
QUESTIONS, TUTORIALS, README_LINES, CLICKS = 30, 8, 120, 2


class Page(HTMLParser):
    """Collects the links, the anchors and the pictures of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.without_text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        for name in ("href", "src"):
            if found.get(name):
                self.links.append(found[name] or "")
        if tag == "img" and "alt" not in found:
            self.without_text.append(found.get("src") or "")


def pages() -> dict[str, Page]:
    """Read every page of the site, by its path below the site's folder."""
    return {
        path.relative_to(SITE).as_posix(): Page(path)
        for path in sorted(SITE.rglob("*.html"))
        if "_static" not in path.parts and path.name != LIVE
    }


def target(page: str, link: str) -> tuple[str, str] | None:
    """Return the file below the site and the anchor that a link of a page leads to; None if it leads elsewhere."""
    if urlsplit(link).scheme or link.startswith(("//", "data:")):
        return None
    found = urlsplit(urljoin(f"/{page}", link))
    path = unquote(found.path).lstrip("/")
    return (f"{path}index.html" if path.endswith("/") or not path else path), unquote(found.fragment)


def broken_links(site: dict[str, Page]) -> list[str]:
    """Name the links that lead nowhere, and the pictures that say nothing to those who do not see them."""
    found = []
    for name, page in site.items():
        for link in page.links:
            place = target(name, link)
            if place is None:
                continue
            path, anchor = place
            if not (SITE / path).exists():
                found.append(f"{name}: {link} leads nowhere")
            elif anchor and path in site and anchor not in site[path].anchors and not _of_sources(name, path):
                found.append(f"{name}: {link} has no such anchor")
        found += [f"{name}: the picture {picture} has no text" for picture in page.without_text]
    return found


def _of_sources(name: str, path: str) -> bool:
    """Say whether one end of a link is a page of sources: Sphinx writes these anew only when their source is newer."""
    return "_modules" in (name.partition("/")[0], path.partition("/")[0])


def inventory() -> set[str]:
    """Return the names that the site documents, from Sphinx's own list of them."""
    content = (SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split()[0] for line in zlib.decompress(content).decode().splitlines() if " py:" in line}


def public_names() -> set[str]:
    """Return every public name of the library, and every method of its classes."""
    from importlib import import_module
    from inspect import isclass

    import api_pages

    found = set()
    for module in api_pages.MODULES:
        for name in api_pages.public_names(module):
            found.add(f"{module}.{name}")
            thing = getattr(import_module(module), name)
            if isclass(thing):
                found |= {f"{module}.{name}.{method}" for method in api_pages.public_methods(thing)}
    return found


def questions() -> list[tuple[str, list[str]]]:
    """Return the questions of a new user and the pages that answer each."""
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (\[.+) \|$", text, flags=re.MULTILINE)
    return [(question, re.findall(r"\]\(([^)#]+)\.md", answer)) for question, answer in rows]


def clicks(site: dict[str, Page]) -> dict[str, int]:
    """Return how many clicks each page is away from the first one, without the page of questions."""
    away, waiting = {"index.html": 0}, ["index.html"]
    while waiting:
        name = waiting.pop(0)
        for link in site[name].links:
            path = (target(name, link) or ("", ""))[0]
            if path in site and path not in away and path != "questions.html":
                away[path] = away[name] + 1
                waiting.append(path)
    return away


def seconds() -> dict[str, float]:
    """Return how long each executed page took, from the cache of executed pages."""
    database = ROOT / "docs" / "_build" / "jupyter_cache" / "global.db"
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT uri, data FROM nbcache").fetchall()
    return {Path(uri).stem: json.loads(data)["execution_seconds"] for uri, data in rows}


# What people type into the search of a site about outliers, as the search shortens it, and the page that must come
# first: it has the word among its keywords.
SEARCHED = {
    "anomaly": ("anomali", "guides/outliers"), "novelty": ("novelti", "guides/outliers"),
    "excel": ("excel", "guides/tables"), "duplicates": ("duplic", "guides/copies"),
    "confidence": ("confid", "guides/which_number"), "docker": ("docker", "guides/deployment"),
    "mlflow": ("mlflow", "guides/mlops"), "bibtex": ("bibtex", "guides/citing"),
}  # fmt: skip


def not_found() -> list[str]:
    """Name the words whose page the search does not know, or does not put first."""
    import search_words

    index = json.loads((SITE / "searchindex.js").read_text(encoding="utf-8").partition("(")[2].rpartition(")")[0])
    found = []
    first = search_words.keywords(ROOT / "docs")
    for word, (short, page) in SEARCHED.items():
        known = [index[kind].get(short, []) for kind in ("terms", "titleterms")]  # a number, or a list of them
        places = [place for part in known for place in (part if isinstance(part, list) else [part])]
        if page not in {index["docnames"][place] for place in places} or word not in first[page]:
            found.append(f"the search does not find {page} by {word}")
    return found


def problems(site: dict[str, Page]) -> list[str]:
    """Name all that is wrong with the site, in sentences."""
    found = broken_links(site) + not_found()
    found += [f"{name} is public, and on no page of the reference" for name in sorted(public_names() - inventory())]
    asked, away = questions(), clicks(site)
    if len(asked) < QUESTIONS:
        found.append(f"{QUESTIONS} questions were wanted, there are {len(asked)}")
    for question, answers in asked:
        far = [page for page in answers if away.get(f"{page}.html", CLICKS + 1) > CLICKS]
        found += [f"{question} is answered by {page}, more than {CLICKS} clicks away" for page in far]
    tutorials = [path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index"]
    if len(tutorials) < TUTORIALS:
        found.append(f"{TUTORIALS} tutorials were wanted, there are {len(tutorials)}")
    for name in tutorials:
        executed = "cell_output" in (SITE / f"tutorials/{name}.html").read_text(encoding="utf-8")
        if executed and not any(link.endswith(".png") for link in site[f"tutorials/{name}.html"].links):
            found.append(f"tutorials/{name} has no picture")
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > README_LINES:
        found.append(f"README.md has {lines} lines, more than {README_LINES}")
    return found


def main() -> int:
    site = pages()
    found = problems(site)
    for problem in found:
        print(problem)
    links, times = sum(len(page.links) for page in site.values()), seconds()
    longest, names = max(times, key=times.__getitem__), len(public_names())
    print(f"{len(site)} pages, {links:,} links, {names} public names and methods, {len(questions())} questions")
    print(f"{len(times)} pages executed in {sum(times.values()):.0f} s, {longest} in {times[longest]:.0f} s")
    print(f"{len(found) or 'no'} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
