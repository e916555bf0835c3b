"""Count what the service does, for Prometheus."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
REQUESTS_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Hold the counters of one service; none is global, so that two services in one process count separately."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter("centrality_requests", "Requests answered", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "centrality_score_seconds",
            "From a request's head to its answer",
            buckets=SECONDS_BUCKETS,
            registry=registry,
        )
        self.running = Gauge(
            "centrality_score_running", "Requests to /score begun and not yet answered", registry=registry
        )
        self.rows = Counter("centrality_rows", "Rows scored", registry=registry)
        self.together = Histogram(
            "centrality_requests_together", "Requests scored in one batch", buckets=REQUESTS_BUCKETS, registry=registry
        )
        self.waiting = Gauge("centrality_rows_waiting", "Rows accepted and not yet answered", registry=registry)
        self.loaded = Gauge(
            "centrality_model_loaded_seconds", "When the model was loaded, in Unix time", registry=registry
        )
        self.reloads = Counter(
            "centrality_model_reloads", "New versions of the model's file", ["result"], registry=registry
        )
        self._answered: dict[tuple[str, int], Counter] = {}  # looked up more quickly here than by labels
        for result in ("loaded", "refused"):
            self.reloads.labels(result)  # a counter at zero is reported, too

    def answered(self, path: str, status: int) -> None:
        """Count an answered request."""
        counter = self._answered.get((path, status))
        if counter is None:
            counter = self._answered[path, status] = self.requests.labels(path, status)
        counter.inc()

    def scored_together(self, requests: int, rows: int) -> None:
        """Count a batch, in which so many requests with so many rows were scored."""
        self.together.observe(requests)
        self.rows.inc(rows)

    def model_loaded(self) -> None:
        """Set the time at which the model was loaded to now."""
        self.loaded.set(time.time())

    def total(self, name: str) -> int:
        """Return the sum of a counter over its labels."""
        samples = (sample for family in self._registry.collect() for sample in family.samples)
        return int(sum(sample.value for sample in samples if sample.name == name))

    def page(self) -> bytes:
        """Return all counters in the format of Prometheus."""
        return bytes(generate_latest(self._registry))
