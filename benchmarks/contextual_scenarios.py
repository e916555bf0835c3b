"""Try what a context is for on rows whose kinds are known: `python -m benchmarks.contextual_scenarios`.

Markets by the day, a spread that grows with the context, two branches, 20 groups of 30 to 3,000 rows, whose spreads and
shapes differ, 2,000 groups of 5 to 50. It writes results/contextual_scenarios.csv; seconds are those of one core.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import save
from centrality import FUSE

Matrix = NDArray[np.float64]
FITS = 5  # whose mean is told: one fit knows a group of 30 rows to .05 only, whatever it does


def markets(rng: np.random.Generator, groups: int = 90, days: int = 540) -> tuple[Matrix, list[tuple[int, int]]]:
    """Return volume, market and weekday, row by row, and two odd rows: market and day.

    On one day a market's volume falls by 80% and the others take it over, so that the total stands still; on another
    one a market's is zero.
    """
    market, day = (each.ravel() for each in np.meshgrid(np.arange(groups), np.arange(days), indexing="ij"))
    level, week = np.exp(rng.normal(8, 1.5, groups)), 1 + 0.3 * rng.random((groups, 7))
    volume = level[market] * week[market, day % 7] * np.exp(0.1 * rng.normal(size=len(market)))
    odd = [(groups // 3, days - 40), (groups // 2, days - 20)]
    fallen = (market == odd[0][0]) & (day == odd[0][1])
    lost, others = 0.8 * volume[fallen].sum(), (day == odd[0][1]) & ~fallen
    volume[others] *= 1 + lost / volume[others].sum()
    volume[fallen] *= 0.2
    volume[(market == odd[1][0]) & (day == odd[1][1])] = 0.0
    return np.column_stack([volume, market, day % 7, day]), odd


def _places(rows: Matrix, odd: Matrix, wanted: list[tuple[int, int]]) -> list[int]:
    """Return the places of the odd rows among those of their day, the oddest being 1."""
    found = []
    for market, day in wanted:
        own = rows[:, 3] == day
        found.append(1 + int((odd[own] > odd[own & (rows[:, 1] == market)]).sum()))
    return found


def _per_market(rows: Matrix) -> Matrix:
    odd = np.zeros(len(rows))
    for market in np.unique(rows[:, 1]):
        own = rows[:, 1] == market
        x = rows[own][:, [0, 2]]
        odd[own] = -FUSE(random_state=0).fit(x).score_samples(x)
    return odd


def main() -> None:
    rows, wanted = markets(np.random.default_rng(0))
    found: list[dict[str, object]] = []

    def note(scenario: str, method: str, models: int, work: Callable[[], str]) -> None:
        began = time.process_time()
        answer = work()
        found.append({"scenario": scenario, "method": method, "models": models, "answer": answer})
        found[-1]["seconds"] = time.process_time() - began
        print(found[-1], flush=True)

    def at_once(**settings: object) -> str:
        model = FUSE(random_state=0, **settings).fit(rows[:, :3])  # type: ignore[arg-type]
        return str(_places(rows, -model.score_samples(rows[:, :3]), wanted))

    places = "90 markets, 540 days: places of the two odd ones of their day"
    note(places, "FUSE pooled", 1, at_once)
    note(places, "FUSE given market, weekday", 1, lambda: at_once(given=[1, 2]))
    spread = "x given c is N(0, c²), {:,} rows: share of p-values up to .1 in tenths of c"
    note(spread.format(5000), "FUSE pooled", 1, lambda: _spread(5000))
    for n in (2000, 5000):
        note(spread.format(n), "FUSE given c", 1, lambda n=n: _spread(n, given=[1]))
    between = "two branches: AUC of points between them"
    note(between, "FUSE given c", 1, _between)
    within = "20 groups of 30 to 3,000 rows, {}: share of p-values up to .1 in groups"
    for spread, shapes, words in ((0.0, 1, "of one spread"), (0.7, 1, "of own spreads"), (0.7, 4, "own shapes too")):
        about = (spread, shapes)
        note(within.format(words), "FUSE given group", 1, lambda about=about: _in_groups(*about, given=[1]))
    note(within.format("of own spreads"), "FUSE pooled", 1, lambda: _in_groups(0.7, 1))
    many = "2,000 groups of 5 to 50 rows: AUC of rows that have the behaviour of another one's"
    note(many, "FUSE pooled", 1, lambda: _many_groups())
    note(many, "FUSE given group", 1, lambda: _many_groups(given=[1]))
    save("contextual_scenarios", found)  # what follows takes as long as all of this, many times
    note(places, "FUSE per market", 90, lambda: str(_places(rows, _per_market(rows), wanted)))
    save("contextual_scenarios", found)


def _told(shares: list[list[float]]) -> str:
    """Return the smallest and the largest of the means over fits, and of single fits."""
    means, each = np.mean(shares, axis=0), np.array(shares)
    return f"{means.min():.3f} to {means.max():.3f}; one fit {each.min():.3f} to {each.max():.3f}"


def _spread(n: int, **settings: object) -> str:
    def draw(n: int, rng: np.random.Generator) -> Matrix:
        c = rng.uniform(0.2, 5, n)
        return np.column_stack([c * rng.normal(size=n), c])

    shares = []
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        model, new = FUSE(random_state=seed, **settings).fit(draw(n, rng)), draw(20_000, rng)  # type: ignore[arg-type]
        p, tenth = model.p_values(new), np.minimum(((new[:, 1] - 0.2) / 0.48).astype(int), 9)
        shares.append([float((p[tenth == k] <= 0.1).mean()) for k in range(10)])
    return _told(shares)


def _between() -> str:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)

    def branches(n: int) -> tuple[Matrix, Matrix]:
        c = rng.uniform(0, 3, n)
        return np.where(rng.random(n) < 0.5, 1 + c, -1 - 0.5 * c) + 0.15 * rng.normal(size=n), c

    model, (x, c) = FUSE(random_state=0, given=[1]).fit(np.column_stack(branches(2000))), branches(500)
    rows = np.column_stack([np.concatenate([x, 0.25 * c]), np.concatenate([c, c])])
    return f"{roc_auc_score(np.repeat([0, 1], 500), -model.score_samples(rows)):.3f}"


def _groups(
    sizes: NDArray[np.int64], rng: np.random.Generator, *, spread: float, shapes: int = 1
) -> tuple[Callable[..., Matrix], Matrix]:
    """Return how to draw rows of groups with middles of their own, and spreads that differ so much; and rows.

    Of so many shapes, group k has the one of number k modulo shapes.
    """
    middle, own = rng.normal(0, 5, len(sizes)), np.exp(spread * rng.normal(size=len(sizes)))

    def draw(group: NDArray[np.int64]) -> Matrix:
        n = len(group)
        kinds = [rng.normal(size=n)]
        if shapes > 1:
            kinds += [rng.uniform(-1.7, 1.7, n), rng.exponential(size=n), rng.standard_t(3, n)]
        z = np.stack(kinds)[group % shapes, np.arange(n)]
        return np.column_stack([middle[group] + own[group] * z, group])

    return draw, draw(np.repeat(np.arange(len(sizes)), sizes))


def _in_groups(spread: float, shapes: int, **settings: object) -> str:
    sizes, group, shares = np.geomspace(30, 3000, 20).astype(np.int64), np.repeat(np.arange(20), 2000), []
    draw, _ = _groups(sizes, np.random.default_rng(0), spread=spread, shapes=shapes)
    for seed in range(FITS):
        rows = draw(np.repeat(np.arange(20), sizes))
        p = FUSE(random_state=seed, **settings).fit(rows).p_values(draw(group))  # type: ignore[arg-type]
        shares.append([float((p[group == each] <= 0.1).mean()) for each in range(20)])
    return _told(shares)


def _many_groups(**settings: object) -> str:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    rows = _groups(rng.integers(5, 51, 2000), rng, spread=0.7)[1]
    odd = rng.random(len(rows)) < 0.02
    rows[odd, 0] = rng.permutation(rows[odd, 0])  # the behaviour of a row of another group, most likely
    model = FUSE(random_state=0, **settings).fit(rows)  # type: ignore[arg-type]
    return f"{roc_auc_score(odd, -model.score_samples(rows)):.3f}"


if __name__ == "__main__":
    main()
