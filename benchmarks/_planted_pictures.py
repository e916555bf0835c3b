"""Pictures with planted faults, and where these are; and folders of real ones as MVTec AD lays them out.

Three textures and a gear are drawn by ours; digits and airplanes are MNIST's and CIFAR-10's, enlarged; "park" are parts
of one photograph (scikit-learn's china.jpg). The faults: a coloured spot, a scratch, a blurred part, a part of another
picture turned by a quarter or more; of the gear also a hole that lacks, teeth that lack, a mark in another place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import binary_dilation, gaussian_filter

from benchmarks._results import data

SIDE = 128
VISIBLE = 8.0  # of 255: a fault that changes its pixels less, on average, is planted anew
TRIES = 50

Pixels = NDArray[np.uint8]  # (height, width, 3)
Mask = NDArray[np.bool_]  # (height, width)
Rng = np.random.Generator


@dataclass
class PictureSet:
    """Good pictures to learn from; others, good or with a fault, the kind of it, and where it is."""

    train: list[Pixels]
    test: list[Pixels]
    kinds: list[str]  # "good", or that of the fault
    masks: list[Mask]


def standardized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values - values.mean()) / values.std()


def lit(grey: NDArray[np.float64], colour: tuple[float, float, float], noise: float, rng: Rng) -> Pixels:
    """Grey values of 1 or so in this colour, by light from one side, with noise."""
    down, across = np.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    tilt = rng.uniform(-0.08, 0.08, 2)
    light = rng.uniform(0.92, 1.08) * (1 + tilt[0] * across + tilt[1] * down)
    pixels = (grey * light)[:, :, None] * np.array(colour)
    return np.clip(pixels + rng.normal(0, noise, pixels.shape), 0, 255).astype(np.uint8)


def weave(rng: Rng) -> Pixels:
    down, across = np.mgrid[:SIDE, :SIDE]
    phase = rng.uniform(0, 2 * np.pi, 2)
    wobble = 12 * gaussian_filter(rng.normal(size=(2, SIDE, SIDE)), (0, 10, 10))
    one = np.sin(2 * np.pi / 12 * (across + wobble[0]) + phase[0])
    other = np.sin(2 * np.pi / 12 * (down + wobble[1]) + phase[1])
    above = np.where(one * other > 0, np.abs(one), np.abs(other))
    return lit(0.45 + 0.4 * above, (215, 190, 150), 5, rng)


def wood(rng: Rng) -> Pixels:
    fine = standardized(gaussian_filter(rng.normal(size=(SIDE, SIDE)), (18, 1.2)))
    wide = standardized(gaussian_filter(rng.normal(size=(SIDE, SIDE)), (40, 6)))
    return lit(1 + 0.14 * fine + 0.12 * wide, (165, 110, 65), 3, rng)


def leather(rng: Rng) -> Pixels:
    noise = rng.normal(size=(2, SIDE, SIDE))
    grain = standardized(gaussian_filter(noise[0], 1.6) - gaussian_filter(noise[1], 3.5))
    return lit(0.55 + 0.12 * np.tanh(grain), (190, 110, 80), 3, rng)


def gear(rng: Rng) -> Pixels:
    return drawn_gear("", rng)[0]


def drawn_gear(fault: str, rng: Rng) -> tuple[Pixels, Mask]:
    """A gear with three holes and a mark, a little turned and moved; and where its fault is."""
    finer = 2
    count = SIDE * finer
    y, x = (np.mgrid[:count, :count] - count / 2) / finer
    angle = np.deg2rad(rng.uniform(-3, 3))
    offset = rng.uniform(-1.5, 1.5, 2)
    x, y = x * np.cos(angle) - y * np.sin(angle) + offset[0], x * np.sin(angle) + y * np.cos(angle) + offset[1]
    radius, turn = np.hypot(x, y), np.arctan2(y, x)
    grey = np.full((count, count), 225.0)
    grey[radius < 48 + 4 * np.sign(np.sin(24 * turn))] = 90
    grey[radius < 38] = 150
    grey[(radius < 30) & (radius > 27)] = 60
    grey[(np.abs(x) < 4) & (np.abs(y) < 18)] = 40
    grey[(np.abs(y - 10) < 3) & (np.abs(x) < 14)] = 40
    holes = [np.hypot(x - 22 * np.cos(at), y - 22 * np.sin(at)) for at in np.arange(3) * 2 * np.pi / 3]
    for distance in holes:
        grey[distance < 3.5] = 235
    mask = np.zeros(grey.shape, dtype=bool)
    if fault == "hole lacks":
        mask = holes[rng.integers(3)] < 4.5
        grey[mask] = 150
    elif fault == "teeth lack":
        away = np.abs((turn - rng.uniform(-np.pi, np.pi) + np.pi) % (2 * np.pi) - np.pi)
        mask = (away < 0.3) & (radius > 43) & (radius < 53)
        grey[mask] = 225
    elif fault == "mark moved":
        old = (np.abs(y - 10) < 4) & (np.abs(x) < 15)
        new = (np.abs(y + 8) < 3) & (np.abs(x) < 14)
        grey[old & (np.abs(x) > 4)] = 150
        grey[new] = 40
        mask = old | new
    grey = gaussian_filter(grey, 1.0).reshape(SIDE, finer, SIDE, finer).mean((1, 3))
    return lit(grey, (1, 0.98, 0.93), 4, rng), mask.reshape(SIDE, finer, SIDE, finer).mean((1, 3)) > 0.3


@cache
def threes() -> Pixels:
    with np.load(data("paper", "mnist_test10k.npz")) as file:
        return np.asarray(file["X"][file["y"] == 3])


@cache
def airplanes() -> Pixels:
    with np.load(data("paper", "cifar10_airplane_images.npz")) as file:
        return np.asarray(file["X"][file["y"] == 0])


@cache
def china() -> Pixels:
    from sklearn.datasets import load_sample_image

    return np.asarray(load_sample_image("china.jpg"))


def enlarged(pixels: Pixels) -> Pixels:
    picture = Image.fromarray(pixels).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return np.asarray(picture)


def digits(rng: Rng) -> Pixels:
    return enlarged(threes()[rng.integers(len(threes()))])


def planes(rng: Rng) -> Pixels:
    return enlarged(airplanes()[rng.integers(len(airplanes()))])


def park(rng: Rng) -> Pixels:
    whole = china()
    top, left = (int(rng.integers(0, size - SIDE)) for size in whole.shape[:2])
    return whole[top : top + SIDE, left : left + SIDE].copy()


DRAWN: dict[str, Callable[[Rng], Pixels]] = {
    "weave": weave,
    "wood": wood,
    "leather": leather,
    "gear": gear,
    "digits": digits,
    "airplanes": planes,
    "park": park,
}
FAULTS = ("spot", "scratch", "blur", "other part")
OF_GEARS = ("hole lacks", "teeth lack", "mark moved")


def blob(area: float, rng: Rng) -> Mask:
    """A round part of about this many pixels."""
    y, x = np.mgrid[:SIDE, :SIDE]
    center = rng.integers(16, SIDE - 16, 2)
    ragged = standardized(gaussian_filter(rng.normal(size=(SIDE, SIDE)), 6))
    distance = np.hypot(y - center[0], x - center[1]) / np.sqrt(area / np.pi) + 0.25 * ragged
    return np.asarray(distance < np.sort(distance, axis=None)[int(area)])


def faulty(fault: str, picture: Pixels, other: Pixels, rng: Rng) -> tuple[Pixels, Mask]:
    """The picture with this fault, and where it is."""
    pixels = picture.astype(np.float64)
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    if fault == "spot":
        mask = blob(rng.uniform(60, 250), rng)
        colour = rng.uniform(-50, 50, 3)
        pixels += gaussian_filter(mask.astype(float), 1.5)[:, :, None] * colour * 35 / np.abs(colour).mean()
    elif fault == "scratch":
        start, angle = rng.integers(20, SIDE - 20, 2), rng.uniform(0, np.pi)
        along = np.linspace(-1, 1, 200) * rng.uniform(14, 30)
        bend = rng.uniform(-0.02, 0.02) * along**2
        y = start[0] + along * np.sin(angle) + bend * np.cos(angle)
        x = start[1] + along * np.cos(angle) - bend * np.sin(angle)
        inside = (y >= 0) & (y < SIDE) & (x >= 0) & (x < SIDE)
        line = np.zeros((SIDE, SIDE))
        line[y[inside].astype(int), x[inside].astype(int)] = 1
        mask = binary_dilation(line > 0, iterations=2)
        pixels += np.clip(3 * gaussian_filter(line, 0.8), 0, 1)[:, :, None] * rng.choice([-60, 60])
    elif fault == "blur":
        mask = blob(rng.uniform(250, 600), rng)
        there = gaussian_filter(mask.astype(float), 1)[:, :, None]
        pixels = pixels * (1 - there) + gaussian_filter(pixels, (4, 4, 0)) * there
    else:
        height, width = rng.integers(12, 26, 2)
        turned = np.rot90(other, rng.integers(1, 4))
        (top, from_top), (left, from_left) = (rng.integers(0, SIDE - size, 2) for size in (height, width))
        part = turned[from_top : from_top + height, from_left : from_left + width]
        pixels[top : top + height, left : left + width] = part
        mask[top : top + height, left : left + width] = True
    return np.clip(pixels, 0, 255).astype(np.uint8), mask


def planted(name: str, rng: Rng, *, train: int, good: int, of_each_fault: int) -> PictureSet:
    """Pictures of this name, and such with faults that change what is seen."""
    draw = DRAWN[name]
    found = PictureSet([draw(rng) for _ in range(train)], [], [], [])
    for _ in range(good):
        found.test.append(draw(rng))
        found.kinds.append("good")
        found.masks.append(np.zeros((SIDE, SIDE), dtype=bool))
    for fault in (*FAULTS, *(OF_GEARS if name == "gear" else ())):
        for _ in range(of_each_fault):
            if fault in OF_GEARS:
                picture, mask = drawn_gear(fault, rng)
            else:
                picture, mask = visibly_faulty(fault, draw, rng)
            found.test.append(picture)
            found.kinds.append(fault)
            found.masks.append(mask)
    return found


def visibly_faulty(fault: str, draw: Callable[[Rng], Pixels], rng: Rng) -> tuple[Pixels, Mask]:
    """A picture with a fault that shows: no blur of what is even already, nothing black on black."""
    for _ in range(TRIES):
        good = draw(rng)
        picture, mask = faulty(fault, good, draw(rng), rng)
        if mask.any() and np.abs(picture.astype(float) - good)[mask].mean() > VISIBLE:
            break
    return picture, mask


def from_folder(folder: Path) -> PictureSet:
    """A folder as MVTec AD has it: train/good, test/good, test/FAULT, and ground_truth/FAULT/NAME_mask.png."""
    train = sorted((folder / "train" / "good").glob("*.*"))
    tests = sorted((folder / "test").glob("*/*.*"))
    if not train or not tests:
        raise SystemExit(f"{folder}: pictures were wanted in train/good and test/KIND, got {len(train)}, {len(tests)}.")
    found = PictureSet([pixels_of(path) for path in train], [], [], [])
    for path in tests:
        kind = path.parent.name
        picture = pixels_of(path)
        mask = folder / "ground_truth" / kind / f"{path.stem}_mask.png"
        found.test.append(picture)
        found.kinds.append(kind)
        found.masks.append(
            np.asarray(Image.open(mask).convert("L")) > 0 if mask.is_file() else np.zeros(picture.shape[:2], dtype=bool)
        )
    return found


def pixels_of(path: Path) -> Pixels:
    return np.asarray(Image.open(path).convert("RGB"))
