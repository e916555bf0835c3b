"""A figure says where it was measured, and is old once a file it rests on has changed."""

import dataclasses

import pytest
from benchmarks import __main__ as command
from benchmarks import _results, provenance, same_scores
from benchmarks.figures import FIGURES, Figure

from tests.present import present


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of one source and one figure, measured now."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "fit.py").write_text("steps = 500\n")
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(provenance, "LEDGER", tmp_path / "benchmarks" / "results" / "measured.csv")
    monkeypatch.setattr(provenance, "FIGURES", (Figure("make speed", ("speed",), ("src/*.py",)),))
    monkeypatch.setattr(_results, "RESULTS", tmp_path / "benchmarks" / "results")
    monkeypatch.setattr(same_scores, "KNOWN", tmp_path / "same_scores.csv")
    monkeypatch.setattr(same_scores, "CASES", {"a fit": lambda: iter([0.25, 0.5])})
    monkeypatch.setattr("sys.argv", ["same_scores", "--write"])
    assert same_scores.main() == 0
    _results.save("speed", [{"what": "fit", "seconds": 0.5}])
    return tmp_path


def test_every_result_of_the_repository_belongs_to_one_figure_and_says_how_it_was_measured():
    known = provenance.ledger()
    for name in provenance.results():
        assert provenance.figure_of(name)
        assert name in known, f"{name} was written by something that does not call provenance.note"
    assert set(known) == set(provenance.results()), "the ledger tells of results that are gone"


def test_every_figure_rests_on_files_that_are_there():
    for figure in FIGURES:
        for pattern in figure.sources:
            assert any(provenance.ROOT.glob(pattern)), f"{figure.command} rests on {pattern}, which matches no file"


def test_what_is_saved_is_noted_and_not_old(project, capsys):
    origin = provenance.measured(project / "benchmarks" / "results" / "speed.csv")
    assert present(origin).machine == provenance.machine()
    assert float(present(origin).load) >= 0
    assert not list(provenance.old())
    assert command.check() == 0


def test_scores_have_moved_when_one_number_of_a_case_is_off_by_more_than_rounding(project, monkeypatch, capsys):
    rounding = same_scores.TOLERANCE / 2
    monkeypatch.setattr(same_scores, "CASES", {"a fit": lambda: iter([0.25, 0.5 + rounding])})
    assert command.check() == 0
    monkeypatch.setattr(same_scores, "CASES", {"a fit": lambda: iter([0.25, 0.5 + 4 * rounding])})
    assert command.check() == 1
    assert "a fit: by up to 0.002" in capsys.readouterr().out
    monkeypatch.setattr(same_scores, "CASES", {"a new case": lambda: iter([0.25, 0.5])})
    assert same_scores.moved() == ["a new case: not in same_scores.csv as it is now"]


PYTHON = 'def fit(steps=500):\n    """Fit."""\n    return "# no comment", steps  # of training\n'
KERNEL = 'float rate = 1.0f;  // of learning\nconst char* name = "// no comment";\n'
SAME = {
    "a comment": ("a.py", PYTHON, PYTHON.replace("of training", "taken")),
    "a docstring": ("a.py", PYTHON, PYTHON.replace('"""Fit."""', '"""Train a network."""')),
    "a docstring that was not there": ("a.py", PYTHON, '"""A module."""\n\n' + PYTHON),
    "layout": ("a.py", PYTHON, PYTHON.replace("(steps=500)", "(\n    steps=500,\n)")),
    "a comment of C++": ("a.h", KERNEL, KERNEL.replace("of learning", "")),
    "a comment of several lines": ("a.cpp", KERNEL, "/* A\n * kernel. */\n" + KERNEL),
    "indentation of C++": ("a.h", KERNEL, "\n    " + KERNEL),
}
OTHER = {
    "a number": ("a.py", PYTHON, PYTHON.replace("500", "400")),
    "a string": ("a.py", PYTHON, PYTHON.replace("# no", "# a")),
    "a number of C++": ("a.h", KERNEL, KERNEL.replace("1.0f", "2.0f")),
    "a string of C++ that looks like a comment": ("a.h", KERNEL, KERNEL.replace("// no", "// a")),
    "data": ("a.csv", "a,b\n", "a, b\n"),
}


@pytest.mark.parametrize("kind", [*SAME, *OTHER])
def test_prose_and_layout_make_no_figure_old_and_all_else_does(tmp_path, kind):
    name, before, after = (SAME | OTHER)[kind]
    meanings = []
    for text in (before, after):
        (tmp_path / name).write_text(text)
        meanings.append(provenance.meaning(tmp_path / name))
    assert (meanings[0] == meanings[1]) == (kind in SAME)


def test_results_of_a_quick_trial_are_not_noted(project):
    trial = project / "paper" / "quick" / "results" / "table1.csv"
    provenance.note(trial)
    assert provenance.measured(trial) is None


def test_a_figure_is_old_once_a_source_changes_appears_or_goes_and_young_again_after_that_is_undone(project):
    fit, other = project / "src" / "fit.py", project / "src" / "other.py"
    for change, undo in (
        (lambda: fit.write_text("steps = 400\n"), lambda: fit.write_text("steps = 500\n")),
        (lambda: other.write_text(""), other.unlink),
        (lambda: fit.rename(project / "fit.py"), lambda: (project / "fit.py").rename(fit)),
    ):
        change()
        assert [name for name, *_ in provenance.old()] == ["benchmarks/results/speed.csv"]
        undo()
        assert not list(provenance.old())


def test_the_check_fails_and_names_the_result_and_the_command(project, capsys):
    (project / "src" / "fit.py").write_text("steps = 400\n")
    capsys.readouterr()
    assert command.check() == 1
    said = capsys.readouterr().out
    assert "make speed: measured" in said
    assert "benchmarks/results/speed.csv" in said
    assert "1 of 1 results" in said


def test_a_result_that_nobody_noted_is_old(project):
    provenance.LEDGER.unlink()
    assert [why for *_, why in provenance.old()] == ["nobody noted where it was measured"]


def test_a_result_of_no_figure_is_refused(project):
    (project / "benchmarks" / "results" / "guess.csv").write_text("a\n1\n")
    with pytest.raises(SystemExit, match=r"guess.csv: no figure in benchmarks/figures.py"):
        list(provenance.old())


def test_of_two_lines_that_a_merge_left_the_later_one_holds(project):
    (name, late), *_ = provenance.ledger().items()
    early = dataclasses.replace(late, date="2020-01-01T00:00:00+00:00", commit="0ld")
    provenance.write({"a": late, "b": early})
    assert provenance.ledger()[name] == late


def test_results_outside_the_repository_are_let_be(project, tmp_path_factory):
    before = provenance.LEDGER.read_bytes()
    provenance.note(tmp_path_factory.mktemp("elsewhere") / "speed.csv")
    assert provenance.LEDGER.read_bytes() == before
