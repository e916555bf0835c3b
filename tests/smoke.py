"""What must work where only the core requirements are installed; run by tests/versions.py in such an environment."""

import subprocess
import sys
import tempfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

BIN = Path(sys.executable).parent
ABSENT = ("pandas", "matplotlib", "onnx", "PIL", "orjson")


def command(*arguments: str | Path, code: int = 0) -> str:
    """Run `centrality` with these arguments and return all it said."""
    done = subprocess.run([BIN / "centrality", *arguments], capture_output=True, text=True)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def main() -> None:
    import centrality

    assert all(find_spec(name) is None for name in ABSENT), "This wants an environment without extras."
    assert command("--version").strip() == f"centrality {centrality.__version__}"
    by_module = subprocess.run([sys.executable, "-m", "centrality.apps.cli", "--help"], capture_output=True, text=True)
    assert by_module.stdout == command("--help")
    static = files("centrality.apps.explorer") / "static"
    assert all((static / name).read_bytes() for name in ("explorer.js", "explorer.css"))
    with tempfile.TemporaryDirectory() as folder:
        of_a_table(Path(folder))
    print("The package works with its core requirements alone.")


def of_a_table(folder: Path) -> None:
    """Fit, score, save, load, rank, explore and a depth, on 300 rows."""
    from centrality import load, tables
    from centrality.depths import Mahalanobis

    X = np.random.default_rng(0).normal(size=(300, 3))
    data, model, scores = folder / "rows.csv", folder / "model.safetensors", folder / "scores.csv"
    np.savetxt(data, X, delimiter=",", header="a,b,c", comments="")
    command("fit", data, "-o", model, "--max-steps", "50")
    command("score", model, data, "-o", scores, "--t", "0,1")
    table = tables.read(scores)
    np.testing.assert_allclose(
        table["centrality_t0"].to_numpy(), load(model).centrality(tables.read(data), t=0), atol=1e-6
    )
    assert "peripheral" in command("rank", model, data)
    command("explore", model, data, "--export", folder / "page.html")
    command("depth", "mahalanobis", data, "-o", folder / "depths.csv")
    assert len(Mahalanobis().fit(X).score_samples(X)) == len(X)
    assert "'.[plots]'" in command("plot", "map", model, data, "-o", folder / "map.png", code=2)
    assert "'.[onnx]'" in command("export", model, "-o", folder / "model.onnx", code=2)
    assert "'.[serve]'" in command("serve", model, code=2)
    mixed = folder / "mixed.csv"
    mixed.write_text("when,price,kind\n" + "".join(f"{1 + k % 28}.03.2024,€ {k},{'ab'[k % 2]}\n" for k in range(300)))
    assert "1 category, 1 date, 1 number" in command("rank", mixed, "--top", "1")


if __name__ == "__main__":
    main()
