"""Where a default fit of 10,000 x 32 numbers spends its CPU seconds, beside the bare products of its steps by numpy."""

from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from statistics import median
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np

# None of these calls another one of them.
PARTS = {
    "steps of training, by the engine": ("fuse.train", "EngineTrainer._train_member"),
    "batches and noise drawn": ("fuse.batches", "BatchSampler.draw"),
    "what drift remembers of the columns": ("fuse.estimator", "TrainingColumns.of"),
    "the background of the potentials": ("fuse.initialize", "backgrounds_of_members"),
    "the report on the fit": ("fuse.finish", "build_report"),
    "scaling": ("fuse.estimator", "Scaling.fit"),
    "noise scales": ("fuse.estimator", "choose_noise_scales"),
    "typical points": ("fuse.finish", "typical_points"),
}
BATCH, POTENTIALS, ANCHORS, HIDDEN, STEPS = 64, 1, 256, 128, 250


def parts(fit: Callable[[], Any], times: int) -> list[dict[str, object]]:
    """Return the median CPU seconds of each part, of the rest, and of the products alone."""
    found: dict[str, list[float]] = {}
    for _ in range(times):
        spent = dict.fromkeys(PARTS, 0.0)
        with ExitStack() as stack:
            for words, place in PARTS.items():
                _watch(stack, place, words, spent)
            start = process_time()
            fit()
            total = process_time() - start
        spent["all else"] = total - sum(spent.values())
        for words, seconds in {**spent, "the whole fit": total, "the steps' products alone, by numpy": floor()}.items():
            found.setdefault(words, []).append(seconds)
    whole = median(found["the whole fit"])
    return [
        {"part": words, "seconds": f"{median(each):.3g}", "share": f"{median(each) / whole:.0%}"}
        for words, each in found.items()
    ]


def _watch(stack: ExitStack, place: tuple[str, str], words: str, spent: dict[str, float]) -> None:
    owner: Any = import_module(f"centrality.{place[0]}")
    *names, last = place[1].split(".")
    for name in names:
        owner = getattr(owner, name)
    work = getattr(owner, last)  # of a class method, bound: it is called without its class

    def timed(*given: Any, **named: Any) -> Any:
        start = process_time()
        try:
            return work(*given, **named)
        finally:
            spent[words] += process_time() - start

    bound = hasattr(work, "__self__")
    stack.enter_context(patch.object(owner, last, staticmethod(timed) if bound else timed))


def floor(p: int = 32) -> float:
    """Return the CPU seconds of numpy's float32 products of the sizes that the steps of a default fit have."""
    noised, compared = -(-BATCH // POTENTIALS) * POTENTIALS, BATCH // 2
    sizes = [(compared, p, ANCHORS)]
    for rows in (noised, compared):
        up, down = [(rows, p, HIDDEN), (rows, HIDDEN, HIDDEN)], [(rows, HIDDEN, HIDDEN)]
        by_weights = [(HIDDEN, rows, p), (HIDDEN, rows, HIDDEN)]
        sizes += up + down + by_weights
        if rows == noised:  # slopes down the layers, and what they teach on the way up again
            sizes += [(rows, HIDDEN, HIDDEN), (rows, HIDDEN, p), *by_weights, *up]
    rng = np.random.default_rng(0)
    pairs = [(rng.random((n, k), dtype=np.float32), rng.random((k, m), dtype=np.float32)) for n, k, m in sizes]
    outs = [np.empty((len(a), b.shape[1]), dtype=np.float32) for a, b in pairs]
    start = process_time()
    for _ in range(STEPS):
        for (a, b), out in zip(pairs, outs, strict=True):
            np.matmul(a, b, out=out)
    return process_time() - start
