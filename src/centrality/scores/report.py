"""Say whether a fit went well: a report as plain data, and the sentences that follow from it, as text or as a page.

It needs neither the model nor torch; `examine` measures it when a model is fitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill

import numpy as np
from numpy.typing import NDArray

from centrality.scores import html

HEADS = ("global", "local")
WIDTH = 100  # characters a line of the printed report
FLAT = 0.01  # a head whose middle half lies closer together tells few rows apart
TOLD_APART_ENOUGH = 0.75  # with noise of three deviations, 80% can be told apart even in one dimension
FEW_ROWS, ROWS_A_COLUMN = 50, 2
BY_HEART = 2.0
OFF_ZERO = 100.0  # deviations; at 1000 the network's float32 moves scores by 3e-5, and that grows in proportion


@dataclass(frozen=True, repr=False)
class Report:
    """Hold the report of `FUSE.report()`: numbers, and in `warnings` what they mean and what to do about it.

    >>> import numpy as np
    >>> from centrality import FUSE
    >>> report = FUSE(random_state=0, max_steps=20).fit(np.random.default_rng(0).normal(size=(40, 2))).report()
    >>> report.rows, report.columns
    (40, 2)
    >>> [warning for warning in report.warnings if "few" in warning]
    ['40 rows are few: scores would change with other rows. 50 or more are wanted.']
    """

    rows: int  # trained on
    held_aside: int
    columns: int
    constant_columns: int
    copies: float  # share of (at most 10,000 of) the rows that repeat another one
    losses: dict[str, dict[str, float]]  # head: at "start" and "end", its standard "error", of "nothing" learned
    told_apart: dict[str, float]  # head: how often it prefers a row to one with noise of three deviations
    spread: dict[str, float]  # head: how far apart its quartiles are on the training rows, of [0, 1]
    distinct: dict[str, float]  # head: how many scores there are for each distinct row
    saturated: float  # share of the rows at the ends of the global scale
    influence: dict[str, dict[str, float]]  # head: the columns that move it the most, and their shares
    off_zero: dict[str, float] = field(default_factory=dict)  # columns whose mean is many deviations off, and how many
    wild: dict[str, int] = field(default_factory=dict)  # columns whose variance comes from a few cells, and how many
    far_but_dense: int = 0  # rows far from all others that the local head finds typical
    by_heart: float = 0.0  # how much more typical networks find rows that they have seen, in units of the upper half
    kinds: dict[str, int] = field(default_factory=dict)  # levels of the context measured by "own" and by "shared" rows

    @property
    def learned(self) -> dict[str, bool]:
        """Say whether each head has learned something.

        Its loss must have fallen beyond chance; the global one by a hundredth, as an untrained network may by luck.
        With little noise even a perfect local loss is hardly below that of no learning: there, preferring rows to noisy
        copies is enough, if the global head has learned too.
        """
        bound = {head: loss["end"] + 3 * loss["error"] for head, loss in self.losses.items()}
        start, nothing = (self.losses["global"][what] for what in ("start", "nothing"))
        of_global = bound["global"] < min(0.95 * start, 0.99 * nothing)  # far rows: a fresh network may be lucky
        of_local = bound["local"] < self.losses["local"]["nothing"]
        return {"global": of_global, "local": of_local or (of_global and self.told_apart["local"] >= TOLD_APART_ENOUGH)}

    @property
    def warnings(self) -> list[str]:
        return [*self._about_training(), *self._about_scores(), *self._about_data()]

    @property
    def alarms(self) -> list[str]:
        """Return the warnings after which scores cannot be trusted; `fit` gives them at once."""
        return [*self._about_collapse(), *self._about_far_but_dense(), *self._about_wild_cells()]

    def _about_training(self) -> list[str]:
        advice = {
            "global": "Train longer (max_steps), or see whether the metric tells rows apart.",
            "local": "Try a larger noise_scale, or train longer (max_steps).",
        }
        return [
            f"The {head} head has learned nothing: its loss is {self.losses[head]['end']:.4g}, the same as "
            f"without learning ({self.losses[head]['nothing']:.4g}). {advice[head]}"
            for head, learned in self.learned.items()
            if not learned
        ]

    def _about_scores(self) -> list[str]:
        found = self._about_collapse()
        found += [
            f"Different rows tie: there are only {self.distinct[head]:.0%} as many {head} scores as different rows. "
            "Use calibration='soft', and an encoder that keeps rows apart."
            for head in HEADS
            if self.distinct[head] < 0.5
        ]
        found += self._about_far_but_dense()
        if self.by_heart > BY_HEART:
            found.append(
                "The networks find rows that they were trained on much more typical than other rows (by "
                f"{self.by_heart:.1f} times the distance from the median row to the most central ones). In a row's "
                "score those count more that have not seen it, so that little of this is left. More rows, fewer "
                "columns or fewer steps help further."
            )
        if self.saturated > 0.2:
            found.append(
                f"The global head is saturated for {self.saturated:.0%} of the rows: their scores are close to 0 or 1. "
                "Their order still holds; train for fewer steps to see more of it."
            )
        return found

    def _about_collapse(self) -> list[str]:
        return [
            f"The {head} head has collapsed: half of the rows lie within {self.spread[head]:.2g}. Compare with raw(): "
            "a few extreme rows may stretch the scale (remove them), or training was too short."
            for head in HEADS
            if self.spread[head] < FLAT
        ]

    def _about_far_but_dense(self) -> list[str]:
        """Say how many extreme rows the heads disagree about, if they do."""
        if not self.far_but_dense:
            return []
        return [
            f"{self.far_but_dense} rows lie far from all others, and the local head finds them typical: they may lie "
            "close together. Use t = 0.5, where the global head has a say, or look at them."
        ]

    def _about_data(self) -> list[str]:
        found, varying = [], self.columns - self.constant_columns
        for head, columns in self.influence.items():
            name, share = next(iter(columns.items()))
            if varying > 3 and len(columns) > 1 and share > 0.5:
                found.append(
                    f"Column {name} alone makes {share:.0%} of the {head} score's movement. If its unit is the reason, "
                    "use scaling='standard'; if it is an identifier or a leak, drop it."
                )
        if self.off_zero:
            name, far = next(iter(self.off_zero.items()))
            found.append(
                f"Column {name} reaches the network {far:.2g} deviations away from zero, where float32 keeps little of "
                f"how it varies: from {OFF_ZERO:.0f} on, scores on other machines may differ by more than is promised. "
                "Use scaling='auto'."
            )
        found += self._about_wild_cells()
        if self.copies > 0.2:
            found.append(
                f"{self.copies:.0%} of the rows repeat another row. The local head takes copies for density: "
                "drop them if they are an accident of how the data was made."
            )
        if self.rows < FEW_ROWS:
            found.append(
                f"{self.rows} rows are few: scores would change with other rows. {FEW_ROWS} or more are wanted."
            )
        if self.rows < ROWS_A_COLUMN * varying:
            found.append(
                f"{self.rows} rows are few for {varying} columns: reduce the columns first, for example with "
                "sklearn.decomposition.PCA, or bring more rows."
            )
        return found

    def _about_wild_cells(self) -> list[str]:
        """Name the column whose variance comes from a few cells, if there is one."""
        return [about_wild_cells(name, cells) for name, cells in list(self.wild.items())[:1]]

    def of_features(self, names: Sequence[str], owner: NDArray[np.intp]) -> "Report":
        """Return the same report about features instead of the numbers that encode them."""

        def named(shares: dict[str, float], join: Callable[[float, float], float]) -> dict[str, float]:
            joined: dict[str, float] = {}
            for number, share in shares.items():
                name = names[owner[int(number)]]
                joined[name] = join(joined[name], share) if name in joined else share
            return dict(sorted(joined.items(), key=lambda item: -item[1]))

        moved = {head: named(shares, float.__add__) for head, shares in self.influence.items()}
        wild = {names[owner[int(number)]]: cells for number, cells in self.wild.items()}
        return replace(self, influence=moved, off_zero=named(self.off_zero, max), wild=wild)

    def facts(self) -> dict[str, str]:
        """Return the numbers in words, for a page or a terminal."""
        aside = f", and {self.held_aside:,} more held aside" if self.held_aside else ""
        constant = f" ({self.constant_columns} of them the same in every row)" if self.constant_columns else ""
        copies = f"; {self.copies:.1%} of the rows repeat another one" if self.copies else ""
        lines = {
            "Training": self._how_it_went(),
            "Data": f"{self.rows:,} rows of {self.columns:,} numbers each{constant}{aside}{copies}.",
        }
        for head in HEADS:
            lines[head.capitalize()] = f"it prefers a row to a noisy copy in {self.told_apart[head]:.0%} of pairs."
            if head in self.influence:
                moved = list(self.influence[head].items())[:5]
                shares = ", ".join(f"{name} ({share:.0%})" for name, share in moved)
                lines[head.capitalize()] += f" Columns that move it most: {shares}."
        if kinds := sum(self.kinds.values()):
            lines["Kinds"] = (
                f"{self.kinds['own']} of {kinds} levels of the context are measured by their own rows, the others by "
                "the rows of all: they have few, or are not unlike the rest."
            )
        return lines

    def _how_it_went(self) -> str:
        failed = [head for head, learned in self.learned.items() if not learned]
        if not failed:
            return "it worked; both heads have learned."
        return f"it did not work; the {' and the '.join(failed)} head learned nothing."

    def __str__(self) -> str:
        """Return the facts and warnings, a paragraph each, in lines of at most 100 characters."""
        found = [*self.facts().items(), *(("Warning", text) for text in self.warnings)]
        return "\n".join(fill(f"{name}: {text}", WIDTH, subsequent_indent="  ") for name, text in found)

    def __repr__(self) -> str:
        return f"<Report on {self.rows:,} rows, {len(self.warnings)} warnings: print it>"

    def _repr_html_(self) -> str:
        return html.facts_table(self.facts(), self.warnings)


def about_wild_cells(name: str, cells: int) -> str:
    """Say that the variance of a column comes from a few cells, and what to do about it."""
    return (
        f"Nearly all variance of column {name} comes from {cells} of its cells: a wrong unit, or a number that stands "
        "for a missing value? They do not change the scores of other rows; correct them, or leave them out."
    )
