"""What is wrong with a column: placeholders, how it was read, gaps, and what has changed since earlier rows."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from centrality._internal.text import number
from centrality.analysis.drift import NAMED, HeadDrift
from centrality.findings.columns import Column, Floats, is_gap_word, structures_in
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

FEWEST_HOLDERS = 3  # rows that hold a placeholder: one or two may be mistakes
AT_ONE_END = 3  # placeholders at one end of a column: -1, -8 and -9
FAR = 100.0  # times as rare as the end of the other values, the least
ZEROS = 0.2  # the share of the rows from which on 0 means that there is none of it
SPIKE = 10.0  # times as many rows as hold any other value, in a column of very many values
MANY = 50
OWN_WAY = 0.001  # a way of writing that fewer cells have is a slip, not a way
QUANTITY = re.compile(r"^\s*[^\w\s<>]?\s*[-+]?\d[\d.,']*\s*[^\d<>]{0,20}$")  # an amount, with its unit before or after
PLAIN = re.compile(r"[-+]?\d[\d.,']*")
ENOUGH = 0.95  # of the cells
FEWEST_GAPS = 5  # rows
TOGETHER = 0.9  # the share of a column's gaps that are gaps of the other one, too
MOSTLY = 0.5  # of the rows with a gap
EXPECTED_NEW = 0.99  # quantile of the number of rows with new values, if values are new as often as before


def find_placeholder_numbers(sheet: Sheet) -> Iterator[Finding]:
    """Find one number that many rows hold, far from all others, or in far more rows than any other."""
    for column in sheet.columns:
        values = column.level_numbers
        if values is None:
            continue
        levels = _far_levels(values, column.counts)
        finite = np.isfinite(values)
        if finite.sum() >= MANY:
            by_count = np.argsort(np.where(finite, column.counts, 0))
            commonest = int(by_count[-1])
            second = int(column.counts[by_count[-2]])
            if values[commonest] != 0 and column.counts[commonest] >= SPIKE * max(second, FEWEST_HOLDERS):
                levels.add((commonest, float(column.counts.sum() / second)))
        for place, severity in sorted(levels):
            value = values[place]
            if value == 0 and column.counts[place] > ZEROS * len(column.codes):
                continue
            others = values[finite & (values != value)]
            if (others < value).all() or (others > value).all():
                nearest = others[np.abs(others - value).argmin()]
                next_level = number(column.levels[int(np.flatnonzero(values == nearest)[0])])
                reason = f"the next {'highest' if nearest < value else 'lowest'} value is {next_level}"
            else:
                most_others = int(np.delete(column.counts, place).max(initial=0))
                reason = f"no other value is in more than {most_others:,} rows"
            level = column.levels[place]
            # Without commas, as people search for it.
            in_words = str(level) if isinstance(level, int) else number(level)
            yield sheet.finding(
                "placeholder",
                f"{column.name} is exactly {in_words}",
                f"a placeholder? {reason}",
                columns=[column.name],
                rows=np.flatnonzero(column.codes == place),
                severity=severity,
                advice="If it stands for a missing or cut-off value, leave these cells empty.",
            )


def _far_levels(values: Floats, counts: np.ndarray) -> set[tuple[int, float]]:
    """Return levels beyond a wide gap at either end, which several rows hold each, and how severe that is.

    The gap is measured by how far the other levels go on at that end.
    """
    far = set()
    order = np.argsort(values)[: int(np.isfinite(values).sum())]
    for end in (order, order[::-1]):
        x = np.abs(values[end] - values[end[-1]]) if len(end) else np.empty(0)  # falling: from the end inward
        for beyond in range(min(AT_ONE_END, len(end) - 4), 0, -1):
            outer = end[:beyond]
            rest = x[beyond:]
            if counts[outer].min() < FEWEST_HOLDERS:
                continue
            spread = max(rest[: max(1, len(rest) // 10)].mean() - np.quantile(rest, 0.9), np.ptp(rest) / len(rest))
            gap = x[beyond - 1] - rest[0]
            times = float(np.exp(min(gap / spread, 50.0))) if spread > 0 else 1.0
            only_negative = (values[outer] < 0).all() and (np.delete(values[order], 0) >= 0).all() and len(rest) >= 10
            if times >= FAR or (only_negative and beyond == 1):
                far |= {(int(place), float(max(len(rest) * times, counts.sum() / counts[place]))) for place in outer}
                break
    return far


def find_gap_words(sheet: Sheet) -> Iterator[Finding]:
    """Find words that stand for nothing, such as N/A, and name all columns that hold one in one finding."""
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
        yield sheet.finding(
            "placeholder",
            f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} written {word!r} where nothing is known",
            "a word for a missing value: some programs read it as a value like others",
            columns=names,
            rows=np.unique(np.concatenate([rows for _, rows in places])),
            advice="Leave these cells empty.",
        )


def find_unread_columns(sheet: Sheet) -> Iterator[Finding]:
    """Find columns that say nothing, were left out, or may be read otherwise than they are meant; rows without score.

    Pictures that could not be opened, and texts and vectors without content, have no score.
    """
    description = sheet.reader.about()
    reads = description.get("reads", {})
    constant = [column for column in sheet.columns if not column.varies]
    names = [column.name for column in constant]
    if constant:
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        yield sheet.finding(
            "constant",
            f"{', '.join(names[:4])}{more} {'has' if len(constant) == 1 else 'have'} one value only",
            f"{constant[0].written(0)} in every row: it tells no row from another",
            columns=names,
            advice="Leave it out, or ask where the other values are.",
        )
    for name, how in reads.items():
        if str(how).startswith("left out") and name not in names:
            reason = str(how).removeprefix("left out: ")
            yield sheet.finding("left out", f"{name} was left out of the scores", reason, columns=[name])
    for name in structures_in(sheet.data):
        reason = "it holds structures: write their fields as columns of their own"
        yield sheet.finding("left out", f"{name} was left out of the scores", reason, columns=[name])
    for name, doubt in description.get("doubts", {}).items():
        if not str(reads.get(name, "")).startswith("left out"):
            yield sheet.finding("doubt", f"{name} may be read otherwise than it is meant", str(doubt), columns=[name])
    rows = np.empty(0, dtype=np.intp) if sheet.is_table else np.flatnonzero(np.isnan(sheet.scores))
    if len(rows):
        name = sheet.data.column_names[0]
        images = sheet.data.column_names == ["path"]
        first = f"row {rows[0]:,}" + (f", {sheet.data[name][int(rows[0])].as_py()}" if images else "")
        yield sheet.finding(
            "unreadable",
            "the picture could not be opened" if images else "there is nothing to read",
            f"{first}: it has no score",
            columns=[name],
            rows=rows,
            advice="Save it again, or leave it out." if images else "Fill it in, or leave it out.",
        )


def find_unread_cells(sheet: Sheet) -> Iterator[Finding]:
    """Find cells of text in columns of numbers or dates, and numbers that are written in several ways."""
    for column in sheet.columns:
        if not column.is_text:
            continue
        if column.numbers is not None:
            rows = np.flatnonzero(np.isnan(column.numbers) & ~column.gaps)
            what = "date" if column.is_date else "number"
            if len(rows):
                yield sheet.finding(
                    "unreadable",
                    f"{column.name} is no {what}",
                    f"all others are; row {rows[0]:,} has {column.written(column.codes[rows[0]])!r}",
                    columns=[column.name],
                    rows=rows,
                    advice=f"Write a {what} there, or nothing.",
                )

        # Numbers with and without a unit, or with different ones.
        if column.is_date:
            continue
        is_quantity = np.array([bool(QUANTITY.match(text)) for text in column.texts])
        if not is_quantity.any() or is_quantity[column.codes[~column.gaps]].mean() < ENOUGH:
            continue
        ways = np.array([" ".join(PLAIN.sub("", text).split()) for text in column.texts], dtype=object)
        counts: Counter[str] = Counter()
        for way, count, is_number in zip(ways, column.counts, is_quantity, strict=True):
            if is_number:
                counts[way] += int(count)
        common = [(way, count) for way, count in counts.most_common() if count >= OWN_WAY * len(column.codes)]
        if len(common) < 2:
            continue
        commonest = common[0][0]
        listed = ", ".join(f"{way!r} in {count:,}" if way else f"nothing in {count:,}" for way, count in common[:4])
        example = f" ({commonest!r})" if commonest else ""
        yield sheet.finding(
            "format",
            f"{column.name} writes numbers in {len(common)} ways",
            f"beside the digits stands {listed}",
            columns=[column.name],
            rows=np.flatnonzero((is_quantity & (ways != commonest))[column.codes]),
            advice=f"Write all as the most common one{example}, or the unit in the name.",
        )


def _columns_with_gaps(sheet: Sheet) -> list[Column]:
    return [column for column in sheet.columns if 0 < column.gaps.sum() < len(column.gaps)]


def find_gaps_together(sheet: Sheet) -> Iterator[Finding]:
    """Find columns of which one is hardly ever missing without the others."""
    waiting = sorted(_columns_with_gaps(sheet), key=lambda column: int(column.gaps.sum()))
    while waiting:
        first = waiting.pop(0)
        others = []  # nearly all gaps of the first are gaps of these, which have not many more
        for other in waiting:
            shared = int((first.gaps & other.gaps).sum())
            if shared >= TOGETHER * first.gaps.sum() and shared >= MOSTLY * other.gaps.sum():
                others.append(other)
        rows = np.flatnonzero(np.logical_and.reduce([first.gaps, *(other.gaps for other in others)]))
        if not others or len(rows) < FEWEST_GAPS:
            continue
        waiting = [column for column in waiting if column not in others]
        names = [column.name for column in sheet.columns if column is first or column in others]
        alone = sum(int(other.gaps.sum()) for other in others) / len(others) - len(rows)
        which = f"{first.name} is hardly ever" if alone > len(rows) / 10 else "hardly one is"
        yield sheet.finding(
            "gaps",
            f"{', '.join(names[:-1])} and {names[-1]} are missing together",
            f"{len(rows) / len(first.gaps):.1%} of the rows; {which} missing alone",
            columns=names,
            rows=rows,
            advice="One cause for all of them: a form that was not filled in, a join that did not match?",
        )


def find_slipped_values(sheet: Sheet) -> Iterator[Finding]:
    """Find rows where the missing value stands at the end of another cell: 'Reno NV' in city, nothing in state."""
    texts = [column for column in sheet.columns if column.is_text and not column.is_prose]
    for column in _columns_with_gaps(sheet):
        if column not in texts:
            continue
        values = {text for text, count in zip(column.texts, column.counts, strict=True) if count > 1 and text.strip()}
        missing = np.flatnonzero(column.gaps)
        for other in texts:
            if other is column:
                continue
            ends = np.array([(text.split() or [""])[-1] in values and " " in text.strip() for text in other.texts])
            rows = missing[ends[other.codes[missing]]]
            elsewhere = ends[other.codes[~column.gaps]].mean() if (~column.gaps).any() else 1.0
            if len(rows) < FEWEST_GAPS or len(rows) < MOSTLY * len(missing) or elsewhere > 0.05:
                continue
            yield sheet.finding(
                "slipped",
                f"{column.name} stands in {other.name}",
                f"missing where {other.name} ends with one: {other.written(other.codes[rows[0]])!r} in row {rows[0]:,}",
                columns=[other.name, column.name],
                rows=rows,
                advice=f"Move the last word of {other.name} to {column.name}.",
            )


def find_changes(sheet: Sheet) -> Iterator[Finding]:
    """Find what has changed since earlier rows: columns, values, and how they are spread."""
    if sheet.against is None:
        return
    from scipy.stats import poisson

    old = sheet.against
    for name in old.column_names:
        if name not in sheet.data.column_names:
            yield sheet.finding("change", f"{name} is gone", "the earlier rows have this column", columns=[name])
    for name in sheet.data.column_names:
        if name not in old.column_names:
            yield sheet.finding("change", f"{name} is new", "the earlier rows do not have this column", columns=[name])

    # Categories that the earlier rows do not have.
    for new in sheet.columns:
        if new.name not in old.column_names:
            continue
        before = Column.of(new.name, old[new.name])
        if not new.is_text or not before.is_text or not before.repeats or new.is_prose:
            continue
        if before.level_numbers is not None:  # dates and numbers written as text are compared as what they are
            continue
        old_texts = set(before.texts)
        places = [place for place, text in enumerate(new.texts) if text not in old_texts and text.strip()]
        rows = np.flatnonzero(np.isin(new.codes, places))
        # The chance that a row brings a value that never occurred is the share of values that occurred once (Good and
        # Turing).
        chance = float((before.counts == 1).sum()) / len(before.codes)
        if len(rows) > poisson.ppf(EXPECTED_NEW, chance * len(new.codes)):
            is_one = len(places) == 1
            few = ", ".join(new.written(place) for place in places[:4]) + (", …" if len(places) > 4 else "")
            yield sheet.finding(
                "change",
                f"{new.name} has {len(places)} new value{'' if is_one else 's'}: {few}",
                f"no earlier row has {'it' if is_one else 'them'}",
                columns=[new.name],
                rows=rows,
                severity=1 / max(chance, 1 / (len(before.codes) + 1)),
                advice="New, or written otherwise?",
            )

    # What the drift of the scores and columns says.
    names: set[str] = set()
    for change in sheet.changes:
        name = "" if isinstance(change, HeadDrift) else getattr(change, "name", "")
        if name in names and name:
            continue
        names.add(name)
        if len(names) > NAMED:
            break
        yield sheet.finding(
            "change",
            str(change),
            "compared with the earlier rows",
            columns=[name] if name in sheet.data.column_names else [],
            severity=1 / max(change.p_value, 1e-9),
            advice="Ask what happened between the two files.",
        )
