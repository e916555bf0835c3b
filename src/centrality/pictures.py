"""Find the odd part of a picture: one FUSE over the patches of many.

A picture becomes a grid of vectors, one for each patch. One FUSE learns the patches of all pictures; a picture is as
odd as its oddest few patches. Some pictures are kept aside: what their patches score says how odd a new patch is.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label, map_coordinates
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from centrality import __version__, plots
from centrality._internal import model_file
from centrality._internal.checks import InputError, InputTypeError, fraction, positive, warn_caller, whole_number
from centrality._internal.input import (
    CentralityEstimator,
    RandomState,
    random_numbers,
    share_of_outliers,
    unchanged_on_failure,
)
from centrality.analysis.conformal import p_values, subsample_evenly, threshold_by_contamination
from centrality.analysis.severity import Tail, severity
from centrality.fuse import FUSE
from centrality.fuse.parts import from_parts, parts_of
from centrality.representations.base import ItemsLike, is_frame
from centrality.representations.blocks import part_of
from centrality.representations.embedding import require_same
from centrality.representations.images import CORRUPT, GRADIENTS, Cache, SkippedImages, content_of, decode
from centrality.representations.patches import (
    EncodedPicture,
    Grid,
    PatchEncoder,
    PatchFunction,
    encoded_pictures,
    patch_encoder,
)
from centrality.tables.columns import DataNote, first_few

if TYPE_CHECKING:
    import torch
    from matplotlib.figure import Figure

MOST_PATCHES = 40_000  # that are learned from, drawn from all pictures alike
STEPS = 3000  # of training: patches are many, and with as few steps as for rows faults rank a little lower
MOST_COMPONENTS = 256  # of the vectors; what is left of longer ones is next to nothing
SHRINKAGE = 0.01  # added to the variance of each component, in units of their mean: the last are rounding errors
MOST_ASIDE = 500  # pictures kept aside: more make p-values no more useful
PATCHES_ASIDE = 100_000  # scores that severities of patches are counted in
USUAL_MARKS = 0.05  # the share of ordinary pictures of which some part is marked
FEW_ASIDE = 19  # pictures: with fewer, no p-value is below 0.05
ALIKE = 1.1  # widths by heights of pictures whose ratio is less are alike
FARTHER = 10  # times the distance from middle to lowest score of ordinary pictures: where blank ones are put

Array: TypeAlias = NDArray[np.float64]
Pictures: TypeAlias = Sequence[object]  # paths, PIL images, arrays (h, w[, c]) of uint8, or the bytes of files
NOT_SAVED = ("cache", "device", "download", "encoder", "model", "progress")  # mean nothing elsewhere, or saved by parts


class Region(NamedTuple):
    """An odd part of a picture: its place in pixels, and one in how many ordinary patches is as odd as its oddest.

    >>> from centrality.pictures import Region
    >>> part = Region(left=30, top=10, right=40, bottom=20, severity=900.0)
    >>> left, top, right, bottom = part[:4]  # as `plots.picture_heat` takes it
    """

    left: int
    top: int
    right: int
    bottom: int
    severity: float


@dataclass(frozen=True, eq=False)
class PictureHeat:
    """Says which parts of a picture are odd.

    Attributes
    ----------
    picture : (height, width, 3), its pixels.
    scores : (rows, columns), how typical each patch is; lower is odder.
    severity : (rows, columns), one in how many ordinary patches is as odd as each.
    score, p_value : those of the whole picture.
    limit : patches of a larger severity are marked. At most 1 in 20 ordinary pictures has such a patch; where m < 19
        pictures were kept aside, 1 in m + 1.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality.pictures import PictureRegions
    >>> rng = np.random.default_rng(0)
    >>> walls = [rng.integers(90, 110, size=(64, 64, 3), dtype=np.uint8) for _ in range(12)]
    >>> stained = walls[0].copy()
    >>> stained[40:50, 8:20] = (200, 40, 40)
    >>> heat = PictureRegions(random_state=0).fit(walls[1:]).regions(stained)
    >>> heat.heat().shape
    (64, 64)
    >>> odd = heat.boxes()[0]
    >>> odd.left < 14 < odd.right and odd.top < 45 < odd.bottom
    True
    """

    picture: NDArray[np.uint8]
    scores: Array
    severity: Array
    score: float
    p_value: float
    limit: float

    def __repr__(self) -> str:
        height, width = self.picture.shape[:2]
        return f"PictureHeat({width}x{height} pixels, odd regions: {len(self.boxes())}, p-value {self.p_value:.2g})"

    def heat(self) -> Array:  # (height, width)
        """Return the logarithm of the severity, to base 10, for each pixel: 2 is one in a hundred patches."""
        height, width = self.picture.shape[:2]
        rows, columns = self.severity.shape
        down = (np.arange(height) + 0.5) * rows / height - 0.5
        across = (np.arange(width) + 0.5) * columns / width - 0.5
        places = np.meshgrid(down, across, indexing="ij")
        return np.asarray(map_coordinates(np.log10(self.severity), places, order=1, mode="nearest"))

    def boxes(self) -> list[Region]:
        """Return the odd parts, the oddest first: patches beyond `limit` that touch each other are one."""
        height, width = self.picture.shape[:2]
        rows, columns = self.severity.shape
        parts, count = label(self.severity > self.limit, structure=np.ones((3, 3)))
        regions = []
        for number in range(1, count + 1):
            down, across = np.nonzero(parts == number)
            regions.append(
                Region(
                    left=int(across.min() * width / columns),
                    top=int(down.min() * height / rows),
                    right=int(np.ceil((across.max() + 1) * width / columns)),
                    bottom=int(np.ceil((down.max() + 1) * height / rows)),
                    severity=float(self.severity[parts == number].max()),
                )
            )
        return sorted(regions, key=lambda region: -region.severity)

    def plot(self) -> "Figure":
        """Draw the picture, and beside it the heat over it with a frame around each odd part."""
        frames = [region[:4] for region in self.boxes()]
        return plots.picture_heat(self.picture, self.heat(), boxes=frames)


class PictureRegions(CentralityEstimator):
    """Learns what the patches of pictures look like, and says which part of a picture is odd.

    The pictures to learn from should be good ones. They need no labels, and no picture of a fault.

    Parameters
    ----------
    encoder : "gradients", edges and colours around each patch: nothing has to be downloaded. Or a vision model, which
        sees more: a folder or an "owner/name" that transformers knows, "clip", a name that timm knows, or any
        torch.nn.Module from (n, 3, size, size) to tokens (n, tokens, d), to maps (n, d, rows, columns), or to a list of
        maps, the first the largest. Or a function from a PIL image to its grid of vectors (rows, columns, d).
    model : the FUSE to fit; None means `FUSE(t=1, novelty=True, max_steps=3000)`: are there many patches like this one?
    position : how much counts where on the picture a patch lies, in units of the spread of one number of its vector.
        0, the default, leaves it out.
    lowest : the share of a picture's patches that are averaged to its score, the oddest ones; 0 takes the oddest alone.
    contamination : the share of the pictures kept aside that `predict` calls odd; "auto" is a hundredth.
    holdout : the share of the pictures to keep aside, drawn at random, at most 500: p-values and severities compare
        with them.
    size, mean, std : how pictures are prepared for a module of your own; named models bring theirs.
    corrupt : "refuse" raises and names the file, "skip" warns and leaves the picture out; its score is NaN.
    cache : a folder that keeps the vectors of each picture, keyed by its content and the model: a second run, or one
        after a crash, encodes only what is new. A picture takes a few hundred kilobytes.
    batch_size : pictures encoded together.
    download : fetch weights that are not on disk.
    device : "auto" (a GPU if there is one), "cpu", "cuda", ...
    random_state : a seed makes fits identical.
    progress : show a bar.

    Attributes
    ----------
    model_ : the FUSE of the patches, fitted.
    offset_ : the score below which `predict` says outlier.
    skipped_ : the pictures that could not be read, of the last call.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality.pictures import PictureRegions
    >>> rng = np.random.default_rng(0)
    >>> walls = [rng.integers(90, 110, size=(64, 64, 3), dtype=np.uint8) for _ in range(12)]
    >>> stained = walls[0].copy()
    >>> stained[40:50, 8:20] = (200, 40, 40)
    >>> model = PictureRegions(random_state=0).fit(walls[1:])
    >>> clean, odd = model.score_samples([walls[0], stained])
    >>> bool(odd < clean)
    True
    """

    model_: FUSE

    def __init__(
        self,
        encoder: "str | torch.nn.Module | PatchFunction" = GRADIENTS,
        *,
        model: FUSE | None = None,
        position: float = 0.0,
        lowest: float = 0.01,
        contamination: float | str = "auto",
        holdout: float = 0.2,
        size: int = 224,
        mean: Sequence[float] = (0.485, 0.456, 0.406),
        std: Sequence[float] = (0.229, 0.224, 0.225),
        corrupt: str = "refuse",
        cache: str | Path | None = None,
        batch_size: int = 16,
        download: bool = False,
        device: str = "auto",
        random_state: RandomState = None,
        progress: bool = False,
    ) -> None:
        self.encoder = encoder
        self.model = model
        self.position = position
        self.lowest = lowest
        self.contamination = contamination
        self.holdout = holdout
        self.size = size
        self.mean = mean
        self.std = std
        self.corrupt = corrupt
        self.cache = cache
        self.batch_size = batch_size
        self.download = download
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: ItemsLike, y: object = None) -> Self:
        """Learn from good pictures; `y` is ignored. Blank and, if they may be skipped, broken ones are left out."""
        items = _several_pictures(X)
        self._check_settings()
        with unchanged_on_failure(self):
            seed = int(random_numbers(self.random_state).randint(2**31))
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(items)).tolist()
            count_aside = max(1, min(round(self.holdout * len(items)), MOST_ASIDE, len(items) - 1))
            self._encoder = self._load_encoder()
            self.fingerprint_ = self._encoder.fingerprint
            skipped = SkippedImages(self.corrupt)
            blank: list[int] = []
            ratios: list[float] = []

            def usable(numbers: Sequence[int]) -> Iterator[EncodedPicture]:
                for encoded in self._encoded(items, numbers, skipped):
                    if encoded.is_blank:
                        blank.append(encoded.number)
                    else:
                        ratios.append(encoded.width_by_height)
                        yield encoded

            # 1. Draw as many patches from each picture, so that 100,000 pictures fit in memory, too.
            learned = order[count_aside:]
            quota = -(-MOST_PATCHES // len(learned))
            sample = [_drawn_patches(encoded, quota, rng) for encoded in usable(learned)]
            _require_patches(sample, len(items), blank, skipped)
            vectors = np.concatenate([part.vectors for part in sample])
            places = np.concatenate([part.places for part in sample])
            chosen = rng.permutation(len(vectors))[:MOST_PATCHES]

            # 2. Whiten the vectors, and fit one FUSE to them.
            self._whiten(vectors)
            default = FUSE(t=1.0, novelty=True, max_steps=STEPS, random_state=seed)
            model = default if self.model is None else clone(self.model)
            if self.model is None or model.scaling == "auto":
                model.set_params(scaling="none")  # they are whitened already
            self.model_ = model.fit(self._whitened(vectors[chosen], places[chosen]))

            # 3. Score the pictures kept aside, and their patches.
            scores: list[float] = []
            of_patches: list[Array] = []
            for encoded in usable(order[:count_aside]):
                of_picture = self._patch_scores(encoded.grid)
                scores.append(self._picture_score(of_picture))
                of_patches.append(of_picture.ravel())
            if not scores:
                raise InputError(
                    f"None of the {count_aside} pictures kept aside can be used: they are blank or could not be read. "
                    "Leave such pictures out."
                )
            self._calibrate(scores, of_patches)
            self._ratios = (min(ratios), max(ratios))
        self._report(skipped)
        self._note_on_fit(items, blank)
        return self

    def _check_settings(self) -> None:
        """Raise if a parameter is none that can be used, before the work begins."""
        if self.corrupt not in CORRUPT:
            raise InputError(f"corrupt must be one of {', '.join(CORRUPT)}, got {self.corrupt!r}.")
        fraction("holdout", self.holdout)
        positive("position", self.position, or_zero=True)
        if self.lowest != 0:
            fraction("lowest", self.lowest)
        whole_number("batch_size", self.batch_size)
        share_of_outliers(self.contamination)
        if isinstance(self.model, type):
            raise InputTypeError(f"model must be made first: {self.model.__name__}(), got the class.")

    def _load_encoder(self) -> PatchEncoder:
        encoder = patch_encoder(
            self.encoder,
            size=self.size,
            mean=self.mean,
            std=self.std,
            download=self.download,
            device=self.device,
        )
        if encoder.fingerprint is None and self.cache is not None:
            raise InputError(
                "cache= keeps vectors by picture and encoder, and one function cannot be told from another. Leave "
                "cache out, or let the function keep its own."
            )
        return encoder

    def _encoded(self, items: Pictures, numbers: Sequence[int], skipped: SkippedImages) -> Iterator[EncodedPicture]:
        """Yield the patches of these pictures, a few pictures at a time."""
        from tqdm import tqdm

        cache = Cache(self.cache, self.fingerprint_ or "")
        size = self.batch_size
        for start in tqdm(range(0, len(numbers), size), disable=not self.progress, unit="batch"):
            yield from encoded_pictures(self._encoder, items, numbers[start : start + size], cache, skipped)

    def _whiten(self, vectors: NDArray[np.float32]) -> None:
        """Learn the main components of the vectors, and bring each to a spread of one."""
        rows = vectors.astype(np.float64)
        self._center = rows.mean(0)
        variances, directions = np.linalg.eigh(np.cov(rows, rowvar=False).reshape(rows.shape[1], rows.shape[1]))
        mean_variance = variances.mean()
        if not mean_variance > 0:
            raise InputError(
                "All patches of all pictures have the same vector: there is nothing to learn. Pictures that show "
                "something were wanted, or an encoder that sees it."
            )
        largest = np.argsort(variances)[::-1][:MOST_COMPONENTS]
        self._loadings = directions[:, largest] / np.sqrt(variances[largest] + SHRINKAGE * mean_variance)

    def _whitened(self, vectors: NDArray[np.float32], places: Array) -> Array:
        rows = (vectors.astype(np.float64) - self._center) @ self._loadings
        return rows if self.position == 0 else np.column_stack([rows, self.position * places])

    def _patch_scores(self, grid: Grid) -> Array:  # (rows, columns)
        rows, columns, width = grid.shape
        if width != len(self._center):
            raise InputError(
                f"Patches had vectors of {len(self._center)} numbers in fit, and have {width} now: the encoder must be "
                "the same."
            )
        vectors = self._whitened(grid.reshape(-1, width), _places(rows, columns))
        return np.asarray(self.model_.score_samples(vectors)).reshape(rows, columns)

    def _picture_score(self, patch_scores: Array) -> float:
        """Return the mean of the lowest scores."""
        count = max(1, round(self.lowest * patch_scores.size))
        return float(np.partition(patch_scores.ravel(), count - 1)[:count].mean())

    def _calibrate(self, scores: list[float], of_patches: list[Array]) -> None:
        """Keep the rising scores of the pictures kept aside, and of their patches."""
        self._ordinary_pictures = np.sort(scores)
        self._ordinary_patches = subsample_evenly(np.sort(np.concatenate(of_patches)), PATCHES_ASIDE)
        self._tail = Tail.of(self._ordinary_patches)
        share = share_of_outliers(self.contamination, clean=True)
        self.offset_ = threshold_by_contamination(self._ordinary_pictures, share)
        oddest = np.sort([of_picture.min() for of_picture in of_patches])
        rank = max(
            int(USUAL_MARKS * (len(oddest) + 1)), 1
        )  # of m pictures, a new one is below the k-th lowest by k/(m+1)
        self._limit = float(self._severity(oddest[[rank - 1]])[0])

    def _severity(self, scores: Array) -> Array:
        return severity(self._ordinary_patches, scores, self._tail)

    def _report(self, skipped: SkippedImages) -> None:
        self.skipped_ = skipped.names
        skipped.report()

    def _note_on_fit(self, items: Pictures, blank: list[int]) -> None:
        """Warn of blank pictures, and of such that are stretched."""
        if blank:
            names = _names(items, sorted(blank))
            warn_caller(f"Blank pictures are not learned from ({len(blank):,}): {names}.", DataNote)
        low, high = self._ratios
        if self._encoder.stretches and high > ALIKE * low:
            warn_caller(
                f"Pictures have different shapes, from {low:.2f} to {high:.2f} times as wide as high, and each is "
                "stretched to a square. Cut them to one shape if it matters how wide things are.",
                DataNote,
            )

    def score_samples(self, X: ItemsLike) -> Array:  # (n,)
        """Return how typical each picture is: the mean score of its oddest patches. NaN if it could not be read.

        A blank picture, which shows nothing, scores lower than all ordinary ones.
        """
        check_is_fitted(self, "model_")
        items = _several_pictures(X, at_least=1)
        self._require_encoder()
        skipped = SkippedImages(self.corrupt)
        scores = np.full(len(items), np.nan)
        blank: list[int] = []
        stretched: list[int] = []
        for encoded in self._encoded(items, range(len(items)), skipped):
            if encoded.is_blank:
                blank.append(encoded.number)
                scores[encoded.number] = self._blank_score()
                continue
            scores[encoded.number] = self._picture_score(self._patch_scores(encoded.grid))
            if not self._ratios[0] / ALIKE <= encoded.width_by_height <= self._ratios[1] * ALIKE:
                stretched.append(encoded.number)
        self._report(skipped)
        if blank:
            names = _names(items, blank)
            warn_caller(f"Blank pictures are odd, since nothing is on them ({len(blank):,}): {names}.", DataNote)
        if stretched and self._encoder.stretches:
            names = _names(items, stretched)
            warn_caller(
                f"Pictures have another shape than those of fit, and are stretched ({len(stretched):,}): {names}.",
                DataNote,
            )
        return scores

    def _blank_score(self) -> float:
        lowest = self._ordinary_pictures[0]
        middle = float(np.median(self._ordinary_pictures))
        return float(lowest - FARTHER * max(middle - lowest, 1.0))

    def p_values(self, X: ItemsLike) -> Array:  # (n,)
        """Return the share of ordinary pictures that are as odd as each: of those kept aside in fit, and itself."""
        check_is_fitted(self, "model_")
        count = len(self._ordinary_pictures)
        if count < FEW_ASIDE:
            warn_caller(
                f"Only {count} pictures were kept aside in fit, so that no p-value of a picture is below "
                f"{1 / (count + 1):.2g}. {FEW_ASIDE / self.holdout:,.0f} pictures in fit bring it to 0.05.",
                DataNote,
            )
        return p_values(self._ordinary_pictures, self.score_samples(X))

    def regions(self, picture: object) -> PictureHeat:
        """Say which parts of this picture are odd."""
        check_is_fitted(self, "model_")
        items = [_one_picture(picture)]
        self._require_encoder()
        refuse = SkippedImages("refuse")
        encoded = next(self._encoded(items, [0], refuse))
        scores = self._patch_scores(encoded.grid)
        score = self._blank_score() if encoded.is_blank else self._picture_score(scores)
        if encoded.is_blank:
            warn_caller("The picture is blank: it is odd as nothing is on it, whatever its parts look like.", DataNote)
        return PictureHeat(
            picture=np.asarray(decode(content_of(items[0])[1])),
            scores=scores,
            severity=self._severity(scores.ravel()).reshape(scores.shape),
            score=score,
            p_value=float(p_values(self._ordinary_pictures, np.array([score]))[0]),
            limit=self._limit,
        )

    def _require_encoder(self) -> None:
        """Load the encoder if the model comes from a file; raise if it is another one than in fit."""
        if not hasattr(self, "_encoder"):
            self._encoder = self._load_encoder()
            if self.fingerprint_ != self._encoder.fingerprint:
                require_same(self.fingerprint_ or "", self._encoder.fingerprint or "", _name(self.encoder))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file: no picture, no encoder of your own, no pickle."""
        check_is_fitted(self, "model_")
        header, arrays = parts_of(self.model_)
        parameters = self.get_params(deep=False).items()
        complete: model_file.Header = {
            "model": "PictureRegions",
            "version": __version__,
            "parameters": {name: model_file.as_json(value) for name, value in parameters if name not in NOT_SAVED},
            "encoder": _name(self.encoder),
            "own_encoder": not isinstance(self.encoder, str),
            "fingerprint": self.fingerprint_,
            "offset": self.offset_,
            "limit": self._limit,
            "ratios": list(self._ratios),
            "fuse": header,
        }
        arrays = {f"fuse.{name}": array for name, array in arrays.items()}
        arrays |= {
            "center": self._center,
            "loadings": self._loadings,
            "pictures": self._ordinary_pictures,
            "patches": self._ordinary_patches,
        }
        model_file.write(path, complete, arrays)

    @classmethod
    def from_file_parts(
        cls, header: model_file.Header, arrays: model_file.Arrays, *, encoder: Any = None, device: str = "auto"
    ) -> Self:
        """Return the model made of the parts that `save` wrote; `centrality.load` reads them."""
        if header["own_encoder"] and encoder is None:
            raise InputError(
                f"the patches were encoded by an encoder of your own ({header['encoder']}), which the file does not "
                "hold: pass it again, load(path, encoder=...)."
            )
        names = cls().get_params(deep=False)
        parameters = {name: value for name, value in header["parameters"].items() if name in names}
        regions = cls(encoder=header["encoder"] if encoder is None else encoder, device=device, **parameters)
        regions.model_ = from_parts(header["fuse"], part_of(arrays, "fuse."), encoder=None, device=device)
        regions.fingerprint_ = header["fingerprint"]
        regions.offset_ = float(header["offset"])
        regions._limit = float(header["limit"])
        regions._ratios = (float(header["ratios"][0]), float(header["ratios"][1]))
        regions._center = arrays["center"]
        regions._loadings = arrays["loadings"]
        regions._ordinary_pictures = arrays["pictures"]
        regions._ordinary_patches = arrays["patches"]
        regions._tail = Tail.of(regions._ordinary_patches)
        return regions


