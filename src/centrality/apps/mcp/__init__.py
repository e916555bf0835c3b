"""Answer agents over the Model Context Protocol: read-only, from folders and databases that were named at the start."""

from centrality.apps.mcp import _extra as _extra  # first: its error names the extra to install
from centrality.apps.mcp.server import serve
from centrality.apps.mcp.sources import Sources

__all__ = ["Sources", "serve"]
