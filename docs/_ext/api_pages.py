"""Write the pages of the API reference: one for each public name, listed by module; see-also from the lists below."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

# Each module of the public surface: what it is for. Its names are those of its __all__.
MODULES = {
    "centrality": "The estimators that most people need, and loading them from a file.",
    "centrality.representations": "Turn tables, texts, images and time series into vectors.",
    "centrality.findings": "What `check` returns.",
    "centrality.series": "Odd stretches of series, and moments judged as they come.",
    "centrality.pictures": "Odd parts of pictures.",
    "centrality.depths": "Classical depths: estimators without training.",
    "centrality.regions": "What a depth is good for: medians, regions, comparisons, classifiers.",
    "centrality.metrics": "How good is a centrality?",
    "centrality.plots": "Figures, from arrays.",
    "centrality.maps": "Rows on the plane.",
    "centrality.datasets": "Data to try things on.",
    "centrality.onnx": "Score an exported model with ONNX Runtime.",
    "centrality.pyod": "FUSE as a PyOD detector.",
    "centrality.distributed": "Fit, score, check and compare on a Ray cluster.",
    "centrality.duckdb": "Functions of a model in DuckDB's SQL.",
    "centrality.mlflow": "Log models with MLflow, load and serve them.",
    "centrality.spark": "Scores, functions of SQL, checks and drift for Spark.",
    "centrality.model.explain": "What `smallest_correction` returns.",
    "centrality.analysis.drift_columns": "What `drift` says of one column, or of two.",
    "centrality.analysis.drift": "What `drift` and `drift_report` return.",
    "centrality.analysis.reasons": "What `reasons` returns.",
    "centrality.analysis.report": "What `report` returns.",
}
INTERNAL = {"centrality.depths": {"BY_NAME", "Depth"}}  # of a module's __all__, what users do not call
MOST_EXAMPLES = 6
# Types in words that readers know; where one is left that is not plain, only the default is shown.
KNOWN_AS = {
    r"Union\[_Buffer.*NoneType\]": "array or None", r"Union\[_Buffer.*\]": "array",
    r"ndarray\[tuple\[Any, \.\.\.\], \w+\[\w+\]\]": "array",
    r"ModelRows|RowsLike": "array or frame", "CentralityModel": "FUSE or Chain", "_Estimator": "estimator",
    r" or PathLike\[str\]": "", r"Callable\[\.\.\., Any\]": "callable", r"Sequence\[(\w+)\]": r"list of \1",
}  # fmt: skip
CODE = re.compile(r"^```(?:python|\{code-cell\})\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Of these modules, users meet only some names: mostly what methods return.
SHOWN = {
    "centrality.findings": ["DrawnRows", "Finding", "Findings"],
    "centrality.series": ["Event", "Events", "Moment", "Stream"],
    "centrality.pictures": ["PictureRegions", "PictureHeat", "Region"],
    "centrality.depths": [
        "Halfspace",
        "KernelDensity",
        "L2",
        "Mahalanobis",
        "Potential",
        "Projection",
        "Simplicial",
        "Spatial",
        "Zonoid",
    ],
    "centrality.model.explain": ["Correction", "Corrections"],
    "centrality.analysis.drift_columns": ["ColumnDrift", "PairDrift"],
    "centrality.analysis.drift": ["Drift", "DriftReport", "HeadDrift", "Window"],
    "centrality.analysis.reasons": ["Reasons", "Reason"],
    "centrality.analysis.report": ["Report"],
    "centrality.distributed": ["check", "drift", "fit", "score"],
    "centrality.duckdb": ["register", "Functions"],
    "centrality.spark": ["check", "drift", "register", "score"],
}


def public_names(module_name: str) -> list[str]:
    """Name what a module offers: its __all__, else the classes and functions that it defines itself."""
    module = import_module(module_name)
    names = SHOWN.get(module_name) or getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, thing in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(thing) or inspect.isfunction(thing))
            and thing.__module__ == module_name
        ]
    left_out = INTERNAL.get(module_name, set())
    return [name for name in names if not name.startswith("_") and name not in left_out]


def public_methods(thing: type) -> list[str]:
    """Name the methods and properties that a class offers, its own and those of our base classes."""
    own = {
        name: attribute
        for base in reversed(thing.__mro__)
        if base.__module__.startswith("centrality")
        for name, attribute in vars(base).items()
    }
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name, attribute in own.items()
        if not name.startswith("_")
        and name not in FOR_EXTENSIONS
        and (inspect.isfunction(attribute) or isinstance(attribute, kinds))
    ]


# Methods of models in the order in which people need them.
FIRST = (
    "fit", "partial_fit", "centrality", "heads", "score_samples", "decision_function", "predict",
    "calibrate", "p_values", "p_value_intervals", "severity", "stands_apart", "certificate", "odd_share", "detect",
    "threshold", "stability", "monitor", "streams",
    "explain", "reasons", "kind", "toward_center",
    "drift", "drift_report", "report", "standard_error", "raw", "transform",
    "get_feature_names_out", "save", "to_onnx", "explore", "as_in_paper",
)  # fmt: skip
# What a `Chain` asks of a representation, and nobody else: whoever writes one reads representations/base.py.
FOR_EXTENSIONS = {
    "values", "warm_up", "rows_of", "shown", "state", "restore", "origins", "typical", "types", "from_command_line",
    "examined", "severities", "places", "pairs",
}  # fmt: skip


def grouped_methods(thing: type) -> dict[str, tuple[str, list[str]]]:
    """Return the methods of a class under headings, each with the directive that documents it."""
    methods = public_methods(thing)
    methods.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    properties = [name for name in methods if isinstance(inspect.getattr_static(thing, name), property)]
    return {
        "Methods": ("automethod", [name for name in methods if name not in properties]),
        "Properties": ("autoproperty", properties),
    }


def using(name: str) -> list[str]:
    """Return the tutorials and guides whose code uses a name, as paths from the folder of pages: tutorials first."""
    found = []
    for folder in ("tutorials", "guides", "gallery"):
        for path in sorted((Path(__file__).parents[1] / folder).glob("*.md")):
            if re.search(rf"\b{name}\(", "\n".join(CODE.findall(path.read_text("utf-8")))):
                found.append(f"{folder}/{path.stem}")
    return found[:MOST_EXAMPLES]


def examples_of(name: str) -> list[str]:
    """Return the lines that link to the pages with examples of a name."""
    links = [f"- :doc:`/{page}`" for page in using(name)]
    return [".. rubric:: Pages that use it", "", *links, ""] if links else []


def page(module_name: str, name: str) -> str:
    """Return the page of one name, in reStructuredText."""
    thing = getattr(import_module(module_name), name)
    title = f"{module_name}.{name}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module_name}", ""]
    if not inspect.isclass(thing):
        role = "autofunction" if callable(thing) else "autodata"
        return "\n".join([*lines, f".. {role}:: {name}", "", *examples_of(name)])
    lines += [f".. autoclass:: {name}", ""]
    for heading, (role, chosen) in grouped_methods(thing).items():
        if chosen:
            lines += [f".. rubric:: {heading}", ""]
            lines += [line for method in chosen for line in (f".. {role}:: {name}.{method}", "")]
    return "\n".join(lines + examples_of(name))


def _short(module_name: str, name: str) -> str:
    """Return a name as the list beside the pages shows it: without `centrality`, and what methods return by itself."""
    return name if ".scores" in module_name else f"{module_name}.{name}".removeprefix("centrality.")


def index() -> str:
    """Return the page that lists every public name, module by module."""
    lines = [
        "# API reference",
        "",
        "Every public name, with a sentence. Names are imported from the module above them.",
        "",
    ]
    for module_name, about in MODULES.items():
        lines += [f"## `{module_name}`", "", about, "", "```{eval-rst}", f".. currentmodule:: {module_name}", ""]
        lines += [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in public_names(module_name)]
        lines += ["```", "", "```{toctree}", ":hidden:", ""]
        lines += [f"{_short(module_name, name)} <{module_name}.{name}>" for name in public_names(module_name)]
        lines += ["```", ""]
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write all pages; one that has not changed keeps its date, so that Sphinx does not read it again."""
    folder.mkdir(exist_ok=True)
    pages = {"index.md": index()}
    for module_name in MODULES:
        for name in public_names(module_name):
            pages[f"{module_name}.{name}.rst"] = page(module_name, name)
    for old in set(folder.glob("*.*")) - {folder / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


RELATED = (
    ("centrality.FUSE", "centrality.Chain", "centrality.load", "centrality.onnx.Scorer",
     "centrality.pyod.FUSEDetector"),
    ("centrality.FUSE", "centrality.PaperFUSE", "centrality.blend"),
    ("centrality.representations.Table", "centrality.representations.Text", "centrality.representations.Images",
     "centrality.representations.Series", "centrality.Chain"),
)  # fmt: skip


def see_also(full_name: str) -> list[str]:
    """Return what else a reader of this page may want: the lists above, else the neighbours in its module."""
    related = [other for group in RELATED if full_name in group for other in group if other != full_name]
    module_name, _, name = full_name.rpartition(".")
    if not related and module_name in MODULES:
        names = public_names(module_name)
        place = names.index(name) if name in names else 0
        related = [f"{module_name}.{other}" for other in names[max(0, place - 2) : place + 3] if other != name]
    return related[:5]


def kind_and_default(obj: object, name: str) -> str:
    """Return the type and the default of a parameter, by the signature: "float or None, default=None"."""
    try:
        found = inspect.signature(obj).parameters.get(name.strip("* "))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    if found is None:
        return ""
    kind = "" if found.annotation is found.empty else inspect.formatannotation(found.annotation).strip("'")
    kind = re.sub(r"\b(?:[a-z_]\w*\.)+", "", kind).replace(" | ", " or ")
    for ours, known in KNOWN_AS.items():
        kind = re.sub(ours, known, kind)
    shown = [kind] if re.fullmatch(r"[\w ]+", kind) and kind not in {"Any", "object"} else []
    return ", ".join([*shown, *([] if found.default is found.empty else [f"default={found.default!r}"])])


def describe_parameters(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn "name : what it is", as some docstrings have it, into a name, its type and default, and a description.

    Those with a type and a default on that line, and the description below it, are numpydoc's own form already.
    """
    inside = ""
    for k, line in enumerate(list(lines)):
        if line.startswith("----"):
            inside = lines[k - 1].strip()
            continue
        if k + 1 < len(lines) and lines[k + 1].startswith("----"):
            inside = ""
        if inside not in ("Parameters", "Other Parameters", "Attributes") or "default=" in line:
            continue
        if " : " in line and not line.startswith(" "):
            title, _, text = line.partition(" : ")
            kind = "" if inside == "Attributes" else kind_and_default(obj, title)
            lines[k] = f"{title} : {kind}\n    {text}" if kind else f"{title}\n    {text}"
    lines[:] = "\n".join(lines).split("\n")


def add_see_also(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Add a section "See Also" before numpydoc reads the docstring."""
    known = {f"{module}.{n}": f"{module}.{n}" for module in MODULES for n in public_names(module)}
    if what in ("class", "function") and name in known and not any("See Also" in line for line in lines):
        others = see_also(name)
        at = next(
            (k - 1 for k, line in enumerate(lines) if line.startswith("----") and "Examples" in lines[k - 1]), None
        )
        block = ["See Also", "--------", *others, ""] if others else []
        lines[at if at is not None else len(lines) : at if at is not None else len(lines)] = (
            block if at is not None else ["", *block]
        )


def setup(app: Any) -> dict[str, bool]:
    write(Path(app.srcdir) / "api")
    app.connect("autodoc-process-docstring", describe_parameters, priority=90)
    app.connect("autodoc-process-docstring", add_see_also, priority=100)
    return {"parallel_read_safe": True}
