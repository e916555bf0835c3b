"""Find published data sets by name: $CENTRALITY_DATA first, then the cache, then the public source; always checked.

What is checked is the content, by a digest of every array, not the bytes of the file. So the same set passes whether it
was put into a folder by hand or built here from the files of its source.
"""

import gzip
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality._internal.files import write_atomically

Arrays = dict[str, NDArray[Any]]
RAW = "https://raw.githubusercontent.com"
FOLDER = "CENTRALITY_DATA"  # the variable that names the folder of data sets


@dataclass(frozen=True)
class Published:
    """Describes one data set: an .npz file (or text as .gz) in the folder of data sets, and where it comes from."""

    path: str
    digest: str  # sha256 of its content; see `digest`
    origin: str
    urls: tuple[str, ...] = ()  # empty if nobody offers it for download; `origin` says how it is made
    build: Callable[[Sequence[Path]], Arrays] | None = None  # from the downloaded files


def fetch(name: str) -> Path:
    """Return the file of a published data set.

    It is looked for in the folder $CENTRALITY_DATA, then in the cache, then downloaded. A file that holds something
    else than was published is an error. `names()` says which sets there are.

    >>> from centrality.datasets import fetch
    >>> fetch("brestw")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    ...
    InputError: There is no data set called 'brestw'; there are: breastw, ionosphere, ...
    """
    if name not in SETS:
        raise InputError(f"There is no data set called {name!r}; there are: {', '.join(SETS)}.")
    published = SETS[name]
    folders = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
    for folder in [*folders, cache()]:
        file = folder / published.path
        if file.is_file():
            if digest(file) != published.digest:
                raise InputError(f"{file} is not the data set {name} as published: its checksum differs. Remove it.")
            return file
    if not published.urls or published.build is None:
        raise FileNotFoundError(
            f"The data set {name} was not found and is not offered for download. It is {published.origin}; "
            f"put it at $CENTRALITY_DATA/{published.path} and set CENTRALITY_DATA to that folder."
        )
    pooch = optional("pooch", "data")
    target = cache() / published.path
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        parts = [Path(pooch.retrieve(url, known_hash=None, path=cache() / "downloads")) for url in published.urls]
    except OSError as error:  # requests' errors are OSErrors
        raise FileNotFoundError(
            f"The data set {name} ({published.origin}) is neither in $CENTRALITY_DATA nor in {cache()}, and could not "
            f"be downloaded from {', '.join(published.urls)}: {error}"
        ) from error
    with write_atomically(target) as temporary:
        np.savez_compressed(temporary, **published.build(parts))  # type: ignore[arg-type]
        if digest(temporary) != published.digest:
            for part in parts:
                part.unlink()  # else the next call would take the same bytes
            raise InputError(
                f"What {', '.join(published.urls)} offers is not the data set {name}: its checksum differs."
            )
    return target


def rows(name: str) -> NDArray[np.generic]:  # (n, p)
    """Return the rows of a published data set, without labels: images as rows of pixels, of two splits the first."""
    path = fetch(name)
    if path.suffix != ".npz":
        raise InputError(f"The data set {name} holds text, not rows of numbers: read {path}.")
    with np.load(path) as archive:
        array = archive[next(key for key in ("X", "E", "X_train") if key in archive.files)]
    array = array.reshape(len(array), -1)
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float16 else array.dtype)


def names() -> list[str]:
    """Name the data sets that `fetch` knows.

    >>> from centrality.datasets import names
    >>> names()[:2]
    ['breastw', 'ionosphere']
    """
    return list(SETS)


def cache() -> Path:
    """Return the folder of downloaded sets: $XDG_CACHE_HOME/centrality, by default ~/.cache/centrality."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "centrality"


def digest(path: Path) -> str:
    """Return the sha256 of names, types, shapes and values of all arrays of an .npz file; of the text, if it is .gz."""
    total = hashlib.sha256()
    try:
        if path.suffix == ".gz":
            return hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest()
        with np.load(path) as archive:
            for name in sorted(archive.files):
                array = np.ascontiguousarray(archive[name])
                total.update(f"{name} {array.dtype.str} {array.shape}".encode())
                total.update(array.tobytes())
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be read as {path.suffix}: {error}. Remove it.") from error
    return total.hexdigest()


# What makes arrays of the files that the sources offer.


def _outliers(parts: Sequence[Path], rows: str = "f8", labels: str = "u1") -> Arrays:
    """Read rows and labels from an .npz file, as numbers of these types."""
    with np.load(parts[0]) as archive:
        return {"X": archive["X"].astype(rows), "y": archive["y"].ravel().astype(labels)}


def _digits(parts: Sequence[Path]) -> Arrays:
    """Read images and labels from the two files of MNIST's own format."""
    pixels = gzip.decompress(parts[0].read_bytes())
    labels = gzip.decompress(parts[1].read_bytes())
    return {
        "X": np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 28, 28),
        "y": np.frombuffer(labels, np.uint8, offset=8),
    }


