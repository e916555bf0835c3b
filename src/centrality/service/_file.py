"""The model's file, looked at every second: a new one takes the old one's place between two requests."""

import asyncio
import gc
import hashlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from centrality._checks import InputError
from centrality.service._metrics import Metrics
from centrality.service._served import Served, served

LOG = logging.getLogger(__name__)
EVERY = 1.0  # seconds
Mark = tuple[int, ...] | None  # what tells one file from another at the same place


class ModelFile:
    """`current` is the model to score with. A request keeps the one it began with."""

    def __init__(self, path: Path, load: Callable[[], Any], metrics: Metrics) -> None:
        self.path, self._load, self._metrics = path, load, metrics
        self._seen, self.current = self._loaded()
        self.trouble: str | None = None  # why the newest file is not the one in use

    def _loaded(self) -> tuple[Mark, Served]:
        """The model, and the file that it came from: read again if that was replaced meanwhile."""
        while True:
            mark, model = self._mark(), self._load()
            name = hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
            if self._mark() == mark:
                break
        found = served(model, name)
        self._metrics.model_loaded()
        gc.collect()
        gc.freeze()  # libraries and weights stay: looking through them for garbage would stop requests for 100 ms
        return mark, found

    def _mark(self) -> Mark:
        try:
            about = self.path.stat()
        except OSError:
            return None
        return about.st_mtime_ns, about.st_size, about.st_ino

    async def watch(self) -> None:
        """Load whatever new file appears, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self.look()

    async def look(self) -> None:
        """Take a new file if there is one; go on with the old model if it cannot be used."""
        mark = self._mark()
        if mark is None or mark == self._seen:
            return  # a file that is gone for a moment is being replaced
        self._seen = mark
        try:
            self._seen, self.current = await asyncio.to_thread(self._loaded)
        except Exception as error:  # whatever a wrong file can lead to: the service goes on
            if not isinstance(error, InputError | OSError):  # no fault of the file's: a bug of ours
                LOG.exception("An error of the service while it loaded %s", self.path)
            self.trouble = f"the new file cannot be used: {error}"
            self._metrics.reloads.labels("refused").inc()
            print(f"centrality: {self.path}: {self.trouble}", file=sys.stderr, flush=True)
            return
        self.trouble = None
        self._metrics.reloads.labels("loaded").inc()
        print(f"centrality: loaded {self.path} anew, version {self.current.name}", file=sys.stderr, flush=True)
