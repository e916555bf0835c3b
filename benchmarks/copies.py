"""Plant copies and look for them: `python -m benchmarks.copies [planted|chance|time|neighbours]`.

`planted` writes results/copies.csv: recall and precision of pairs, where 100 rows (50 for images) are copied with noise
of a share of the spacing, the median distance of a row to the nearest other one; with one cell changed; as texts typed
anew (case, spaces, one letter in forty); as images encoded anew. Copies that the sets hold by themselves are taken out
before. `chance` writes results/copies_by_chance.csv: of simulated tables without copies, those in which something is
called near. `time` writes results/copies_time.csv: seconds on one core up to a million rows of 64 columns. `neighbours`
writes results/copies_neighbours.csv: seconds in which 15 neighbours of each of 100,000 rows are found, how often the
nearest is the true one, and how often a planted copy is, by our cells and by the index libraries that are installed.
"""

import io
import sys
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._chance_tables import tables_without_copies
from benchmarks._results import data, save
from centrality import copies
from centrality.selection.copies import vectors_of_table
from centrality.selection.duplicates import NEIGHBOURS, nearest

PLANTED = 100
LEVELS = (1e-3, 1e-2, 1e-1)


def vectors() -> Iterator[tuple[str, NDArray[np.float64]]]:
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    for p in (4, 16, 64):
        yield f"Gaussian, {p} columns", rng.normal(size=(2_000, p))
    yield "digits", load_digits(return_X_y=True)[0]
    with np.load(data("embeddings_dev", "ResNet18_SVHN_0.npz")) as file:
        yield "SVHN_0, ResNet18", file["X"].astype(float)[:2_000]
    with np.load(data("adbench_dev", "magic.gamma.npz")) as file:
        yield "magic.gamma", file["X"].astype(float)[:2_000]


def alone(X: Any, take: Any) -> Any:
    """Return the rows that have no copies of any kind among them."""
    found = copies(X)
    lonely = np.setdiff1d(np.arange(found.rows), [row for group in found for row in group.rows])
    return take(X, lonely)


def noisy(X: NDArray[np.float64], part: float) -> NDArray[np.float64]:
    """Return rows with copies of the first ones at their end, at a distance of so large a part of the spacing."""
    import pyarrow as pa

    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
    rng = np.random.default_rng(1)
    Z, _ = vectors_of_table(table)
    spacing = float(np.median(nearest(Z, 1, rng)[0]))
    spread = np.where(X.std(0) > 0, X.std(0) / np.maximum(Z.std(0), 1e-9), 0)  # raw units in one of the scaled
    noise = rng.normal(size=(PLANTED, X.shape[1])) * (spread > 0)
    noise *= part * spacing / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.vstack([X, X[:PLANTED] + noise * spread])


def judged(found: Any, n: int, planted: int) -> dict[str, object]:
    """Return recall and precision: a group is right if it is a row and its copy."""
    groups = {tuple(group.rows) for group in found}
    right = sum((row, n + row) in groups for row in range(planted))
    return {"recall": right / planted, "precision": right / max(len(groups), 1), "called": len(groups)}


