"""Record what the package computes and says, before its code is moved: `python -m tests.frozen.record`, in a minute.

No test of correctness: a move must leave these values as they are. They are recorded when the method has settled and
before the first file is moved, compared by `test_frozen.py` after every step, and leave the repository with the last.
Only public names and the command line are used, so that a move changes nothing here.

Floats are recorded as the SHA-256 of their bytes, which must be equal on the machine of the recording, and as a few of
them, which must be equal to within 1e-9 on any other; files and pages, which hold floats too, are compared on the
machine of the recording only. Everything else must be equal on both.
"""

import base64
import copy
import hashlib
import inspect
import io
import json
import os
import platform
import re
import runpy
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.same_scores import FRESH, ROWS, blob

import centrality
from centrality import FUSE, Chain, PaperFUSE, representations

RECORD = Path(__file__).with_name("record.json")
FEW = 12  # floats of an array that are recorded as such, evenly spaced
LONG, LONG_TEXT = 100, 20_000  # values or characters; of more, only the digest is recorded
TIMES = (0.0, 0.25, 0.5, 1.0)
ENVIRONMENT = {  # of the process that records, whoever starts it
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TZ": "UTC",
}

Fit = tuple[Any, Any, Any]  # a fitted model, its training rows, and fresh ones


# The fits: those of benchmarks/same_scores.py, then further configurations.


def fit(columns: int, rows: int = ROWS, *, by_paper: bool = False, **parameters: Any) -> Callable[[], Fit]:
    def fitted() -> Fit:
        X = blob(columns, rows)
        model = (PaperFUSE if by_paper else FUSE)(random_state=0, **parameters)
        return model.fit(X[:-FRESH]), X[:-FRESH], X[-FRESH:]

    return fitted


def pair() -> Fit:
    X = np.random.default_rng(1).normal(size=(ROWS + FRESH, 8))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[-1, :2] = 1, -1
    return FUSE(random_state=0).fit(X[:-FRESH]), X[:-FRESH], X[-FRESH:]


def dissimilarity() -> Fit:
    X = blob(3, 200)
    D = np.abs(X[:-FRESH, None, 0] - X[None, :-FRESH, 0])
    return FUSE(random_state=0).fit(X[:-FRESH], dissimilarity=D), X[:-FRESH], X[-FRESH:]


def table() -> Fit:
    import pandas as pd

    X = blob(4)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"])[np.argsort(X[:, 3]) % 3]
    frame.loc[::17, "b"] = np.nan
    model = Chain(representations.Table(), FUSE(random_state=0)).fit(frame[:-FRESH])
    return model, frame[:-FRESH], frame[-FRESH:]


def as_in_paper(experiment: str, columns: int = 3, **changes: Any) -> Callable[[], Fit]:
    def fitted() -> Fit:
        X = blob(columns, 150)
        model = FUSE.as_in_paper(experiment, random_state=0, **changes)
        return model.fit(X[:-FRESH]), X[:-FRESH], X[-FRESH:]

    return fitted


PAPER_SCORES: dict[str, Any] = {"noise_scale": 1.0, "scaling": "none", "calibration": "clip"}
WORDS: dict[str, Any] = {
    **{"scheme": 2, "anchors": 32, "shared_encoder": True, "batch_size": 48},
    **{"weight_decay": 0.01, "calibration": "clip"},
}
FITS: dict[str, Callable[[], Fit]] = {
    "few rows": fit(5),
    "few rows, two columns": fit(2),
    "few rows, many columns": fit(120, 150),
    "many rows": fit(8, 12_000),
    "many rows, many columns": fit(40, 8_000),
    "clean rows": fit(6, novelty=True),
    "clean rows, many": fit(6, 8_000, novelty=True),
    "a pair of columns": pair,
    "given": fit(4, given=[0]),
    "cosine": fit(4, metric="cosine"),
    "manhattan, share of outliers": fit(4, metric="manhattan", contamination=0.05),
    "the paper's": fit(3, by_paper=True, epochs=2, scheme=2, **PAPER_SCORES),
    "dissimilarity": dissimilarity,
    "table": table,
    "holdout": fit(5, holdout=0.2),
    "one network": fit(5, ensemble=1),
    "manhattan, unscaled": fit(5, metric="manhattan", scaling="none"),
    "paper, scheme 1": as_in_paper("synthetic", epochs=3),
    "paper, scheme 2 literal, budget": as_in_paper("outlier", scheme=2, literal=True, epochs=3, max_steps=70),
    "paper, scheme 4, budget": as_in_paper("synthetic", scheme=4, epochs=3, max_steps=200),
    "paper's words, our schedule": fit(5, by_paper=True, **WORDS),
    "paper, two networks, scaled": as_in_paper("real", columns=5, epochs=2, ensemble=2, scaling="standard"),
}
IN_ONNX = ("few rows", "clean rows", "given", "the paper's")


