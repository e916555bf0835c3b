"""What is wrong with words: markup, another language or script, texts of nothing, one word spelled in several ways."""

import re
import unicodedata
from collections import Counter, defaultdict
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
RARER = 10  # times as rare as the word it is like
MEANT = frozenset("<>=+%$€£#*@&")  # marks that say something: <=50K and >50K differ
SHORTEST = 5  # letters: of two shorter words, one is hardly a mistake for the other
MOST_LEVELS = 20_000


def find_faulty_texts(sheet: Sheet) -> Iterator[Finding]:
    """Find markup that was left in, texts without a letter or a digit, and texts in another language than most."""
    for column in sheet.columns:
        if not column.is_text or column.numbers is not None:
            continue
        faults = []  # kind, rows, what they are, why, what to do
        marked = np.array([bool(MARKUP.search(text)) for text in column.texts])[column.codes]
        tags = Counter(tag for code in column.codes[marked] for tag in set(TAG.findall(unescape(column.texts[code]))))
        commonest_tags = ", ".join(f"<{tag}> in {times:,}" for tag, times in tags.most_common(3))
        reason = f"such as {commonest_tags}" if tags else ""
        faults.append(("markup", marked, "holds markup", reason, "Take the markup away: it is no part of the text."))
        if column.is_prose:
            empty = np.array([not any(c.isalnum() for c in text) for text in column.texts])[column.codes]
            advice = "Leave these rows out, or get their texts."
            faults.append(("empty text", empty, "says nothing", "no letter and no digit", advice))
            languages = np.array([language_of(text) for text in column.texts], dtype=object)[column.codes]
            counts = Counter(name for name in languages if name)
            commonest = counts.most_common(1)[0][0] if counts else ""
            reason = f"most texts are {commonest}"
            advice = "Leave them out, or treat them apart."
            faults += [
                ("language", languages == name, f"is {name}", reason, advice) for name in counts if name != commonest
            ]
        for kind, where, what, reason, advice in faults:
            rows = np.flatnonzero(where)
            if 0 < len(rows) <= MOST * len(where):
                sentence = f"{column.name} {what}"
                yield sheet.finding(kind, sentence, reason, columns=[column.name], rows=rows, advice=advice)


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


def find_spellings(sheet: Sheet) -> Iterator[Finding]:
    """Find one word in mixed case or with and without accents, and a rare spelling beside a common one."""
    for column in sheet.columns:
        if not column.is_text or column.is_prose or not column.repeats or len(column.levels) > MOST_LEVELS:
            continue
        if column.numbers is not None:
            continue

        # Levels that are the same but for case, accents, marks and spaces, and the commonest of each.
        places_of_word = defaultdict(list)
        for place, text in enumerate(column.texts):
            if key := plain(text):
                places_of_word[key].append(place)
        variants: dict[int, int] = {}
        for places in places_of_word.values():
            common = places[int(column.counts[places].argmax())]
            variants |= {place: common for place in places if place != common}
        if variants:
            words = len(set(variants.values()))
            sentence = f"{column.name} writes {words:,} value{'' if words == 1 else 's'} in more than one way"
            reason = "the same but for capitals, accents, marks or spaces"
            advice = "Write each value in one way: programs take these for different ones."
            yield _spelling(sheet, column, variants, sentence=sentence, reason=reason, advice=advice)

        slips = {rare: common for rare, common in _slips(column).items() if rare not in variants}
        if slips:
            spellings = f"{len(slips):,} rare spelling{'' if len(slips) == 1 else 's'}"
            sentence = f"{column.name} has {spellings} beside common ones"
            advice = "Correct them if they mean the common ones."
            yield _spelling(sheet, column, slips, sentence=sentence, reason="a letter off", advice=advice)


def _spelling(
    sheet: Sheet, column: Column, common_of: dict[int, int], *, sentence: str, reason: str, advice: str
) -> Finding:
    """Return the finding of rare levels and the common one of each; its severity is how much rarer they are."""
    rare = max(common_of, key=lambda place: column.counts[place])
    common = common_of[rare]
    rows = np.flatnonzero(np.isin(column.codes, list(common_of)))
    beside = column.counts[list(set(common_of.values()))].sum()
    example = (
        f"{column.texts[rare]!r} in {column.counts[rare]:,}, {column.texts[common]!r} in {column.counts[common]:,}"
    )
    return sheet.finding(
        "spelling",
        sentence,
        f"{reason}: {example}",
        columns=[column.name],
        rows=rows,
        severity=1 + float(beside) / len(rows),
        advice=advice,
    )


def plain(text: str) -> str:
    """Return a text without case, accents, marks and double spaces.

    >>> plain(" São  Paulo."), plain("sao-paulo")
    ('sao paulo', 'sao paulo')
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(c if c.isalnum() or c in MEANT else " " for c in letters if not unicodedata.combining(c))
    return " ".join(letters.split())


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
    a = a[start:]
    b = b[start:]
    if a[:1].isdigit() or b[:1].isdigit():
        return False
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
