"""Rows with something wrong as a whole: odd stretches, copies, labels that do not fit, odd groups, rows apart."""

from collections.abc import Iterator
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np

from centrality._internal.text import number, shortened
from centrality.findings.columns import Codes, Column, Floats, Mask
from centrality.findings.finding import ALONE, EXAMPLES, Finding
from centrality.findings.sheet import Sheet
from centrality.selection.copies import WORDS
from centrality.selection.labels import wrong_labels
from centrality.series import Timeline

FALSE_ALARMS = 0.05  # stretches expected in the whole file
COMMON = 5  # times as many rows that are the same but for one column: then exact copies are chance
CHANCE = 0.1  # the most twins that columns without ties would have by themselves, of those there are
UNLIKELY = 0.3  # the most that a label may be worth to be doubted
FEWEST = 5  # rows of a group
HOLDS = 0.8  # the share of a group that its name must hold of
PRECISE = 0.3  # the least share of the rows with that name that are among the oddest, for a name by one value
PURE = 0.1  # the same, for a name by several rare values
BEYOND = 10.0  # times the number of rows: a cause of rows as odd as one in so many is a finding
VALUES = 4  # of a name by rare values
FAR_BEYOND = 100.0  # times the number of rows: in ordinary data of this size, one file in a hundred has one


def find_stretches(sheet: Sheet) -> Iterator[Finding]:
    """Find events of series, with the channels to blame; and what was done to read the rows as series."""
    if sheet.time is None:
        return
    model = Timeline(sheet.time, sheet.by, random_state=sheet.random_state).fit(sheet.data)
    centrality = model.centrality()
    typical = int(np.nanargmax(centrality))
    for event in model.events(false_alarms=FALSE_ALARMS):
        rows = np.array(event.rows, dtype=np.intp)
        oddest = rows[np.argsort(centrality[rows], kind="stable")][:EXAMPLES]
        yield Finding(
            "stretch",
            f"{event.series}: {event.span}" if event.series else event.span,
            event.sentence,
            tuple(name for name, _ in event.channels if name in sheet.data.column_names),
            rows,
            severity=event.severity,
            examples=tuple(oddest.tolist()),
            typical=typical,
            advice="Look at what happened then; centrality rank --time shows milder stretches, too.",
        )
    for note in model.notes_:
        yield Finding("stretch", note.rstrip("."), "", (), np.empty(0, dtype=np.intp))


def find_copies(sheet: Sheet) -> Iterator[Finding]:
    """Find rows that are entered twice, exactly or nearly."""
    groups = {kind: [group for group in sheet.copies if group.kind == kind] for kind in WORDS}
    rows = {kind: np.unique([row for group in groups[kind] for row in group.rows]).astype(np.intp) for kind in WORDS}
    # How many rows would equal another one if columns knew nothing of each other.
    shares = [column.counts / len(column.codes) for column in sheet.columns]
    alike = float(np.exp(sum(np.log((share**2).sum()) for share in shares))) if shares else 0.0
    by_chance = sheet.data.num_rows * (sheet.data.num_rows - 1) * alike
    for kind in ("exact", "near"):
        count = len(rows[kind])
        if count == 0 or len(rows["one column"]) > COMMON * count or by_chance > CHANCE * count:
            continue
        yield sheet.finding(
            "copies",
            f"are {WORDS[kind]}, in {len(groups[kind]):,} group{'' if len(groups[kind]) == 1 else 's'}",
            "; ".join(f"rows {group.numbers()}" for group in groups[kind][:3]),
            rows=rows[kind],
            advice="Keep the first row of each group if they are the same thing entered twice.",
        )


def find_labels(sheet: Sheet) -> Iterator[Finding]:
    """Find labels that do not fit their rows, by classifiers that were not trained on the row."""
    if sheet.label is None:
        return
    misfits = nw.from_native(wrong_labels(sheet.data, sheet.label, random_state=sheet.random_state), eager_only=True)
    doubtful = misfits.filter(nw.col("p_label") <= UNLIKELY).to_arrow()
    if doubtful.num_rows == 0:
        return
    rows = doubtful["row"].to_numpy().astype(np.intp)
    chance = doubtful["p_label"].to_numpy()
    label = doubtful[sheet.label][0].as_py()
    yield sheet.finding(
        "label",
        f"{sheet.label} does not fit the rest of the row",
        f"row {rows[0]:,} says {label}, it looks like {doubtful['suggested'][0].as_py()}",
        columns=[sheet.label],
        rows=rows,
        severity=float(np.median(1 / np.maximum(chance, 1 / sheet.data.num_rows))),
        advice="Look at these labels, the first ones first.",
    )


def find_odd_groups(sheet: Sheet) -> Iterator[Finding]:
    """Find the causes that more rows have than ordinary data of this size would."""
    for cause in sheet.causes:
        if cause.columns and cause.severity >= BEYOND * sheet.data.num_rows:
            yield cause