# What is recorded of them.


def of_model(name: str, folder: Path) -> Iterator[tuple[str, object]]:
    model, X, fresh = FITS[name]()
    rows = fresh if name == "table" else np.concatenate([X[:10], fresh])
    yield "noise_scale_", np.array(model.noise_scale_)
    yield "offset_", float(model.offset_)
    yield "center_", model.center_
    yield "history_", {head: np.array(losses) for head, losses in model.history_.items()}
    yield "centrality", model.centrality(rows, t=TIMES)
    marks: list[str | None] = ["fine"] * 5 + [None] * (len(X) - 6) + ["outlier"]
    answers: dict[str, Callable[[], object]] = {
        "raw": lambda: model.raw(rows),
        "heads": lambda: model.heads(rows),
        "score_samples": lambda: model.score_samples(rows),
        "p_values": lambda: model.p_values(rows),
        "detect": lambda: model.detect(rows, fdr=0.2),
        "threshold": lambda: model.threshold(X, contamination=0.05),
        "predict": lambda: model.predict(X),
        "explain": lambda: model.explain(rows),
        "toward_center": lambda: model.toward_center(fresh, steps=3),
        "standard_error": lambda: model.standard_error(rows),
        "kind": lambda: model.kind(rows),
        "smallest_correction": lambda: [
            (one.columns, one.after, one.corrected, one.enough) for one in model.smallest_correction(fresh)
        ],
        "review": lambda: model.review(X, marks).order,
        "learn_marks": lambda: copy.deepcopy(model).learn_marks(X, marks).centrality(rows),
    }
    for answer, ask in answers.items():
        try:
            yield answer, ask()
        except ValueError as error:  # not every model can answer; then so be it
            yield answer, type(error).__name__
    yield from of_file(model, folder / "model.safetensors")
    if name in IN_ONNX:
        yield "ONNX", of_onnx(model, rows, folder / "model.onnx")
    if name != "table":
        yield "partial_fit", model.partial_fit(X[:60] + 0.5).centrality(rows)


def of_file(model: Any, path: Path) -> Iterator[tuple[str, object]]:
    from safetensors import safe_open

    model.save(path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["centrality"])["header"]
        yield "file", {key: file.get_tensor(key) for key in sorted(file.keys())}
    header.pop("version", None)
    yield "header", header


def of_onnx(model: Any, rows: Any, path: Path) -> list[object]:
    import onnxruntime

    model.to_onnx(path)
    session = onnxruntime.InferenceSession(str(path))
    inputs = {put.name: rows if len(put.shape) == 2 else np.array([0.3]) for put in session.get_inputs()}
    return list(session.run(None, inputs))


# The command line, on the made-up houses, in an empty folder.

