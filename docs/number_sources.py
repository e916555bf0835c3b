"""Lists every number in the prose of the pages with where it comes from, and names those that come from nowhere.

docs/number_sources.csv says it page by page, or section by section (the title of a heading; empty for the whole page).
There `page` is code or output on the page itself, `meaning` a definition (0 to 1, a status code, a version), anything
else a file of the repository that sets or measures it. Tables written by `make tables`, code, links and single digits
are left out.

    python docs/number_sources.py [--list]
"""

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*)?\.?\d+(?:e-?\d+)?%?(?!\w)")
LEFT_OUT = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),  # front matter
    re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE),
    re.compile(r"^:::.*$", re.MULTILINE),
    re.compile(r"<!--.*?<!-- end -->", re.DOTALL),  # written by scripts
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"\$[^$\n]*\$"),
)
IN_PLACE = ("page", "meaning")


def pages() -> list[Path]:
    """Return the README and every page that was written by hand."""
    made = {"api", "cli", "_build", "jupyter_execute"}
    docs = sorted(path for path in (ROOT / "docs").rglob("*.md") if not made & set(path.relative_to(ROOT).parts))
    return [ROOT / "README.md", *docs]


def numbers(text: str) -> Iterator[tuple[str, str]]:
    """Yield the section and the number, for each number of a page's prose."""
    for pattern in LEFT_OUT:
        text = pattern.sub(" ", text)
    section = ""
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        else:
            yield from ((section, found) for found in NUMBER.findall(line) if len(found) > 1)


def sources() -> dict[tuple[str, str], str]:
    """Return where the numbers of each page and section come from."""
    with (ROOT / "docs" / "number_sources.csv").open(encoding="utf-8", newline="") as lines:
        return {(row["page"], row["section"]): row["source"] for row in csv.DictReader(lines)}


def check(found: list[tuple[str, str, str]], known: dict[tuple[str, str], str]) -> list[str]:
    """Name the numbers without a source, the sources without a number, and those that are not there, in sentences."""
    wrong, used = [], set()
    for page, section, number in found:
        place = next((place for place in ((page, section), (page, "")) if place in known), None)
        used.add(place)
        if place is None:
            wrong.append(f'{page}, "{section}": where does {number} come from? Say it in docs/number_sources.csv.')
    wrong += [
        f"docs/number_sources.csv: {page}, {section!r} has no number" for page, section in sorted(set(known) - used)
    ]
    files = {name for source in known.values() for name in source.split() if name not in IN_PLACE}
    return wrong + [
        f"docs/number_sources.csv: there is no {name}" for name in sorted(files) if not (ROOT / name).exists()
    ]


def main() -> int:
    known = sources()
    found = [
        (path.relative_to(ROOT).as_posix(), section, number)
        for path in pages()
        for section, number in numbers(path.read_text(encoding="utf-8"))
    ]
    if "--list" in sys.argv[1:]:
        for page, section, number in found:
            print(page, section, number, known.get((page, section)) or known.get((page, "")), sep="\t")
    wrong = check(found, known)
    print(*wrong, f"{len(found)} numbers in the pages, {len(wrong) or 'no'} without a source", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
