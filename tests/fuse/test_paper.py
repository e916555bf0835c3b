"""Whole batches of our schedule; the schemes themselves are held to the paper in tests/reference."""

import ast
from pathlib import Path

import numpy as np
import pytest

from centrality.fuse import paper
from centrality.fuse.batches import full_batches
from centrality.fuse.paper import SCHEMES, Partition, Scheme


def pairs_of(scheme: int, n: int, batch_size: int = 7) -> list[tuple[int, int]]:
    partition = Partition(n, SCHEMES[scheme], np.random.default_rng(0))
    return [pair for i, j in partition.pairs(batch_size) for pair in zip(i.tolist(), j.tolist(), strict=True)]


@pytest.mark.parametrize("scheme", [1, 2, 3, 4])
def test_whole_batches_hold_the_same_pairs_but_for_what_is_left_of_each_matching(scheme):
    partition = Partition(30, SCHEMES[scheme], np.random.default_rng(0))
    batches = [batch for matching in full_batches(partition, 5) for batch in matching]
    pairs = [pair for batch in batches for pair in zip(batch[:5].tolist(), batch[5:].tolist(), strict=True)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == set(pairs_of(scheme, 30))  # 5 divides every matching of 30 rows: nothing is left


def test_unsplit_rows_that_meet_only_their_match_never_meet_themselves():
    """No scheme of the Supplement, but one that an entry in the table could be."""
    scheme = Scheme(split=False, all_pairs=False, all_anchors=True)
    partition = Partition(12, scheme, np.random.default_rng(0))
    pairs = [pair for i, j in partition.pairs(5) for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert len(pairs) == scheme.pairs(12) == 12
    assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(12))
    assert all(i != j for i, j in pairs)


@pytest.mark.parametrize("scheme", [1, 2, 4])
def test_each_matching_shifts_the_second_candidates_by_one_more(scheme):
    partition = Partition(12, SCHEMES[scheme], np.random.default_rng(0))
    first, second = partition.first, partition.second
    shifts = {1: range(1), 2: range(4), 4: range(1, 12)}[scheme]  # of 4 candidates or 12; nobody meets itself
    expected = [(first.tolist(), np.roll(second, -shift).tolist()) for shift in shifts]
    size = len(first)
    assert [(i.tolist(), j.tolist()) for i, j in partition.pairs(size)] == expected
    assert [(b[0, :size].tolist(), b[0, size:].tolist()) for b in full_batches(partition, size)] == expected


def test_of_a_matching_that_whole_batches_do_not_fill_the_rest_is_left():
    partition = Partition(33, SCHEMES[2], np.random.default_rng(0))  # 11 candidates: two batches of 4 and 3 left
    matchings = list(full_batches(partition, 4))
    assert len(matchings) == 11
    for shift, batches in enumerate(matchings):
        assert batches.shape == (2, 8)
        np.testing.assert_array_equal(batches[:, :4].ravel(), partition.first[:8])
        np.testing.assert_array_equal(batches[:, 4:].ravel(), np.roll(partition.second, -shift)[:8])


def test_the_page_of_algorithm_1_holds_nothing_of_ours():
    """No background, no rows left out, no synthetic rows, no context: none of these is named in it, or imported."""
    page = Path(paper.__file__).read_text(encoding="utf-8")
    modules = {str(node.module) for node in ast.walk(ast.parse(page)) if isinstance(node, ast.ImportFrom)}
    ours = {module.removeprefix("centrality.") for module in modules if module.startswith("centrality.")}
    assert ours == {"_internal.checks", "fuse.comparisons", "fuse.data", "fuse.train"}
    for word in ("background", "fold", "synthetic", "context", "calibrat", "held_out", "FitConfig"):
        assert word not in page.lower(), word
    assert len(page.splitlines()) < 200
