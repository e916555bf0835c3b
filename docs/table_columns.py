"""The columns of the tables that show each row of a result as it is: of each a heading, and how fields are written."""

from collections.abc import Callable

from results import Row

DIAL = ("0", "0.5", "1")
EXPLAINED = [*(f"first at t = {t}" for t in DIAL), "first step changes it most", "path changes it most"]
REPLACED = [f"{kind} at t = {t}" for t in DIAL for kind in ("top", "random")]
MIXED_WAYS = ("whole", "its block", "kNN of its part", "sum of z-scores", "kNN on all", "IForest on all")
CONTEXTUAL = ("scenario", "method", "models", "answer")
MARKS = {"marks": "`review`, all marks right", "10% wrong": "`review`, a tenth of the marks wrong"}
RATIOS: dict[str, str | Callable[[Row], str]] = {
    "what": "{what}",
    "against": "{against}",
    "theirs over ours": "{ratio:people} ({least:people} to {most:people})",
    "wanted": "{bar}",
}
SETS = {"adbench_dev": "tables", "macrodata_dev": "small tables"}


def field(name: str, spec: str = "") -> Callable[[Row], str]:
    """Return what formats a field whose name a format string cannot hold."""
    return lambda row: format(row[name], spec)


def _of_methods(row: Row, name: str, spec: str) -> str:
    return " / ".join(format(row[f"{method}: {name}"], spec) for method in ("ours", "slopes", "Shapley"))


def _thousandths(row: Row, metric: str) -> str:
    return f"{1000 * float(row[f'{metric} added']):+.1f} ± {1000 * float(row[f'{metric} se']):.1f}"


def _behind(row: Row) -> str:
    """By how much average precision is below that of ours, with its standard error where there is one."""
    error = f" ± {row['s.e.']:.3f}" if row["s.e."] else ""
    return "" if row["way"] == "wrong_labels" else f"{row['behind']:.3f}{error}"


