"""Write the page that the first page of the site shows in a frame: the houses, as `centrality explore` exports them."""

from pathlib import Path
from typing import Any

NAME = "houses.html"


def write(folder: Path) -> int:
    """Write the page and return its size in bytes."""
    from centrality import FUSE, Chain
    from centrality.apps.explorer.server import export
    from centrality.apps.explorer.view import explored
    from centrality.datasets import houses
    from centrality.representations import Table

    rows = houses()
    folder.mkdir(parents=True, exist_ok=True)
    view = explored(Chain(Table(), FUSE(random_state=0)).fit(rows), rows, on="pca", title="houses.csv")
    return export(view, folder / NAME)


def write_page(app: Any) -> None:
    """Write it where Sphinx takes it from; only for the site, which people look at."""
    if app.builder.format == "html":
        write(Path(app.srcdir) / "_build" / "live")


def setup(app: Any) -> dict[str, bool]:
    (Path(app.srcdir) / "_build" / "live").mkdir(parents=True, exist_ok=True)  # Sphinx warns if it is not there yet
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}
