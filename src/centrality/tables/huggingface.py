"""Read a data set that Hugging Face's `datasets` saved to disk, without that package.

Such a folder holds Arrow streams, `state.json` with their names in order, and `dataset_info.json` with what columns
mean: the numbers of a class label are read as its names. A folder of several such folders (train, test) is no table:
one of them is to be named.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from centrality.tables.columns import BATCH, DAMAGED, FileState, Source, TableError, Types, first_few, reading

STATE = "state.json"
SPLITS = "dataset_dict.json"
ABOUT = "dataset_info.json"


def is_saved_dataset(folder: Path) -> bool:
    """Say whether `save_to_disk` wrote this folder; raise if it holds several data sets."""
    if (folder / SPLITS).is_file():
        names = sorted(path.parent.name for path in folder.glob(f"*/{STATE}"))
        example = f" Name one, such as {folder / names[0]}." if names else ""
        raise TableError(f"{folder}: one data set was wanted, but it holds several: {first_few(names)}.{example}")
    return (folder / STATE).is_file() and (folder / ABOUT).is_file()


class SavedDataset(Source):
    """Reads the Arrow streams of a folder, one after another."""

    kind = "a data set that save_to_disk wrote"

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        state = self._described(folder / STATE)
        names = [str(part.get("filename")) for part in state.get("_data_files", []) if isinstance(part, dict)]
        if not names or any(Path(name).name != name for name in names):
            raise TableError(f"{folder / STATE}: names of .arrow files beside it were wanted, got {names}.")
        if state.get("_indices_files"):
            raise TableError(f"{folder}: its rows are a choice by index: call flatten_indices() before save_to_disk.")
        self._files = [folder / name for name in names]
        self.states = [FileState.of(path) for path in self._files]
        features = self._described(folder / ABOUT).get("features") or {}
        self._classes = {
            name: [str(word) for word in feature["names"]]
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
        }
        with reading(folder, self.kind), pa.OSFile(str(self._files[0])) as file:
            stored = pa.ipc.open_stream(file).schema.remove_metadata()
        self._classes = {name: words for name, words in self._classes.items() if name in stored.names}
        self.schema = pa.schema(
            [pa.field(field.name, pa.string()) if field.name in self._classes else field for field in stored]
        )
        self._require_rows()

    @staticmethod
    def _described(path: Path) -> dict[str, Any]:
        with reading(path, "JSON", (*DAMAGED, RecursionError)):
            described = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(described, dict):
            raise TableError(f"{path}: an object of JSON was wanted, got {type(described).__name__}.")
        return described

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for path in self._files:
            with pa.OSFile(str(path)) as file:
                for stored in pa.ipc.open_stream(file):
                    stored.validate(full=True)  # else offsets that point outside a buffer would be followed
                    for start in range(0, stored.num_rows, BATCH):
                        batch = stored.slice(start, BATCH).select(list(names))
                        columns = [self._in_words(name, batch[name]) for name in names]
                        yield pa.RecordBatch.from_arrays(
                            columns, schema=pa.schema([self.schema.field(name) for name in names])
                        )

    def _in_words(self, name: str, values: pa.Array) -> pa.Array:
        """Return the names of class labels; a number that is none of theirs, such as -1, is a gap."""
        if name not in self._classes:
            return values
        words = self._classes[name]
        return pa.array(
            [
                words[number] if number is not None and 0 <= number < len(words) else None
                for number in values.to_pylist()
            ],
            pa.string(),
        )