def _series(parts: Sequence[Path]) -> Arrays:
    """Read series and labels from tables of numbers, one for training and one for testing."""
    arrays: Arrays = {}
    for split, part in zip(("train", "test"), parts, strict=True):
        table = np.loadtxt(part)
        arrays |= {f"X_{split}": table[:, 1:].astype(np.float32), f"y_{split}": table[:, 0].astype(np.int8)}
    return arrays


_BOUMAN = f"{RAW}/RoelBouman/outlierdetection/d5cc3d806d294805620a72179392fc06f0fa4322/formatted_data"
_ADBENCH = f"{RAW}/Minqi824/ADBench/3dac8221/adbench/datasets"
_FORDA = f"{RAW}/hfawaz/cd-diagram/1b48b4b2/FordA/FordA"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/t10k"

SETS: dict[str, Published] = {
    "breastw": Published(
        "paper/breastw_bouman.npz",
        "458e5ccab05b5b82d1d594bf913ad32dcc656ddbdf04bcd61bd39b2d83a1df8f",
        "formatted_data/breastw.npz of github.com/RoelBouman/outlierdetection (UCI's breast cancer, Wisconsin)",
        (f"{_BOUMAN}/breastw.npz",),
        _outliers,
    ),
    "ionosphere": Published(
        "paper/ionosphere_bouman.npz",
        "fb2460f52ca9c798e304574baedaf0dc688f820866212cce43602a06cda1ba46",
        "formatted_data/ionosphere.npz of github.com/RoelBouman/outlierdetection (UCI's ionosphere)",
        (f"{_BOUMAN}/ionosphere.npz",),
        _outliers,
    ),
    "mnist": Published(
        "paper/mnist_test10k.npz",
        "2a0f72a62dc42ac738eb0301df6b3ea7508e8811c9b968303db4a0b45b06df6b",
        "the 10,000 test digits of MNIST (LeCun, Cortes)",
        (f"{_MNIST}-images-idx3-ubyte.gz", f"{_MNIST}-labels-idx1-ubyte.gz"),
        _digits,
    ),
    "forda": Published(
        "paper/forda.npz",
        "bc0455acc34ebacc1bf92e8ebca3b49dfdfdd967d3338bec14e967f45b6a95b4",
        "FordA of the UCR archive of time series (Dau et al. 2019)",
        (f"{_FORDA}_TRAIN.tsv", f"{_FORDA}_TEST.tsv"),
        _series,
    ),
    "tweeteval": Published(
        "paper/tweeteval_sentiment_test.tsv.gz",
        "b389d72757ba90722d479597477ae13aef973fde9e14af1630ba1a9c1f4773cc",
        "TweetEval's sentiment tweets, the test split as a table of label and text with tabs between "
        "(github.com/cardiffnlp/tweeteval, datasets/sentiment, test_labels.txt and test_text.txt)",
    ),
    "tweeteval_minilm": Published(
        "paper/tweeteval_minilm.npz",
        "9f4fec87151e8a24d414ff85a2620005bb3438c4831f99ecf6cd2db933a56f60",
        "all-MiniLM-L6-v2's vectors (E, float16) of TweetEval's sentiment tweets, the first 1000 of test and all 2000 "
        "of val (github.com/cardiffnlp/tweeteval, datasets/sentiment), with y and split",
    ),
    "cifar10_airplane": Published(
        "paper/cifar10_airplane_images.npz",
        "adfedda183f1ca279ad58b856f49db56a304f24d6b22df9bc90cac6c846a8b86",
        "2000 airplanes and 450 other images of CIFAR-10 (X, uint8), with y, split and index in the original split",
    ),
    "cifar10_effnetlite0": Published(
        "paper/cifar10_effnetlite0.npz",
        "a7cc77c86a920e0ba823b6bff34617e9ae9bef9a47dbcd5df04dd73dbc90f550",
        "EfficientNet-lite0's mean-pooled features (E, float16; 224 pixels, bicubic) of 2000 airplanes and 450 other "
        "images of CIFAR-10, with y, split and index",
    ),
    "cifar10_resnet18": Published(
        "paper/cifar10_0_resnet18_adbench.npz",
        "777ed916228e55452e7af6a1672f27beac775d2c3d158d78df22db0c5ebaf123",
        "CV_by_ResNet18/CIFAR10_0.npz of github.com/Minqi824/ADBench: ResNet18's features of CIFAR-10, airplanes as 0",
        (f"{_ADBENCH}/CV_by_ResNet18/CIFAR10_0.npz",),
        partial(_outliers, rows="f4", labels="i8"),
    ),
}
