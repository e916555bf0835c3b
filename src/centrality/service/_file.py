"""Watch the model's file: a new version replaces the old one between two requests."""

import asyncio
import gc
import hashlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from centrality._checks import InputError
from centrality.model.interface import CentralityModel
from centrality.service._metrics import Metrics
from centrality.service._served import ServedModel, served_model
from centrality.tables.file_state import FileState

LOG = logging.getLogger(__name__)
LOOK_EVERY = 1.0  # seconds


class ModelFile:
    """Keeps the model to score with, `current`, up to date; a request uses one model from start to end."""

    def __init__(
        self,
        path: Path,
        load: Callable[[Path], CentralityModel],
        metrics: Metrics,
        say: Callable[[str], None] = LOG.info,
    ) -> None:
        self.path, self._load, self._metrics, self._say = path, load, metrics, say
        self._state, self.current = self._load_version()
        self.trouble: str | None = None  # why the newest file is not the one in use

    def _load_version(self) -> tuple[FileState | None, ServedModel]:
        """Load the model, again if its file is replaced meanwhile; return it with the state of its file."""
        while True:
            state, model = FileState.of(self.path), self._load(self.path)
            content = self.path.read_bytes()
            if FileState.of(self.path) == state:
                break
        served = served_model(model, hashlib.sha256(content).hexdigest()[:16], content)
        self._metrics.model_loaded()
        gc.collect()
        gc.freeze()  # libraries and weights stay: looking through them for garbage would stop requests for 100 ms
        return state, served

    async def watch(self, prepare: Callable[[], Awaitable[None]]) -> None:
        """Load each new version of the file, and call the callback that prepares for it, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            before = self.current
            await self.look()
            if self.current is not before:
                await prepare()

    async def look(self) -> None:
        """Load the file if it is new; keep the old model if the new file cannot be used."""
        state = FileState.of(self.path)
        if state is None or state == self._state:
            return  # a file that is gone for a moment is being replaced
        self._state = state
        try:
            self._state, self.current = await asyncio.to_thread(self._load_version)
        except Exception as error:  # any error that a wrong file can cause: the service goes on
            if not isinstance(error, InputError | OSError):  # no fault of the file's: a bug of ours
                LOG.exception("An error of the service while it loaded %s", self.path)
            self.trouble = f"the new file cannot be used: {error}"
            self._metrics.reloads.labels("refused").inc()
            self._say(f"{self.path}: {self.trouble}")
            return
        self.trouble = None
        self._metrics.reloads.labels("loaded").inc()
        self._say(f"loaded {self.path} anew, version {self.current.version}")
