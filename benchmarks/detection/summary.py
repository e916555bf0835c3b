"""What the cells say together: means, ranks, paired differences, the worst set, and what others have published."""

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from benchmarks import provenance
from benchmarks.detection.protocols import Result

US = "FUSE"
METRICS = {"roc": "AUC-ROC", "ap": "AUC-PR"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """One protocol, one metric: means over the seeds, for the sets on which every method was run."""

    protocol: str
    metric: str
    sets: list[str]
    methods: list[str]
    values: np.ndarray  # (sets, methods)

    @property
    def ranks(self) -> np.ndarray:
        """(methods,) mean rank over the sets, 1 is best; ties share theirs."""
        return rankdata(-self.values.round(6), axis=1).mean(0)

    @property
    def critical_difference(self) -> float:
        """Nemenyi: mean ranks that differ by more are told apart at the level .05."""
        k = len(self.methods)
        q = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
        return float(q * np.sqrt(k * (k + 1) / (6 * len(self.sets))))

    def of(self, method: str) -> np.ndarray:
        return self.values[:, self.methods.index(method)]

    def lead_over(self, method: str) -> tuple[float, float]:
        """Mean of our difference to it over the sets, and the standard error of that mean."""
        difference = self.of(US) - self.of(method)
        count = len(difference)
        return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(count)) if count > 1 else np.nan

    def worst(self) -> tuple[str, float]:
        """The set on which we fall the most below the median peer, and by how much."""
        peers = np.median(np.delete(self.values, self.methods.index(US), axis=1), axis=1)
        drop = peers - self.of(US)
        return self.sets[int(drop.argmax())], float(drop.max())


def table(results: Iterable[Result], protocol: str, metric: str) -> Table:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        if result.protocol == protocol:
            found[result.data, result.method].append(getattr(result, metric))
    methods = list(dict.fromkeys(method for _, method in found))
    sets = sorted({name for name, _ in found if all((name, method) in found for method in methods)}, key=str.lower)
    values = [[np.mean(found[name, method]) for method in methods] for name in sets]
    return Table(protocol, metric, sets, methods, np.array(values))


def write(results: list[Result], out: Path, published: Path | None) -> None:
    protocols = list(dict.fromkeys(result.protocol for result in results))
    tables = [table(results, protocol, metric) for protocol in protocols for metric in METRICS]
    save(out / "sets.csv", per_set(tables))
    save(out / "summary.csv", per_method(tables, results))
    parts = [f"{len({r.seed for r in results})} seeds. {failures(results)}"]
    parts += [page(t) for t in tables]
    parts += ["## Seconds a set (mean; one thread)", seconds(results)]
    if published is not None and published.exists():
        rows = beside_published(tables, published)
        save(out / "published.csv", rows)
        parts += [f"## Beside {published.name}", published_page(rows)]
    provenance.note(*out.glob("*.csv"))
    text = "\n\n".join(parts) + "\n"
    (out / "summary.md").write_text(text)
    print(text)
    several = [t for t in tables if len(t.sets) > 1 and len(t.methods) > 1]
    try:
        from benchmarks.detection.picture import critical_differences
    except ModuleNotFoundError as missing:
        print(f"No picture: {missing.name} is not installed.")
    else:
        if several:
            critical_differences(several, out / "critical_difference.png")


def per_set(tables: list[Table]) -> list[Row]:
    return [
        {"protocol": t.protocol, "metric": METRICS[t.metric], "data": name, **dict(zip(t.methods, line, strict=True))}
        for t in tables
        for name, line in zip(t.sets, t.values, strict=True)
    ]


def per_method(tables: list[Table], results: list[Result]) -> list[Row]:
    rows = []
    for t in tables:
        for j, method in enumerate(t.methods):
            lead, error = t.lead_over(method) if US in t.methods and method != US else (0.0, 0.0)
            own = [r for r in results if r.protocol == t.protocol and r.method == method]
            rows.append(
                {
                    "protocol": t.protocol,
                    "metric": METRICS[t.metric],
                    "method": method,
                    "mean": t.values[:, j].mean(),
                    "rank": t.ranks[j],
                    "lead": lead,
                    "lead_se": error,
                    "fit_s": np.mean([r.fit_s for r in own]),
                    "score_s": np.mean([r.score_s for r in own]),
                    "failed": sum(bool(r.note) for r in own),
                }
            )
    return rows


