"""Answer agents over the Model Context Protocol: read-only, from folders and databases that were named at the start."""

from centrality._internal.checks import optional

optional("mcp.server", "mcp")  # first: its error names the extra to install

from centrality.apps.mcp.server import serve  # noqa: E402
from centrality.apps.mcp.sources import Sources  # noqa: E402

__all__ = ["Sources", "serve"]
