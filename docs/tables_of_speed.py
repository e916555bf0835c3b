"""Writes the tables about speed and memory, each from its file in benchmarks/results."""

import statistics

from results import markdown, people, rows, short


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


def speed() -> str:
    """Ratios of CPU seconds; above 1, ours is the cheaper."""
    return _ratios("speed")


def speed_threads() -> str:
    """Ratios of the clock's seconds on two threads."""
    return _ratios("speed_threads")


def _ratios(name: str) -> str:
    body = [
        [r["what"], r["against"], f"{people(r['ratio'])} ({people(r['least'])} to {people(r['most'])})", r["bar"]]
        for r in rows(name)
    ]
    return markdown(["what", "against", "theirs over ours", "wanted"], body)


def speed_parts() -> str:
    return markdown(["part of a fit", "CPU seconds", "share"], [list(r.values()) for r in rows("speed_parts")])


def cost() -> str:
    body = [[r["method"], r["fit_s"] or "–", r["score_s"]] for r in rows("cost")]
    return markdown(["CPU seconds", "fit", "scores of a million rows"], body)


def speed_memory() -> str:
    return markdown(
        ["memory added by", "MiB", "wanted"], [[r["what"], r["MiB"], r["bar"]] for r in rows("speed_memory")]
    )


def gpu() -> str:
    return markdown(["what", "on", "seen", "GPU"], [list(r.values()) for r in rows("gpu")])


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


def explorer_start() -> str:
    head = ["rows", "on the clock", "computing", "wanted", "load"]
    body = [
        [
            f"{int(r['rows']):,}",
            f"{float(r['ready_s']):.1f} s",
            f"{float(r['computing_s']):.1f} s",
            f"{r['wanted_s']} s",
            f"{float(r['load']):g}",
        ]
        for r in rows("explorer_start")
    ]
    return markdown(head, body)


def review_jobs() -> str:
    body = [[r["job"], r["clicks"], r["keys"], f"{float(r['seconds']):.1f}", r["outcome"]] for r in rows("review_jobs")]
    return markdown(["job", "clicks", "keys", "seconds of the machine", "outcome, checked"], body)


def explorer_memory() -> str:
    body = [
        [r["act"], f"{float(r['before_mb']):.1f} MB", f"{float(r['after_mb']):.1f} MB", r["change"], r["wanted"]]
        for r in rows("explorer_memory")
    ]
    return markdown(["after", "before", "after it", "change", "wanted"], body)


def databases() -> str:
    body = [
        [
            r["what"],
            f"{int(r['rows']):,}",
            f"{float(r['seconds']):.1f}",
            f"{float(r['cpu_s']):.1f}",
            f"{int(r['rows_per_s']):,}",
            r["peak_mib"],
        ]
        for r in rows("databases")
    ]
    return markdown(["", "rows of 16 numbers", "seconds", "seconds of a core", "rows/s", "peak MiB"], body)


def extras() -> str:
    body = [
        [
            r["extra"] if r["extra"] == "none" else f"`{r['extra']}`",
            r["packages"],
            f"{float(r['mb']):.1f}" if r["mb"] else "",
            r["largest"],
        ]
        for r in rows("extras")
    ]
    return markdown(["extra", "packages", "MB on disk", "the largest, in MB"], body)


MADE = (
    databases,
    extras,
    streams,
    service,
    service_arrow,
    hostile,
    onnx_runtime,
    speed,
    speed_threads,
    speed_parts,
    cost,
    speed_memory,
    gpu,
    scale,
    scale_cuda,
    scale_fit,
    explorer,
    explorer_acts,
    explorer_start,
    explorer_memory,
    review_jobs,
)
