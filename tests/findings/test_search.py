"""What `check` returns: the contract, the order, any kind of rows, frames of the library that came in."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import centrality
from centrality import FUSE, check
from centrality._internal.checks import InputError
from centrality.datasets import houses
from centrality.findings import Finding, Findings
from centrality.findings.search import independent
from tests.findings.sheets import WORDS, orders


@pytest.fixture(scope="module")
def of_houses() -> Findings:
    return centrality.check(houses())


def test_the_six_odd_houses_are_in_the_first_five_findings(of_houses):
    rows = {int(row) for finding in of_houses.items[:5] for row in finding.rows}
    assert set(range(1194, 1200)) <= rows
    assert len(rows) <= 10


def test_the_worst_comes_first(of_houses):
    weights = [finding.severity * finding.count for finding in of_houses]
    assert weights == sorted(weights, reverse=True)


def test_a_finding_has_all_that_the_page_asks_for(of_houses):
    for finding in of_houses:
        assert finding.count == len(finding.rows)
        assert set(finding.examples) <= set(finding.rows.tolist())
        assert len(finding.examples) <= 5
        assert finding.severity >= 1
        assert finding.sentence
        assert set(finding.columns) <= set(houses().column_names)
        assert (finding.typical is None) == (finding.count == 0)


def test_the_dict_is_strict_json_and_holds_the_same(of_houses):
    plain = json.loads(json.dumps(of_houses.as_dict(), allow_nan=False))
    assert plain["verdict"] == of_houses.verdict
    assert [entry["sentence"] for entry in plain["findings"]] == [finding.sentence for finding in of_houses]
    assert plain["findings"][0]["rows"] == of_houses[0].rows.tolist()


def test_the_text_says_the_verdict_first_and_what_to_do(of_houses):
    text = str(of_houses)
    assert text.startswith(of_houses.verdict)
    assert of_houses[0].sentence in text
    assert of_houses[0].advice in text
    assert len(text.splitlines()) < 60


def test_cells_are_doubtful_where_findings_say_so_and_nowhere_else_so_much(of_houses):
    cells = of_houses.cells
    assert cells.column_names == houses().column_names
    first = of_houses[0]
    doubts = cells[first.columns[0]].to_numpy()
    assert (doubts[first.rows] >= first.severity).all()
    assert np.median(np.stack([column.to_numpy() for column in cells.columns])) == 0


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_in_the_library_of_the_rows(library):
    found = centrality.check(library({"a": list(range(30)), "b": [1.0, 2.0, 4.0] * 10}))
    assert type(found.to_frame()) is type(found.cells)
    assert isinstance(found.cells, library if library is not pa.table else pa.Table)


def test_nothing_is_found_in_noise_and_the_verdict_says_so():
    found = centrality.check(np.random.default_rng(0).normal(size=(500, 3)))
    assert found.items == ()
    assert found.verdict == "500 rows: nothing wrong was found."


def test_a_list_of_texts_is_checked():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 10)) for _ in range(80)]
    texts[7] = "<b>the house</b> of the river is old"
    assert [finding.rows.tolist() for finding in centrality.check(texts) if finding.kind == "markup"] == [[7]]


def test_vectors_have_no_findings_by_column():
    X = np.random.default_rng(0).normal(size=(300, 40))
    X[7] += 9
    found = centrality.check(X)
    assert [7] in [finding.rows.tolist() for finding in found]
    assert all(finding.columns == () for finding in found)


def test_labels_and_earlier_rows_are_asked_for_by_name(tmp_path):
    new = orders(1)
    new["price"] *= 1.5
    pd.DataFrame(orders()).to_csv(tmp_path / "old.csv", index=False)
    found = centrality.check(new, against=tmp_path / "old.csv")
    assert any(finding.kind == "change" and "price" in finding.sentence for finding in found)
    with pytest.raises(InputError, match="Missing column: 'pride'"):
        centrality.check(new, label="pride")


def test_a_finding_whose_rows_are_all_in_an_earlier_one_of_the_same_column_is_not_told_again():
    def of(kind: str, rows: list[int], *columns: str) -> Finding:
        return Finding(kind, kind, "", columns, np.array(rows, dtype=np.intp), 100.0)

    found = independent(
        [of("first", [1, 2, 3], "a"), of("same", [2, 3], "a"), of("other", [2, 3], "b"), of("all", [3])]
    )
    assert [finding.kind for finding in found] == ["first", "other"]


def test_the_report_is_one_file_that_needs_nothing_from_outside(of_houses, tmp_path):
    of_houses.to_html(tmp_path / "report.html", title="houses <1>")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert "<script" not in page
    assert "houses &lt;1&gt;" in page
    assert all(finding.sentence in page for finding in of_houses)
    assert of_houses.verdict in of_houses._repr_html_()


def test_a_picture_saved_twice_is_found(tmp_path):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for number in range(40):
        waves = np.sin(np.add.outer(np.arange(32) * rng.uniform(0.1, 1), np.arange(32) * rng.uniform(0.1, 1)))
        pixels = (127 + 120 * waves[:, :, None] * rng.uniform(0.3, 1, 3)).astype(np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{number:02d}.png")
    image.open(tmp_path / "07.png").save(tmp_path / "40.png")
    found = centrality.check(sorted(map(str, tmp_path.iterdir())))
    assert [finding.rows.tolist() for finding in found if finding.kind == "copies"] == [[7, 40]]


def test_beside_earlier_rows_the_share_of_odd_ones_has_a_lower_bound_and_beside_none_it_has_not():
    rng = np.random.default_rng(0)

    def rows(count, odd):
        X = rng.normal(size=(count, 3))
        X[:odd] += 7
        return pa.table({name: X[:, place] for place, name in enumerate(("length", "width", "height"))})

    old = rows(1000, 0)
    verdict = centrality.check(rows(800, 40), against=old).verdict
    bound = re.search(r"Compared with the earlier rows, at least ([0-9.]+)% of 800 rows are odd", verdict)
    assert bound is not None
    assert 2.5 <= float(bound[1]) <= 5.0
    assert "Compared with" not in centrality.check(rows(800, 0), against=old).verdict


def test_a_picture_that_cannot_be_opened_is_a_finding_and_stops_nothing(tmp_path):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for number in range(40):
        pixels = rng.integers(0, 255, size=(32, 32, 3)).astype(np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{number:02d}.png")
    (tmp_path / "07.png").write_bytes(b"no picture")
    found = centrality.check(sorted(map(str, tmp_path.iterdir())))
    assert [(finding.sentence, finding.rows.tolist()) for finding in found if finding.kind == "unreadable"] == [
        ("the picture could not be opened", [7])
    ]


def test_parts_swapped_between_rows_are_a_finding_and_structures_are_left_out_with_a_note():
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=1000)
    vectors = rng.normal(size=(1000, 8)) + 6 * kinds[:, None]
    words = np.where(kinds, "lamp", "toaster").astype(object)
    rows = {"embedding": list(vectors), "thing": words, "note": [{"by": "me"}] * 1000}
    assert [finding.kind for finding in centrality.check(pa.table(rows))] == ["left out"]
    words[[10, 20, 30]] = np.where(kinds[[10, 20, 30]], "toaster", "lamp")
    mismatches = [finding for finding in centrality.check(pa.table(rows)) if finding.kind == "mismatch"]
    assert [sorted(finding.rows.tolist()) for finding in mismatches] == [[10, 20, 30]]
    assert mismatches[0].columns == ("embedding",)


def test_findings_by_a_model_of_other_rows_say_how_many_rows_are_odd_at_least(tmp_path):
    """Forty rows far beyond 500 calibration rows: of 440, hardly any ordinary one would lie there."""
    rng = np.random.default_rng(0)
    names = ["a", "b", "c"]
    fine = pa.table(dict(zip(names, rng.normal(size=(1000, 3)).T, strict=True)))
    values = rng.normal(size=(440, 3))
    values[400:, 0] = 99.0
    new = pa.table(dict(zip(names, values.T, strict=True)))
    model = FUSE(random_state=0, holdout=0.5, max_steps=200).fit(fine)
    [placeholder] = [finding for finding in check(new, model=model) if finding.kind == "placeholder"]
    assert placeholder.rows.tolist() == list(range(400, 440))
    expected = model.certificate(new.slice(400, 40), among=new)
    assert expected.at_least >= 20
    assert placeholder.certificate == placeholder.as_dict()["certificate"] == str(expected)
    assert all(not finding.certificate for finding in check(new))  # rows tell nothing of themselves
