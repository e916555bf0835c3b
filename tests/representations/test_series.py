"""Time series as catch22 features: lengths, gaps, channels and windows."""

import numpy as np
import pycatch22
import pytest

from centrality import Chain, load
from centrality.apps.cli import main
from centrality.representations import Series
from centrality.tables import TableError, read
from tests.conftest import quick

RNG = np.random.default_rng(0)
WAVES = np.sin(np.arange(80) * RNG.uniform(0.2, 0.6, size=(30, 1))) + 0.1 * RNG.normal(size=(30, 80))


def test_features_are_pycatch22s_own():
    Z = Series("catch22").fit(WAVES).transform(WAVES)
    expected = [pycatch22.catch22_all(list(row))["values"] for row in WAVES]
    np.testing.assert_allclose(Z, expected)
    assert len(Series("catch24").fit(WAVES).get_feature_names_out()) == 24


def test_lengths_may_differ():
    items = [WAVES[0, :50], WAVES[1], WAVES[2, :30]]
    Z = Series().fit(items).transform(items)
    np.testing.assert_allclose(Z[2], Series().fit(WAVES).transform([WAVES[2, :30]])[0])


def test_gaps_are_bridged_by_lines_and_cut_off_at_the_ends():
    line = np.concatenate([np.sin(np.arange(40)), np.linspace(3, 5, 11), np.cos(np.arange(40))])
    holed = line.copy()
    holed[41:50] = np.nan  # on the straight part: nothing is lost
    padded = np.concatenate([[np.nan] * 5, holed, [np.nan] * 9])
    series = Series().fit(WAVES)
    np.testing.assert_allclose(series.transform([padded]), series.transform([line]))


def test_channels_stand_beside_each_other():
    both = np.stack([WAVES[:20], WAVES[10:]], axis=2)  # (20, 80, 2)
    Z = Series().fit(both).transform(both)
    np.testing.assert_allclose(Z[:, :22], Series().fit(WAVES).transform(WAVES[:20]))
    np.testing.assert_allclose(Z[:, 22:], Series().fit(WAVES).transform(WAVES[10:]))


def test_windows_cover_a_long_series_to_its_end():
    series = Series(window=20, step=8)
    np.testing.assert_array_equal(series.starts(50), [0, 8, 16, 24, 30])
    long = WAVES.ravel()[:50]
    Z = series.fit(long).transform(long)
    np.testing.assert_allclose(Z[-1], Series().fit(WAVES).transform([long[30:]])[0])


def test_scores_of_windows_go_back_to_their_moments():
    series = Series(window=10, step=5)
    spread = series.spread(np.array([0.0, 1.0, 0.5]), 20)  # windows from 0, 5 and 10
    np.testing.assert_array_equal(spread, [0] * 5 + [0.5] * 5 + [0.75] * 5 + [0.5] * 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Series("rocket").fit(WAVES), "features must be one of catch22, catch24, got 'rocket'"),
        (lambda: Series().fit([]), "Series were wanted, got none"),
        (lambda: Series().fit([WAVES[0], [np.inf, *WAVES[1]]]), "Series 1 has 1 infinite"),
        (lambda: Series().fit([WAVES[0], [1.0, 2.0]]), "Series 1 has 2 values in 2 moments: at least 10"),
        (lambda: Series().fit([np.where(np.arange(80) % 3, np.nan, WAVES[0])]), "no more than 50% gaps"),
        (lambda: Series().fit([WAVES[:2].T, WAVES[0]]), "Series of 2 channels were wanted, but series 1 has 1"),
        (lambda: Series(window=90).fit(WAVES[0]), "A window of 90 moments was asked for, but the series has only 80"),
        (lambda: Series(window=3).fit(WAVES[0]), "window must be a whole number of at least 10, got 3"),
        (lambda: Series().fit(np.zeros((3, 20, 2, 2))), r"series 0 has shape \(20, 2, 2\)"),
        (lambda: Series().starts(80), r"This needs windows: Series\(window=...\)"),
        (lambda: Series(window=20).spread(np.zeros(3), 80), "80 moments has 7 windows, got 3 scores"),
    ],
)
def test_what_cannot_be_a_series_is_said(make, message):
    with pytest.raises((ValueError, TableError), match=message):
        make()


def test_a_series_gets_the_usual_value_where_a_feature_has_none(monkeypatch):
    """Other versions of pycatch22 than today's say NaN of a flat series."""
    real = pycatch22.catch22_all

    def with_gaps(values, *, catch24=False):
        found = real(values, catch24=catch24)
        return found | {"values": [np.nan, *found["values"][1:]]} if np.ptp(values) == 0 else found

    monkeypatch.setattr(pycatch22, "catch22_all", with_gaps)
    series = Series().fit([*WAVES, np.zeros(50)])
    expected = np.array(real([1.0] * 50)["values"])
    expected[0] = np.median([real(list(wave))["values"][0] for wave in WAVES])
    np.testing.assert_allclose(series.transform([np.ones(50)])[0], expected)


def test_a_broken_stretch_of_a_long_series_scores_lowest_in_the_terminal_too(tmp_path):
    moments = np.arange(3000)
    values = np.sin(moments / 5) + 0.05 * RNG.normal(size=3000)
    values[2000:2080] = RNG.normal(size=80)
    lines = [f"2024-01-01T{i},{value}" for i, value in enumerate(values)]
    (tmp_path / "t.csv").write_text("when,value\n" + "\n".join(lines))
    model, out = tmp_path / "m.safetensors", tmp_path / "s.csv"
    fit = ["fit", str(tmp_path / "t.csv"), "-o", str(model), "--represent", "series:value", "--window", "60"]
    assert main([*fit, "--step", "20", "--max-steps", "100", "--random-state", "0"]) == 0
    assert main(["score", str(model), str(tmp_path / "t.csv"), "-o", str(out)]) == 0
    scored = read(out)
    assert scored["when"].to_pylist()[0] == "2024-01-01T0"
    assert 1990 <= int(np.argmin(scored["centrality"].to_numpy())) <= 2090


@pytest.mark.data
def test_forda_features_are_the_stored_ones_and_a_chain_keeps_them(data, tmp_path):
    with np.load(data / "paper" / "forda.npz") as archive:
        name = next(key for key in archive.files if archive[key].ndim == 2)
        X = archive[name][:200]
    with np.load(data / "paper" / "forda_catch22.npz") as archive:
        key = next(key for key in archive.files if archive[key].ndim == 2)
        stored = archive[key][:200]
    series = Series().fit(X)
    np.testing.assert_allclose(series.transform(X), stored, rtol=1e-4, atol=1e-5)
    chain = Chain(Series(), quick()).fit(X)
    chain.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").heads(X[:20]), chain.heads(X[:20]))


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-200])
def test_values_too_small_to_be_squared_count_as_zeros_and_do_not_end_the_process(unit):
    """pycatch22 crashes where the variance of a series that is not constant comes out as zero."""
    noise = np.random.default_rng(0).normal(size=(3, 50))
    spike = np.where(np.arange(50) == 7, unit, 0.0)
    tiny = Series().fit_transform([*(unit * noise), spike])
    np.testing.assert_array_equal(tiny, Series().fit_transform(np.zeros((4, 50))))
    mixed = noise[0] + np.where(np.arange(50) < 25, 0.0, unit)
    np.testing.assert_array_equal(Series().fit_transform([mixed]), Series().fit_transform([noise[0]]))
