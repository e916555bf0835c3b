"""Score over HTTP: `centrality serve MODEL`.

A request is read (`requests`), its rows wait to be scored together with those of others (`queue`) by the model in use
(`model`), and the answer goes back in the format of the request (`app`, `server`).
"""

from centrality._internal.checks import optional

for _package in ("uvicorn", "orjson", "prometheus_client"):
    optional(_package, "serve")  # first: its error names the extra to install

from centrality.apps.service.app import App  # noqa: E402
from centrality.apps.service.queue import Limits  # noqa: E402
from centrality.apps.service.server import run  # noqa: E402

__all__ = ["App", "Limits", "run"]
