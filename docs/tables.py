"""Writes the tables of docs/internals and docs/guides from benchmarks/results and paper/results: `make tables`."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the tests load this file from elsewhere

import tables_of_choices
import tables_of_speed
from results import ROOT, markdown, origin, people, rows, short

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
]


def of_paper(item: str) -> dict[tuple[str, str, str, str], dict[str, str]]:
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


def mixture() -> str:
    body = [[r["settings"], short(r["global"]), short(r["local"])] for r in rows("mixture")]
    return markdown(["settings", "global, with minus mean distance", "local, with smoothed log-density"], body)


def modalities() -> str:
    names = ["fuse_local", "fuse_half", "fuse_global", "knn"]
    body = [
        [
            r["data"],
            f"{int(r['rows']):,} × {r['columns']}",
            *(short(r[name]) if r[name] else "" for name in names),
            f"{float(r['seconds']):.0f}",
        ]
        for r in rows("modalities")
    ]
    header = ["one class against others, AUC-ROC", "fitted on", "FUSE, t = 1", "t = 0.5", "t = 0", "kNN", "seconds"]
    return markdown(header, body)


def column_writings() -> str:
    body = [
        [r["family"], r["columns"], *(f"{float(r[who]):.1%}" for who in ("centrality", "pandas", "skrub"))]
        for r in rows("column_writings")
    ]
    return markdown(["columns of", "how many", "centrality", "pandas", "skrub"], body)


def planted_cells() -> str:
    names = ["file", "cell", "0.2.0", "written", "cleaned"]
    body = [[r[name] for name in names] for r in rows("planted_cells")]
    return markdown(["file", "planted cell", "rank in 0.2.0", "now", "in a file cleaned by hand"], body)


def false_discoveries() -> str:
    body = [
        [
            r["data"],
            f"{float(r['t']):g}",
            f"{float(r['fdr']):g}",
            f"{short(r['false'])} ± {short(r['se'])}",
            short(r["found"]),
        ]
        for r in rows("false_discoveries")
    ]
    return markdown(["data", "t", "fdr asked for", "share of false discoveries", "share of outliers found"], body)


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


DIAL = ("0", "0.5", "1")


def explanations_odd() -> str:
    shares = [*(f"first at t = {t}" for t in DIAL), "first step changes it most", "path changes it most"]
    body = [
        [r["data"], r["columns"], *(f"{float(r[share]):.1%}" for share in shares)] for r in rows("explanations_odd")
    ]
    return markdown(["data", "columns", *shares], body)


def explanations_replaced() -> str:
    kinds = [f"{kind} at t = {t}" for t in DIAL for kind in ("top", "random")]
    body = [
        [r["data"], r["columns"], r["detected"], *(f"{float(r[kind]):+.3f}" for kind in kinds)]
        for r in rows("explanations_replaced")
    ]
    return markdown(["data", "columns", "outliers", *kinds], body)


def explanations_planted() -> str:
    methods = ("ours", "slopes", "Shapley")
    body = [
        [
            r["data"],
            r["fault"],
            *(
                " / ".join(f"{float(r[f'{method}: {name}']):.0%}" for method in methods)
                for name in ("first", "first three")
            ),
            " / ".join(f"{float(r[f'{method}: largest']):.2f}" for method in methods),
            " / ".join(f"{float(r[f'{method}: ms a row']):.1f}" for method in methods),
            f"{float(r['correction has it']):.0%} / {float(r['correction is it']):.0%} of {r['newly odd']}",
        ]
        for r in rows("explanations_planted")
    ]
    names = ["first", "first three", "largest contribution", "ms a row", "correction has it / is just it"]
    return markdown(["data", "fault", *names], body)


def known_truth_called() -> str:
    body = [
        [
            r["data"],
            r["rows"],
            *(f"{float(r[name]):.3f} ± {float(r[f'{name} se']):.3f}" for name in ("fresh", "training")),
        ]
        for r in rows("known_truth_called")
    ]
    return markdown(["data", "rows", "of fresh rows", "of training rows"], body)


def network_worth() -> str:
    """What the local network adds, in thousandths: the whole, and the differences to the background alone."""
    names = {"adbench_dev": "tables", "macrodata_dev": "small tables"}
    body = [
        [
            f"{r['sets']} {names[r['collection']]}",
            f"{r['protocol']}, t = {float(r['t']):g}",
            *(f"{short(r[f'{metric} background'])} → {short(r[f'{metric} whole'])}" for metric in ("roc", "ap")),
            *(
                f"{1000 * float(r[f'{metric} added']):+.1f} ± {1000 * float(r[f'{metric} se']):.1f}"
                for metric in ("roc", "ap")
            ),
        ]
        for r in rows("network_worth")
    ]
    header = ["sets", "protocol", "AUC-ROC", "average precision", "AUC-ROC added, × 1000", "precision added, × 1000"]
    return markdown(header, body)


def network_worlds() -> str:
    body = [
        [
            r["world"],
            f"{int(r['rows']):,}",
            "yes" if r["novelty"] == "True" else "no",
            *(
                " / ".join(f"{float(r[f'{kind}, {name}']):.2f}" for kind in ("mixed", "beside"))
                for name in ("background", "whole", "kNN")
            ),
        ]
        for r in rows("network_worlds")
    ]
    return markdown(["rows lie on", "rows", "novelty", "background alone", "with the network", "kNN"], body)


def contextual_means() -> str:
    body = [[r["method"], *(short(r[name]) for name in ("auc", "ap", "seconds"))] for r in rows("contextual_means")]
    return markdown(["method", "AUC-ROC", "average precision", "seconds of one core"], body)


def contextual_scenarios() -> str:
    names = ["scenario", "method", "models", "answer"]
    body = [[*(r[name] for name in names), f"{float(r['seconds']):.1f}"] for r in rows("contextual_scenarios")]
    return markdown([*names, "seconds of one core"], body)


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


def series_alarms() -> str:
    names = ["kind", "series", "length", "seen at 0.05", "seen at 0.5"]
    body = [[people(r[name]) if name != "kind" else r[name] for name in names] for r in rows("series_alarms")]
    return markdown(["nothing happens in", "series", "moments each", "false alarms at .05", "at .5"], body)


def series_channels() -> str:
    names = ["fault", "series", "found", "blamed"]
    header = ["planted in one channel", "series", "found", "that channel blamed first"]
    return markdown(header, [[r[name] for name in names] for r in rows("series_channels")])


def series_bad() -> str:
    body = [[r["input"], r["error"] and f"refused: {r['error']}", r["notes"], r["events"]] for r in rows("series_bad")]
    return markdown(["input", "error", "notes", "events"], body)


def series_speed() -> str:
    names = ["moments", "channels", "series", "cpu_seconds", "peak_MiB"]
    header = ["moments", "channels", "series", "seconds of the CPU, fit and scores", "peak MiB of the process"]
    return markdown(header, [[people(r[name]) for name in names] for r in rows("series_speed")])


def marks_error_rates() -> str:
    body = [
        [
            r["outliers"],
            r["training rows"],
            f"{float(r['false']):.3f} ± {float(r['se']):.3f}",
            f"{float(r['found']):.2f}",
        ]
        for r in rows("marks_error_rates")
    ]
    return markdown(["outliers", "training rows", "share of calls that are false", "outliers found"], body)


MADE = (
    contextual_means,
    contextual_scenarios,
    summary,
    mixture,
    modalities,
    column_writings,
    planted_cells,
    false_discoveries,
    known_truth_called,
    network_worth,
    network_worlds,
    ablation,
    detection,
    detection_short,
    scale_sample,
    explanations_odd,
    explanations_replaced,
    explanations_planted,
    marks_error_rates,
    series_means,
    series_events,
    series_alarms,
    series_channels,
    series_bad,
    series_speed,
)
TABLES = {make.__name__: make for make in (*MADE, *tables_of_choices.MADE, *tables_of_speed.MADE)}
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
