"""Placeholders: one value that very many rows hold, far from all others; words that stand for nothing."""

from collections.abc import Iterator

import numpy as np

from centrality._internal.text import number
from centrality.findings.columns import Column, Floats, is_gap_word
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

FEWEST = 3  # rows that hold it: one or two may be mistakes
TOGETHER = 3  # placeholders at one end: -1, -8 and -9
FAR = 100.0  # times as rare as the end of the other values, the least
ZEROS = 0.2  # the share of the rows from which on 0 means that there is none of it
SPIKE = 10.0  # times as many rows as hold any other value, in a column of very many values
MANY = 50


def find(sheet: Sheet) -> Iterator[Finding]:
    for column in sheet.columns:
        if column.level_numbers is not None:
            yield from _numbers(sheet, column, column.level_numbers)
    yield from _words(sheet)


def _numbers(sheet: Sheet, column: Column, values: Floats) -> Iterator[Finding]:
    for place, severity in sorted(_far_levels(values, column.counts) | _spikes(values, column.counts)):
        if values[place] == 0 and column.counts[place] > ZEROS * len(column.codes):
            continue
        rows = np.flatnonzero(column.codes == place)
        others = values[np.isfinite(values) & (values != values[place])]
        nearest = others[np.abs(others - values[place]).argmin()]
        level = column.levels[int(np.flatnonzero(values == nearest)[0])]
        yield sheet.finding(
            "placeholder",
            f"{column.name} is exactly {_plain(column.levels[place])}",
            f"a placeholder? the next {'highest' if nearest < values[place] else 'lowest'} value is {number(level)}"
            if (others < values[place]).all() or (others > values[place]).all()
            else f"a placeholder? no other value is in more than {_second(column, place):,} rows",
            columns=[column.name],
            rows=rows,
            severity=severity,
            advice="If it stands for a missing or cut-off value, leave these cells empty.",
        )


def _plain(level: object) -> str:
    """Write a number as people search for it: without commas.

    >>> _plain(99999), _plain(-1.0)
    ('99999', '-1')
    """
    return str(level) if isinstance(level, int) else number(level)


def _second(column: Column, place: int) -> int:
    return int(np.delete(column.counts, place).max(initial=0))


def _far_levels(values: Floats, counts: np.ndarray) -> set[tuple[int, float]]:
    """Return levels beyond a wide gap at either end, which several rows hold each, and how severe that is.

    The gap is measured by how far the other levels go on at that end.
    """
    far = set()
    order = np.argsort(values)[: int(np.isfinite(values).sum())]
    for end in (order, order[::-1]):
        x = np.abs(values[end] - values[end[-1]]) if len(end) else np.empty(0)  # falling: from the end inward
        for beyond in range(min(TOGETHER, len(end) - 4), 0, -1):
            outer, rest = end[:beyond], x[beyond:]
            if counts[outer].min() < FEWEST:
                continue
            spread = max(rest[: max(1, len(rest) // 10)].mean() - np.quantile(rest, 0.9), np.ptp(rest) / len(rest))
            gap = x[beyond - 1] - rest[0]
            times = float(np.exp(min(gap / spread, 50.0))) if spread > 0 else 1.0
            only_negative = (values[outer] < 0).all() and (np.delete(values[order], 0) >= 0).all() and len(rest) >= 10
            if times >= FAR or (only_negative and beyond == 1):
                far |= {(int(place), float(max(len(rest) * times, counts.sum() / counts[place]))) for place in outer}
                break
    return far


def _spikes(values: Floats, counts: np.ndarray) -> set[tuple[int, float]]:
    """Return a level, other than 0, that very many more rows hold than any other, where there are very many levels."""
    finite = np.isfinite(values)
    if finite.sum() < MANY:
        return set()
    order = np.argsort(np.where(finite, counts, 0))
    highest, second = int(order[-1]), int(counts[order[-2]])
    if values[highest] == 0 or counts[highest] < SPIKE * max(second, FEWEST):
        return set()
    return {(highest, float(counts.sum() / second))}


def _words(sheet: Sheet) -> Iterator[Finding]:
    holders: dict[str, list[tuple[str, np.ndarray]]] = {}
    for column in sheet.columns:
        words = dict(sheet.gap_words.get(column.name, {}))
        for place, level in enumerate(column.levels):
            if isinstance(level, str) and level.strip() and is_gap_word(level):
                words[level] = np.flatnonzero(column.codes == place)
        for word, rows in words.items():
            holders.setdefault(word, []).append((column.name, rows))
    for word, places in holders.items():
        names = [name for name, _ in places]
        rows = np.unique(np.concatenate([rows for _, rows in places]))
        yield sheet.finding(
            "placeholder",
            f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} written {word!r} where nothing is known",
            "a word for a missing value: some programs read it as a value like others",
            columns=names,
            rows=rows,
            severity=sheet.one_in(rows),
            advice="Leave these cells empty.",
        )
