"""Writes the tables of docs/internals and docs/guides from benchmarks/results and paper/results: `make tables`.

`COLUMNS` has the tables that show each row of a result as it is; each of the others has a function.
"""

import re
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the tests load this file from elsewhere

from results import ROOT, Row, markdown, origin, people, rows, short
from table_columns import CHOSEN, COLUMNS

WITH_TABLES = (
    "method",
    "details",
    "lab_notebook",
    "data",
    "series",
    "speed",
    "service",
    "scale",
    "explorer",
    "explanations",
)
GUIDES_WITH_TABLES = (
    "is_my_data_ok",
    "given",
    "picking",
    "copies",
    "labels",
    "marks",
    "databases",
    "mixed_rows",
    "picture_regions",
)
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *(ROOT / "docs" / "internals" / f"{name}.md" for name in WITH_TABLES),
    *(ROOT / "docs" / "guides" / f"{name}.md" for name in GUIDES_WITH_TABLES),
    ROOT / "docs" / "start" / "install.md",
]


def as_it_is(name: str) -> str:
    """Write the rows of a result as `COLUMNS` says."""
    columns = COLUMNS[name]
    chosen = filter(CHOSEN.get(name), rows(name))
    body = [
        [write.format_map(row) if isinstance(write, str) else write(row) for write in columns.values()]
        for row in chosen
    ]
    return markdown(list(columns), body)


def of_paper(item: str) -> dict[tuple[str, str, str, str], Row]:
    found = rows(item, "paper")
    return {(r["dataset"], r["method"], r["metric"], r["settings"]): r for r in found}


def summary() -> str:
    """What the paper prints, its settings here, and ours."""
    found, body = of_paper("table1"), []
    for name in ("Normal", "Student-t", "Uniform"):
        for head in ("Global", "Local"):
            here, ours = (found[name, head, "Spearman", settings] for settings in ("paper", "ours"))
            label = f"{name}: {head} against distance to the mean, Spearman"
            body.append([label, short(here["paper"]), short(here["value"]), short(ours["value"])])
    outliers = of_paper("table3")
    for name, method in (("Breastw", "FUSE"), ("Ionosphere", "Local")):
        line = [f"{name} outliers: {method}, AUC-ROC / AUC-PRC"]
        for settings, column in (("paper", "paper"), ("paper", "value"), ("ours", "value")):
            each = [outliers.get((name, method, metric, settings), {}) for metric in ("AUC-ROC", "AUC-PRC")]
            line.append(" / ".join(short(r[column]) for r in each if r))
        body.append(line)
    mixture = {r["settings"]: r for r in rows("mixture")}
    for head, truth in (("global", "minus mean distance"), ("local", "true log-density")):
        label = f"mixture, p = 64: {head} against {truth}, Spearman"
        body.append([label, "", short(mixture["paper's schedule"][head]), short(mixture["noise_scale=1"][head])])
    return markdown(["", "paper prints", "paper's settings, here", "our schedule"], body)


def ablation() -> str:
    """Changes in thousandths; of the default, the means."""
    body = []
    for r in rows("ablation"):
        line = [r["protocol"], r["change"]]
        for metric in ("roc", "ap"):
            change, error = float(r[f"{metric} change"]), float(r[f"{metric} se"])
            line.append(short(r[metric]) if r["change"] == "default" else f"{change:+.0f} ± {error:.0f}")
        body.append(line)
    return markdown(["protocol", "change", "AUC-ROC", "average precision"], body)


def detection() -> str:
    """Means over the sets, mean ranks and FUSE's lead, a line for each method, best first by the mean of the means."""
    found = rows("detection/summary")
    tables = list(dict.fromkeys((r["protocol"], r["metric"]) for r in found))
    cells = {(r["protocol"], r["metric"], r["method"]): r for r in found}
    methods = list(dict.fromkeys(r["method"] for r in found))
    methods.sort(key=lambda method: -sum(float(cells[*table, method]["mean"]) for table in tables))
    body = []
    for method in methods:
        line = [f"**{method}**" if method == "FUSE" else method]
        for table in tables:
            r = cells[*table, method]
            lead = "" if method == "FUSE" else f", {float(r['lead']):+.3f} ± {short(r['lead_se'])}"
            line.append(f"{short(r['mean'])} ({float(r['rank']):.1f}){lead}")
        body.append(line)
    return markdown(["method", *(f"{protocol}, {metric}" for protocol, metric in tables)], body)


