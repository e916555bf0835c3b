"""What is examined of a fit, what it warns of, and how it is saved and printed."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from centrality import FUSE, load
from centrality.analysis.report import MOST_COLUMNS, Report, build_report
from centrality.apps.cli import main
from centrality.network.scaling import dense
from tests.conftest import quick


def about(report: Report, words: str) -> list[str]:
    return [text for text in report.warnings if words in text]


def test_a_good_fit_has_nothing_to_warn_about(fitted):
    report = fitted.report()
    assert report.warnings == []
    assert report.learned == {"global": True, "local": True}
    assert (report.rows, report.held_aside, report.columns, report.constant_columns) == (600, 0, 2, 0)
    assert report.copies == 0
    assert report.distinct == {"global": 1.0, "local": 1.0}
    # R² of a round Gaussian in the plane is exponential; thrown about by three deviations, ten times as large
    assert report.told_apart["global"] == pytest.approx(10 / 11, abs=0.03)


@pytest.mark.parametrize("steps", [1, 60])
def test_steps_too_small_teach_the_global_head_nothing_and_the_report_says_so(blob, steps):
    """The local head stands on its background, which needs no steps."""
    report = quick(max_steps=steps, learning_rate=1e-9).fit(blob).report()
    assert not report.learned["global"]
    assert report.losses["local"]["nothing"] == 0.5  # a score of zero against noise of variance one
    assert "The global head has learned nothing" in str(report)
    assert "max_steps" in str(report)


def test_the_papers_schedule_is_measured_by_its_own_loss(blob):
    report = FUSE.as_in_paper("synthetic", epochs=10, noise_scale=0.5, random_state=0).fit(blob).report()
    assert report.losses["local"]["nothing"] == 2.0  # ½ / η²
    assert report.learned == {"global": True, "local": True}


@pytest.mark.slow
def test_with_little_noise_the_local_head_is_not_said_to_have_learned_nothing():
    """η = .05 in one dimension: the best loss there is lies below ½ by η² / 2, which no history can show."""
    X = np.random.default_rng(0).normal(size=(2000, 1))
    report = FUSE(noise_scale=0.05, random_state=0).fit(X).report()
    assert report.learned["local"]
    # the rows' |x| against one that is √10 times as large
    assert report.told_apart["global"] == pytest.approx(2 / np.pi * np.arctan(np.sqrt(10)), abs=0.03)


def test_a_head_that_was_never_trained_knows_nothing(blob, tmp_path):
    with pytest.warns(UserWarning, match="head has collapsed"):  # its first step is the global head's
        model = FUSE.as_in_paper("synthetic", max_steps=1, random_state=0).fit(blob)
    assert model.report().losses["local"]["end"] == 0.5
    assert not model.report().learned["local"]
    model.save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").report() == model.report()


@pytest.mark.slow
def test_the_column_that_moves_the_scores_is_named(blob):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 4)), columns=list("abcd"))
    X["c"] *= 100
    report = FUSE(scaling="none", noise_scale=20.0, max_steps=400, random_state=0).fit(X).report()
    assert next(iter(report.influence["global"])) == "c"
    assert sum(report.influence["global"].values()) == pytest.approx(1)  # all four are shown, and they are shares
    assert about(report, "Column c alone makes")
    alike = FUSE(max_steps=400, random_state=0).fit(X / X.std()).report()
    assert not about(alike, "alone makes")
    assert max(alike.influence["global"].values()) < 0.4  # a quarter each, in truth


def test_copies_and_constant_columns_are_counted(blob):
    X = np.column_stack([np.tile(blob[:150], (4, 1)), np.ones(600)])
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X), X.astype(np.float32)):
        report = quick().fit(rows).report()
        assert report.copies == pytest.approx(0.75)  # each row comes four times
        assert report.constant_columns == 1
        assert about(report, "75% of the rows repeat another row")


def test_columns_of_yes_and_no_are_examined_too():
    X = np.random.default_rng(0).random((300, 4)) < [0.5, 0.5, 0.5, 1.1]
    report = quick().fit(X).report()
    assert report.constant_columns == 1
    assert report.copies == pytest.approx(1 - 8 / 300)  # three columns that vary: eight different rows


def test_few_rows_are_called_few():
    X = np.random.default_rng(0).normal(size=(30, 40))
    report = quick().fit(X).report()
    assert about(report, "30 rows are few: scores would change")
    assert about(report, "30 rows are few for 40 columns")


def test_a_head_that_cannot_tell_rows_apart_is_called_collapsed():
    """A single row a million away stretches nothing: percentiles fix the scale. Two in a hundred do."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    X[:10] *= 1e6
    with pytest.warns(UserWarning, match="head has collapsed"):
        report = quick(scaling="none", noise_scale=1.0, calibration="clip").fit(X).report()
    assert about(report, "head has collapsed")


def test_rows_held_aside_are_not_counted_as_trained_on(blob):
    report = quick(holdout=0.25).fit(blob).report()
    assert (report.rows, report.held_aside) == (450, 150)
    assert "450 rows of 2 numbers each, and 150 more held aside" in str(report)


@pytest.mark.slow
def test_with_very_many_columns_their_influence_is_not_measured():
    X = sparse.random(60, MOST_COLUMNS + 1, density=0.01, random_state=0, format="csr")
    report = quick(max_steps=5, ensemble=1).fit(X).report()
    assert report.influence == {}
    assert "global columns" not in report.facts()


def test_a_column_far_from_zero_for_how_little_it_varies_is_named_unless_scaling_centres_it(blob):
    X = np.add(blob, [0.0, 150.0])
    away = X[:, 1].mean() / X[:, 1].std()

    def report(X, center):
        untrained_losses = {"global": 0.7, "local": 0.5}
        history = {head: [loss] for head, loss in untrained_losses.items()}
        return build_report(
            X,
            lambda rows: dense(rows),  # stands for a model: any heads will do
            held_aside=0,
            history=history,
            untrained_losses=untrained_losses,
            names=["a", "b"],
            center=center,
        )

    seen = report(X, np.zeros(2))
    assert seen.off_zero == {"b": pytest.approx(away)}
    (said,) = about(seen, "Column b reaches the network 1.5e+02 deviations away from zero")
    assert "scaling='auto'" in said
    assert report(sparse.csr_matrix(X), np.zeros(2)).off_zero == {"b": pytest.approx(away)}
    assert report(X, X.mean(0)).off_zero == report(np.add(blob, [0.0, 50.0]), np.zeros(2)).off_zero == {}


def test_a_fit_without_scaling_warns_of_a_column_that_float32_cannot_hold():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 1] += 1e6
    told = [
        text.partition(" reaches")[0] for text in quick(scaling="none").fit(X).report().warnings if "float32" in text
    ]
    assert told == ["Column 1"]
    assert not [text for text in quick().fit(X).report().warnings if "float32" in text]


def test_the_report_travels_with_the_file_and_is_plain_data(blob, tmp_path, capsys):
    path = tmp_path / "m.safetensors"
    model = quick().fit(pd.DataFrame(blob, columns=["length", "width"]))
    model.save(path)
    assert load(path).report() == model.report()
    assert json.loads(json.dumps(asdict(model.report()))) == asdict(model.report())
    assert main(["inspect", str(path)]) == 0
    assert str(model.report()) in capsys.readouterr().out


def test_the_page_escapes_what_a_column_is_called(blob):
    page = quick().fit(pd.DataFrame(blob, columns=["<script>", "b"])).report()._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.startswith("<table>")


def test_an_unfitted_model_has_no_report():
    with pytest.raises(NotFittedError):
        FUSE().report()
