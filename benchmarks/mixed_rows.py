"""Are rows of pictures, texts, vectors and attributes found odd, by part and as a combination?

    python -m benchmarks.mixed_rows [--seeds 1] [--sets news,digits,...] [time|markup]     a minute; needs data

Five sets, each with a part that is a picture, a long text or a vector beside ordinary columns:

news     AG News: title and description as one text, its category, numbers of words, capitals, digits
digits   MNIST: the picture, the digit as a word, its ink, and how many rows and columns of it are inked
cifar    CIFAR-10, mostly airplanes: the vector of an EfficientNet, the class as a word, brightness, contrast, blue
tweets   TweetEval: the text, its vector by MiniLM, the sentiment as a word, its length, words and capitals
adult    Adult: the census columns, and some of them again in a sentence of ours

A model learns from one half of the rows. Of the other half some rows are changed in one place:

odd PART     the part is replaced by one of another kind: a tweet for news and news for a tweet, a digit turned by a
             quarter, the halves of two vectors, a sentence whose words are those of news
wild number  one number lies a range of its column beyond the greatest
new word     the category is one that never occurred
swap PART    the part is that of a row of another category: nothing is odd but the combination

results/mixed_rows.csv         a line for each set and fault: AUC and average precision of the changed rows among fresh
    ones, by the whole, by the block that was changed alone, and by peers on the same vectors: kNN of that block, the
    sum of z-scores of a kNN for each part (what PyOD's MultiModalOD does), kNN and IForest on all numbers side by side
results/mixed_rows_reasons.csv  of changed rows that lie among the oddest twentieth, but did not before, how often the
    first reason names the part that was changed (or a pair with it), and how often exactly it: of a swap, the pair
results/mixed_rows_markup.csv  (markup) how many rows of AG News whose description holds a left-over <font> are among
    the oddest fiftieth: by the whole at three t, and by the description alone; of a class, a title and a description
results/mixed_rows_time.csv    (time) CPU seconds for 10,000 rows of a vector of 384, a text and ten numbers
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._results import data, save
from centrality import FUSE, Chain
from centrality.representations import Table
from centrality.representations.base import as_arrow
from centrality.representations.block_columns import BlockEncoder
from centrality.representations.blocks import REST

MOST_ROWS = 4000
CHANGED = 150
NAMED = 0.05  # the share of rows whose reasons are read

Rng = np.random.Generator
Frame = pd.DataFrame
Line = dict[str, object]


@dataclass
class MixedSet:
    """Rows, which columns are parts by themselves, which column is the category, and how a part becomes odd."""

    frame: Frame
    parts: list[str]
    category: str
    odd: Callable[[str, Frame, Rng], list[Any]]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.frame if pd.api.types.is_numeric_dtype(self.frame[name])]


def of_halves(vectors: np.ndarray, rng: Rng, count: int) -> list[Any]:
    """Vectors, each of whose numbers are those of one of two rows."""
    one, other = vectors[rng.integers(len(vectors), size=(2, count))]
    return list(np.where(rng.uniform(size=one.shape) < 0.5, one, other))


def tweet_texts() -> list[str]:
    file = data("paper", "tweeteval_sentiment_test.tsv.gz")
    return list(pd.read_csv(file, sep="\t", quoting=3)["text"])


def news_texts() -> list[str]:
    return list(pd.read_csv(data("extra", "ag_news_test.csv.gz"))["description"])


def news() -> MixedSet:
    raw = pd.read_csv(data("extra", "ag_news_test.csv.gz")).sample(MOST_ROWS, random_state=0)
    text = raw["title"] + ". " + raw["description"]
    names = np.array(["World", "Sports", "Business", "Science"])
    frame = Frame(
        {
            "text": text.to_list(),
            "category": names[raw["label"].to_numpy() - 1],
            "words": text.str.split().str.len().to_numpy(),
            "capitals": text.str.count("[A-Z]").to_numpy(),
            "digits": text.str.count("[0-9]").to_numpy(),
        }
    )
    others = tweet_texts()
    return MixedSet(frame, ["text"], "category", lambda _, rows, rng: list(rng.choice(others, len(rows))))


def digits() -> MixedSet:
    with np.load(data("paper", "mnist_test10k.npz")) as file:
        pictures, labels = file["X"][:MOST_ROWS], file["y"][:MOST_ROWS]
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
    frame = Frame(
        {
            "picture": list(pictures),
            "digit": names[labels],
            "ink": pictures.mean((1, 2)),
            "rows": (pictures.max(2) > 60).sum(1),
            "columns": (pictures.max(1) > 60).sum(1),
        }
    )
    return MixedSet(
        frame, ["picture"], "digit", lambda _, rows, rng: [np.rot90(picture).copy() for picture in rows["picture"]]
    )


def cifar() -> MixedSet:
    with np.load(data("paper", "cifar10_airplane_images.npz")) as file:
        pictures, labels = file["X"], file["y"]
    with np.load(data("paper", "cifar10_effnetlite0.npz")) as file:
        vectors = file["E"].astype(np.float64)
    names = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
    frame = Frame(
        {
            "vector": list(vectors),
            "class": names[labels],
            "brightness": pictures.mean((1, 2, 3)),
            "contrast": pictures.std((1, 2, 3)),
            "blue": pictures[..., 2].mean((1, 2)) - pictures[..., 0].mean((1, 2)),
        }
    )
    return MixedSet(frame, ["vector"], "class", lambda _, rows, rng: of_halves(vectors, rng, len(rows)))


def tweets() -> MixedSet:
    with np.load(data("paper", "tweeteval_minilm.npz")) as file:
        vectors, labels = file["E"].astype(np.float64), file["y"]
    later = list(pd.read_csv(data("paper", "tweeteval_sentiment_val.tsv.gz"), sep="\t", quoting=3)["text"])
    texts = [*tweet_texts()[:1000], *later]
    frame = Frame(
        {
            "text": texts,
            "vector": list(vectors),
            "sentiment": np.array(["negative", "neutral", "positive"])[labels],
            "length": [len(text) for text in texts],
            "words": [len(text.split()) for text in texts],
            "capitals": [sum(letter.isupper() for letter in text) for text in texts],
        }
    )
    others = news_texts()

    def odd(part: str, rows: Frame, rng: Rng) -> list[Any]:
        return list(rng.choice(others, len(rows))) if part == "text" else of_halves(vectors, rng, len(rows))

    return MixedSet(frame, ["text", "vector"], "sentiment", odd)


def adult() -> MixedSet:
    frame = pd.read_parquet(data("extra", "adult_train.parquet")).sample(MOST_ROWS, random_state=0)
    frame = frame.drop(columns=["fnlwgt", "education_num"], errors="ignore").reset_index(drop=True)
    rng = np.random.default_rng(0)
    openings = ["This person, now", "We spoke to somebody who is", "The form was filled in by someone aged"]
    ways = ["earns a living in", "has found work in", "spends the week in"]
    ends = ["and answered all questions at once", "but had little time to talk", "and asked to be called again"]

    def sentence(row: Any) -> str:
        work = str(row.occupation).replace("-", " ").lower()
        state = str(row.marital_status).replace("-", " ").lower()
        opening, way, end = rng.choice(openings), rng.choice(ways), rng.choice(ends)
        return f"{opening} {row.age}, {way} {work}, is {state}, went to school until {row.education}, {end}."

    frame.insert(0, "notes", [sentence(row) for row in frame.itertuples()])
    others = news_texts()
    return MixedSet(frame, ["notes"], "occupation", lambda _, rows, rng: list(rng.choice(others, len(rows))))


SETS: dict[str, Callable[[], MixedSet]] = {
    "news": news,
    "digits": digits,
    "cifar": cifar,
    "tweets": tweets,
    "adult": adult,
}


def with_cells(rows: Frame, column: str, values: list[Any]) -> Frame:
    changed = rows.reset_index(drop=True)
    changed[column] = pd.Series(values, dtype=object)
    return changed


def planted(mixed: MixedSet, fresh: Frame, chosen: np.ndarray, rng: Rng) -> dict[str, tuple[str, Frame]]:
    """The chosen rows with each fault, and the part that it is in."""
    rows = fresh.iloc[chosen].reset_index(drop=True)
    found: dict[str, tuple[str, Frame]] = {}
    for part in mixed.parts:
        found[f"odd {part}"] = part, with_cells(rows, part, mixed.odd(part, rows, rng))
    wild = rows.astype(dict.fromkeys(mixed.numbers, float))
    for place, name in enumerate(rng.choice(mixed.numbers, len(rows))):
        wild.loc[place, name] = 2 * mixed.frame[name].max() - mixed.frame[name].min()
    found["wild number"] = REST, wild
    found["new word"] = REST, with_cells(rows, mixed.category, ["Qwxz"] * len(rows))
    kinds = fresh[mixed.category].fillna("").to_numpy()
    for part in mixed.parts:
        others = [int(rng.choice(np.flatnonzero(kinds != kinds[row]))) for row in chosen]
        found[f"swap {part}"] = f"{part} with", with_cells(rows, part, fresh[part].iloc[others].to_list())
    return found


def part_numbers(table: Table, rows: Frame) -> dict[str, np.ndarray]:
    """The numbers of each part, as its encoder has them, and those of the other columns."""
    arrow = as_arrow(rows)
    encoders = table._encoders  # noqa: SLF001  (what peers get is what ours gets)
    encoded = table._encoded(arrow)  # noqa: SLF001
    blocks = {name: encoder for name, encoder in encoders.items() if isinstance(encoder, BlockEncoder)}
    found = {name: encoder.contents(name, arrow[name]).vectors for name, encoder in blocks.items()}
    found[REST] = np.concatenate([cells.block for name, cells in encoded.items() if name not in blocks], axis=1)
    return found


class Peers:
    """Detectors on the numbers of the parts, each scaled to mean 0 and deviation 1."""

    def __init__(self, numbers: dict[str, np.ndarray], seed: int) -> None:
        self.center = {name: values.mean(0) for name, values in numbers.items()}
        self.scale = {name: np.where((s := values.std(0)) > 0, s, 1.0) for name, values in numbers.items()}
        scaled = self.scaled(numbers)
        self.of_part = {name: KNN().fit(values) for name, values in scaled.items()}
        stack = np.column_stack(list(scaled.values()))
        self.on_stack = {"kNN on all": KNN().fit(stack), "IForest on all": IForest(random_state=seed).fit(stack)}

    def scaled(self, numbers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: (values - self.center[name]) / self.scale[name] for name, values in numbers.items()}

    def scores(self, numbers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        scaled = self.scaled(numbers)
        found = {f"kNN of {name}": model.decision_function(scaled[name]) for name, model in self.of_part.items()}
        known = {name: model.decision_scores_ for name, model in self.of_part.items()}
        usual = {name: (of_rows.mean(), of_rows.std()) for name, of_rows in known.items()}
        found["sum of z-scores"] = np.sum(
            [(found[f"kNN of {name}"] - mean) / (deviation or 1.0) for name, (mean, deviation) in usual.items()], axis=0
        )
        stack = np.column_stack(list(scaled.values()))
        return found | {name: model.decision_function(stack) for name, model in self.on_stack.items()}


def measured(name: str, seed: int) -> tuple[list[Line], list[Line]]:
    """The lines of one set for one seed: how well faults are found, and whether reasons name their part."""
    mixed = SETS[name]()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(mixed.frame))
    half = len(order) // 2
    learned, fresh = (mixed.frame.iloc[rows].reset_index(drop=True) for rows in (order[:half], order[half:]))
    model = Chain(Table(unreadable=1.0), FUSE(random_state=seed)).fit(learned)
    table = model.representation_
    assert isinstance(table, Table)
    peers = Peers(part_numbers(table, learned), seed)
    scored: dict[str, np.ndarray] = {}

    def scores(rows: Frame) -> dict[str, np.ndarray]:
        blocks = {f"block {part}": severity for part, severity in table.severities(rows).items()}
        return {"whole": -model.score_samples(rows)} | blocks | peers.scores(part_numbers(table, rows))

    scored = scores(fresh)
    bound = np.quantile(scored["whole"], 1 - NAMED)
    ordinary = scored["whole"] <= bound
    found: list[Line] = []
    reasons: list[Line] = []
    chosen = rng.permutation(len(fresh))[:CHANGED]
    for fault, (part, rows) in planted(mixed, fresh, chosen, rng).items():
        of_rows = scores(rows)
        labels = np.repeat([0, 1], [len(fresh), len(rows)])
        own = part.removesuffix(" with")
        wanted = {
            "whole": "whole",
            "its block": f"block {own}",
            "the pair": next((key for key in scored if key.startswith(f"block {own} and ") and REST in key), ""),
            "kNN of its part": f"kNN of {own}",
            "sum of z-scores": "sum of z-scores",
            "kNN on all": "kNN on all",
            "IForest on all": "IForest on all",
        }
        line: Line = {"set": name, "fault": fault}
        for kind, measure in (("AUC", roc_auc_score), ("AP", average_precision_score)):
            for label, key in wanted.items():
                both = np.concatenate([scored[key], of_rows[key]]) if key else np.zeros(len(labels))
                line[f"{label} {kind}"] = float(measure(labels, both))
        found.append(line)
        noticed = np.flatnonzero((of_rows["whole"] > bound) & ordinary[chosen])
        if len(noticed):
            first = [why[0].feature if why else "" for why in model.reasons(rows.iloc[noticed], top=1)]
            parts = set(mixed.parts)
            right = [names_part(reason, part, parts) for reason in first]
            loosely = [a or own in reason.split(" and ") for a, reason in zip(right, first, strict=True)]
            reasons.append(
                {
                    "set": name,
                    "fault": fault,
                    "noticed": len(noticed) / int(ordinary[chosen].sum()),
                    "part named first": float(np.mean(loosely)),
                    "exactly": float(np.mean(right)),
                }
            )
    return found, reasons


def names_part(reason: str, part: str, parts: set[str]) -> bool:
    """Say whether a reason names the part that was changed; of a swap, the pair of it with anything."""
    if part.endswith(" with"):
        return part.removesuffix(" with") in reason.split(" and ") and " and " in reason
    if part == REST:
        return reason not in parts and " and " not in reason
    return reason == part


def timed() -> list[Line]:
    """CPU seconds of a fit and of scores, for 10,000 rows of a vector, a text and ten numbers."""
    rng = np.random.default_rng(0)
    n = 10_000
    texts = list(rng.choice(news_texts(), n))
    columns: dict[str, Any] = {f"x{k}": rng.normal(size=n) for k in range(10)}
    frame = Frame({"vector": list(rng.normal(size=(n, 384))), "text": texts} | columns)
    start = time.process_time()
    model = Chain(Table(), FUSE(random_state=0)).fit(frame)
    fitted = time.process_time()
    model.centrality(frame)
    end = time.process_time()
    return [{"rows": n, "fit": fitted - start, "scores": end - fitted, "both": end - start}]


def markup(seeds: int) -> list[Line]:
    """How many of the rows with a left-over <font> are among the oddest fiftieth of AG News, by whole and block."""
    rows = pd.read_csv(data("extra", "ag_news_test.csv.gz"))
    has_font = rows["description"].str.contains("&lt;FONT", case=False).to_numpy()
    most = len(rows) // 50

    def among_oddest(oddness: np.ndarray) -> float:
        return float(has_font[np.argsort(-oddness, kind="stable")[:most]].sum())

    found = []
    for seed in range(seeds):
        model = Chain(Table(), FUSE(random_state=seed)).fit(rows)
        line: Line = {"rows": len(rows), "with <font>": int(has_font.sum()), "oddest": most}
        line |= {
            name: among_oddest(-np.asarray(model.centrality(rows, t=t)))
            for name, t in (("global", 0.0), ("whole", 0.5), ("local", 1.0))
        }
        blocks = model.representation_.severities(rows)
        found.append(line | {"description": among_oddest(blocks["description"])})
    return [{str(key): float(value) for key, value in Frame(found).mean().items()}]


def means(lines: list[Line]) -> list[Line]:
    """Means over seeds, in the order of the first."""
    frame = Frame(lines)
    mean = frame.groupby(["set", "fault"], sort=False).mean().reset_index()
    return [{str(key): value for key, value in line.items()} for line in mean.to_dict("records")]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=["time", "markup"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", default=",".join(SETS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "time":
        save("mixed_rows_time", timed())
        return
    if arguments.what == "markup":
        save("mixed_rows_markup", markup(max(arguments.seeds, 3)))
        return
    found: list[Line] = []
    reasons: list[Line] = []
    for name in arguments.sets.split(","):
        for seed in range(arguments.seeds):
            of_faults, of_reasons = measured(name, seed)
            found += of_faults
            reasons += of_reasons
    save("mixed_rows", means(found))
    save("mixed_rows_reasons", means(reasons))


if __name__ == "__main__":
    main()
