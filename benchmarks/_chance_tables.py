"""Tables without copies, in which rows share days, categories, counts and rounded numbers by chance."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

Columns = dict[str, object]
START = pd.Timestamp("2024-01-01")


def tables_without_copies(n: int, seed: int) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield kinds of tables as people have them: no row is a copy of another, but for chance."""
    rng = np.random.default_rng([n, seed])

    def amounts(decimals: int, deviation: float = 15.0) -> np.ndarray:
        return rng.normal(100, deviation, n).round(decimals)

    def days(count: int = 365) -> pd.Series:
        return START + pd.to_timedelta(rng.integers(0, count, n), unit="D")

    def words(count: int, shares: np.ndarray | None = None) -> np.ndarray:
        return rng.choice([f"word{number:02}" for number in range(count)], n, p=shares)

    falling = 1 / np.arange(1, 41)
    person, country = rng.integers(0, n // 5, n), rng.integers(0, 12, n)
    visits = rng.normal(size=(n // 5, 3))[person] + 0.3 * rng.normal(size=(n, 3))
    begin, price = days(700), amounts(2)
    kinds: dict[str, Columns] = {
        "a day and an amount": {"paid": days(), "amount": amounts(2)},
        "a day and a skewed amount": {"paid": days(), "amount": rng.lognormal(3, 1, n).round(2)},
        "a day, a category, an amount": {"paid": days(), "what": words(6), "amount": amounts(2)},
        "days as text": {"paid": [f"{day:%d.%m.%Y}" for day in days()], "what": words(3), "amount": amounts(2)},
        "many categories, two numbers": {"what": words(40), "a": rng.normal(size=n), "b": rng.normal(size=n)},
        "rare categories": {"what": words(40, falling / falling.sum()), "a": amounts(1), "b": amounts(2)},
        "a sensor, second by second": {"when": pd.date_range(START, periods=n, freq="s"), "v": amounts(1, 1)},
        "counts and a number": {f"k{j}": rng.poisson(3, n) for j in range(6)} | {"x": rng.normal(size=n)},
        "counts": {f"k{j}": rng.poisson(4, n) for j in range(7)},
        "stamps and categories": {
            "when": START + pd.to_timedelta(rng.integers(0, 30 * 86400, n), unit="s"),
            "a": words(5),
            "b": words(8),
            "x": amounts(2),
        },
        "from and to": {"from": begin, "to": begin + pd.to_timedelta(rng.integers(1, 60, n), unit="D"),
                        "x": amounts(2)},
        "visits of persons": {"who": [f"p{who}" for who in person]} | {f"m{j}": visits[:, j] for j in range(3)},
        "a column told by another": {
            "country": [f"L{c}" for c in country],
            "currency": [f"W{c // 2}" for c in country],
            "price": (amounts(2) + 20 * country).round(2),
            "day": days(),
        },
        "a price and its tax": {"price": price, "with tax": (price * 1.19).round(2), "weight": rng.normal(size=n)},
        "a census": {
            "age": rng.integers(18, 90, n),
            "hours": rng.choice([20, 35, 40, 45, 60], n, p=[0.1, 0.1, 0.6, 0.1, 0.1]),
            "school": rng.integers(1, 17, n),
            "job": words(14),
            "weight": rng.integers(10_000, 900_000, n),
        },
        "a station's half hours": {
            "when": START + pd.to_timedelta(30 * rng.integers(0, 48 * 30, n), unit="min"),
            "station": words(20),
            "temperature": amounts(1, 3),
            "wind": rng.gamma(2, 3, n).round(1),
        },
        "mostly zeros": {f"z{j}": np.where(rng.random(n) < 0.8, 0, rng.lognormal(size=n).round(2)) for j in range(5)},
        "gaps": {f"g{j}": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n).round(2)) for j in range(4)},
        "yes or no": {f"b{j}": rng.integers(0, 2, n) for j in range(12)} | {"x": rng.normal(size=n)},
    }  # fmt: skip
    yield from ((name, pd.DataFrame(columns)) for name, columns in kinds.items())
