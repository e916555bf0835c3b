"""Score over HTTP: `centrality serve MODEL`.

A request is read (`_requests`), its rows wait to be scored together with those of others (`_queue`) by the model in use
(`_served`, `_file`), and the answer goes back in the format of the request (`_app`, `_server`).
"""

from centrality.apps.service import _extra as _extra  # first: its error names the extra to install
from centrality.apps.service.app import App
from centrality.apps.service.queue import Limits
from centrality.apps.service.server import run

__all__ = ["App", "Limits", "run"]