def detection_short() -> str:
    """Mean AUC-ROC of the detectors that people know, the best first."""
    mean = {
        (r["method"], r["protocol"]): float(r["mean"])
        for r in rows("detection/summary")
        if r["metric"] == "AUC-ROC" and r["method"] in KNOWN_METHODS
    }
    known = sorted(KNOWN_METHODS, key=lambda method: -mean[method, "unsupervised"] - mean[method, "one-class"])
    body = [[KNOWN_METHODS[m], short(mean[m, "unsupervised"]), short(mean[m, "one-class"])] for m in known]
    return markdown(["", "outliers among the training rows", "clean training rows"], body)


KNOWN_METHODS = {
    "FUSE": "**centrality**",
    "IForest": "IsolationForest",
    "kNN": "kNN (PyOD)",
    "ECOD": "ECOD (PyOD)",
    "HBOS": "HBOS (PyOD)",
    "LOF": "LOF",
}


def scale_sample() -> str:
    found = rows("scale_sample")
    body = []
    for size in dict.fromkeys(r["rows"] for r in found):
        same = [r for r in found if r["rows"] == size]
        label = f"{int(size):,}" + (" (all)" if size == same[0]["of"] else "")
        body.append([label, *(" / ".join(f"{float(r[name]):.4f}" for r in same) for name in ("t0", "t05", "t1"))])
    return markdown(["rows", "t = 0", "t = 0.5", "t = 1"], body)


def series_means() -> str:
    """Return VUS-PR by collection, for one channel and for several: ours, what was run beside it, what is published."""
    parts = []
    for kind in ("univariate", "multivariate"):
        found = [r for r in rows("series_means") if r["kind"] == kind]
        about = ("kind", "collection", "series", "Timeline AUC-PR")
        names = [name for name in found[0] if name not in about and any(r[name] for r in found)]
        body = []
        for r in found:
            best = max((name for name in names if r[name]), key=lambda name: float(r[name]))
            cells = [f"**{short(r[name])}**" if name == best else short(r[name]) if r[name] else "" for name in names]
            body.append([r["collection"], r["series"], *cells])
        parts.append(markdown([f"{kind} collection", "series", *names], body))
    return "\n\n".join(parts)


def series_events() -> str:
    """Return events found and called besides, of each collection by Timeline and of all by the others."""
    header = ["channels", "collection", "method", "labelled", "found at .05", "besides", "found at .5", "besides"]
    names = ["kind", "collection", "method", "labelled", "found_0.05", "others_0.05", "found_0.5", "others_0.5"]
    chosen = [r for r in rows("series_events") if r["method"] == "Timeline" or r["collection"] == "all"]
    return markdown(header, [[r[name] for name in names] for r in chosen])


def pick_coverage() -> str:
    found: dict[tuple[str, str, str], dict[str, Row]] = {}
    for r in rows("pick_coverage"):
        found.setdefault((r["rows"], r["columns"], r["picked"]), {})[r["way"]] = r
    ways = ("select, diverse", "plain greedy", "k-centre", "random")
    body = []
    for (n, p, k), by_way in found.items():
        cells = [f"{short(r['distance'])} ({people(r['cpu_s'])} s)" if (r := by_way.get(w)) else "" for w in ways]
        body.append([f"{int(k):,} of {int(n):,} × {p}", *cells])
    return markdown(["mean distance to the nearest pick (CPU time)", *ways], body)


def pick_probe() -> str:
    found: dict[str, dict[str, Row]] = {}
    for r in rows("pick_probe"):
        found.setdefault(r["set"], {})[r["way"]] = r
    ways = ("to label", "diverse", "k-means", "k-centre", "random")
    body = [
        [
            name,
            *(f"{short(by[w]['accuracy'])}" + ("" if w == "to label" else f" ± {short(by[w]['s.e.'])}") for w in ways),
        ]
        for name, by in found.items()
    ]
    return markdown(["accuracy from 100 picked rows (± s.e. of the difference from `to label`)", *ways], body)


def copies_by_chance() -> str:
    found = rows("copies_by_chance")
    sizes = sorted({int(r["rows"]) for r in found})
    body = []
    for name in dict.fromkeys(r["table"] for r in found):
        counts = {int(r["rows"]): f"{r['with a call']} of {r['tables']}" for r in found if r["table"] == name}
        body.append([name, *(counts[size] for size in sizes)])
    return markdown(["table", *(f"{size:,} rows, with a call" for size in sizes)], body)


def findings_peers() -> str:
    ours, others = rows("findings_planted"), rows("findings_peers")
    faults = list(dict.fromkeys(r["fault"] for r in ours))
    body = []
    for fault in faults:
        counts = [sum(int(r["found"]) for r in ours if r["fault"] == fault)]
        counts += [sum(int(r[peer]) for r in others if r["fault"] == fault) for peer in ("datalab", "ydata_profiling")]
        body.append([fault, *(f"{count} of 3" for count in counts)])
    return markdown(["fault", "centrality check", "Datalab", "ydata-profiling"], body)


