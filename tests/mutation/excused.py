# ruff: noqa: E501  mutants are quoted as they are
"""Mutants that no test kills, and why each may live: they do what the original does, or what is nobody's business."""

_REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "network.calibration": {
        "a flat potential has no width: any number but 0 keeps it finite": (
            "rescaling: return (low, np.where(high > low, high - low, 2.0))",
        ),
    },
    "analysis.conformal": {
        "allowances for rounding: twice as much is as good": (
            "module: ROUNDING = 1 + 2e-12",
            "threshold_by_fdr: needed = int(np.ceil(1 / fraction('fdr', fdr) - 2e-09)) - 1",
            "threshold_by_fdr: enough = int(np.ceil(len(scores) / (fdr * beyond) - 2e-09)) - 1",
            "threshold_by_false_positives: needed = int(np.ceil(1 / level - 2e-09)) - 1",
        ),
        "what equals the bound lies below it already, by the allowance for rounding": (
            "largest_rejected: rejected = p[false_discovery_control(p) < share * ROUNDING] if len(p) else p",
        ),
        "a lot taken away is a lot": ("p_values: tie_free = level - rng.random(len(level))",),
    },
    "fuse.comparisons": {
        "how many anchors or rows are taken at a time does not change what is found": (
            "module: ANCHOR_BLOCK = 4097",
            "module: ANCHOR_BLOCK = 4095",
            "_require_dissimilarity: block = (1 << 22) * n",
            "_require_dissimilarity: block = (2 << 22) // n",
            "_require_dissimilarity: block = (1 << 23) // n",
            "_require_dissimilarity: block = (1 << 21) // n",
        ),
        "both are None at first, and neither later": (
            "preference: lead, votes = (won, cast) if lead is None and votes is None else (lead + won, votes + cast)",
        ),
        "from which mean on rows are centred: distances do not feel a shift": (
            "OfVectors.__init__: if metric == 'cosine' or rows.z.mean(0).abs().max() >= 1:",
            "OfVectors.__init__: if metric == 'cosine' or rows.z.sum(0).abs().max() > 1:",
            "OfVectors.__init__: if metric == 'cosine' or rows.z.mean(0).abs().max() > 2:",
            "OfVectors.__init__: if metric == 'cosine' or rows.z.mean(0).abs().max() > 0:",
        ),
        "how large rows are on average, by any sample of them": (
            "OfVectors.__init__: few = self.vectors[:]",
            "OfVectors.__init__: few = self.vectors[:1001]",
            "OfVectors.__init__: few = self.vectors[:999]",
        ),
        "1 is the default": ("OfVectors.renew: self.vectors.copy_(functional.normalize(given))",),
        "one member and one meeting are asked for: the first is the last, and a second would be left out": (
            "OfVectors._before_own: found.append(self.margin(own[None], every[None], 2)[0, 0].gather(1, place))",
            "OfVectors._before_own: found.append(self.margin(own[None], every[None], 1)[-1, 0].gather(1, place))",
            "OfVectors._before_own: found.append(self.margin(own[None], every[None], 1)[0, -1].gather(1, place))",
        ),
        "the last axis is the default of today's numpy; older ones want it said": (
            "OfFunction.distances: return np.take_along_axis(self.distances(rows, every), place.reshape(anchors.shape))",
        ),
        "for subclasses to say": ("ByNumber.distances: without raise NotImplementedError",),
        "numbers of any type can be compared": (
            "_elementwise: together = np.asarray(function(np.array([0, 1]), np.array([1, 2])))",
        ),
        "any shape but (2,) means no": ("_elementwise: together = np.empty(1)",),
        "the border itself, and a millionth of a millionth beside it": (
            "DissimilarityMatrix.__init__: if (asymmetry >= ASYMMETRY * np.maximum(block, mirror) + ASYMMETRY_AT_ZERO).any():",
            "DissimilarityMatrix.__init__: if (asymmetry > ASYMMETRY * np.minimum(block, mirror) + ASYMMETRY_AT_ZERO).any():",
        ),
    },
    "fuse.paper": {
        "a window of random anchors, turned or run through backwards: the same judges": (
            "Partition.judges: if self.scheme.all_anchors or count > size:",
            "Partition.judges: return np.asarray(self.anchors[(np.asarray(start)[..., None] - np.arange(count)) % size])",
        ),
    },
    "torch.networks": {},
    "_internal.model_file": {
        "too short for a header either way: refused by the same words": (
            "_sealed_header: length = struct.unpack('<Q', content[:8])[0] if len(content) > 8 else 0",
            "_sealed_header: length = struct.unpack('<Q', content[:8])[0] if len(content) >= 9 else 0",
            "_sealed_header: length = struct.unpack('<Q', content[:8])[0] if len(content) >= 8 else 1",
            "_sealed_header: length = struct.unpack('<Q', content[:8])[0] if len(content) >= 8 else -1",
        ),
        "of one number the first is the last": (
            "_sealed_header: length = struct.unpack('<Q', content[:8])[-1] if len(content) >= 8 else 0",
        ),
    },
    "regions": {
        "one step more or less of fifty, which halve the distance": (
            "median: def median(model: Estimator, X: RowsLike, *, steps: int=51) -> Array:",
            "median: def median(model: Estimator, X: RowsLike, *, steps: int=49) -> Array:",
        ),
        "one of several points that are equally deep": (
            "median: tries = best[-1] + step * directions",
            "median: return np.asarray(middle if _scores(model, middle[None])[0] >= height else best[-1])",
        ),
        "of one score the first is the last": (
            "median: return np.asarray(middle if _scores(model, middle[None])[-1] >= height else best[0])",
        ),
        "allowances for rounding: twice as much is as good": (
            "central_region: count = int(np.ceil(mass * len(scores) - 2e-09))",
            "two_sample_test: return TwoSampleTest(float(values[0]), float((distance > distance[0] - 1e-12).mean()))",
            "two_sample_test: return TwoSampleTest(float(values[0]), float((distance >= distance[0] - 2e-12).mean()))",
        ),
        "np.unique counts every class": (
            "DDClassifier.fit: sizes = ', '.join((f'{label}: {count}' for label, count in zip(self.classes_, counts)))",
            "DDClassifier.fit: sizes = ', '.join((f'{label}: {count}' for label, count in zip(self.classes_, counts, strict=False)))",
        ),
    },
    "metrics": {
        "a lone score has no range, so it is refused by the next condition": (
            "rank_correlation: if len(a) < 1 or np.ptp(a) == 0 or np.ptp(b) == 0:",
        ),
    },
}
EXCUSED = {
    module: {mutant: reason for reason, mutants in reasons.items() for mutant in mutants}
    for module, reasons in _REASONS.items()
}