def planted() -> None:
    rows: list[dict[str, object]] = []

    def note(name: str, change: str, found: Any, n: int, count: int = PLANTED) -> None:
        rows.append({"set": name, "rows": n, "change": change, **judged(found, n, count)})
        print(rows[-1], flush=True)

    for name, table in tables():
        note(name, "one cell", copies(one_cell(table)), len(table))
    for name, X in vectors():
        single = alone(X, lambda X, rows: X[rows])
        for part in LEVELS:
            note(name, f"noise {part:g} of the spacing", copies(noisy(single, part)), len(single))
    texts = alone(all_texts(), lambda X, rows: [X[row] for row in rows])
    note("AG news", "typed anew", copies([*texts, *map(retyped, texts[:PLANTED], range(PLANTED))]), len(texts))
    images = alone(all_images(), lambda X, rows: [X[row] for row in rows])
    for quality in (90, 50):
        again = [encoded_anew(image, quality) for image in images[: PLANTED // 2]]
        note("CIFAR-10, JPEG", f"quality {quality}", copies([*images, *again]), len(images), PLANTED // 2)
    save("copies", rows)


def tables() -> Iterator[tuple[str, Any]]:
    import pandas as pd

    for name, read in {
        "ames": lambda: pd.read_csv(data("extra", "ames_housing.csv.gz")).drop(columns=["Order", "PID"]),
        "adult": lambda: pd.read_parquet(data("extra", "adult_train.parquet")).iloc[:4_000],
    }.items():
        yield name, alone(read(), lambda X, rows: X.iloc[rows].reset_index(drop=True))


def one_cell(table: Any) -> Any:
    """Return rows with copies of the first ones at their end, each with a cell of another row."""
    import pandas as pd

    rng, changed = np.random.default_rng(2), table.iloc[:PLANTED].copy()
    for row in range(PLANTED):
        for column in rng.permutation(table.shape[1]):
            value = table.iloc[int(rng.integers(len(table))), column]
            if value != changed.iloc[row, column] and not pd.isna(value):
                changed.iloc[row, column] = value
                break
    return pd.concat([table, changed], ignore_index=True)


def all_texts() -> list[str]:
    import pandas as pd

    news = pd.read_csv(data("extra", "ag_news_test.csv.gz"))
    return [str(text) for text in news["description"].iloc[:2_000]]


def retyped(text: str, seed: int) -> str:
    """Return a text with other case and spaces, and one letter in forty another one."""
    rng = np.random.default_rng(seed)
    letters = list(text)
    for place in rng.choice(len(letters), max(len(letters) // 40, 1), replace=False):
        letters[place] = str(rng.choice(list("abcdefghijklmnopqrstuvwxyz")))
    return "  ".join("".join(letters).upper().split())


def all_images() -> list[bytes]:
    with zipfile.ZipFile(data("extra", "cifar10_jpg_folder_400.zip")) as archive:
        return [archive.read(name) for name in sorted(archive.namelist()) if name.endswith(".jpg")]


def encoded_anew(image: bytes, quality: int) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(image)).save(file, "JPEG", quality=quality)
    return file.getvalue()


def by_chance() -> None:
    """Count the simulated tables without copies in which something is called a near copy."""
    rows: list[dict[str, object]] = []
    for n, seeds in ((500, 20), (3_000, 10)):
        calls: dict[str, list[int]] = {}
        for seed in range(seeds):
            for name, table in tables_without_copies(n, seed):
                calls.setdefault(name, []).append(len(copies(table).to_drop(["near"])))
        rows += [
            {"table": name, "rows": n, "tables": seeds, "with a call": int(np.count_nonzero(called))}
            for name, called in calls.items()
        ]
    save("copies_by_chance", rows)


def clusters(n: int) -> NDArray[np.float32]:
    """Return rows of twenty Gaussian clusters, the last of them near copies of the first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 64)).astype(np.float32)[rng.integers(20, size=n)]
    X += rng.normal(size=(n, 64)).astype(np.float32)
    X[-PLANTED:] = X[:PLANTED] + np.float32(1e-3)
    return X


def measure_time() -> None:
    rows: list[dict[str, object]] = []
    for n in (10_000, 100_000, 1_000_000):
        X = clusters(n)
        began, cpu = time.perf_counter(), time.process_time()
        found = copies(X)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        row = {"rows": n, "columns": 64, "seconds": seconds, "cpu_s": cpu, **judged(found, n - PLANTED, PLANTED)}
        rows.append(row)
        save("copies_time", rows)  # size by size: a run may be stopped


def by_cells(X: NDArray[np.float32]) -> NDArray[np.intp]:
    return nearest(X, NEIGHBOURS, np.random.default_rng(0))[1][:, 0]


def by_pynndescent(X: NDArray[np.float32]) -> NDArray[np.intp]:
    import pynndescent

    index = pynndescent.NNDescent(X, n_neighbors=NEIGHBOURS + 1, n_jobs=1, random_state=0)
    return other_than_itself(index.neighbor_graph[0])


def by_hnswlib(X: NDArray[np.float32]) -> NDArray[np.intp]:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=100, random_seed=0)
    index.set_num_threads(1)
    index.add_items(X)
    index.set_ef(50)
    return other_than_itself(index.knn_query(X, NEIGHBOURS + 1)[0])


def by_usearch(X: NDArray[np.float32]) -> NDArray[np.intp]:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=16, expansion_add=100, expansion_search=50)
    index.add(np.arange(len(X)), X, threads=1)
    return other_than_itself(index.search(X, NEIGHBOURS + 1, threads=1).keys)


def by_faiss(X: NDArray[np.float32]) -> NDArray[np.intp]:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.index_factory(X.shape[1], f"IVF{len(X) // 1000},Flat")  # cells of a thousand rows, as ours
    index.train(X[:: max(len(X) // (50 * (len(X) // 1000)), 1)])
    index.add(X)
    return other_than_itself(index.search(X, NEIGHBOURS + 1)[1])


def other_than_itself(found: NDArray[Any]) -> NDArray[np.intp]:
    """Return the first of the neighbours of each row that is not the row itself."""
    itself = found[:, 0] == np.arange(len(found))
    return np.where(itself, found[:, 1], found[:, 0]).astype(np.intp)


def measure_neighbours() -> None:
    X = clusters(100_000)
    asked = np.random.default_rng(1).choice(len(X), 500, replace=False)
    apart = np.square(X).sum(1) - 2 * X[asked] @ X.T
    apart[np.arange(len(asked)), asked] = np.inf
    truth, copied = apart.argmin(1), np.arange(PLANTED)
    rows: list[dict[str, object]] = []
    ways = {"cells of k-means (ours)": by_cells, "faiss, IVF": by_faiss, "hnswlib": by_hnswlib, "usearch": by_usearch,
            "pynndescent": by_pynndescent}  # fmt: skip
    for way, found_by in ways.items():
        began = time.process_time()
        try:
            found = found_by(X)
        except ImportError:
            continue
        seconds = time.process_time() - began
        row: dict[str, object] = {"way": way, "rows": len(X), "cpu_s": seconds}
        row |= {"copies found": float((found[copied] == len(X) - PLANTED + copied).mean())}
        rows.append(row | {"nearest found": float((found[asked] == truth).mean())})
        save("copies_neighbours", rows)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["planted", "chance", "time", "neighbours"]:
        {"planted": planted, "chance": by_chance, "time": measure_time, "neighbours": measure_neighbours}[part]()
