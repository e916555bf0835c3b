"""Files by address: on an S3 server that runs here, and as file:// on this machine."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs, parquet

from centrality import load, tables
from centrality.apps.cli import main
from centrality.bulk import chunks
from centrality.bulk import sample as sampling
from centrality.tables import files
from tests.conftest import quick
from tests.present import present
from tests.promise import assert_same_scores

pytestmark = pytest.mark.slow  # an S3 server is imported and started


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(900, 2))
    return pa.table({"id": np.arange(900), "a": X[:, 0], "b": X[:, 1]})


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick().fit(rows.select(["a", "b"])).save(path)
    return path


@pytest.fixture(scope="module")
def bucket():
    """An empty bucket's address; the server speaks S3 over HTTP."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch = pytest.MonkeyPatch()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.setenv(name, "testing")
    options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    fs.FileSystem.from_uri(f"s3://rows?{options}&allow_bucket_creation=true")[0].create_dir("rows")
    yield f"s3://rows/FOLDER?{options}"
    patch.undo()
    server.stop()


@pytest.fixture
def address(bucket, rows, request):
    """A folder of two Parquet files in the bucket, one in a folder below, beside what is no data."""
    address = bucket.replace("FOLDER", request.node.name[:40])
    filesystem, path = files.filesystem_and_path(address)
    for name, part in (("1", rows.slice(0, 500)), ("deep/2", rows.slice(500))):
        parquet.write_table(part, f"{path}/{name}.parquet", filesystem=filesystem, row_group_size=100)
    for name in ("_SUCCESS.parquet", ".hidden.parquet", "readme.txt"):
        with present(filesystem).open_output_stream(f"{path}/{name}") as file:
            file.write(b"no data")
    return address


def test_names_below_an_address_keep_its_options(address):
    assert files.files_below(address, (".parquet",)) == ["1.parquet", "deep/2.parquet"]
    base, _, options = address.partition("?")
    assert files.join(address, "deep/2.parquet") == f"{base}/deep/2.parquet?{options}"
    assert files.name_of(files.join(address, "1.parquet")).name == "1.parquet"


def test_a_folder_on_a_store_is_read_and_sampled_like_one_here(address, rows):
    assert tables.read(address).equals(rows)
    sample = sampling.sample(address, 90, np.random.default_rng(0), ["id"])["id"].to_numpy()
    assert len(np.unique(sample)) == 90


def test_scores_go_from_store_to_store_and_are_resumed(address, rows, model):
    base, _, options = address.partition("?")
    out = f"{base}-scores/?{options}"
    arguments = ["score", str(model), address, "-o", out, "--t", "1"]
    assert main(arguments) == 0
    scored = tables.read(out)
    assert_same_scores(scored["centrality_t100"], load(model).centrality(rows.select(["a", "b"]), t=1))
    one, other = (files.join(out, name) for name in ("1.parquet", "deep/2.parquet"))
    filesystem, path = files.filesystem_and_path(one)
    present(filesystem).delete_file(path)
    before = files.modified_at(other)
    assert main([*arguments, "--resume"]) == 0
    assert files.modified_at(other) == before
    assert tables.read(out).equals(scored)


def test_a_file_is_written_to_a_store_whole_or_not_at_all(address):
    place = files.join(address, "new.txt")

    def half(error):
        with files.write_atomically(place) as here:
            here.write_text("half")
            raise error

    with pytest.raises(OSError, match="disk full"):
        half(OSError("disk full"))
    assert files.modified_at(place) is None
    with files.write_atomically(place) as here:
        here.write_text("whole")
    filesystem, path = files.filesystem_and_path(place)
    assert present(filesystem).open_input_stream(path).read() == b"whole"


def test_addresses_of_files_here_are_their_paths(rows, model, tmp_path):
    (tmp_path / "in").mkdir()
    tables.write(rows, tmp_path / "in" / "x.parquet")
    assert main(["score", str(model), f"file://{tmp_path}/in", "-o", f"file://{tmp_path}/out/"]) == 0
    assert [chunk.rows for chunk in chunks.plan(tmp_path / "out", None)] == [900]


def test_what_a_store_cannot_give_is_said(address, model, tmp_path, capsys):
    text = files.join(address, "rows.csv")
    for data, message in ((text, "from a store, .parquet files were wanted, got .csv"), ("s4://x/y", "no address")):
        assert main(["score", str(model), data, "-o", str(tmp_path / "s.parquet")]) == 2
        assert message in capsys.readouterr().err
    assert main(["score", str(model), files.join(address, "none.parquet"), "-o", str(tmp_path / "s.parquet")]) == 2
    assert "none.parquet" in capsys.readouterr().err
