"""deploy/postgresql.sql, run as it stands: a real PostgreSQL scores rows by a model inside itself."""

import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest

import centrality
from centrality import Chain, tables
from centrality.datasets import houses
from centrality.representations import Table
from tests.conftest import quick
from tests.postgres import programs, run_sql, server

QUERY_FILE = Path(__file__).parent.parent / "deploy" / "postgresql.sql"
VERSION = "DO LANGUAGE plpython3u $$ import sys; plpy.info('%d.%d' % sys.version_info[:2]) $$"
SCORES = "FROM centrality.scores('{model}', 'SELECT * FROM houses ORDER BY house', 'house')"


@pytest.fixture(scope="module")
def shop() -> Iterator[tuple[str, Path]]:
    """The address of a database with the functions of the file, and a folder that its server can read."""
    extensions = programs().parent.parent.parent.parent / "share" / "postgresql" / programs().parent.name / "extension"
    if not (extensions / "plpython3u.control").exists():
        pytest.skip("This PostgreSQL has no PL/Python (apt install postgresql-plpython3-15).")
    found_by_server = [str(Path(centrality.__file__).parent.parent), *site.getsitepackages()]
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(prefix="centrality-plpython-") as name:
        patch.setenv("PYTHONPATH", ":".join(found_by_server))
        folder = Path(name)
        with server(folder) as host:
            address = f"{host}/postgres"
            psql = [str(programs() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", address]
            done = subprocess.run([*psql, "-f", str(QUERY_FILE)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            version = subprocess.run([*psql, "-c", VERSION], capture_output=True, text=True, check=True).stderr
            here = f"{sys.version_info.major}.{sys.version_info.minor}"
            if here not in version:
                pytest.skip(f"The server's Python is another one than {here}: {version.strip()}")
            tables.write(houses(), f"{address}#houses")
            yield address, folder


def save(model: Chain, folder: Path, name: str) -> Path:
    path = folder / name
    model.save(path)
    path.chmod(0o644)
    return path


def test_postgresql_says_of_each_row_what_the_model_says(shop):
    address, folder = shop
    model = Chain(Table(), quick(max_steps=60)).fit(tables.read(f"{address}#houses"))
    path = save(model, folder, "houses.safetensors")
    rows = tables.read(f"{address}#query=SELECT * FROM houses ORDER BY house")
    asked = f"SELECT key_value, score, p_value, severity, reason {SCORES.format(model=path)}"
    keys, scores, p_values, severities, reasons = zip(*run_sql(address, asked), strict=True)
    assert list(keys) == rows["house"].to_pylist()
    np.testing.assert_allclose(scores, model.centrality(rows), rtol=1e-9)
    np.testing.assert_allclose(p_values, model.p_values(rows), rtol=1e-9)
    np.testing.assert_allclose(severities, model.severity(rows), rtol=1e-9)
    assert list(reasons) == list(model.reasons(rows).short())
    without = f"SELECT count(severity), count(reason) FROM centrality.scores('{path}', 'TABLE houses', 'house', false)"
    assert tuple(run_sql(address, without)[0]) == (rows.num_rows, 0)
    one = f"SELECT centrality.severity('{path}', to_jsonb(houses)) FROM houses ORDER BY house LIMIT 3"
    np.testing.assert_allclose([value for (value,) in run_sql(address, one)], severities[:3], rtol=1e-9)


def test_a_row_of_null_is_null_and_numbers_of_any_kind_are_read(shop):
    address, folder = shop
    model = quick().fit(pa.table({"a": np.arange(50.0), "b": np.arange(50.0) ** 2}))
    path = save(model, folder, "numbers.safetensors")
    query = "SELECT * FROM (VALUES (1, 2::numeric, 3.5::float4), (2, NULL, 1), (3, 7.25, 2)) AS rows(id, a, b)"
    asked = f"SELECT key_value, score, severity, reason FROM centrality.scores('{path}', '{query}', 'id')"
    rows = run_sql(address, asked)
    assert [key for key, *_ in rows] == ["1", "2", "3"]
    assert rows[1][1:] == (None, None, None)
    expected = model.centrality(pa.table({"a": [2.0, 7.25], "b": [3.5, 2.0]}))
    np.testing.assert_allclose([rows[0][1], rows[2][1]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("query", "key", "words"),
    [
        ("SELECT house FROM houses", "house", "Missing column"),
        ("SELECT * FROM houses", "id", "a column 'id' was wanted as key, got the columns house"),
        ("DELETE FROM houses RETURNING *", "house", "DELETE is not allowed in a non-volatile function"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(shop, query, key, words):
    address, folder = shop
    path = save(Chain(Table(), quick(max_steps=20)).fit(houses()), folder, "wrong.safetensors")
    with pytest.raises(Exception, match=words):
        run_sql(address, f"SELECT * FROM centrality.scores('{path}', '{query}', '{key}')")
    assert tables.read(f"{address}#houses").num_rows == houses().num_rows


def test_nobody_else_may_call_them(shop):
    address, _ = shop
    run_sql(address, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    with pytest.raises(Exception, match="permission denied for schema centrality"):
        run_sql(address.replace("tester@", "guest@"), "SELECT centrality.severity('x', '{}')")