COMMANDS = (
    *("fit", "score", "rank", "detect", "explain", "pick", "copies", "refine", "labels", "drift", "depth", "plot"),
    *("explore", "inspect", "export", "serve", "datasets", "demo", "reproduce", "completion", "version"),
)
FITTING = "--random-state 0"
ASKED = (
    "datasets",
    "datasets houses -o houses.csv",
    f"fit houses.csv -o m.safetensors {FITTING}",
    f"fit houses.csv -o n.safetensors --columns area,rooms --t 0.3 {FITTING}",
    "inspect m.safetensors",
    "score m.safetensors houses.csv -o scores.csv --t 0,0.5,1 --explain",
    "score n.safetensors houses.csv -o narrow.jsonl",
    "rank houses.csv --top 5",
    "rank m.safetensors houses.csv --top 3 --by district",
    "detect m.safetensors houses.csv --false-positives 10 -o outliers.csv",
    "detect m.safetensors houses.csv --fdr 0.2",
    "explain houses.csv --top 3",
    "explain m.safetensors houses.csv --rows 3,7,1199",
    "pick m.safetensors houses.csv --typical 5",
    "pick houses.csv --diverse 10 -o picked.csv",
    "copies houses.csv",
    "labels houses.csv --by district --top 5",
    "drift m.safetensors houses.csv --window 300",
    "depth halfspace wine -o depths.csv --columns alcohol,hue --random-state 0",
    "depth --list",
    "refine m.safetensors houses.csv --marks marks.csv -o wiser.safetensors",
    "export n.safetensors -o n.onnx",
    "explore m.safetensors houses.csv --export page.html --map pca",
    "datasets wine -o wine.csv",
    "explore wine.csv --export wine.html --map pca",
    "fit nowhere.csv -o m.safetensors",
)
WRITTEN = ("scores.csv", "narrow.jsonl", "outliers.csv", "picked.csv", "depths.csv")
PAGES = ("page.html", "wine.html")
CLOCKS = {"seconds", "version"}  # fields that need not be equal


def command(line: str) -> tuple[int, str]:
    """Run a command in this process; return its exit status and what it printed to stdout."""
    out = io.StringIO()
    before = sys.argv
    sys.argv = ["centrality", *line.split()]
    status = 0
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            runpy.run_module("centrality", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.argv = before
    return status, out.getvalue()


def of_commands() -> Iterator[tuple[str, object]]:
    for name in ("", *COMMANDS):
        yield f"{name} --help".strip(), command(f"{name} --help")[1]
    marks = "".join(f"{row},fine\n" for row in range(5))
    Path("marks.csv").write_text(f"row,mark\n1194,outlier\n{marks}", encoding="utf-8")
    for line in ASKED:
        status, printed = command(f"{line} --json")
        yield line, {"status": status, "json": without_clocks(json.loads(printed)) if printed else None}
    for name in WRITTEN:
        yield name, Path(name).read_text(encoding="utf-8")
    for name in PAGES:
        _, _, page = Path(name).read_text(encoding="utf-8").partition('id="centrality-data">')
        yield name, base64.b64decode(page.partition("<")[0])


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_clocks(entry) for key, entry in value.items() if key not in CLOCKS}
    return [without_clocks(entry) for entry in value] if isinstance(value, list) else value


def of_service() -> Iterator[tuple[str, object]]:
    """Six answers of a service of the two models, and its description."""
    rows = {"rows": [{"area": 100.0, "rooms": 3.0}, {"area": 1000.0, "rooms": 1.0}]}
    asked: list[dict[str, Any]] = [
        rows,
        rows | {"t": 0.9},
        rows | {"p_values": True},
        rows | {"explain": True},
        {"rows": [{"area": 100.0}]},
        {"rows": [{"area": "big", "rooms": None}]},
    ]
    server = [sys.executable, "-m", "centrality", "serve", "n.safetensors", "--port", "0"]
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()  # comes when it serves
            address = re.search(r"http://[^ ]+?:\d+", first)
            if address is None:
                raise RuntimeError(f"The service did not start: {first}")
            yield "openapi.json", without_clocks(json.loads(answer(f"{address[0]}/openapi.json")[1]))
            for number, body in enumerate(asked):
                status, content = answer(f"{address[0]}/score", json.dumps(body).encode())
                yield f"answer {number}", [status, without_clocks(json.loads(content))]
        finally:
            process.terminate()


