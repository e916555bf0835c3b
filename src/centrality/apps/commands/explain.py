"""centrality explain: say why rows are odd, in words and numbers."""

import argparse

from centrality._internal.checks import InputError
from centrality._internal.text import number, share
from centrality.apps.commands._arguments import (
    count,
    data_with_or_without_model,
    import_scikit_learn,
    load_model,
    t_option,
)
from centrality.apps.commands._reading import AS_A_WHOLE, odd_as_a_whole, row_names, rows_called, severity_in_words
from centrality.apps.commands._terminal import Result, aligned, paint

HELP = "say why rows are odd: which columns lower their centrality, and by how much"


def arguments(command: argparse.ArgumentParser) -> None:
    data_with_or_without_model(command)
    command.add_argument(
        "--rows",
        type=row_names,
        metavar="3,7",
        help="the rows to explain, counted from 0, or by a text that only they hold (default: the five oddest)",
    )
    t_option(command)
    command.add_argument("--top", type=count, default=5, metavar="N", help="columns named for each row (default: 5)")


def run(arguments: argparse.Namespace) -> Result:
    """Return each row's centrality, that of the nearest typical point, and the columns' parts in the difference."""
    import_scikit_learn()
    from centrality import tables
    from centrality.bulk.adapter import Adapter
    from centrality.bulk.ranking import rarities
    from centrality.bulk.score import dial

    model = load_model(arguments)
    t = dial(model, arguments.t)
    table = tables.read(arguments.data)
    adapter = Adapter(model, table.column_names)
    if not adapter.explains:
        raise InputError(
            "This model's scores cannot be explained by columns: it reads texts, images or windows of a series."
        )
    mixing = model.fitted_.mixing
    if arguments.rows is None:  # the five oddest
        scores = mixing.mixed(adapter.units(adapter.vectors(table), table.num_rows), t)
        adapter.report()
        rows = [int(row) for row in scores.argsort(kind="stable")[:5]]
    else:
        rows = rows_called(arguments.rows, table)
    chosen = table.take(rows)
    vectors = adapter.vectors(chosen)
    units = adapter.units(vectors, len(rows))
    heads = mixing.squeeze(units)
    reasons = adapter.reasons(chosen, vectors, units, [t], top=arguments.top)[0]
    if arguments.rows is not None:
        adapter.unreadable.warn()
    fitted = model.fitted_
    points = mixing.centrality(fitted.origins(vectors), t).tolist()
    if fitted.offsets is None and t != fitted.offset_at_t:
        unknown = f"unknown: marks have set what is odd at t = {fitted.offset_at_t:g} only"
        changes = [unknown] * len(rows)
    else:
        with adapter.reader.suppress_issues():
            changes = [str(change).partition(": ")[2] for change in model.smallest_correction(chosen, t)]
    rarity_by_row = rarities(fitted, t, mixing.mixed(units, t))
    return {
        "t": t,
        "calibration_rows": fitted.calibration_count(t),
        "rows": [
            {"row": row, "centrality": score, "global": h[0], "local": h[1], "typical_point": point, "reasons": why,
             "correction": correction} | rarity
            for row, score, h, point, why, correction, rarity in zip(
                rows, reasons.scores, heads.tolist(), points, reasons.as_plain(), changes, rarity_by_row, strict=True
            )
        ],
    }  # fmt: skip


def show(result: Result) -> str:
    lines = []
    for row in result["rows"]:
        heading = f"row {row['row']:,}: centrality {share(row['centrality'])} at t = {number(result['t'])}"
        rare = severity_in_words(row, result["calibration_rows"])
        parts = [f"global {share(row['global'])}", f"local {share(row['local'])}"]
        if rare:
            low, high = row["p_value_interval"]
            p_value = f"p-value {share(row['p_value'])}, between {share(low)} and {share(high)} (95%)"
            parts += [p_value, f"{rare} ordinary rows is as odd"]
        lines.append(paint(heading, "heading") + f" ({', '.join(parts)})")
        body = [
            [f"  {r['feature']}", number(r["value"])[:40], "" if r["typical"] is None else number(r["typical"])[:40],
             f"{r['contribution']:+.3f}"]
            for r in row["reasons"]
        ]  # fmt: skip
        if body:
            if odd_as_a_whole(row["reasons"]):
                lines.append(f"  {AS_A_WHOLE}:")
            lines += aligned(["  column", "here", "typical", "contribution"], body, left=(0,))
        else:
            lines.append("  no column lowers it by more than 0.005")
        if row["correction"] != "not odd":
            lines.append(f"  smallest correction: {row['correction']}")
        lines.append("")
    text = (
        "All contributions of a row add up to its centrality minus that of the typical point next to it, "
        f"{' or '.join(sorted({share(row['typical_point']) for row in result['rows']}))}; "
        "negative ones make the row less typical."
    )
    return "\n".join([*lines, text])
