"""Load pretrained encoders from disk, and identify them by their weights."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from centrality._checks import InputError
from centrality._optional import optional

if TYPE_CHECKING:
    import torch

Loaded = TypeVar("Loaded")


def pretrained(load: Callable[..., Loaded], name: str, *, download: bool, kind: str) -> Loaded:
    """Return `load(name)` from a folder or from the cache on disk; from the network only with `download`."""
    with _without_progress_bars():
        try:
            return load(name, local_files_only=True)
        except (OSError, ValueError) as missing:
            if Path(name).is_dir():
                raise FileNotFoundError(f"The folder {name} holds no model that can be loaded: {missing}") from None
            if not download:
                raise not_on_disk(name, kind) from None
        try:
            return load(name)
        except (OSError, ValueError) as failed:
            raise FileNotFoundError(f"{not_on_disk(name, kind)} Downloading it failed: {failed}") from None


def not_on_disk(name: str, kind: str) -> FileNotFoundError:
    """Return the error for weights that are missing, which says how to get them."""
    return FileNotFoundError(
        f"The weights of {name!r} are not on this disk. Give a folder that holds them, {kind}('/path/to/folder'), "
        f"or let them be downloaded, {kind}({name!r}, download=True) (in a terminal: --download)."
    )


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Turn off progress bars while weights are read; restore the user's setting afterwards."""
    logging = optional("transformers", "text").utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def fingerprint(module: "torch.nn.Module", *settings: object) -> str:
    """Return a fingerprint of what the module computes: of its class, its weights and its settings."""
    import torch

    digest = hashlib.sha256(repr((type(module).__name__, settings)).encode())
    for name, value in module.state_dict().items():
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def require_same(fitted: str, loaded: str, name: str) -> None:
    """Raise if the encoder is not the one used in fitting: its vectors would mean something else."""
    if fitted != loaded:
        raise InputError(
            f"The encoder {name!r} is not the one this model was fitted with: its weights or settings differ. "
            "Use the same folder or version as then, or fit again."
        )
