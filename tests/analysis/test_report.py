import json
from dataclasses import asdict

import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from centrality import FUSE, load
from centrality.apps.cli import main
from tests.conftest import quick


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
