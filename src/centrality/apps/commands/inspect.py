"""centrality inspect: say what is in a model file."""

import argparse
from pathlib import Path

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import require_output
from centrality.apps.commands._reading import reading_lines
from centrality.apps.commands._terminal import Result

HELP = "say what is in a model file"
LIMITS = (
    "A low score says that a row is unlike the rows of the fit, not that it is wrong, and not why it came about.",
    "Outliers that were in the rows of the fit are scored as rarer, not as rarest: they teach the model what is usual.",
    "Where new rows come from elsewhere than those of the fit, look at `centrality drift` before the scores.",
    "Scores are not to be the only ground of a decision about a person.",
)


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    command.add_argument("--card", type=Path, metavar="CARD", help="write a model card there, as Markdown")


def run(arguments: argparse.Namespace) -> Result:
    from centrality._internal import model_file
    from centrality._internal.files import write_atomically

    if arguments.card is not None and _series.is_series_model(arguments.model):
        raise InputError(f"A card is written of models of rows, and {arguments.model} is one of series.")
    if arguments.card is not None:
        require_output(arguments.card, arguments)
    header, arrays = model_file.read(arguments.model)
    if header.get("model") == "PictureRegions":
        raise InputError(
            f"{arguments.model} is a model of the patches of pictures: "
            "load it in Python, and ask it for regions(picture)."
        )
    try:
        size = arguments.model.stat().st_size
        if header["model"] == "Timeline":
            result = _series.described(header, arrays, size)
        else:
            weights = sum(array.size for name, array in arrays.items() if name.startswith("network."))
            facts = header
            if header["model"] == "Chain":
                facts = header["fuse"] | {name: header[name] for name in ("model", "format", "representation")}
            result = {**facts, "weights": int(weights), "bytes": size}
        show(result)  # now, where the file's name is known
        card = "" if arguments.card is None else _card(arguments.model.stem, result)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise model_file.ModelFileError(
            f"{arguments.model}: its header is not that of a model that can be described: {error!r}."
        ) from None
    if arguments.card is not None:
        with write_atomically(arguments.card) as beside:
            beside.write_text(card, encoding="utf-8")
        result["card"] = str(arguments.card)
    return result


def _card(name: str, result: Result) -> str:
    """Return a model card: what the model is for, what it learned from and how that went, and what it cannot do."""
    lines = [f"# {_in_markdown(name)}", ""]
    lines += [
        "Says how typical a row is, from 0 to 1, and which rows are outliers, learned without labels.",
        "",
        f"- **Model**: {result['model']}, written by centrality {result['version']}; {result['bytes']:,} bytes, "
        f"{result['weights']:,} weights",
        f"- **Learned from**: {result['training_rows']:,} rows, of which the file holds none",
        f"- **The dial**: t = {result['parameters']['t']:g} (0 is global, 1 is local)",
    ]
    if (context := result["parameters"].get("given")) is not None:
        lines.append(f"- **Judges rows among rows of their kind**: {_in_markdown(str(context))}")
    if "representation" in result:
        described = result["representation"]
        lines += ["", "## Columns", "", "| column | read as | doubt |", "|---|---|---|"]
        doubts = described["state"].get("doubts", {})
        lines += [
            f"| {_in_markdown(column)} | {_in_markdown(words)} | {_in_markdown(doubts.get(column, ''))} |"
            for column, words in described["columns"].items()
        ]
    elif result["feature_names"]:
        lines += ["", "## Columns", "", ", ".join(map(_in_markdown, result["feature_names"])) + ": numbers."]
    if result.get("report"):
        from centrality.analysis.report import Report

        lines += ["", "## Training", "", "```text", str(Report(**result["report"])).replace("`", "'"), "```"]
    lines += ["", "## Limits", "", *(f"- {limit}" for limit in LIMITS), ""]
    return "\n".join(lines)


def _in_markdown(text: str) -> str:
    """Return a text that is not taken for marks of Markdown or HTML, on one line."""
    escaped = "".join(f"\\{letter}" if letter in r"\`*_[]|<>#" else letter for letter in text)
    return " ".join(escaped.split())


def show(result: Result) -> str:
    if result["model"] == "Timeline":
        return _series.show_description(result)
    from centrality.analysis.report import Report

    columns = result.get("representation", {}).get("columns")  # only a table's numbers have names
    names = list(columns or result["feature_names"] or [f"{result['features']} columns without names"])
    history = result["history"]
    lines = {
        "model": f"{result['model']}, format {result['format']}, written by centrality {result['version']}",
        "size": f"{result['bytes']:,} bytes, {result['weights']:,} weights",
        "features": f"{len(columns or ()) or result['features']}: {', '.join(names[:8])}{' ...' * (len(names) > 8)}",
        "noise scale": ", ".join(f"{eta:.4g}" for eta in result["noise_scale"]),
        "outliers below": f"{result['offset']:.4f} at t = {result['parameters']['t']:g}",
        "losses": f"global {history['global'][-1]:.4f}, local {history['local'][-1]:.4f} "
        f"after {history['step'][-1]} steps",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in result["parameters"].items()),
    }
    if (context := result["parameters"].get("given")) is not None:
        lines["given"] = ", ".join(map(str, context if isinstance(context, list) else [context]))
    how_read: list[str] = []
    if "representation" in result:
        described = result["representation"]
        lines["representation"] = described["kind"]
        how_read = reading_lines(described["columns"], described["state"].get("doubts", {}))
    width = max(15, *map(len, lines))
    page = [f"{name:>{width}}  {text}" for name, text in lines.items()]
    if result.get("report"):
        page.append(str(Report(**result["report"])))
    card_line = [f"Card: {result['card']}"] if "card" in result else []
    return "\n".join([*page, *how_read, *card_line])
