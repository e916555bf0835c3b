"""Two files on one page: new rows beside earlier ones, coloured by their file and compared to begin with."""

import base64
import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import check, tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.explorer.view import compared
from centrality.chain import Chain
from centrality.representations import Table
from tests.conftest import quick
from tests.explorer.pages import exported, unpacked


def rows(count: int, seed: int, **changes: object) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {"width": rng.normal(size=count), "kind": rng.choice(["a", "b"], count), "size": rng.gamma(4, size=count)}
    return pa.table(columns | changes)


@pytest.fixture(scope="module")
def old() -> pa.Table:
    return rows(300, 0)


@pytest.fixture(scope="module")
def new() -> pa.Table:
    return rows(200, 1, kind=["c"] * 40 + ["a", "b"] * 80)


@pytest.fixture(scope="module")
def view(old, new):
    return compared(Chain(Table(), quick(max_steps=100)).fit(old), new, old, ("new.csv", "old.csv"), on="pca")


def test_new_rows_come_first_and_a_column_says_the_file(view, old, new):
    header, arrays = unpacked(pack_of(view))
    file = next(column for column in header["columns"] if column["name"] == "file")
    assert file["levels"] == ["new.csv", "old.csv"]
    codes = arrays["get"](file["values"])
    assert (codes[: new.num_rows] == 1).all()
    assert (codes[new.num_rows :] == 2).all()
    assert header["colour"] == "file"
    assert header["sides"] == ['=["file","new.csv"]', '=["file","old.csv"]']


def pack_of(view) -> bytes:
    from centrality.apps.explorer.payload import pack

    return pack(view, pictures=False, reasons=False)


def test_findings_are_those_of_the_new_rows_against_the_old_ones(view, old, new):
    wanted = check(new, against=old, model=view.jobs.model).as_dict()
    assert view.jobs.findings() == json.loads(json.dumps(wanted))
    change = next(one for one in wanted["findings"] if one["kind"] == "change" and one["count"])
    assert change["rows"] == list(range(40))


def test_a_column_of_that_name_is_refused(old, new):
    with pytest.raises(InputError, match="call yours otherwise"):
        compared(quick().fit(old.select(["width", "size"])), new.append_column("file", new["kind"]), old, ("a", "b"))


@pytest.mark.browser
def test_the_page_compares_the_files_to_begin_with(view, open_page, tmp_path):
    tab = open_page(exported(view, tmp_path), panel="compare")
    assert tab.get_by_label("Group A").input_value() == '=["file","new.csv"]'
    assert tab.get_by_label("Group B").input_value() == '=["file","old.csv"]'
    assert "c in 40 of 200 (20%), in B 0 of 300 (0%)" in tab.locator(".comparison").inner_text()


def test_the_command_takes_a_file_of_rows_as_well_as_a_model(old, new, tmp_path):
    tables.write(old, tmp_path / "old.csv")
    tables.write(new, tmp_path / "new.csv")
    files = [str(tmp_path / name) for name in ("new.csv", "old.csv", "page.html")]
    assert main(["explore", files[0], "--against", files[1], "--map", "pca", "--export", files[2], "--quiet"]) == 0
    data = (tmp_path / "page.html").read_text().split('id="centrality-data">')[1].split("<")[0]
    header, _ = unpacked(base64.b64decode(data))
    assert header["n"] == 500
    assert header["sides"][1] == '=["file","old.csv"]'
