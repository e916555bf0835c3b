"""Scoring by ONNX Runtime beside the model itself: microseconds a call, turn by turn in one run, one thread each.

python -m benchmarks.onnx_runtime
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks._results import save
from centrality import FUSE
from centrality.onnx import Scorer

COLUMNS, TURNS = 32, 15
CALLS = {1: 200, 64: 100, 100_000: 1}  # of so many rows


def microseconds(work: Callable[[], object], calls: int) -> float:
    before = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - before) / calls * 1e6


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0).fit(rng.normal(size=(20_000, COLUMNS)))
    with tempfile.TemporaryDirectory() as folder:
        model.to_onnx(Path(folder) / "m.onnx")
        scorer = Scorer(Path(folder) / "m.onnx", threads=1)
    found: list[dict[str, object]] = []
    for rows, calls in CALLS.items():
        Q = rng.normal(size=(rows, COLUMNS))
        worst = float(np.abs(scorer.heads(Q) - model.heads(Q)).max())
        turns = [(microseconds(lambda: scorer.heads(Q), calls), microseconds(lambda: model.heads(Q), calls))  # noqa: B023
                 for _ in range(TURNS)]  # fmt: skip
        own, of_model = (statistics.median(times) for times in zip(*turns, strict=True))
        ratio = statistics.median(b / a for a, b in turns)
        found.append(
            {"rows": rows, "onnx_us": own, "model_us": of_model, "ratio": ratio, "largest_difference": f"{worst:.1e}"}
        )
    save("onnx_runtime", found)


if __name__ == "__main__":
    main()