def page(t: Table) -> str:
    """Means, ranks and our lead, best mean first; then where we fall back the most."""
    lines = []
    for j in np.argsort(-t.values.mean(0)):
        method, lead = t.methods[j], ""
        if US in t.methods and method != US:
            difference, error = t.lead_over(method)
            lead = f"{difference:+.4f} ± {error:.4f}"
        lines.append([method, f"{t.values[:, j].mean():.4f}", f"{t.ranks[j]:.2f}", lead])
    text = f"## {t.protocol}, {METRICS[t.metric]}, {len(t.sets)} sets\n\n"
    text += markdown(["method", "mean", "mean rank", "FUSE's lead ± standard error over sets"], lines)
    if len(t.methods) > 1:
        text += f"\n\nMean ranks closer than {t.critical_difference:.2f} are not told apart (Nemenyi, .05)."
    if US in t.methods and len(t.methods) > 1:
        name, drop = t.worst()
        below = [f"{n} {d:+.3f}" for n, d in zip(t.sets, drops(t), strict=True) if d < -0.02]
        text += f" Largest drop of FUSE below the median peer: {drop:.3f} ({name})."
        text += f" FUSE minus the best peer, where below -.02: {', '.join(below) or 'nowhere'}."
    return text


def drops(t: Table) -> np.ndarray:
    """(sets,) ours minus the best peer of each set."""
    return t.of(US) - np.delete(t.values, t.methods.index(US), axis=1).max(1)


def seconds(results: list[Result]) -> str:
    methods = list(dict.fromkeys(result.method for result in results))
    lines = []
    for method in methods:
        own = [r for r in results if r.method == method]
        lines.append([method, *(f"{np.mean([getattr(r, name) for r in own]):.3f}" for name in ("fit_s", "score_s"))])
    return markdown(["method", "fit", "score"], lines)


def failures(results: list[Result]) -> str:
    failed = [r for r in results if r.note]
    if not failed:
        return "No cell failed."
    kinds = dict.fromkeys(f"{r.method} on {r.data}, {r.protocol}: {r.note}" for r in failed)
    return f"{len(failed)} cells failed and count as chance:\n\n- " + "\n- ".join(kinds)


def beside_published(tables: list[Table], path: Path) -> list[Row]:
    """Every published method's mean over the sets that both know, ours of the same name beside it."""
    with path.open(newline="") as file:
        known = list(csv.DictReader(file))
    rows = []
    for t in tables:
        own = {name.lower(): i for i, name in enumerate(t.sets)}
        theirs = {
            (line["method"], line["dataset"].lower()): float(line["mean"]) / 100
            for line in known
            if line["setting"] == t.protocol and line["metric"] == METRICS[t.metric]
        }
        common = sorted({name for _, name in theirs} & set(own))
        index = [own[name] for name in common]
        for method in sorted({method for method, _ in theirs} | set(t.methods)):
            values = [theirs[method, name] for name in common if (method, name) in theirs]
            row: Row = {"protocol": t.protocol, "metric": METRICS[t.metric], "sets": len(common), "method": method}
            row["published"] = float(np.mean(values)) if values else ""
            row["here"] = float(t.of(method)[index].mean()) if method in t.methods and index else ""
            rows.append(row)
    return rows


def published_page(rows: list[Row]) -> str:
    """The best of the published beside what the same methods reached here."""
    parts = []
    for key in dict.fromkeys((row["protocol"], row["metric"], row["sets"]) for row in rows):
        own = [row for row in rows if (row["protocol"], row["metric"], row["sets"]) == key]
        own.sort(key=lambda row: -max(row["published"] or 0, row["here"] or 0))
        lines = [
            [row["method"], *(f"{row[name]:.4f}" if row[name] != "" else "" for name in ("published", "here"))]
            for row in own
        ]
        parts.append(
            f"{key[0]}, {key[1]}, {key[2]} sets in common\n\n{markdown(['method', 'published', 'here'], lines)}"
        )
    return "\n\n".join(parts)


def markdown(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def save(path: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()})
