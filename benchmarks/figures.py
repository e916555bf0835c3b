"""Which command makes which results, and on which files they rest: a figure is old when one of those has changed.

Figures of time rest on the code they time. Figures of quality rest on the scores themselves, by `same_scores.csv`: code
that is moved or made faster does not make them old (see same_scores.py).
A new benchmark is one line here; `make benchmarks ARGS=--check` then tells when it has to be run again.
"""

from dataclasses import dataclass

ENGINE = ("engine/*.h", "engine/kernels.cpp", "engine/module.cpp")
SCORES = (*ENGINE, *(f"src/centrality/{room}/*.py" for room in ("network", "model", "analysis")))
FITS = (*SCORES, "src/centrality/fuse/*.py")
SAME_SCORES = ("benchmarks/same_scores.csv",)
TORCH = ("src/centrality/torch/*.py",)
TABLES = ("src/centrality/tables/*.py", "src/centrality/bulk/*.py")
COLUMNS = ("src/centrality/representations/*.py", "src/centrality/chain.py")
SELECTING = ("src/centrality/selection/*.py",)
FINDING = ("src/centrality/findings/*.py", "src/centrality/findings/kinds/*.py")
EXPLORER = ("src/centrality/apps/explorer/*.py", "web/src/**/*.ts")
SERVICE = ("src/centrality/apps/service/*.py", *TABLES, *SCORES)


@dataclass(frozen=True)
class Figure:
    """Results of one command: their names below the folder of results, and patterns of the files they rest on."""

    command: str
    results: tuple[str, ...]
    sources: tuple[str, ...]


def _measured(module: str, *sources: str, results: tuple[str, ...] = ()) -> Figure:
    """Return the figure of a module of this folder, whose own lines are among its sources."""
    own = f"benchmarks/{module}/*.py" if module in ("speed", "detection") else f"benchmarks/{module}.py"
    return Figure(f"python -m benchmarks.{module}", results or (module,), (own, *sources))


