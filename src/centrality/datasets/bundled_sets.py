"""Offer small data sets that need no download: a made-up table of houses, and tables that come with scikit-learn."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from centrality._checks import InputError

HOUSES = 1200
DISTRICTS = ("Altstadt", "Hafen", "Nordend", "Seeblick", "Westend")
HEATING = ("gas", "heat pump", "district", "oil")


def houses() -> pa.Table:
    """Return 1,200 made-up houses with a date, categories and gaps; the last six are odd, each in its own way.

    >>> from centrality.datasets import houses
    >>> table = houses()
    >>> table.num_rows, table.column_names[:3]
    (1200, ['house', 'district', 'sold'])
    """
    rng = np.random.default_rng(2024)
    district = rng.integers(0, len(DISTRICTS), HOUSES)
    built = rng.integers(1890, 2021, HOUSES)
    area = np.exp(rng.normal(4.75, 0.32, HOUSES) + 0.06 * (district == 3))
    rooms = np.clip(np.round(area / 27 + rng.normal(0, 0.7, HOUSES)), 1, None)
    heating = np.where(built > 2005, rng.choice([1, 2], HOUSES), rng.choice([0, 2, 3], HOUSES, p=[0.6, 0.25, 0.15]))
    price = area * (2.6 + 0.5 * district + 0.006 * (built - 1890)) * np.exp(rng.normal(0, 0.14, HOUSES))
    sold = np.datetime64("2019-01-01") + rng.integers(0, 5 * 365, HOUSES)
    columns = {
        "house": [f"H{number:04d}" for number in range(HOUSES)],
        "district": [DISTRICTS[k] for k in district],
        "sold": sold,
        "built": built.astype(np.int64),
        "area": np.round(area, 1),
        "rooms": rooms.astype(np.int64),
        "heating": [HEATING[k] for k in heating],
        "garden": rng.choice(["yes", "no"], HOUSES, p=[0.45, 0.55]),
        "price": np.round(price).astype(np.int64),
    }
    for column, value in (("area", rng.uniform(size=HOUSES) < 0.06), ("heating", rng.uniform(size=HOUSES) < 0.04)):
        columns[column] = [None if gone else v for v, gone in zip(columns[column], value.tolist(), strict=True)]
    rows = pa.table(columns).to_pylist()
    for row, odd in zip(rows[-6:], ODD_HOUSES, strict=True):
        row.update(odd)
    return pa.Table.from_pylist(rows, schema=pa.table(columns).schema)


# What is odd about the last six: the price, the size, a combination that no other house has, a typing error.
ODD_HOUSES: tuple[dict[str, object], ...] = (
    {"price": 4_900, "area": 118.0, "rooms": 4},
    {"area": 940.0, "rooms": 5, "price": 2_100},
    {"built": 1893, "heating": "heat pump", "price": 1_900},
    {"rooms": 19, "area": 64.0},
    {"built": 2020, "heating": "oil", "district": "Seeblick", "price": 95},
    {"area": 1.2, "rooms": 1, "price": 690},
)


def _from_scikit_learn(loader: str) -> Callable[[], pa.Table]:
    def load() -> pa.Table:
        from sklearn import datasets

        bunch = getattr(datasets, loader)()
        names = [str(name).replace(" (cm)", "").replace(" ", "_") for name in bunch.feature_names]
        return pa.table({name: bunch.data[:, j] for j, name in enumerate(names)})

    return load


BUNDLED: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "houses": (houses, "1,200 made-up houses: dates, categories, gaps; six of them are odd"),
    "wine": (_from_scikit_learn("load_wine"), "178 wines, 13 chemical measurements (scikit-learn)"),
    "iris": (_from_scikit_learn("load_iris"), "150 flowers, 4 lengths (scikit-learn)"),
    "breast_cancer": (_from_scikit_learn("load_breast_cancer"), "569 tumours, 30 measurements (scikit-learn)"),
    "digits": (_from_scikit_learn("load_digits"), "1,797 handwritten digits of 8 x 8 pixels (scikit-learn)"),
}


def bundled(name: str) -> pa.Table:
    """Return a data set that comes with the package or with scikit-learn, as an Arrow table without labels.

    >>> from centrality.datasets import bundled
    >>> bundled("wine").num_rows
    178
    """
    if name not in BUNDLED:
        raise InputError(f"There is no bundled data set called {name!r}; there are: {', '.join(BUNDLED)}.")
    return BUNDLED[name][0]()
