"""Is the odd part of a picture found? PictureRegions beside PatchCore's recipe on the same vectors of patches.

    python -m benchmarks.picture_regions [--sets weave,gear,...] [--encoders gradients,efficientnet]     a few minutes
    python -m benchmarks.picture_regions --folders mvtec/bottle mvtec/carpet     folders with train/good, test/KIND and
        ground_truth/KIND/NAME_mask.png; the results are printed, and not kept

Seven sets with planted faults (see _planted_pictures.py), two encoders: ours, and an EfficientNet-lite0 trained on
ImageNet, maps of 28 x 28 and 14 x 14. PatchCore's recipe is that of Roth et al. (CVPR 2022): a patch is as odd as it is
far from the nearest of 2,000 patches chosen greedily from 20,000; a picture is as odd as its oddest patch, weighted by
how close the neighbours of its nearest one lie. It is run on the vectors, and on the same ones whitened as ours are.

results/picture_regions.csv         a line for each set and encoder. AUC of pictures with a fault against good ones, and
    of pixels of faults against all others: ours, PatchCore's, PatchCore's on whitened vectors
results/picture_regions_choices.csv the same by what we could choose: the picture's score is its lowest patch, the mean
    of its lowest 1%, 5% or of all; and how much the position of a patch counts
results/picture_regions_marks.csv   the share of fresh good pictures with a part that is marked (one in 20 is promised),
    the share of pictures with faults, and how often the first box lies on the fault
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import zoom
from sklearn.metrics import roc_auc_score

from benchmarks._planted_pictures import DRAWN, PictureSet, from_folder, planted
from benchmarks._results import save
from benchmarks.modalities import efficientnet
from centrality.pictures import PictureRegions
from centrality.representations.patches import PatchEncoder, patch_encoder

Array = NDArray[np.float64]
Line = dict[str, object]

CORESET, FROM = 2000, 20_000
NEIGHBOURS = 9  # of the nearest patch of the coreset, as in PatchCore
LOW = 64  # pixels of a side at which pixels are judged
LOWEST = {"lowest": 0.0, "1%": 0.01, "5%": 0.05, "mean": 0.999}
POSITIONS = (0.0, 1.0, 3.0)


class EfficientNetMaps(torch.nn.Module):
    """The last maps of 28 x 28 and of 14 x 14 of an EfficientNet-lite0 for pictures of 224 x 224."""

    def __init__(self) -> None:
        super().__init__()
        self.net = efficientnet().net

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        net = self.net
        x = net._swish(net._bn0(net._conv_stem(x)))  # noqa: SLF001
        maps = {}
        for block in net._blocks:  # noqa: SLF001
            x = block(x)
            if x.shape[-1] < 14:
                break
            maps[x.shape[-1]] = x
        return [maps[28], maps[14]]


def encoder_named(name: str) -> PatchEncoder:
    chosen = EfficientNetMaps() if name == "efficientnet" else name
    return patch_encoder(
        chosen, size=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), download=False, device="cpu"
    )


def encoded_once(encoder: PatchEncoder, pictures: PictureSet) -> dict[bytes, Array]:
    """The grid of every picture, by its pixels."""
    found: dict[bytes, Array] = {}
    everything = [Image.fromarray(pixels) for pixels in (*pictures.train, *pictures.test)]
    for start in range(0, len(everything), 16):
        batch = everything[start : start + 16]
        found |= {one.tobytes(): grid for one, grid in zip(batch, encoder(batch), strict=True)}
    return found


class PatchCore:
    """PatchCore's recipe, on vectors of patches."""

    def __init__(self, vectors: NDArray[np.float32], rng: np.random.Generator) -> None:
        vectors = vectors[rng.permutation(len(vectors))[:FROM]]
        shorter = vectors @ (rng.normal(size=(vectors.shape[1], 64)) / 8).astype(np.float32)
        squares = np.square(shorter).sum(1)
        distance = np.full(len(vectors), np.inf)
        chosen = [int(rng.integers(len(vectors)))]
        for _ in range(min(CORESET, len(vectors)) - 1):
            last = shorter[chosen[-1]]
            distance = np.minimum(distance, squares - 2 * shorter @ last + last @ last)
            chosen.append(int(distance.argmax()))
        self.bank = vectors[chosen]
        self.squares = np.square(self.bank).sum(1)

    def distances(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:  # (n, bank)
        squares = np.square(vectors).sum(1)[:, None] - 2 * vectors @ self.bank.T + self.squares
        return np.sqrt(np.maximum(squares, 0))

    def scores(self, vectors: NDArray[np.float32]) -> tuple[Array, float]:
        """How odd each patch of a picture is, and the picture."""
        distances = self.distances(vectors)
        of_patches = distances.min(1).astype(np.float64)
        oddest = int(of_patches.argmax())
        nearest = int(distances[oddest].argmin())
        around = np.argsort(self.distances(self.bank[nearest][None])[0])[:NEIGHBOURS]
        scale = np.sqrt(vectors.shape[1])
        closeness = np.exp((distances[oddest, around] - of_patches[oddest]) / scale)
        return of_patches, float(of_patches[oddest] * (1 - 1 / closeness.sum()))


def pixel_auc(grids: list[Array], masks: list[NDArray[np.bool_]]) -> float:
    """AUC of the pixels of faults, at a lower resolution."""
    heats = [zoom(grid, (LOW / grid.shape[0], LOW / grid.shape[1]), order=1, grid_mode=True, mode="nearest")
             for grid in grids]  # fmt: skip
    lower = [np.asarray(Image.fromarray(mask.astype(np.float32)).resize((LOW, LOW), Image.Resampling.BOX)) > 0.4
             for mask in masks]  # fmt: skip
    return float(roc_auc_score(np.ravel(lower), np.ravel(heats)))


def measured(name: str, pictures: PictureSet, encoder_name: str, *, all_choices: bool) -> tuple[Line, list[Line], Line]:
    """The lines of one set and encoder: beside PatchCore, by what could be chosen, and what is marked."""
    start = time.process_time()
    grids = encoded_once(encoder_named(encoder_name), pictures)
    encoding = time.process_time() - start
    odd = np.array([kind != "good" for kind in pictures.kinds])
    has_masks = any(mask.any() for mask in pictures.masks)

    def vectors_of(picture: Image.Image) -> Array:
        return grids[picture.tobytes()]

    def judged(scores: list[float] | Array, of_patches: list[Array]) -> tuple[float, float]:
        of_pixels = pixel_auc(of_patches, pictures.masks) if has_masks else float("nan")
        return float(roc_auc_score(odd, scores)), of_pixels

    start = time.process_time()
    model = PictureRegions(vectors_of, random_state=0).fit(pictures.train)
    fitted = time.process_time()
    heats = [model.regions(picture) for picture in pictures.test]
    seconds = {"encode s": encoding, "fit s": fitted - start, "score s": time.process_time() - fitted}
    ours = judged([-heat.score for heat in heats], [-heat.scores for heat in heats])
    line: Line = {"set": name, "encoder": encoder_name, "pictures": len(pictures.train), "ours": ours[0]}
    of_pixels: Line = {"ours pixels": ours[1]}

    def raw(vectors: Array) -> Array:
        return vectors

    def whitened(vectors: Array) -> Array:
        return (vectors - model._center) @ model._loadings  # noqa: SLF001  (the vectors that FUSE gets)

    ways: dict[str, Callable[[Array], Array]] = {"PatchCore": raw, "PatchCore whitened": whitened}
    for way, prepare in ways.items():
        flat = {key: prepare(grid.reshape(-1, grid.shape[2])).astype(np.float32) for key, grid in grids.items()}
        learned = np.concatenate([flat[Image.fromarray(pixels).tobytes()] for pixels in pictures.train])
        peer = PatchCore(learned, np.random.default_rng(0))
        keys = [Image.fromarray(pixels).tobytes() for pixels in pictures.test]
        scored = [peer.scores(flat[key]) for key in keys]
        shapes = [grids[key].shape[:2] for key in keys]
        maps = [patches.reshape(shape) for (patches, _), shape in zip(scored, shapes, strict=True)]
        line[way], of_pixels[f"{way} pixels"] = judged([score for _, score in scored], maps)
    choices: list[Line] = []
    for position in POSITIONS if all_choices else ():
        other, by_position = model, heats
        if position:
            other = PictureRegions(vectors_of, position=position, random_state=0).fit(pictures.train)
            by_position = [other.regions(picture) for picture in pictures.test]
        choice: Line = {"set": name, "encoder": encoder_name, "position": position}
        for label, share in LOWEST.items():
            other.lowest = share
            scores = [other._picture_score(heat.scores) for heat in by_position]  # noqa: SLF001
            choice[label] = float(roc_auc_score(odd, -np.array(scores)))
        other.lowest = 0.01
        choice["pixels"] = pixel_auc([-heat.scores for heat in by_position], pictures.masks)
        choices.append(choice)
    boxes = [heat.boxes() for heat in heats]
    marked = np.array([len(found) > 0 for found in boxes])
    on_fault = [
        bool(mask[found[0].top : found[0].bottom, found[0].left : found[0].right].any())
        for found, mask in zip(boxes, pictures.masks, strict=True)
        if found and mask.any()
    ]
    marks: Line = {
        "set": name,
        "encoder": encoder_name,
        "good marked": float(marked[~odd].mean()),
        "faulty marked": float(marked[odd].mean()),
        "first box on the fault": float(np.mean(on_fault)) if on_fault else float("nan"),
    }
    return line | of_pixels | seconds, choices, marks


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(DRAWN))
    parser.add_argument("--encoders", default="gradients,efficientnet")
    parser.add_argument("--folders", nargs="*", type=Path, default=[])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    lines: list[Line] = []
    choices: list[Line] = []
    marks: list[Line] = []
    for name in arguments.folders or arguments.sets.split(","):
        for encoder_name in arguments.encoders.split(","):
            if isinstance(name, Path):
                pictures = from_folder(name)
            else:
                pictures = planted(name, np.random.default_rng(0), train=60, good=40, of_each_fault=10)
            label = name.name if isinstance(name, Path) else name
            found = measured(label, pictures, encoder_name, all_choices=not arguments.folders)
            print(found[0], found[2], flush=True)
            lines.append(found[0])
            choices += found[1]
            marks.append(found[2])
    if not arguments.folders:
        save("picture_regions", lines)
        save("picture_regions_choices", choices)
        save("picture_regions_marks", marks)


if __name__ == "__main__":
    main()
