"""Raise an error that names the extra to install, before the other modules import the service's packages."""

from centrality._internal.checks import optional

for _package in ("uvicorn", "orjson", "prometheus_client"):
    optional(_package, "serve")
