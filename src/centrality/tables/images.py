"""Read a folder of images, whose paths are the rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from centrality.tables.source import BATCH, Source, Types

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")


class ImageFolder(Source):
    """Reads the paths of the images below a folder, one for each row."""

    kind = "images"
    schema = pa.schema([("path", pa.string())])

    def __init__(self, folder: Path, images: list[Path]) -> None:
        self.name, self._images, self.rows = str(folder), images, len(images)

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self._images), BATCH):
            yield pa.RecordBatch.from_pydict({"path": [str(file) for file in self._images[start : start + BATCH]]})