def causes_of(sheet: Sheet) -> Iterator[Finding]:
    """Group the oddest rows by what lowers their score most: a group for each cause, then the rows without one."""
    odd = sheet.odd_rows
    features = sheet.reader.features()
    has_cause = np.zeros(len(odd), dtype=bool)
    if features is not None and sheet.columns:
        with sheet.reader.suppress_issues():
            main = np.asarray(sheet.model.explain(sheet.items.take(odd)), dtype=np.float64).argmin(1)
        for cause in np.unique(main):
            column = next((column for column in sheet.columns if column.name == str(features.names[cause])), None)
            rows = odd[main == cause]
            name = None if column is None or len(rows) < FEWEST else name_of(column, rows)
            if column is None or name is None:
                continue
            has_cause |= main == cause
            holders = np.flatnonzero(name.holds)
            precision = len(np.intersect1d(holders, odd)) / max(len(holders), 1)
            yield sheet.finding(
                "odd group",
                name.words,
                f"the main cause of {len(rows):,} of the {len(odd):,} oddest rows; it holds of "
                f"{name.holds[rows].mean():.0%} of them, and {precision:.0%} of the {len(holders):,} rows of which it "
                "holds are among the oddest",
                columns=[column.name],
                rows=rows,
                severity=float(np.median(sheet.severity[rows])),
                advice="Look at five of them: if these are right, so are the others.",
            )
    rest = odd[~has_cause]
    if len(rest):
        yield sheet.finding(
            "odd group",
            "are odd for no single cause",
            "each for reasons of its own",
            rows=rest,
            severity=float(np.median(sheet.severity[rest])),
            advice=f"Look at the {min(len(rest), ALONE)} oddest, one by one; centrality explain says why.",
        )


@dataclass(frozen=True)
class Name:
    """What holds of a group of odd rows and not of the rest, in words."""

    words: str
    holds: Mask  # of each row of the sheet


def name_of(column: Column, rows: Codes) -> Name | None:
    """Return what these rows have in common in a column, by one value, by rare values, or by size; None if nothing."""
    if column.is_prose:
        return name_by_words(column, rows)
    inside = np.bincount(column.codes[rows], minlength=len(column.levels))
    top = int(inside.argmax())
    if inside[top] >= HOLDS * len(rows):
        return Name(f"{column.name} is {column.written(top)}", column.codes == top)
    if column.numbers is not None:
        return name_by_size(column, column.numbers, rows)
    purest = np.argsort(-inside / column.counts, kind="stable")
    precise = purest[: 1 + int(np.searchsorted(np.cumsum(inside[purest]), HOLDS * len(rows)))]
    if inside[precise].sum() < PURE * column.counts[precise].sum():
        return None
    order = precise[np.argsort(-column.counts[precise], kind="stable")]
    listed = " · ".join(f"{column.written(level)} {column.counts[level]:,}" for level in order[:VALUES])
    more = " · …" if len(order) > VALUES else ""
    return Name(f"{column.name} is rare: {listed}{more}", np.isin(column.codes, precise))


def name_by_size(column: Column, numbers: Floats, rows: Codes) -> Name | None:
    """Name rows by a number beyond which hardly any other row lies."""
    inside = numbers[rows]
    if not np.isfinite(inside).any():
        return None
    low, high = np.nanquantile(inside, [1 - HOLDS, HOLDS])
    for words, bound, holds in (("at least", low, numbers >= low), ("at most", high, numbers <= high)):
        if np.isfinite(bound) and holds.sum() and np.isin(np.flatnonzero(holds), rows).mean() >= PRECISE:
            level = column.levels[int(np.nanargmin(np.abs(np.asarray(column.level_numbers) - bound)))]
            return Name(f"{column.name} is {words} {number(level)}", holds)
    return None


def name_by_words(column: Column, rows: Codes) -> Name | None:
    """Name rows of prose by the words that most of them have and hardly any other row."""
    words_of_level = [{word.strip(".,;:!?()[]\"'") for word in text.lower().split()} for text in column.texts]
    words = [words_of_level[code] for code in column.codes]
    common: dict[str, int] = {}
    for row in rows:
        for word in words[row]:
            common[word] = common.get(word, 0) + 1
    best = None
    for word, times in common.items():
        if times < HOLDS * len(rows):
            continue
        holds = np.array([word in words_of_row for words_of_row in words])
        if best is None or holds.sum() < best.holds.sum():
            best = Name(f"{column.name} holds {shortened(word)!r}", holds)
    if best is None or np.isin(np.flatnonzero(best.holds), rows).mean() < PRECISE:
        return None
    return best


def find_rows_apart(sheet: Sheet) -> Iterator[Finding]:
    """Find rows that stand apart from all others, where no error rate can speak."""
    rows = np.flatnonzero(sheet.severity >= FAR_BEYOND * sheet.data.num_rows)
    if len(rows) == 0:
        return
    rows = rows[np.argsort(-sheet.severity[rows], kind="stable")]
    yield sheet.finding(
        "apart",
        f"stand{'s' if len(rows) == 1 else ''} apart from all others",
        "their scores lie beyond where the scores of the others end",
        rows=rows,
        severity=float(np.median(sheet.severity[rows])),
        advice="Look at each of them: centrality explain says why it is odd.",
    )
