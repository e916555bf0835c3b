"""Texts: markup that was left in, another language or script, texts of nothing."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from html import unescape

import numpy as np

from centrality.findings.columns import Column
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>|&(?:lt|gt|amp|quot|nbsp|[a-z]{2,8}|#x?[0-9a-f]{2,6});")
TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)")
MOST = 0.2  # the share of the rows up to which something is a fault, not the way of the column
LEAST_HITS = 3  # words of a language
WORDS = {
    "English": "the of and to in is that for with was on are by from at this have not",
    "German": "der die und das ist nicht mit den von zu ein eine für auf dem des sich auch",
    "French": "le les des est une que dans pour pas qui sur avec du au ce sont plus la",
    "Spanish": "el los las que del una por con para como pero más su al es y la un",
    "Italian": "il che di gli della una per con non sono del più anche alla nel è si",
    "Portuguese": "os que da do uma para com não por mais como dos ao na em é se as",
    "Dutch": "het een van en dat niet op te zijn voor met aan door ook maar bij naar",
}
LANGUAGES = {name: frozenset(words.split()) for name, words in WORDS.items()}


def find(sheet: Sheet) -> Iterator[Finding]:
    for column in sheet.columns:
        if not column.is_text or column.numbers is not None:
            continue
        marked = np.array([bool(MARKUP.search(text)) for text in column.texts])[column.codes]
        yield from _some(
            sheet,
            column,
            marked,
            kind="markup",
            what="holds markup",
            reason=_example(column, marked),
            advice="Take the markup away: it is no part of the text.",
        )
        if not column.is_prose:
            continue
        empty = np.array([not any(c.isalnum() for c in text) for text in column.texts])[column.codes]
        yield from _some(
            sheet,
            column,
            empty,
            kind="empty text",
            what="says nothing",
            reason="no letter and no digit",
            advice="Leave these rows out, or get their texts.",
        )
        yield from _languages(sheet, column)


def _some(
    sheet: Sheet, column: Column, where: np.ndarray, *, kind: str, what: str, reason: str, advice: str
) -> Iterator[Finding]:
    """Return a finding of these rows, if they are some and not many."""
    rows = np.flatnonzero(where)
    if 0 < len(rows) <= MOST * len(where):
        severity = sheet.one_in(rows)
        yield sheet.finding(
            kind, f"{column.name} {what}", reason, columns=[column.name], rows=rows, severity=severity, advice=advice
        )


def _example(column: Column, marked: np.ndarray) -> str:
    """Quote the tags that are most common, in how many texts."""
    counts = Counter(tag for code in column.codes[marked] for tag in set(TAG.findall(unescape(column.texts[code]))))
    return f"such as {', '.join(f'<{tag}> in {times:,}' for tag, times in counts.most_common(3))}" if counts else ""


def _languages(sheet: Sheet, column: Column) -> Iterator[Finding]:
    """Find texts in another language or script than most."""
    spoken = np.array([language_of(text) for text in column.texts], dtype=object)[column.codes]
    counts = Counter(name for name in spoken if name)
    if not counts:
        return
    commonest = counts.most_common(1)[0][0]
    for name in counts:
        if name != commonest:
            yield from _some(
                sheet,
                column,
                spoken == name,
                kind="language",
                what=f"is {name}",
                reason=f"most texts are {commonest}",
                advice="Leave them out, or treat them apart.",
            )


def language_of(text: str) -> str:
    """Return the language of a text, or its script where that is not Latin; an empty text if it cannot be told.

    >>> language_of("der Hund und die Katze sind nicht mit dem Ball im Garten"), language_of("собака и кошка в саду")
    ('German', 'Cyrillic')
    """
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return ""
    foreign = [c for c in letters if ord(c) > 0x24F]
    if len(foreign) > len(letters) / 2:
        return unicodedata.name(foreign[len(foreign) // 2], "").split(" ")[0].split("-")[0].title()
    words = text.lower().split()
    hits = sorted(
        ((sum(word in vocabulary for word in words), name) for name, vocabulary in LANGUAGES.items()), reverse=True
    )
    (first, name), (second, _) = hits[:2]
    return name if first >= LEAST_HITS and first >= 2 * second else ""