def _name(encoder: object) -> str:
    return encoder if isinstance(encoder, str) else str(getattr(encoder, "__name__", type(encoder).__name__))


def _names(items: Pictures, numbers: list[int]) -> str:
    """Return the first few of these pictures: files by their paths, others by their numbers."""
    named = [items[number] if isinstance(items[number], str | Path) else f"picture {number}" for number in numbers]
    return first_few([str(name) for name in named])


def _several_pictures(X: object, at_least: int = 2) -> Pictures:
    """Return the pictures; raise if they are one picture, a table, or too few to learn from."""
    wanted = "A list of pictures was wanted: paths, PIL images, arrays (h, w[, c]) of uint8, or bytes of files."
    if is_frame(X):
        raise InputTypeError(f"{wanted} Got a table: give its column, list(table['path']).")
    if isinstance(X, str | Path):
        raise InputTypeError(f"{wanted} Got one path, {X}. For a folder: sorted(Path({str(X)!r}).glob('*.png')).")
    if isinstance(X, np.ndarray) and X.dtype == np.uint8 and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] in (1, 3, 4))):
        raise InputTypeError(f"{wanted} Got one array of shape {X.shape}: put it into a list, [picture].")
    if not hasattr(X, "__len__") or not hasattr(X, "__getitem__") or isinstance(X, bytes | bytearray | dict):
        raise InputTypeError(f"{wanted} Got {type(X).__name__}.")
    if len(X) < at_least:
        why = ": one to learn from, and one to compare with. Cut a single picture into tiles" if at_least > 1 else ""
        raise InputError(f"At least {at_least} pictures were wanted{why}. Got {len(X)}.")
    return X  # type: ignore[return-value]


