from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from centrality import plots
from centrality._internal.checks import optional
from centrality.analysis.drift import TrainingScores, compare_windows
from centrality.network.calibration import LINEAR, SOFT
from centrality.plots import figures


def bowl(size: int = 20, ts: int = 3):
    x = np.linspace(-1, 1, size)
    f = np.exp(-(x[:, None] ** 2) - x**2)
    return x, x, np.stack([f * k for k in np.linspace(0.5, 1, ts)], axis=-1)


def test_contours_have_a_row_for_each_grid_and_a_panel_for_each_t():
    figure = plots.contours([bowl(), bowl()], [0, 0.5, 1], points=[np.zeros((4, 2))] * 2, titles=["one", "two"])
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert len(panels) == 6
    assert [panel.get_title() for panel in panels[:3]] == ["t = 0  (global)", "t = 0.5", "t = 1  (local)"]
    assert [panels[0].get_ylabel(), panels[3].get_ylabel()] == ["one", "two"]


def test_panels_of_a_row_share_their_colours():
    figure = plots.contours([bowl()], [0, 0.5, 1])
    limits = {panel.collections[0].get_clim() for panel in figure.axes[:3]}
    assert len(limits) == 1


def test_images_stand_under_their_headings_with_their_scores():
    pictures, scores = np.zeros((3, 8, 8)), np.array([[0.9, 0.8, 0.7], [0.1, 0.01, 1e-6]])
    figure = plots.images({"typical": (pictures, scores[0]), "odd": (pictures, scores[1])}, columns=3)
    titles = [axes.get_title() for part in figure.subfigs for axes in part.axes]
    assert titles == ["0.900", "0.800", "0.700", "0.100", "0.010", "<0.001"]
    assert [part.get_suptitle() for part in figure.subfigs] == ["typical", "odd"]


def test_a_missing_package_says_how_to_install_it():
    with pytest.raises(ModuleNotFoundError, match=r"needs nonesuch.*pip install '\.\[plots\]'"):
        optional("nonesuch.figure", "plots")


def test_a_broken_package_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "halfway.py").write_text("import nonesuch")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'nonesuch'"):
        optional("halfway", "plots")


def test_the_runtime_figure_names_every_line_and_keeps_the_names_apart():
    lines: dict[str, Any] = {f"method {k}": ([1, 10, 100], [1.0, 2.0, 3.0 + 0.01 * k]) for k in range(5)}
    lines["FUSE"] = ([1, 100], [0.5, 0.6])
    figure = plots.runtime({"dimension": lines, "rows": lines})
    assert [axes.get_xlabel() for axes in figure.axes] == ["dimension", "rows"]
    names: Any = figure.axes[0].texts
    assert {name.get_text() for name in names} == set(lines)
    heights = np.sort([np.log10(name.xyann[1]) for name in names])
    assert np.diff(heights).min() >= 0.22 - 1e-9


HEADS = np.array([[0.5, 0.9], [0.6, 0.8], [0.1, 0.7], [0.7, 0.1], [0.05, 0.02]])


def test_scores_have_a_mark_for_each_kind_and_a_histogram_of_each_head():
    kinds = np.array(["typical", "typical", "global", "local", "both"])
    figure: Any = plots.scores(HEADS, kinds=kinds, bounds=np.array([0.2, 0.3]))
    points, top, right = figure.axes
    bars: list[Any] = [top.patches, right.patches]
    offsets = [group.get_offsets().tolist() for group in points.collections]
    assert offsets == [HEADS[:2].tolist(), [HEADS[2].tolist()], [HEADS[3].tolist()], [HEADS[4].tolist()]]
    assert len({tuple(map(tuple, group.get_paths()[0].vertices)) for group in points.collections}) == 4  # marks differ
    assert [line.get_xdata()[0] for line in points.lines][:1] == [0.2]
    assert [line.get_ydata()[0] for line in points.lines][1:] == [0.3]
    assert sum(bar.get_height() for bar in bars[0]) == sum(bar.get_width() for bar in bars[1]) == len(HEADS)
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said == [
        "typical (2)",
        "odd globally: far from everything (1)",
        "odd locally: a thin neighbourhood (1)",
        "odd in both ways (1)",
    ]


def test_scores_without_kinds_are_one_group():
    assert len(plots.scores(HEADS).axes[0].collections) == 1


def test_chosen_rows_are_named_at_the_end_of_their_profiles():
    heads = np.concatenate([HEADS, [[np.nan, np.nan]]])  # a row without a score is in no band
    axes: Any = plots.profile(heads, rows=[3, 0]).axes[0]
    assert {text.get_text() for text in axes.texts} == {"row 3", "row 0"}
    ends = {(round(line.get_ydata()[0], 6), round(line.get_ydata()[-1], 6)) for line in axes.lines}
    assert ends == {(0.7, 0.1), (0.5, 0.9)}
    band = axes.collections[0].get_paths()[0].vertices
    assert np.isfinite(band).all()


def test_profiles_are_mixed_as_the_model_mixes():
    heads = np.array([[0.7, 0.1], [0.2, 0.6]])
    for mixing in (SOFT, LINEAR):
        lines: Any = plots.profile(heads, rows=[0], mixing=mixing).axes[0].lines
        [line] = lines
        middle = line.get_ydata()[25]  # t = 0.5
        assert middle == pytest.approx(mixing(heads, 0.5)[0])
    assert middle == pytest.approx(0.4)  # linearly: half of both


