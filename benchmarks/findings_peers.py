"""Rank the cells of a table as others do, without labels: what `python -m benchmarks.findings` compares with.

histograms     after dBoost (Mariet et al., 2016): each cell is expanded into what can be said of it (its value, length,
               first letter, shape, number), and is as odd as its rarest part in a column whose histogram has peaks.
strategies     after Raha (Mahdavi et al., 2019): its detectors of outliers, patterns and rules with all their settings,
               each of which flags cells. Raha asks people for labels to weigh them; here each flag of a strategy counts
               by how few cells of the column the strategy flags.

Datalab of cleanlab (a list of faults of rows) and ydata-profiling (alerts of columns) want other versions of packages
than we do: `python -m benchmarks.findings peers` runs this file by a Python that has both, $CENTRALITY_PEERS.
"""

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

Frame = pd.DataFrame
PEAKED = 0.6  # of the cells, in the most frequent tenth of the bins: dBoost judges no flat histogram
RARE = np.arange(0.1, 1.0, 0.1)  # shares of a column below which Raha's histograms call a value an outlier
FAR = (1, 1.3, 1.5, 1.7, 2, 2.3, 2.5, 2.7, 3)  # deviations, of its Gaussian
MOST_LEVELS = 50  # of a column that becomes features
PARTS: dict[str, Callable[[str], object]] = {
    "value": lambda text: text,
    "length": len,
    "first letter": lambda text: text[:1],
    "shape": lambda text: re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", text)),
    "run of shapes": lambda text: re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text)),
    "words": lambda text: len(text.split()),
}


def histograms(table: Frame) -> np.ndarray:  # (rows, columns)
    """Return how rare the rarest part of each cell is, as -log of its share, in histograms with peaks."""
    scores = np.zeros(table.shape)
    for place, name in enumerate(table):
        for part in PARTS.values():
            codes = pd.factorize(table[name].astype(str).map(part))[0]
            counts = np.bincount(codes)
            highest = np.sort(counts)[::-1][: max(1, len(counts) // 10)]
            if highest.sum() >= PEAKED * len(codes):
                scores[:, place] = np.maximum(scores[:, place], -np.log(counts[codes] / len(codes)))
    return scores


def strategies(table: Frame) -> np.ndarray:  # (rows, columns)
    """Return the flags of each cell, each counted by how few cells of its column the strategy flags."""
    scores = np.zeros(table.shape)
    for place, flags in _flags(table):
        share = flags.mean()
        if 0 < share < 1:
            scores[flags, place] -= np.log(share)
    return scores


def _flags(table: Frame) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the column and the flags of each strategy."""
    codes = [pd.factorize(table[name])[0] for name in table]
    for place, name in enumerate(table):
        texts = table[name].astype(str)
        counts = np.bincount(codes[place])[codes[place]]
        for share in RARE:
            yield place, counts / counts.max() < share
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
        known = numbers[np.isfinite(numbers)]
        if len(known) > 1 and known.std() > 0:
            for deviations in FAR:
                yield place, np.abs(numbers - known.mean()) > deviations * known.std()
        for letter in sorted(set("".join(texts.unique()))):
            holds = texts.str.contains(letter, regex=False).to_numpy()
            yield place, holds if holds.mean() < 0.5 else ~holds  # Raha's labels choose the side
        for other in range(len(codes)):
            if other != place:  # a rule: the value there determines the one here
                pairs = np.unique(np.stack([codes[other], codes[place]]), axis=1)
                yield place, (np.bincount(pairs[0])[codes[other]] > 1)


def datalab(table: Frame) -> dict[str, list[int]]:
    """Return the rows of each kind of issue that Datalab finds in a table, by numbers and categories as features."""
    from cleanlab import Datalab
    from sklearn.preprocessing import StandardScaler

    numbers = table.select_dtypes("number").astype(float)
    words = table.drop(columns=numbers.columns).astype(str)
    few = words[[name for name in words if words[name].nunique() <= MOST_LEVELS]]
    scaled = StandardScaler().fit_transform(numbers.fillna(numbers.median()))
    lab = Datalab(data={"row": list(range(len(table)))}, verbosity=0)
    lab.find_issues(features=np.hstack([scaled, pd.get_dummies(few).to_numpy(dtype=float)]))
    issues = lab.get_issues()
    kinds = [column for column in issues if column.startswith("is_")]
    return {kind: np.flatnonzero(issues[kind].to_numpy()).tolist() for kind in kinds}


def profile(table: Frame) -> list[list[str]]:
    """Return the alerts of ydata-profiling: kind and column."""
    from ydata_profiling import ProfileReport

    alerts = ProfileReport(table, minimal=True, progress_bar=False).get_description().alerts
    return [[alert.alert_type.name.lower(), str(alert.column_name)] for alert in alerts]


def main(folder: Path) -> None:
    """Write what both find in each .csv of a folder beside it, as JSON."""
    for file in sorted(folder.glob("*.csv")):
        table = pd.read_csv(file)
        found = {"datalab": datalab(table), "profile": profile(table)}
        file.with_suffix(".json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
