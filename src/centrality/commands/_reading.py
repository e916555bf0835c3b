"""Show how a table's columns were read, those in doubt first."""

from collections.abc import Mapping

from centrality.commands._display import aligned, paint


def reading_lines(reads: Mapping[str, str], doubts: Mapping[str, str]) -> list[str]:
    """Return the lines of a table: each column's name and how it was read, with any doubt on the line below."""
    rows, doubtful = [], []
    for name in sorted(reads, key=lambda name: name not in doubts):  # otherwise in the order of the file
        rows.append((name, reads[name]))
        if name in doubts:
            doubtful.append(len(rows) + 1)  # the header is the first line
            rows.append(("", f"doubtful: {doubts[name]}"))
    lines = aligned(("column", "read as"), rows, left=(0, 1))
    return [paint(line, "bad") if place in doubtful else line for place, line in enumerate(lines)]