def answer(address: str, body: bytes | None = None) -> tuple[int, str]:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# Signatures, without annotations: they name the modules where types lie.


def of_signatures() -> Iterator[tuple[str, object]]:
    for name in dir(centrality):
        try:
            entry = getattr(centrality, name)
        except ImportError as error:  # an extra that is not installed
            yield name, type(error).__name__
            continue
        if not inspect.ismodule(entry):
            yield from signatures(name, entry)
            continue
        names = getattr(entry, "__all__", None) or [one for one in vars(entry) if not one.startswith("_")]
        for one in sorted(names):
            inside = getattr(entry, one)
            if getattr(inside, "__module__", "").startswith("centrality"):
                yield from signatures(f"{name}.{one}", inside)


def signatures(name: str, entry: object) -> Iterator[tuple[str, object]]:
    if not callable(entry):
        return
    yield name, parameters_of(entry)
    if inspect.isclass(entry):
        for one, member in inspect.getmembers(entry):
            if not one.startswith("_"):
                yield f"{name}.{one}", parameters_of(member) if callable(member) else type(member).__name__


def parameters_of(entry: Any) -> list[str] | None:
    try:
        parameters = inspect.signature(entry).parameters.values()
    except ValueError:  # built in
        return None
    return [f"{one.kind.name} {one.name} {default(one.default)}" for one in parameters]


def default(value: object) -> str:
    plain = (bool, int, float, str, tuple, list, type(None))
    return repr(value) if isinstance(value, plain) else "none" if value is inspect.Parameter.empty else "an object"


# One file of it all.


def plain(value: Any) -> Any:
    """Return the value as JSON holds it: an array of floats as its digest and a few of them."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        flat = np.ascontiguousarray(value).ravel()
        places = np.linspace(0, max(len(flat) - 1, 0), min(FEW, len(flat))).astype(int)
        few = [float(number) for number in flat[places]]
        return {"floats": digest(flat.tobytes()), "shape": list(value.shape), "dtype": str(value.dtype), "few": few}
    if isinstance(value, np.ndarray):
        listed = value.tolist()
        return listed if value.size <= LONG else {"values": digest(json.dumps(listed).encode()), "count": value.size}
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return {"text": digest(value.encode()), "length": len(value)}
    if isinstance(value, bytes):
        return {"bytes": digest(value), "length": len(value)}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def everything() -> Iterator[tuple[str, object]]:
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name in FITS:
                for part, value in of_model(name, Path(folder)):
                    yield f"fit: {name}: {part}", plain(value)
            for kind, source in (("command", of_commands), ("service", of_service), ("signature", of_signatures)):
                for part, value in source():
                    yield f"{kind}: {part}", plain(value)
        finally:
            os.chdir(home)


def machine() -> dict[str, str]:
    """Return what bits may depend on."""
    import scipy

    cpu = Path("/proc/cpuinfo")
    flags = re.search(r"^flags.*$", cpu.read_text(), re.MULTILINE) if cpu.exists() else None
    return {
        "cpu": platform.machine() + digest(flags[0].encode())[:12] if flags else platform.processor(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def recorded() -> dict[str, Any]:
    """Compute everything in a process of its own, in the same environment whoever asks; return it by name."""
    roots = [str(Path(centrality.__file__).parents[1]), str(Path(__file__).parents[2])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CENTRALITY_")}
    environment |= ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(roots)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        subprocess.run([sys.executable, "-m", "tests.frozen.record", str(path)], env=environment, check=True)
        return dict(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        warnings.simplefilter("ignore")
        values = {"machine": machine()} | dict(everything())
        Path(sys.argv[1]).write_text(json.dumps(values), encoding="utf-8")
    else:
        RECORD.write_text(json.dumps(recorded(), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{RECORD}: {RECORD.stat().st_size:,} bytes")
