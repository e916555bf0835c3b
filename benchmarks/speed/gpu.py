"""python -m benchmarks.speed.gpu: training steps, forward passes and a whole fit on one GPU.

A step is timed as the difference between a long and a short fit of the same data, so that what a fit costs besides its
steps does not count. A forward pass is of rows that lie on the GPU, both heads, as `score_samples` runs it. Rows a
second with TF32 are what torch.set_float32_matmul_precision("high") gives: FUSE never asks for it by itself.
"""

from time import perf_counter

import numpy as np
import torch

from benchmarks._results import save
from centrality import FUSE

STEPS = 500, 2500
SHAPES = [(2, 128), (32, 256), (64, 1024), (512, 128), (512, 1024)]  # columns, batch size
FORWARD_ROWS = 1 << 22
CHUNKS = 1 << 14, 1 << 15, 1 << 16, 1 << 17  # rows a pass; the best is reported


def main() -> None:
    rows = [step(p, batch) for p, batch in SHAPES]
    rows.append(step(512, 1024, ensemble=5))
    rows += [forward(p, precision) for p in (2, 32, 512) for precision in ("highest", "high")]
    rows.append(whole_fit())
    rows += end_to_end(novelty=False) + end_to_end(novelty=True)
    for row in rows:
        row["device"] = torch.cuda.get_device_name()
    save("speed_gpu", rows)


def step(p: int, batch: int, **settings: int) -> dict[str, object]:
    X = np.random.default_rng(0).normal(size=(20_000, p)).astype(np.float32)
    times = [fitted(X, batch_size=batch, max_steps=steps, **settings) for steps in (50, *STEPS)][1:]
    each = (times[1] - times[0]) / (STEPS[1] - STEPS[0])
    name = "".join(f" {key}={value}" for key, value in settings.items())
    return {"what": f"training step, p={p}, batch_size={batch}{name}", "value": each * 1e3, "unit": "ms", "bar": "0.30"}


def fitted(X: np.ndarray, **settings: int) -> float:
    start = perf_counter()
    FUSE(random_state=0, device="cuda", **settings).fit(X)
    torch.cuda.synchronize()
    return perf_counter() - start


def forward(p: int, precision: str) -> dict[str, object]:
    X = np.random.default_rng(0).normal(size=(2000, p)).astype(np.float32)
    score = FUSE(random_state=0, device="cuda", max_steps=20).fit(X).fitted_.scorer.folded
    z = torch.randn(min(FORWARD_ROWS, (1 << 31) // p), p, device="cuda")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        times = {}
        for size in CHUNKS * 4:
            torch.cuda.synchronize()
            start = perf_counter()
            for chunk in z.split(size):
                score(chunk)
            torch.cuda.synchronize()
            times[size] = min(times.get(size, np.inf), perf_counter() - start)
    finally:
        torch.set_float32_matmul_precision(before)
    kind = "TF32" if precision == "high" else "float32"
    bar = "4e8" if p == 512 else ""
    size = min(times, key=times.__getitem__)
    what = f"forward, p={p}, {kind}, {size} rows a pass"
    return {"what": what, "value": len(z) / times[size], "unit": "rows/s", "bar": bar}


def end_to_end(novelty: bool) -> list[dict[str, object]]:
    """`score_samples` of rows that lie on the GPU, and of rows in the host's memory; and how far the CPU's are off."""
    p, n, bars = 64, (1 << 21 if novelty else 1 << 24), ("", "") if novelty else ("1e8", "1.5e7")
    X = np.random.default_rng(0).normal(size=(20_000, p)).astype(np.float32)
    model = FUSE(random_state=0, device="cuda", novelty=novelty).fit(X)
    there = torch.randn(n, p, device="cuda")
    here = there.cpu().numpy()
    rows = []
    kind = "novelty, " if novelty else ""
    for name, given, bar in (("CUDA tensor", there, bars[0]), ("numpy float32", here, bars[1])):
        times = []
        for _ in range(4):
            torch.cuda.synchronize()
            start = perf_counter()
            model.score_samples(given)
            times.append(perf_counter() - start)
        what = f"end to end, {kind}p={p}, {name} in"
        rows.append({"what": what, "value": n / min(times), "unit": "rows/s", "bar": bar})
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # as a user may have it elsewhere
    try:
        on_gpu = model.heads(there[:100_000])
    finally:
        torch.set_float32_matmul_precision(before)
    apart = np.abs(on_gpu - model.fitted_.on("cpu").heads(here[:100_000])).max()
    what = f"largest difference of a head from the CPU's{', novelty' * novelty}"
    return [*rows, {"what": what, "value": f"{apart:.1e}", "unit": "", "bar": "1e-6"}]


def whole_fit() -> dict[str, object]:
    X = np.empty((10_000_000, 128), dtype=np.float32)
    rng = np.random.default_rng(0)
    for block in np.array_split(X, 100):
        block[:] = rng.normal(size=(1, 128)) + rng.random(size=block.shape, dtype=np.float32)
    return {"what": "whole fit, n=10,000,000, p=128", "value": fitted(X), "unit": "s", "bar": "10"}


if __name__ == "__main__":
    main()
