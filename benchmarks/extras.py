"""How much each extra installs: packages and MB on disk, beside what centrality needs anyway.

    python -m benchmarks.extras

It adds up the files of packages that are installed here, those they need included. What is not installed is named, and
its extra not measured.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks._results import save

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = {
    name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("test", "docs", "dev")
}
WITHOUT = "none"  # what is installed without any extra
LISTED = 3  # the largest packages that are named


def needed(lines: list[str], extras: set[str] = frozenset()) -> list[Requirement]:
    """Return the requirements that hold on this machine, for a package of which these extras are wanted."""
    found = [Requirement(line) for line in lines]
    wanted = [{"extra": extra} for extra in extras] or [{"extra": ""}]
    return [one for one in found if one.marker is None or any(one.marker.evaluate(each) for each in wanted)]


def sizes(lines: list[str]) -> dict[str, int]:
    """Return the bytes of what these requirements install, by package."""
    found: dict[str, int] = {}
    waiting = needed(lines)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == PROJECT["name"]:
            waiting += [one for extra in requirement.extras for one in needed(EXTRAS[extra])]
            continue
        if name not in found:
            found[name] = bytes_of(name)
            waiting += needed(requires(name) or [])
        if requirement.extras:
            waiting += [one for one in needed(requires(name) or [], requirement.extras)
                        if canonicalize_name(one.name) not in found]  # fmt: skip
    return found


def bytes_of(name: str) -> int:
    """Return the bytes of a package on disk, without what Python compiles of it."""
    files = distribution(name).files or []
    paths = [Path(str(file.locate())) for file in files if "__pycache__" not in file.parts]
    return sum(path.stat().st_size for path in paths if path.is_file())


def extras() -> list[dict[str, object]]:
    """Return what each extra installs, in MB."""
    base = sizes(PROJECT["dependencies"])
    measured = []
    for extra, lines in {WITHOUT: PROJECT["dependencies"], **EXTRAS}.items():
        try:
            own = {name: size for name, size in sizes(lines).items() if extra == WITHOUT or name not in base}
        except PackageNotFoundError as error:
            said = f"not measured: {error.name} was not installed"
            measured.append({"extra": extra, "packages": "", "mb": "", "largest": said})
            continue
        largest = sorted(own.items(), key=lambda one: -one[1])[:LISTED]
        measured.append(
            {
                "extra": extra,
                "packages": len(own),
                "mb": round(sum(own.values()) / 1e6, 1),
                "largest": ", ".join(f"{name} {size / 1e6:.1f}" for name, size in largest),
            }
        )
    return measured


if __name__ == "__main__":
    save("extras", extras())
