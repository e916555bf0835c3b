"""Say which extra brings the service's packages, before the modules beside this one import them."""

from centrality._optional import optional

for _package in ("uvicorn", "orjson", "prometheus_client"):
    optional(_package, "serve")