# What `make benchmarks` runs: about half an hour.
ROUTINE = (
    _measured("mixture", *SAME_SCORES),
    _measured("learning", *SAME_SCORES),
    _measured("depths", "src/centrality/depths/*.py"),
    _measured("modalities", *SAME_SCORES, *COLUMNS, results=("modalities", "modalities_plain")),
    _measured("streams", *TABLES, *SCORES),
    _measured("service", "benchmarks/_served.py", *SERVICE, results=("service", "service_arrow")),
    _measured("hostile", "benchmarks/_served.py", *SERVICE),
    _measured(
        "onnx_runtime",
        "src/centrality/onnx/*.py",
        "src/centrality/representations/onnx/*.py",
        "benchmarks/onnx_web.mjs",
        *SCORES,
        results=("onnx_runtime", "onnx_tables"),
    ),
    _measured("false_discoveries", *SAME_SCORES),
    _measured(
        "certainty",
        *(
            f"src/centrality/analysis/{part}.py"
            for part in ("certificate", "conformal", "monitor", "severity", "stability")
        ),
        *SAME_SCORES,
        results=("certainty_*",),
    ),
    _measured("databases", *TABLES, *SCORES, results=("databases",)),
    _measured(
        "databases",
        "src/centrality/duckdb.py",
        "src/centrality/spark.py",
        "src/centrality/bulk/functions.py",
        *SCORES,
        results=("databases_sql",),
    ),
    _measured("extras", "pyproject.toml"),
    _measured("speed", *FITS, results=("speed", "speed_memory", "speed_parts", "speed_threads", "cost")),
    _measured("explanations", *SAME_SCORES, results=("explanations_*",)),
    _measured("scale", *TABLES, *FITS, results=("scale", "scale_fit")),
    _measured("scale", *SAME_SCORES, results=("scale_sample",)),
    _measured(
        "column_writings",
        "benchmarks/_column_corpus.py",
        "benchmarks/_messy_files.py",
        *COLUMNS,
        *TABLES,
        results=("column_writings", "column_writings_*", "planted_cells"),
    ),
    _measured("pick", *SELECTING, *SAME_SCORES, *COLUMNS, results=("pick_*",)),
    _measured("copies", *SELECTING, *COLUMNS, results=("copies", "copies_*")),
    _measured("labels", "benchmarks/pick.py", *SELECTING, *SAME_SCORES, *COLUMNS),
    _measured(
        "findings",
        *FINDING,
        *SELECTING,
        *SAME_SCORES,
        *COLUMNS,
        "benchmarks/findings_peers.py",
        results=tuple(f"findings_{part}" for part in ("cells", "planted", "peers", "clean", "proofs", "time")),
    ),
    _measured("explorer", *EXPLORER),
    _measured("explorer_start", *EXPLORER),
    _measured("review_jobs", *EXPLORER),
    _measured("explorer_acts", *EXPLORER),
    Figure(
        "python -m benchmarks.explorer_acts --memory 5",
        ("explorer_memory",),
        ("benchmarks/explorer_acts.py", *EXPLORER),
    ),
)
# What takes hours, a GPU or another machine.
BY_HAND = (
    _measured("detection", *SAME_SCORES, results=("detection/*", "detection/*/*")),
    _measured("ablation", "benchmarks/network_worth.py", *SAME_SCORES, results=("ablation", "ablation_cells")),
    _measured("contextual", *SAME_SCORES, results=("contextual", "contextual_means")),
    _measured("contextual_scenarios", *SAME_SCORES),
    _measured("dirty_calibration", *SAME_SCORES),
    _measured(
        "names_in_file",
        "benchmarks/dirty_calibration.py",
        "src/centrality/analysis/conformal.py",
        "src/centrality/analysis/severity.py",
        *FINDING,
        *SAME_SCORES,
    ),
    _measured(
        "series",
        *SAME_SCORES,
        "src/centrality/series/*.py",
        results=("series", "series_*"),
    ),
    _measured("mixed_tables", *SAME_SCORES, *COLUMNS, results=("mixed_tables", "mixed_tables_faults")),
    _measured(
        "mixed_rows",
        *SAME_SCORES,
        *COLUMNS,
        results=("mixed_rows", "mixed_rows_reasons", "mixed_rows_markup", "mixed_rows_time"),
    ),
    _measured(
        "picture_regions",
        "benchmarks/_planted_pictures.py",
        "src/centrality/pictures.py",
        "src/centrality/representations/patches.py",
        *SAME_SCORES,
        results=("picture_regions", "picture_regions_choices", "picture_regions_marks"),
    ),
    _measured("drift", "src/centrality/regions.py", "src/centrality/analysis/drift*.py", *SAME_SCORES),
    _measured("known_truth", *SAME_SCORES, results=("known_truth_*",)),
    _measured("network_worth", *SAME_SCORES, results=("network_worth", "network_worth_cells", "network_worlds")),
    _measured("known_pairs", "src/centrality/depths/distance_based.py", *SAME_SCORES),
    _measured("fresh_rows", "benchmarks/odd_cases.py", *SAME_SCORES, results=("fresh_rows_*",)),
    _measured("gpu", *TORCH, *FITS),
    Figure("python -m benchmarks.scale --device cuda", ("scale_cuda", "scale_16_cores"), (*TORCH, *TABLES, *SCORES)),
    _measured("marks", "benchmarks/active_discovery.py", *SAME_SCORES, results=("marks", "marks_sets")),
    _measured("marks_error_rates", "benchmarks/dirty_calibration.py", *SAME_SCORES),
    _measured("membership", *SAME_SCORES),
    Figure("python -m benchmarks.speed paper", ("speed_paper",), ("benchmarks/speed/*.py", *FITS)),
    _measured("paper_gaps", *SAME_SCORES, results=("paper_gaps_*",)),
    Figure("make test-cpus ARGS=--record", ("cpus",), ("tests/cpus.py", *FITS)),
    Figure("make faults", ("faults",), ("tests/faults/*.py", *TABLES)),
    Figure(
        "make mutation",
        ("mutation", "mutation_survivors"),
        (
            "tests/mutation/*.py",
            *(f"src/centrality/{module}.py" for module in ("_internal/model_file", "regions", "metrics")),
            *(
                f"src/centrality/{module}.py"
                for module in ("network/calibration", "analysis/conformal", "torch/networks")
            ),
            *(f"src/centrality/fuse/{module}.py" for module in ("comparisons", "paper")),
        ),
    ),
    Figure("make fuzz", ("fuzz",), ("tests/fuzz/*.py", *TABLES, *COLUMNS, "src/centrality/apps/service/*.py")),
)
FIGURES = (*ROUTINE, *BY_HAND)
PAPER = Figure("centrality reproduce all", ("*",), ("paper/*.py", *SAME_SCORES))
