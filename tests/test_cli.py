import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from centrality import commands, load, tables
from centrality.cli import main
from tests.conftest import quick
from tests.promise import assert_same_scores


@pytest.fixture
def csv(blob, tmp_path):
    path = tmp_path / "rows.csv"
    names = pa.array([f"row {i}" for i in range(len(blob))])
    tables.write(pa.table({"name": names, "length": blob[:, 0], "width": blob[:, 1]}), path)
    return path


@pytest.fixture
def model(csv, tmp_path):
    path = tmp_path / "model.safetensors"
    fit = ["fit", str(csv), "-o", str(path), "--columns", "length,width", "--max-steps", "50", "--random-state", "0"]
    assert main(fit) == 0
    return path


def run(*arguments, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "centrality.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_fit_then_score_adds_a_column_for_each_t_beside_the_input(csv, model, blob, tmp_path, suffix):
    data = csv if suffix != ".npz" else tmp_path / "rows.parquet"
    if suffix == ".npz":
        tables.write(tables.read(csv).drop_columns(["name"]), data)
    out = tmp_path / f"scores{suffix}"
    assert main(["score", str(model), str(data), "-o", str(out), "--t", "0,0.5,1"]) == 0
    expected = load(model).centrality(tables.select(tables.read(csv), ["length", "width"]), t=[0, 0.5, 1])
    if suffix == ".npz":
        with np.load(out) as archive:
            assert archive.files == ["length", "width", "centrality_t0", "centrality", "centrality_t100"]
            assert_same_scores(archive["centrality_t100"], expected[:, 2])
    else:
        table = tables.read(out)
        assert table.column_names == ["name", "length", "width", "centrality_t0", "centrality", "centrality_t100"]
        assert_same_scores(table["centrality"].to_numpy(), expected[:, 1])


def test_without_t_the_models_own_is_used(csv, tmp_path):
    model, out = tmp_path / "m.safetensors", tmp_path / "s.csv"
    assert main(["fit", str(csv), "-o", str(model), "--columns", "length,width", "--max-steps", "9", "--t", "0.2"]) == 0
    assert main(["score", str(model), str(csv), "-o", str(out)]) == 0
    assert tables.read(out).column_names[-1] == "centrality"


def test_arrays_work_from_end_to_end(blob, tmp_path):
    data, model, out = tmp_path / "rows.npy", tmp_path / "m.safetensors", tmp_path / "s.npy"
    np.save(data, blob)
    assert main(["fit", str(data), "-o", str(model), "--max-steps", "9", "--noise-scale", "0.5,1"]) == 0
    assert load(model).noise_scale_ == (0.5, 1.0)
    assert main(["score", str(model), str(data), "-o", str(out), "--t", "1"]) == 0
    scores = load(model).centrality(tables.read(data), t=1)
    np.testing.assert_allclose(np.load(out), np.column_stack([blob, scores]), atol=1e-6)


@pytest.mark.parametrize("name", ["mahalanobis", "halfspace", "projection", "kernel_density"])
def test_depth_adds_a_column_beside_the_input(csv, blob, tmp_path, name):
    out = tmp_path / "depths.parquet"
    arguments = ["depth", name, str(csv), "-o", str(out), "--columns", "length,width", "--random-state", "0"]
    assert main(arguments) == 0
    table = tables.read(out)
    assert table.column_names == ["name", "length", "width", f"depth_{name}"]
    inward = -np.linalg.norm(blob, axis=1)
    assert spearmanr(table[f"depth_{name}"].to_numpy(), inward)[0] > 0.95


def test_json_is_for_machines(csv, model, tmp_path, capsys):
    capsys.readouterr()
    assert main(["inspect", str(model), "--json"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    assert inspected["feature_names"] == ["length", "width"]
    assert inspected["parameters"]["max_steps"] == 50
    assert main(["score", str(model), str(csv), "-o", str(tmp_path / "s.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["centrality"]
    assert main(["fit", str(csv), "-o", str(model), "--columns", "width", "--max-steps", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == 1


def test_inspect_says_what_is_in_a_model(model, capsys):
    capsys.readouterr()
    assert main(["inspect", str(model)]) == 0
    shown = capsys.readouterr().out
    for part in ("FUSE, format 2.0", "length, width", "after 50 steps", "metric='euclidean'", "weights"):
        assert part in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--represent", "numbers"], "hold something else: 'name'"),
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "lenght"], "Did you mean 'length'?"),
        (["fit", "{tmp}/none.csv", "-o", "{tmp}/m.safetensors"], "There is no file at"),
        (["fit", "{csv}", "-o", "{tmp}/no/m.safetensors", "--columns", "width"], "does not exist"),
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "width", "--t", "3"], "t must lie between"),
        (
            ["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "width", "--metric", "l9"],
            "metric must be one of",
        ),
        (["score", "{model}", "{csv}", "-o", "{tmp}/scores.txt"], "was wanted, got .txt"),
        (["score", "{model}", "{csv}", "-o", "{tmp}/s.csv", "--t", "0,2"], "t must lie between"),
        (["score", "{csv}", "{csv}", "-o", "{tmp}/s.csv"], "is not a model file"),
        (["score", "{model}", "{tmp}/narrow.csv", "-o", "{tmp}/s.csv"], "Missing column: 'length'"),
        (
            ["score", "{model}", "{tmp}/holes.csv", "-o", "{tmp}/s.csv"],
            "NaN or infinity (inf) in column 'width' (1 rows)",
        ),
        (["inspect", "{tmp}/none.safetensors"], "There is no model file"),
        (["depth", "tukey", "{csv}", "-o", "{tmp}/d.csv"], "NAME must be one of mahalanobis, spatial"),
        (["depth", "halfspace", "{csv}", "-o", "{tmp}/d.csv"], "hold something else: 'name'"),
    ],
)
def test_wrong_input_says_what_was_wanted_exits_2_and_writes_nothing(
    csv, model, tmp_path, capsys, *, arguments, message
):
    (tmp_path / "narrow.csv").write_text("width\n1\n")
    (tmp_path / "holes.csv").write_text("length,width\n1,2\n3,\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main([part.format(csv=csv, model=model, tmp=tmp_path) for part in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("centrality: ")
    assert message in error
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scor"], "there is no command 'scor'; did you mean score?"),
        (["score"], "required: MODEL, DATA"),
        (["fit", "x.csv"], "required: -o"),
        (
            ["fit", "x", "-o", "y.safetensors", "--t", "half"],
            "--t: one number from 0 (global) to 1 (local) was wanted, got half",
        ),
        (["rank", "m", "d", "--top", "0"], "a whole number above 0 was wanted, got 0"),
        (
            ["plot", "profile", "m", "d", "-o", "x.png", "--rows=-1"],
            "row numbers from 0 on, or names of rows, were wanted, got -1",
        ),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_model_of_mixed_columns_is_inspected_and_mapped(tmp_path, capsys):
    table = pa.table({"size": np.arange(40.0), "colour": ["red", "blue"] * 20})
    tables.write(table, tmp_path / "t.parquet")
    fit = ["fit", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "m.safetensors"), "--represent", "table"]
    assert main([*fit, "--max-steps", "9", "--random-state", "0"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "m.safetensors")]) == 0
    shown = capsys.readouterr().out
    for part in ("Chain, format", "representation  Table", "colour  category, 2 levels", "size    number, stan"):
        assert part in shown
    out = tmp_path / "map.svg"
    assert main(["plot", "map", str(tmp_path / "m.safetensors"), str(tmp_path / "t.parquet"), "-o", str(out)]) == 0
    assert "t = 0  (global)" in out.read_text()


def test_every_name_that_dir_tells_can_be_had():
    import centrality
    from centrality import representations

    for module, some in ((centrality, {"FUSE", "load", "depths"}), (representations, {"Table", "Text"})):
        assert some <= set(dir(module))
        assert all(getattr(module, name) is not None for name in dir(module))
        with pytest.raises(AttributeError, match="no attribute 'FUES'"):
            module.FUES  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("command", ["", *commands.ALL])
def test_every_command_explains_itself_without_importing_torch(command):
    script = (
        "import sys\nfrom centrality.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(sorted({'torch', 'sklearn', 'pyarrow', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split(), "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage: centrality")
    assert done.stderr.strip() == "[]"


@pytest.mark.slow
def test_importing_the_package_imports_nothing_heavy():
    script = "import centrality, sys; print(sorted({'torch', 'sklearn', 'pyarrow', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_reading_a_model_needs_no_torch(model):
    script = (
        f"import sys\nfrom centrality.cli import main\nmain(['inspect', {str(model)!r}])\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_p_values_stand_beside_the_scores_of_a_model_with_rows_held_aside(blob, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", blob)
    assert main(["fit", "rows.npy", "-o", "m.safetensors", "--holdout", "0.3", "--max-steps", "30"]) == 0
    tables.write(tables.read(Path("rows.npy")).slice(0, 40), Path(f"new.{kind}"))
    assert main(["score", "m.safetensors", f"new.{kind}", "-o", f"s.{kind}", "--t", "0,1", "--p-values"]) == 0
    scores = tables.read(Path(f"s.{kind}"))
    assert scores.column_names[-4:] == ["centrality_t0", "centrality_t100", "p_value_t0", "p_value_t100"]
    expected = load("m.safetensors").p_values(tables.read(Path(f"new.{kind}")), t=[0, 1])
    np.testing.assert_allclose(scores["p_value_t0"].to_numpy(), expected[:, 0])
    np.testing.assert_allclose(scores["p_value_t100"].to_numpy(), expected[:, 1])


def test_p_values_without_rows_held_aside_are_an_error_that_says_how_to_have_them(blob, tmp_path, capsys):
    model = tmp_path / "paper.safetensors"
    quick(epochs=1).fit(blob).save(model)  # the paper's schedule leaves no row out
    np.save(tmp_path / "rows.npy", blob)
    assert main(["score", str(model), str(tmp_path / "rows.npy"), "-o", str(tmp_path / "s.npz"), "--p-values"]) == 2
    assert "holdout=0.2" in capsys.readouterr().err
    assert not (tmp_path / "s.npz").exists()


# A flag of 1 tells a function from a module or a class that is being imported.
TELLS_WHEN_IT_TRAINS = """
import sys, threading, time

def frames():
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield frame.f_code
            frame = frame.f_back

def watch():
    while not any("/centrality/training/" in c.co_filename and c.co_flags & 1 for c in frames()):
        time.sleep(0.01)
    print("It trains.", flush=True)

threading.Thread(target=watch, daemon=True).start()
"""


@pytest.mark.slow
def test_ctrl_c_during_a_fit_leaves_no_file(blob, tmp_path):
    np.save(tmp_path / "rows.npy", blob)
    (tmp_path / "sitecustomize.py").write_text(TELLS_WHEN_IT_TRAINS)  # from inside the real program
    arguments = ["fit", "rows.npy", "-o", "m.safetensors", "--max-steps", "1000000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "centrality.cli", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    try:
        assert process.stdout.readline() == "It trains.\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()  # where it goes on training, as under `nohup`
    assert process.returncode == 130
    assert "interrupted, nothing was written" in error
    assert not list(tmp_path.glob("*.safetensors"))


def test_the_version_is_the_packages(capsys):
    from importlib.metadata import version

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"centrality {version('centrality')}"


@pytest.mark.slow
def test_the_installed_command_is_this_one():
    assert (
        run("--help").stdout
        == subprocess.run(
            [Path(sys.executable).with_name("centrality"), "--help"], capture_output=True, text=True, check=True
        ).stdout
    )


def test_centrality_alone_prints_its_help_and_is_no_mistake(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    assert "first steps:" in capsys.readouterr().out
