"""Import this first: it says which extra is missing before the tools for agents need it."""

from centrality._internal.checks import optional

optional("mcp.server", "mcp")
