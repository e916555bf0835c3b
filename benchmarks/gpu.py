"""python -m benchmarks.gpu: fits and scores on one GPU beside the engine on the host's CPU, and how far they are apart.

A cold fit is the first one of a process, with all that it imports and sets up; a warm fit is the best of three that
follow. Rows a second are those of `heads`, the best of four calls.
"""

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from benchmarks._results import save
from centrality.model.interface import with_fitted

SHAPES = [(2_000, 10), (10_000, 32), (100_000, 512)]
SCORED = 1 << 22, 64  # rows, columns
SAMPLE = 100_000  # rows whose heads are compared
DEVICES = "cpu", "cuda"
Row = dict[str, object]


def main() -> None:
    import torch

    rows = [fit(n, p, device) for n, p in SHAPES for device in DEVICES]
    rows += [row for novelty in (False, True) for row in scores(novelty)]
    for row in rows:
        row["gpu"] = torch.cuda.get_device_name()
    save("gpu", rows)


def fit(n: int, p: int, device: str) -> Row:
    """In a process of its own: what is cold there is so for a user, too."""
    command = [sys.executable, "-m", "benchmarks.gpu", str(n), str(p), device]
    cold, warm = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {"what": f"fit, {n:,} x {p}", "on": device, "seen": f"{cold} s cold, {warm} s warm"}


def timed_fits(n: int, p: int, device: str) -> None:
    X = np.random.default_rng(0).normal(size=(n, p)).astype(np.float32)

    def one() -> None:
        from centrality import FUSE

        FUSE(random_state=0, device=device).fit(X)

    cold = seconds(one)
    print(f"{cold:.2f} {min(seconds(one) for _ in range(3)):.2f}")


def scores(novelty: bool) -> list[Row]:
    import torch

    from centrality import FUSE

    n, p = (SCORED[0] // 8 if novelty else SCORED[0]), SCORED[1]
    X = np.random.default_rng(0).normal(size=(20_000, p)).astype(np.float32)
    model = FUSE(random_state=0, novelty=novelty).fit(X)
    on_gpu = with_fitted(model, model.fitted_.on("cuda"))
    there = torch.randn(n, p, device="cuda")
    here = there.cpu().numpy()
    ways = {
        "a CUDA tensor": lambda: model.heads(there),
        "an array, device='cuda'": lambda: on_gpu.heads(here),
        "an array, device='cpu'": lambda: model.heads(here),
    }
    kind = ", novelty" * novelty
    found: list[Row] = [
        {"what": f"score, p={p}{kind}", "on": name, "seen": f"{n / min(seconds(way) for _ in range(4)):.3g} rows/s"}
        for name, way in ways.items()
    ]
    apart = np.abs(model.heads(there[:SAMPLE]) - model.heads(here[:SAMPLE])).max()
    return [*found, {"what": f"largest difference of a head{kind}", "on": "cuda and cpu", "seen": f"{apart:.1e}"}]


def seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


if __name__ == "__main__":
    if len(sys.argv) == 4:
        timed_fits(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main()