# Of each result, the columns of its table: a heading, and how the row's fields are written below it.
COLUMNS: dict[str, dict[str, str | Callable[[Row], str]]] = {
    "mixture": {
        "settings": "{settings}",
        "global, with minus mean distance": "{global:.3f}",
        "local, with smoothed log-density": "{local:.3f}",
    },
    "modalities": {
        "one class against others, AUC-ROC": "{data}",
        "fitted on": "{rows:,.0f} × {columns}",
        "FUSE, t = 1": "{fuse_local:.3f}",
        "t = 0.5": "{fuse_half:.3f}",
        "t = 0": "{fuse_global:.3f}",
        "kNN": "{knn:.3f}",
        "seconds": "{seconds:.0f}",
    },
    "column_writings": {
        "columns of": "{family}",
        "how many": "{columns}",
        "centrality": "{centrality:.1%}",
        "pandas": "{pandas:.1%}",
        "skrub": "{skrub:.1%}",
    },
    "planted_cells": {
        "file": "{file}",
        "planted cell": "{cell}",
        "rank in 0.2.0": field("0.2.0"),
        "now": "{written}",
        "in a file cleaned by hand": "{cleaned}",
    },
    "false_discoveries": {
        "data": "{data}",
        "t": "{t:g}",
        "fdr asked for": "{fdr:g}",
        "share of false discoveries": "{false:.3f} ± {se:.3f}",
        "share of outliers found": "{found:.3f}",
    },
    "explanations_odd": {
        "data": "{data}",
        "columns": "{columns}",
        **{name: field(name, ".1%") for name in EXPLAINED},
    },
    "explanations_replaced": {
        "data": "{data}",
        "columns": "{columns}",
        "outliers": "{detected}",
        **{name: field(name, "+.3f") for name in REPLACED},
    },
    "explanations_planted": {
        "data": "{data}",
        "fault": "{fault}",
        "first": lambda row: _of_methods(row, "first", ".0%"),
        "first three": lambda row: _of_methods(row, "first three", ".0%"),
        "largest contribution": lambda row: _of_methods(row, "largest", ".2f"),
        "ms a row": lambda row: _of_methods(row, "ms a row", ".1f"),
        "correction has it / is just it": "{correction has it:.0%} / {correction is it:.0%} of {newly odd}",
    },
    "known_truth_called": {
        "data": "{data}",
        "rows": "{rows}",
        "of fresh rows": "{fresh:.3f} ± {fresh se:.3f}",
        "of training rows": "{training:.3f} ± {training se:.3f}",
    },
    "network_worth": {  # what the local network adds: the whole, and the differences to the background alone
        "sets": lambda row: f"{row['sets']} {SETS[row['collection']]}",
        "protocol": "{protocol}, t = {t:g}",
        "AUC-ROC": "{roc background:.3f} → {roc whole:.3f}",
        "average precision": "{ap background:.3f} → {ap whole:.3f}",
        "AUC-ROC added, × 1000": lambda row: _thousandths(row, "roc"),
        "precision added, × 1000": lambda row: _thousandths(row, "ap"),
    },
    "network_worlds": {
        "rows lie on": "{world}",
        "rows": "{rows:,.0f}",
        "novelty": lambda row: "yes" if row["novelty"] == "True" else "no",
        "background alone": "{mixed, background:.2f} / {beside, background:.2f}",
        "with the network": "{mixed, whole:.2f} / {beside, whole:.2f}",
        "kNN": "{mixed, kNN:.2f} / {beside, kNN:.2f}",
    },
    "contextual_means": {
        "method": "{method}",
        "AUC-ROC": "{auc:.3f}",
        "average precision": "{ap:.3f}",
        "seconds of one core": "{seconds:.3f}",
    },
    "contextual_scenarios": {
        **{name: f"{{{name}}}" for name in CONTEXTUAL},
        "seconds of one core": "{seconds:.1f}",
    },
    "series_alarms": {
        "nothing happens in": "{kind}",
        "series": "{series:people}",
        "moments each": "{length:people}",
        "false alarms at .05": field("seen at 0.05", "people"),
        "at .5": field("seen at 0.5", "people"),
    },
    "series_channels": {
        "planted in one channel": "{fault}",
        "series": "{series}",
        "found": "{found}",
        "that channel blamed first": "{blamed}",
    },
    "series_bad": {
        "input": "{input}",
        "error": lambda row: row["error"] and f"refused: {row['error']}",
        "notes": "{notes}",
        "events": "{events}",
    },
    "series_speed": {
        "moments": "{moments:people}",
        "channels": "{channels:people}",
        "series": "{series:people}",
        "seconds of the CPU, fit and scores": "{cpu_seconds:people}",
        "peak MiB of the process": "{peak_MiB:people}",
    },
    "marks_error_rates": {
        "outliers": "{outliers}",
        "training rows": "{training rows}",
        "share of calls that are false": "{false:.3f} ± {se:.3f}",
        "outliers found": "{found:.2f}",
    },
    "pick_scale": {
        "rows × 64": "{rows:,.0f}",
        "what": "{what}",
        "CPU seconds for 1,000 rows": "{cpu_s:people}",
    },
    "copies": {
        "set": "{set}",
        "rows": "{rows:,.0f}",
        "copies differ by": "{change}",
        "recall": "{recall:.3f}",
        "precision": "{precision:.3f}",
    },
    "copies_time": {"rows × 64": "{rows:,.0f}", "CPU seconds": "{cpu_s:people}", "recall": "{recall:.3f}"},
    "copies_neighbours": {
        "100,000 rows × 64, 15 neighbours of each": "{way}",
        "CPU seconds": "{cpu_s:people}",
        "copies found": "{copies found:.3f}",
        "nearest found": "{nearest found:.3f}",
    },
    "mixed_rows": {"set": "{set}", "fault": "{fault}", **{way: f"{{{way} AUC:.3f}}" for way in MIXED_WAYS}},
    "mixed_rows_reasons": {
        "set": "{set}",
        "fault": "{fault}",
        "became odd": "{noticed:.3f}",
        "of these, the first reason names the part": "{part named first:.3f}",
        "exactly": "{exactly:.3f}",
    },
    "mixed_rows_markup": {
        "rows": "{rows:,.0f}",
        "with a `<font>`": "{with <font>:.0f}",
        "among the oddest": "{oddest:.0f}",
        "by the whole at t = 0": "{global:.1f}",
        "at t = 0.5": "{whole:.1f}",
        "at t = 1": "{local:.1f}",
        "by the description": "{description:.1f}",
    },
    "mixed_rows_time": {
        "rows of a vector of 384, a text and ten numbers": "{rows:,.0f}",
        "CPU seconds of a fit": "{fit:people}",
        "of all scores": "{scores:people}",
    },
    "picture_regions_marks": {
        "set": "{set}",
        "encoder": "{encoder}",
        "good pictures with a mark": "{good marked:.3f}",
        "faulty ones": "{faulty marked:.3f}",
        "first box lies on the fault": "{first box on the fault:.3f}",
    },
    "labels": {
        "set": "{set}",
        "classes": "{classes}",
        "order by": "{way}",
        "average precision": "{ap:.3f}",
        "behind": _behind,
        "AUC-ROC": "{auc:.3f}",
        "CPU seconds": "{cpu_s:people}",
    },
    "marks": {
        "order by": lambda row: MARKS.get(row["way"], row["way"]),
        "marks": "{marks}",
        "outliers found": "{found:.1f}",
        "times plain": "{times plain:.2f}",
        "sets worse by over 2 (worst)": "{sets worse} ({worst})",
        "intervals held": "{intervals held:.0%}",
    },
    "findings_cells": {
        "way": "{way}",
        "average precision": "{average_precision:.3f}",
        "wrong among as many first": "{precision_at_wrong:.3f}",
    },
    "streams": {
        "": "{what}",
        "hidden layers": "{model}",
        "rows": "{rows:,.0f}",
        "rows/s once started": "{rows_per_s:,.0f}",
        "for each CPU second": "{rows_per_cpu_s:,.0f}",
        "of the first line": "{of_memory:.0%}",
        "peak MiB": "{peak_mib}",
    },
    "service": {
        "": "{what}",
        "seconds": "{seconds}",
        "requests/s": "{per_s:,.0f}",
        "for each CPU second": "{per_cpu_s:,.0f}",
        "median ms": "{p50_ms:,.0f}",
        "p99 ms": "{p99_ms:,.0f}",
        "errors": "{errors}",
        "ours over it (by CPU)": lambda row: f"{row['ratio']:.1f} ({row['ratio_cpu']:.1f})" if row["ratio"] else "",
    },
    "service_arrow": {
        "": "{what}",
        "rows/s": "{rows_per_s:,.0f}",
        "at best": "{best:,.0f}",
        "for each CPU second": "{rows_per_cpu_s:,.0f}",
        "of the first line": "{of_memory:.0%}",
    },
    "onnx_runtime": {
        "rows": "{rows:,.0f}",
        "ONNX Runtime, µs": "{onnx_us:,.0f}",
        "the model, µs": "{model_us:,.0f}",
        "the model's time over ONNX's": "{ratio:.1f}",
    },
    "onnx_tables": {
        "table": "{table}, {cells}",
        "rows × columns": "{rows:,.0f} × {columns}",
        "no score": "{without_a_score:.1%}",
        "apart from Python": "{largest_difference:.1e}",
        "apart from torch": "{largest_difference_to_torch:.1e}",
        "p of another rank": "{other_rank:.1%}",
        "Python, rows/s": "{python_rows_per_s:,.0f}",
        "ONNX Runtime, rows/s": "{onnx_rows_per_s:,.0f}",
        "for the web, rows/s": "{web_rows_per_s:,.0f}",
    },
    "speed": RATIOS,  # of CPU seconds; above 1, ours is the cheaper
    "speed_threads": RATIOS,  # of the clock's seconds on two threads
    "speed_parts": {"part of a fit": "{part}", "CPU seconds": "{seconds}", "share": "{share}"},
    "cost": {
        "CPU seconds": "{method}",
        "fit": lambda row: row["fit_s"] or "–",
        "scores of a million rows": "{score_s}",
    },
    "speed_memory": {"memory added by": "{what}", "MiB": "{MiB}", "wanted": "{bar}"},
    "gpu": {"what": "{what}", "on": "{on}", "seen": "{seen}", "GPU": "{gpu}"},
    "scale": {
        "": "{what}",
        "rows": "{rows:,.0f}",
        "rows/s once started": "{rate:,.0f}",
        "for each CPU second": "{cpu_rate:,.0f}",
        "of the first line": "{of_memory:.0%} ({of_memory_cpu:.0%})",
        "of the workers": "{of_workers:.0%} ({of_workers_cpu:.0%})",
        "peak MiB": lambda row: f"{row['pss']} ({row['rss']})" if row["pss"] else "",
    },
    "scale_fit": {
        "fit": "{what}",
        "rows": "{rows:,.0f}",
        "seconds": "{seconds:.0f}",
        "CPU seconds": "{cpu:.0f}",
        "t = 0": "{t0:.3f}",
        "t = 0.5": "{t05:.3f}",
        "t = 1": "{t1:.3f}",
        "off in rank": "{rank_off:.4f}",
        "peak MiB": "{pss}",
    },
    "explorer": {
        "page": "{page}",
        "points": "{points:,.0f}",
        "size": "{megabytes:.1f} MB",
        "ready (computing)": "{ready_s:.1f} s ({ready_cpu_s:.1f} s)",
        "a turn of t (computing)": "{turn_ms} ms ({turn_cpu_ms} ms)",
    },
    "explorer_acts": {
        "act": "{act}",
        "measured": "{value:g} {unit}",
        "wanted": lambda row: row["wanted"] or "–",
        "computing, each": lambda row: f"{row['computing_ms']} ms" if row["computing_ms"] else "–",
        "load": "{load:g}",
    },
    "explorer_start": {
        "rows": "{rows:,.0f}",
        "on the clock": "{ready_s:.1f} s",
        "computing": "{computing_s:.1f} s",
        "wanted": "{wanted_s} s",
        "load": "{load:g}",
    },
    "review_jobs": {
        "job": "{job}",
        "clicks": "{clicks}",
        "keys": "{keys}",
        "seconds of the machine": "{seconds:.1f}",
        "outcome, checked": "{outcome}",
    },
    "explorer_memory": {
        "after": "{act}",
        "before": "{before_mb:.1f} MB",
        "after it": "{after_mb:.1f} MB",
        "change": "{change}",
        "wanted": "{wanted}",
    },
    "databases": {
        "": "{what}",
        "rows of 16 numbers": "{rows:,.0f}",
        "seconds": "{seconds:.1f}",
        "seconds of a core": "{cpu_s:.1f}",
        "of the server": "{server_cpu_s:.1f}",
        "rows/s": "{rows_per_s:,.0f}",
        "peak MiB": "{peak_mib}",
    },
    "databases_sql": {
        "": "{what}",
        "rows of 16 numbers": "{rows:,.0f}",
        "seconds of a core": "{cpu_s:.2f}",
        "rows/s of a core": "{rows_per_cpu_s:,.0f}",
        "beside Python": "{beside_python:.2f}",
    },
    "extras": {
        "extra": "`{extra}`",
        "packages": "{packages}",
        "MB on disk": lambda row: f"{row['mb']:.1f}" if row["mb"] else "",
        "the largest, in MB": "{largest}",
    },
}
# Of tables that do not have all rows of their result, those that they have.
CHOSEN: dict[str, Callable[[Row], bool]] = {
    "marks": lambda row: row["marks"] in ("20", "50", "100"),
    "findings_cells": lambda row: row["table"] == "hospital",
}
