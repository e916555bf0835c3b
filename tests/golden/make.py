"""Make a golden pair by the present code: a model file, and the scores that it must give for ever.

    python -m tests.golden.make NAME

Run it when the format changes, before or after: once a version is published, its pairs are never made again, and none
is removed. The code below uses only what every version has, so that an old checkout can run it too.
"""

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def rows_of_numbers() -> np.ndarray:
    """Two clusters, of which one is small, and a column on another scale; the same bits on every machine."""
    i = np.arange(240, dtype=np.float64)
    spread = np.sin(i * 12.9898) * 43758.5453 % 1 + np.sin(i * 78.233) * 12543.123 % 1 - 1
    other = np.sin(i * 39.425) * 21345.678 % 1 + np.cos(i * 11.135) * 31415.926 % 1 - 1
    return np.column_stack([spread + 3 * (i % 5 == 0), other, 100 * (spread - other) ** 2]).round(6)


def asked(rows: np.ndarray) -> np.ndarray:
    """Rows whose scores are pinned: known ones, their middle, and ever farther ones."""
    middle = rows.mean(0)
    return np.vstack([rows[:20], middle, *(middle + k * np.array([1.0, -1.0, 50.0]) for k in (2, 5, 20, 100))])


def main(name: str) -> None:
    from centrality import FUSE

    rows = rows_of_numbers()
    settings = {"random_state": 0, "hidden": (4,), "max_steps": 100, "noise_scale": [0.3, 0.8], "t": 0.25}
    model = FUSE(**settings).fit(rows)
    model.save(HERE / f"{name}.safetensors")
    Q = asked(rows)
    pinned = {
        "rows": Q.tolist(),
        "heads": model.heads(Q).tolist(),
        "centrality": model.centrality(Q).tolist(),
        "score_samples": model.score_samples(Q).tolist(),
        "predict": model.predict(Q).tolist(),
    }
    (HERE / f"{name}.json").write_text(json.dumps(pinned) + "\n")


def make_chain(name: str) -> None:
    """The same of a chain with a table: numbers with gaps, as such and as people write them, a date, a category."""
    import pyarrow as pa

    from centrality import FUSE, Chain
    from centrality.representations import Table

    rows = rows_of_numbers()[:120]
    table = pa.table(
        {
            "size": [None if i % 10 == 0 else float(x) for i, x in enumerate(rows[:, 0])],
            "price": ["n/a" if i % 12 == 0 else f"{x:,.2f} €" for i, x in enumerate(1000 * rows[:, 2])],
            "kind": ["oak" if x > 0 else "elm" for x in rows[:, 1]],
            "day": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(len(rows))],
        }
    )
    chain = Chain(Table(), FUSE(random_state=0, hidden=(4,), max_steps=60, noise_scale=0.5, ensemble=1)).fit(table)
    chain.save(HERE / f"{name}.safetensors")
    few = table.slice(0, 30)
    pinned = {
        "table": few.to_pydict(),
        "heads": chain.heads(few).tolist(),
        "centrality": chain.centrality(few).tolist(),
    }
    (HERE / f"{name}.json").write_text(json.dumps(pinned) + "\n")


def make_given(name: str) -> None:
    """The same of rows of four kinds, whose middles and spreads differ, given the kind and a number."""
    from centrality import FUSE

    rows, kind = rows_of_numbers(), np.arange(240) % 4
    rows = np.column_stack([(1 + kind) * rows[:, 0] + 5 * kind, rows[:, 1], rows[:, 2], kind])
    model = FUSE(random_state=0, hidden=(4,), max_steps=60, noise_scale=0.5, ensemble=1, given=[2, 3]).fit(rows)
    model.save(HERE / f"{name}.safetensors")
    Q = rows[:40] + np.array([1.0, -1.0, 0.0, 0.0]) * (np.arange(40)[:, None] % 3)
    pinned = {"rows": Q.tolist(), "heads": model.heads(Q).tolist(), "centrality": model.centrality(Q).tolist()}
    (HERE / f"{name}.json").write_text(json.dumps(pinned) + "\n")


def made_titles() -> list[str]:
    """Sentences of a few words, all different but for a handful, and one of other words."""
    whos, does = ("the teacher", "a young doctor", "our neighbour", "the old baker"), ("sells", "paints", "forgets")
    what = ("a wooden table", "the yellow house", "two small boats", "some fresh bread", "an empty garden")
    titles = [f"{whos[i % 4]} {does[i % 3]} {what[i % 5]} {('today', 'again')[i // 60 % 2]}" for i in range(119)]
    return [*titles, "Zwölf Boxkämpfer jagen Viktor quer über den Deich"]


def make_words(name: str) -> None:
    """The same of a chain with a table: a number, and a column of texts."""
    import pyarrow as pa

    from centrality import FUSE, Chain
    from centrality.representations import Table

    table = pa.table({"size": rows_of_numbers()[:120, 0], "title": made_titles()})
    chain = Chain(Table(), FUSE(random_state=0, hidden=(4,), max_steps=60, noise_scale=0.5, ensemble=1)).fit(table)
    chain.save(HERE / f"{name}.safetensors")
    few = table.slice(90)
    pinned = {
        "table": few.to_pydict(),
        "heads": chain.heads(few).tolist(),
        "centrality": chain.centrality(few).tolist(),
    }
    (HERE / f"{name}.json").write_text(json.dumps(pinned) + "\n")


if __name__ == "__main__":
    {"chain": make_chain, "given": make_given, "words": make_words}.get(sys.argv[1].rpartition("-")[2], main)(
        sys.argv[1]
    )