def findings_planted() -> str:
    found = rows("findings_planted")
    body = []
    for fault in dict.fromkeys(r["fault"] for r in found):
        of_fault = [r for r in found if r["fault"] == fault]
        body.append([fault, f"{sum(int(r['found']) for r in of_fault)} of {len(of_fault)}",
                     str(sum(int(r["others"]) for r in of_fault))])  # fmt: skip
    return markdown(["fault", "found", "other findings that the table without it does not have"], body)


def picture_regions() -> str:
    columns = ["ours", "PatchCore", "PatchCore whitened"]
    columns += [f"{way} pixels" for way in columns]
    found = rows("picture_regions")
    body = [[r["set"], r["encoder"], *(short(r[column]) for column in columns)] for r in found]
    for encoder in dict.fromkeys(r["encoder"] for r in found):
        of_encoder = [r for r in found if r["encoder"] == encoder]
        body.append(["**mean**", encoder, *(_mean(of_encoder, column) for column in columns)])
    ways = ["PictureRegions", "PatchCore", "PatchCore, whitened vectors"]
    return markdown(["set", "encoder", *ways, *(f"pixels: {way}" for way in ways)], body)


def picture_regions_choices() -> str:
    found = rows("picture_regions_choices")
    body = []
    for encoder in dict.fromkeys(r["encoder"] for r in found):
        for position in dict.fromkeys(r["position"] for r in found):
            chosen = [r for r in found if r["encoder"] == encoder and r["position"] == position]
            means = [_mean(chosen, column) for column in ("lowest", "1%", "5%", "mean", "pixels")]
            body.append([encoder, f"{float(position):g}", *means])
    ways = ["the oddest patch", "mean of 1% (`lowest=0.01`)", "of 5%", "of all", "pixels"]
    return markdown(["encoder", "`position`", *ways], body)


def _mean(found: list[Row], column: str) -> str:
    return short(str(statistics.mean(float(row[column]) for row in found)))


def hostile() -> str:
    found = rows("hostile")

    def middle(name: str) -> str:
        return f"{statistics.median(float(r[name]) for r in found):,.0f}"

    memory = [float(r["service_mib"]) + float(r["large_process_mib"]) for r in found]
    errors = sum(int(r["errors"]) for r in found)
    body = [
        ["in peace", *(middle(f"calm_{name}") for name in ("per_s", "p50_ms", "p99_ms")), "", ""],
        [
            "with the hostile client",
            *(middle(name) for name in ("per_s", "p50_ms", "p99_ms")),
            str(errors),
            f"{min(memory):,.0f} to {max(memory):,.0f}",
        ],
    ]
    return markdown(["", "requests/s", "median ms", "p99 ms", "errors", "MiB, by the minute"], body)


def scale_cuda() -> str:
    found = {"H200": rows("scale_cuda"), "its host's CPU": rows("scale_16_cores")}
    body = [
        [r["what"], where, f"{int(r['rate']):,}", f"{int(r['cpu_rate']):,}", r["pss"]]
        for where, measured in found.items()
        for r in measured
        if "alone" not in r["what"] or where == "H200"
    ]
    return markdown(["", "on", "rows/s once started", "for each CPU second", "peak MiB"], body)


FUNCTIONS = (
    summary,
    ablation,
    detection,
    detection_short,
    scale_sample,
    series_means,
    series_events,
    pick_coverage,
    pick_probe,
    copies_by_chance,
    findings_peers,
    findings_planted,
    picture_regions,
    picture_regions_choices,
    hostile,
    scale_cuda,
)
TABLES: dict[str, Callable[[], str]] = {name: partial(as_it_is, name) for name in COLUMNS}
TABLES |= {function.__name__: function for function in FUNCTIONS}
# Of tables that do not show the one result of their name.
SHOWN = {
    "summary": ("paper/results/table1.csv", "paper/results/table3.csv", "benchmarks/results/mixture.csv"),
    "detection_short": ("benchmarks/results/detection/summary.csv",),
    "detection": ("benchmarks/results/detection/summary.csv",),
    "scale_cuda": ("benchmarks/results/scale_cuda.csv", "benchmarks/results/scale_16_cores.csv"),
}


def filled(page: str) -> str:
    """The page with everything between <!-- NAME --> and <!-- end --> made anew: the table, and how it was measured."""

    def table(match: re.Match[str]) -> str:
        shown = SHOWN.get(match[1], (f"benchmarks/results/{match[1]}.csv",))
        return f"<!-- {match[1]} -->\n{TABLES[match[1]]()}\n{origin(*shown)}\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