def test_the_history_has_a_panel_for_each_head_and_leaves_out_steps_without_a_loss():
    losses: dict[str, list[float]] = {"step": [1, 2, 3], "global": [0.7, np.nan, 0.6], "local": [0.5, 0.4, 0.3]}
    figure: Any = plots.history(losses, nothing={"global": 0.693, "local": 0.5})
    first, second = figure.axes
    assert (first.get_ylabel(), second.get_ylabel()) == ("global loss", "local loss")
    assert first.lines[0].get_xdata().tolist() == [1, 3]
    assert second.lines[0].get_ydata().tolist() == [0.5, 0.4, 0.3]
    assert second.lines[1].get_ydata().tolist() == pytest.approx([0.5, 0.4, 0.3])  # so few are not smoothed
    assert first.lines[2].get_ydata()[0] == 0.693


def test_a_noisy_history_is_smoothed_by_a_running_mean_that_keeps_a_straight_line_straight():
    line = np.linspace(1.0, 0.0, 200)
    noisy = line + 0.1 * np.resize([1, -1], 200)
    assert np.abs(figures.smoothed(line) - line)[20:-20].max() < 1e-12
    assert np.abs(figures.smoothed(noisy) - line)[20:-20].max() < 0.1 / 19 + 1e-12  # one of 21 is left over, at most


def test_contours_have_axes_and_one_colour_bar_with_a_name_and_round_ticks():
    figure = plots.contours([bowl(), bowl()], [0, 1, 0.5])
    (bar,) = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert bar.get_ylabel() == "centrality"
    figure.canvas.draw()
    ticks = bar.get_yticks()
    assert np.allclose(np.round(ticks, 1), ticks)
    assert len(figure.axes[0].get_xticks()) > 1


def test_the_frames_of_a_map_fit_the_data():
    points = np.random.default_rng(0).uniform(size=(50, 2)) * [4, 2]
    figure = plots.score_maps(points, {"scores": points[:, 0]}, axes=("here", "there"))
    panel = figure.axes[0]
    for limits, values in zip((panel.get_xlim(), panel.get_ylim()), points.T, strict=True):
        assert limits[0] <= values.min()
        assert limits[1] >= values.max()
        assert limits[1] - limits[0] == pytest.approx(1.08 * np.ptp(values))
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("here", "there")


def test_notebooks_show_a_figure_as_a_png_without_any_magic():
    figure: Any = plots.contours([bowl()], [0, 0.5, 1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_the_drift_figure_fills_the_marks_of_windows_that_changed():
    before = np.random.default_rng(0).uniform(size=(2000, 2))
    later = np.concatenate([np.random.default_rng(1).uniform(size=(500, 2)), 0.2 * before[:500]])
    report = compare_windows(TrainingScores.of(before), later, 500)
    marks: Any = plots.drift(report).axes[0].collections
    colours = [group.get_facecolor()[:, :3].tolist() for group in marks if len(group.get_facecolor()) == 2]
    assert len(colours) == 2
    assert all(first == [1.0, 1.0, 1.0] != second for first, second in colours)


def test_score_maps_share_their_limits_and_show_classes_first():
    points = np.random.default_rng(0).normal(size=(30, 2))
    scores = {"flat": np.full(30, 0.5), "steep": np.linspace(0, 2, 30)}
    figure = plots.score_maps(points, scores, labels=np.repeat(["a", "b"], 15), columns=2)
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert [panel.get_title() for panel in panels] == ["classes", "flat", "steep"]
    assert {panel.collections[0].get_clim() for panel in panels[1:]} == {(0.0, 2.0)}
    assert [text.get_text() for text in panels[0].get_legend().get_texts()] == ["a", "b"]


def test_many_classes_are_named_where_their_rows_are():
    points = np.repeat([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 1]], 3, axis=0)
    figure = plots.homotopy_map(points, np.zeros((15, 2)), [0, 1], labels=np.repeat(np.arange(5), 3))
    names: Any = figure.axes[0].texts
    assert {text.get_text(): tuple(text.xy) for text in names}["4"] == (4.0, 1.0)
    assert len(names) == 5
    assert [axes.get_title() for axes in figure.axes[1:3]] == ["t = 0  (global)", "t = 1  (local)"]


def test_the_heat_lies_over_the_picture_in_grey_and_frames_are_where_they_were_asked_for():
    picture = np.full((20, 30, 3), (200, 100, 0), dtype=np.uint8)
    heat = np.zeros((20, 30))
    heat[5:10, 20:25] = 6
    figure = plots.picture_heat(picture, heat, boxes=[(20, 5, 25, 10)])
    grey, over = figure.axes[1].images
    assert np.unique(np.asarray(grey.get_array())).tolist() == [pytest.approx(255 - 0.45 * 155)]  # their mean is 100
    np.testing.assert_array_equal(np.asarray(over.get_array()), heat)
    frame = figure.axes[1].patches[0]
    assert isinstance(frame, Rectangle)
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((19.5, 4.5), 5, 5)
    assert [tick.get_text() for tick in figure.axes[2].get_yticklabels()][-1] == "1 in 1,000,000"
    with pytest.raises(ValueError, match=r"for each pixel, \(20, 30\), got \(5, 5\)"):
        plots.picture_heat(picture, np.zeros((5, 5)))


def test_heat_of_nothing_odd_has_the_usual_scale():
    figure = plots.picture_heat(np.zeros((8, 8), dtype=np.uint8), np.zeros((8, 8)))
    labels = [tick.get_text() for tick in figure.axes[2].get_yticklabels()]
    assert labels == ["1 in 10", "1 in 100", "1 in 1,000", "1 in 10,000"]
