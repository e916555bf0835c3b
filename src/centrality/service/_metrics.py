"""What the service counts, for Prometheus."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TOGETHER = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one service; nothing global, so that two services in one process do not add up."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter("centrality_requests", "Requests answered", ["path", "status"], registry=own)
        self.seconds = Histogram(
            "centrality_score_seconds", "From a request's head to its answer", buckets=SECONDS, registry=own
        )
        self.running = Gauge("centrality_score_running", "Requests to /score begun and not yet answered", registry=own)
        self.rows = Counter("centrality_rows", "Rows scored", registry=own)
        self.together = Histogram(
            "centrality_requests_together", "Requests scored in one turn", buckets=TOGETHER, registry=own
        )
        self.waiting = Gauge("centrality_rows_waiting", "Rows accepted and not yet answered", registry=own)
        self.loaded = Gauge("centrality_model_loaded_seconds", "When the model was loaded, in Unix time", registry=own)
        self.reloads = Counter("centrality_model_reloads", "New versions of the model's file", ["result"], registry=own)
        self._answered: dict[tuple[str, int], Counter] = {}  # found again quicker than by labels
        for result in ("loaded", "refused"):
            self.reloads.labels(result)  # zero is said, too

    def answered(self, path: str, status: int) -> None:
        counter = self._answered.get((path, status))
        if counter is None:
            counter = self._answered[path, status] = self.requests.labels(path, status)
        counter.inc()

    def scored_together(self, requests: int, rows: int) -> None:
        self.together.observe(requests)
        self.rows.inc(rows)

    def model_loaded(self) -> None:
        self.loaded.set(time.time())

    def total(self, name: str) -> int:
        """The sum of a counter over its labels."""
        samples = (sample for family in self._registry.collect() for sample in family.samples)
        return int(sum(sample.value for sample in samples if sample.name == name))

    def page(self) -> bytes:
        return bytes(generate_latest(self._registry))
