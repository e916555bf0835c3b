"""Find values of a column that differ only in how they are written."""

import unicodedata

import pyarrow as pa

OFTEN = 0.005  # the share of the rows from which on another spelling is a doubt; a rarer one is an odd row
YES = frozenset({"yes", "y", "true", "t", "1", "on", "ok", "ja", "j", "wahr", "oui", "si", "sí", "sim"})
NO = frozenset({"no", "n", "false", "f", "0", "off", "nein", "falsch", "non", "nao", "não"})


def about_spellings(texts: pa.ChunkedArray) -> str:
    """Return a doubt about values of a column that differ only in how they are written; "" if there are none.

    >>> about_spellings(pa.chunked_array([["Oslo", "Rome", "oslo "]]))
    "'Oslo' and 'oslo ' are read as different values: write them alike if they are one"
    """
    counted = sorted(texts.drop_null().value_counts().to_pylist(), key=lambda text: -text["counts"])
    plain = [" ".join(unicodedata.normalize("NFKC", text["values"]).casefold().split()) for text in counted]
    if set(plain) <= YES | NO and len(set(plain)) > 2:
        plain = ["yes" if text in YES else "no" for text in plain]
    alike: dict[str, list[str]] = {}
    for text, spelling in zip(plain, counted, strict=True):
        if text not in alike or spelling["counts"] >= OFTEN * len(texts):
            alike.setdefault(text, []).append(spelling["values"])
    several = [spellings for spellings in alike.values() if len(spellings) > 1]
    if not several:
        return ""
    first, second, *_ = several[0]
    if unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second):
        return f"{first!r} is written in two forms of Unicode, which are read as different values: write it in one"
    return f"{first!r} and {second!r} are read as different values: write them alike if they are one"
