"""Spellings: a rare spelling beside a common one, one word in mixed case or with and without accents."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from centrality.findings.columns import Codes, Column
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

RARER = 10  # times as rare as the word it is like
MEANT = frozenset("<>=+%$€£#*@&")  # marks that say something: <=50K and >50K differ
SHORTEST = 5  # letters: of two shorter words, one is hardly a mistake for the other
MOST_LEVELS = 20_000


def find(sheet: Sheet) -> Iterator[Finding]:
    for column in sheet.columns:
        if not column.is_text or column.is_prose or not column.repeats or len(column.levels) > MOST_LEVELS:
            continue
        if column.numbers is not None:
            continue
        variants = _variants(column)
        if variants:
            yield _several_ways(sheet, column, variants)
        slips = {rare: common for rare, common in _slips(column).items() if rare not in variants}
        if slips:
            yield _slipped(sheet, column, slips)


def plain(text: str) -> str:
    """Return a text without case, accents, marks and double spaces.

    >>> plain(" São  Paulo."), plain("sao-paulo")
    ('sao paulo', 'sao paulo')
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(c if c.isalnum() or c in MEANT else " " for c in letters if not unicodedata.combining(c))
    return " ".join(letters.split())


def _variants(column: Column) -> dict[int, int]:
    """Return levels that are another one but for case, accents, marks and spaces, and the common one of each."""
    alike = defaultdict(list)
    for place, text in enumerate(column.texts):
        if key := plain(text):
            alike[key].append(place)
    common = {key: max(places, key=lambda place: column.counts[place]) for key, places in alike.items()}
    return {place: common[key] for key, places in alike.items() for place in places if place != common[key]}


def _slips(column: Column) -> dict[int, int]:
    """Return rare levels that differ by one letter from a common one, and that one."""
    keys = [plain(text) for text in column.texts]
    long = [place for place, key in enumerate(keys) if len(key) >= SHORTEST]
    near = defaultdict(list)
    for place in long:
        if column.counts[place] >= RARER:
            for key in _cut(keys[place]):
                near[key].append(place)
    slips = {}
    for place in long:
        likely = {other for key in _cut(keys[place]) for other in near.get(key, ())}
        likely = {
            other
            for other in likely
            if column.counts[other] >= RARER * column.counts[place] and _one_letter(keys[place], keys[other])
        }
        if likely:
            slips[place] = max(likely, key=lambda other: column.counts[other])
    return slips


def _cut(word: str) -> set[str]:
    """Return a word and what is left of it without one letter: words that differ by one letter share one of these."""
    return {word, *(word[:k] + word[k + 1 :] for k in range(len(word)))}


def _one_letter(a: str, b: str) -> bool:
    """Say whether words differ by one letter, more, less, other or swapped; by digits does not count.

    >>> _one_letter("deutchland", "deutschland"), _one_letter("room 1", "room 2")
    (True, False)
    """
    start = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest_a, rest_b = a[start:], b[start:]
    if any(part[:1].isdigit() for part in (rest_a, rest_b)):
        return False
    return (
        rest_a[1:] == rest_b[1:]
        or rest_a[1:] == rest_b
        or rest_a == rest_b[1:]
        or (rest_a[:2] == rest_b[:2][::-1] and rest_a[2:] == rest_b[2:])
    )


def _rows(column: Column, places: dict[int, int]) -> tuple[Codes, float, str]:
    """Return the rows of rare levels, how much rarer they are than the common ones, and the commonest pair in words."""
    rare = max(places, key=lambda place: column.counts[place])
    common = places[rare]
    rows = np.flatnonzero(np.isin(column.codes, list(places)))
    beside = column.counts[list(set(places.values()))].sum()
    example = (
        f"{column.texts[rare]!r} in {column.counts[rare]:,}, {column.texts[common]!r} in {column.counts[common]:,}"
    )
    return rows, 1 + float(beside) / len(rows), example


def _several_ways(sheet: Sheet, column: Column, variants: dict[int, int]) -> Finding:
    rows, severity, example = _rows(column, variants)
    return sheet.finding(
        "spelling",
        f"{column.name} writes {_counted(len(set(variants.values())), 'value')} in more than one way",
        f"the same but for capitals, accents, marks or spaces: {example}",
        columns=[column.name],
        rows=rows,
        severity=severity,
        advice="Write each value in one way: programs take these for different ones.",
    )


def _slipped(sheet: Sheet, column: Column, slips: dict[int, int]) -> Finding:
    rows, severity, example = _rows(column, slips)
    return sheet.finding(
        "spelling",
        f"{column.name} has {_counted(len(slips), 'rare spelling')} beside common ones",
        f"a letter off: {example}",
        columns=[column.name],
        rows=rows,
        severity=severity,
        advice="Correct them if they mean the common ones.",
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
