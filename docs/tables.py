"""Writes the tables of README.md and docs/ from benchmarks/results and paper/results: `make tables`."""

import csv
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).parent.parent
WITH_TABLES = ("method", "lab_notebook", "data", "speed", "service", "scale", "explorer", "explanations")
PAGES = [ROOT / "docs" / "internals" / f"{name}.md" for name in WITH_TABLES]


def rows(name: str, of: str = "benchmarks") -> list[dict[str, str]]:
    with (ROOT / of / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def of_paper(item: str) -> dict[tuple[str, str, str, str], dict[str, str]]:
    found = rows(item, "paper")
    return {(r["dataset"], r["method"], r["metric"], r["settings"]): r for r in found}


def markdown(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def short(number: str) -> str:
    return f"{float(number):.3f}"


def summary() -> str:
    """The README's: paper, paper's settings here, ours."""
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


def streams() -> str:
    body = [
        [
            r["what"],
            r["model"],
            f"{int(r['rows']):,}",
            f"{int(r['rows_per_s']):,}",
            f"{int(r['rows_per_cpu_s']):,}",
            f"{float(r['of_memory']):.0%}" if r["of_memory"] else "",
            r["peak_mib"],
        ]
        for r in rows("streams")
    ]
    header = [
        "",
        "hidden layers",
        "rows",
        "rows/s once started",
        "for each CPU second",
        "of the first line",
        "peak MiB",
    ]
    return markdown(header, body)


def service() -> str:
    body = [
        [
            r["what"],
            r["seconds"],
            *(f"{float(r[name]):,.0f}" for name in ("per_s", "per_cpu_s", "p50_ms", "p99_ms")),
            r["errors"],
            f"{float(r['ratio']):.1f} ({float(r['ratio_cpu']):.1f})" if r["ratio"] else "",
        ]
        for r in rows("service")
    ]
    header = [
        "",
        "seconds",
        "requests/s",
        "for each CPU second",
        "median ms",
        "p99 ms",
        "errors",
        "ours over it (by CPU)",
    ]
    return markdown(header, body)


def service_arrow() -> str:
    counts = ("rows_per_s", "best", "rows_per_cpu_s")
    body = [
        [r["what"], *(f"{int(r[name]):,}" for name in counts), f"{float(r['of_memory']):.0%}"]
        for r in rows("service_arrow")
    ]
    return markdown(["", "rows/s", "at best", "for each CPU second", "of the first line"], body)


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


def onnx_runtime() -> str:
    body = [
        [
            f"{int(r['rows']):,}",
            f"{float(r['onnx_us']):,.0f}",
            f"{float(r['model_us']):,.0f}",
            f"{float(r['ratio']):.1f}",
        ]
        for r in rows("onnx_runtime")
    ]
    return markdown(["rows", "ONNX Runtime, µs", "the model, µs", "the model's time over ONNX's"], body)


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
    body = [[r["protocol"], r["change"], *(short(r[k]) for k in r if k[:2] in ("RO", "PR"))] for r in rows("ablation")]
    return markdown(["protocol", "change", "ROC, A", "PR, A", "ROC, B", "PR, B", "ROC, all", "PR, all"], body)


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


def speed() -> str:
    """Ratios on one thread and on all cores; above 1, ours is the quicker."""
    found = rows("speed")
    settings = list(dict.fromkeys(r["threads"] for r in found))
    cells = {(r["what"], r["against"], r["threads"]): r for r in found}
    body = []
    for what, against in dict.fromkeys((r["what"], r["against"]) for r in found):
        each = [cells[what, against, threads] for threads in settings]
        body.append([what, against, *(r["ratio"] for r in each), each[0]["bar"], each[0]["note"]])
    heads = [f"{threads} thread{'s' * (threads != '1')}" for threads in settings]
    return markdown(["what", "against", *heads, "wanted", ""], body)


def speed_memory() -> str:
    return markdown(
        ["memory added by", "MiB", "wanted"], [[r["what"], r["MiB"], r["bar"]] for r in rows("speed_memory")]
    )


def speed_gpu() -> str:
    body = [[r["what"], f"{float(r['value']):.3g} {r['unit']}", r["bar"], r["device"]] for r in rows("speed_gpu")]
    return markdown(["what", "seen", "wanted", "on"], body)


def scale() -> str:
    body = [
        [
            r["what"],
            f"{int(r['rows']):,}",
            f"{int(r['rate']):,}",
            f"{int(r['cpu_rate']):,}",
            *(f"{float(r[of]):.0%} ({float(r[f'{of}_cpu']):.0%})" for of in ("of_memory", "of_workers")),
            f"{r['pss']} ({r['rss']})" if r["pss"] else "",
        ]
        for r in rows("scale")
    ]
    header = [
        "",
        "rows",
        "rows/s once started",
        "for each CPU second",
        "of the first line",
        "of the workers",
        "peak MiB",
    ]
    return markdown(header, body)


def scale_cuda() -> str:
    found = {"H200": rows("scale_cuda"), "its host's CPU": rows("scale_16_cores")}
    body = [
        [r["what"], where, f"{int(r['rate']):,}", f"{int(r['cpu_rate']):,}", r["pss"]]
        for where, measured in found.items()
        for r in measured
        if "alone" not in r["what"] or where == "H200"
    ]
    return markdown(["", "on", "rows/s once started", "for each CPU second", "peak MiB"], body)


def scale_fit() -> str:
    body = [
        [
            r["what"],
            f"{int(r['rows']):,}",
            f"{float(r['seconds']):.0f}",
            f"{float(r['cpu']):.0f}",
            *(short(r[name]) for name in ("t0", "t05", "t1")),
            f"{float(r['rank_off']):.4f}",
            r["pss"],
        ]
        for r in rows("scale_fit")
    ]
    header = ["fit", "rows", "seconds", "CPU seconds", "t = 0", "t = 0.5", "t = 1", "off in rank", "peak MiB"]
    return markdown(header, body)


def scale_sample() -> str:
    found = rows("scale_sample")
    body = []
    for size in dict.fromkeys(r["rows"] for r in found):
        same = [r for r in found if r["rows"] == size]
        label = f"{int(size):,}" + (" (all)" if size == same[0]["of"] else "")
        body.append([label, *(" / ".join(f"{float(r[name]):.4f}" for r in same) for name in ("t0", "t05", "t1"))])
    return markdown(["rows", "t = 0", "t = 0.5", "t = 1"], body)


def explorer() -> str:
    def seconds(r: dict[str, str], name: str) -> str:
        return f"{float(r[f'{name}_s']):.1f} s ({float(r[f'{name}_cpu_s']):.1f} s)"

    body = [
        [
            r["page"],
            f"{int(r['points']):,}",
            f"{float(r['megabytes']):.1f} MB",
            seconds(r, "ready"),
            f"{r['turn_ms']} ms ({r['turn_cpu_ms']} ms)",
        ]
        for r in rows("explorer")
    ]
    return markdown(["page", "points", "size", "ready (computing)", "a turn of t (computing)"], body)


def explorer_acts() -> str:
    def computing(r: dict[str, str]) -> str:
        return f"{r['computing_ms']} ms" if r["computing_ms"] else "–"

    body = [
        [r["act"], f"{float(r['value']):g} {r['unit']}", r["wanted"] or "–", computing(r), f"{float(r['load']):g}"]
        for r in rows("explorer_acts")
    ]
    return markdown(["act", "measured", "wanted", "computing, each", "load"], body)


def explorer_memory() -> str:
    body = [
        [r["act"], f"{float(r['before_mb']):.1f} MB", f"{float(r['after_mb']):.1f} MB", r["change"], r["wanted"]]
        for r in rows("explorer_memory")
    ]
    return markdown(["after", "before", "after it", "change", "wanted"], body)


DIAL = ("0", "0.5", "1")


def explanations_odd() -> str:
    shares = [*(f"first at t = {t}" for t in DIAL), "first step changes it most"]
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


def explanations_agreement() -> str:
    found = {(r["data"], float(r["t"])): r for r in rows("explanations_agreement")}
    body = [
        [name, *(f"{float(found[name, float(t)][peer]):.2f}" for peer in ("SHAP", "Captum") for t in DIAL)]
        for name in dict.fromkeys(name for name, _ in found)
    ]
    return markdown(["data", *(f"{peer}, t = {t}" for peer in ("SHAP", "Captum") for t in DIAL)], body)


def explanations_speed() -> str:
    body = [
        [r["method"], f"{float(r['rows a second']):,.0f}", f"{float(r['ours is faster by']):.3g}"]
        for r in rows("explanations_speed")
    ]
    return markdown(["method", "rows a second", "ours is faster by"], body)


MADE = (
    ablation,
    detection,
    summary,
    mixture,
    false_discoveries,
    streams,
    service,
    service_arrow,
    hostile,
    onnx_runtime,
    modalities,
    speed,
    speed_memory,
    speed_gpu,
    scale,
    scale_cuda,
    scale_fit,
    scale_sample,
    explorer,
    explorer_acts,
    explorer_memory,
    explanations_odd,
    explanations_replaced,
    explanations_agreement,
    explanations_speed,
)
TABLES = {make.__name__: make for make in MADE}


def filled(page: str) -> str:
    """The page with everything between <!-- NAME --> and <!-- end --> made anew."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", table, page, flags=re.DOTALL)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