def _one_picture(picture: object) -> object:
    """Return the picture; raise if it is a list."""
    if isinstance(picture, list | tuple):
        raise InputTypeError(f"One picture was wanted, got a {type(picture).__name__} of {len(picture)}: call it each.")
    return picture


class _DrawnPatches(NamedTuple):
    vectors: NDArray[np.float32]  # (k, d)
    places: Array  # (k, 2)


def _drawn_patches(encoded: EncodedPicture, quota: int, rng: np.random.Generator) -> _DrawnPatches:
    """Return so many patches of a picture, drawn at random, and where they lie."""
    rows, columns, width = encoded.grid.shape
    chosen = rng.permutation(rows * columns)[:quota]
    return _DrawnPatches(encoded.grid.reshape(-1, width)[chosen], _places(rows, columns)[chosen])


def _places(rows: int, columns: int) -> Array:  # (rows * columns, 2)
    """Return where the patches lie, from top to bottom and from left to right, each with a spread of about one."""
    down = (np.arange(rows) + 0.5) / rows - 0.5
    across = (np.arange(columns) + 0.5) / columns - 0.5
    grid = np.stack(np.meshgrid(down, across, indexing="ij"), axis=-1)
    return np.asarray(np.sqrt(12) * grid.reshape(-1, 2))


def _require_patches(sample: list[_DrawnPatches], pictures: int, blank: list[int], skipped: SkippedImages) -> None:
    """Raise if no picture can be learned from, or if their patches have vectors of different lengths."""
    if not sample:
        raise InputError(
            f"Pictures to learn from were wanted, but of {pictures} those not kept aside are blank ({len(blank)}) or "
            f"could not be read ({len(skipped.names)})."
        )
    widths = sorted({part.vectors.shape[1] for part in sample})
    if len(widths) > 1:
        raise InputError(
            f"The encoder gives vectors of {widths[0]} numbers for some pictures and of {widths[1]} for others: all "
            "patches must have vectors of one length."
        )
