"""What to watch of a service, in the words of Prometheus."""

from __future__ import annotations

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Counts of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "fairarm_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "fairarm_request_seconds",
            "From a request's headers to the end of its answer.",
            ["route"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.ticks = Counter("fairarm_ticks", "Rounds of opening and settling cohorts.", registry=self.registry)
        self.tick_errors = Counter("fairarm_tick_errors", "Rounds that failed.", registry=self.registry)
        self.tick_age = Gauge("fairarm_tick_age_seconds", "Since the last round that worked.", registry=self.registry)
        self.waiting = Gauge("fairarm_waiting", "Calls that wait for their commit.", registry=self.registry)
        self._children = lru_cache(4096)(self._labelled)

    def _labelled(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self._requests.labels(method, route, str(status)), self._seconds.labels(route)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        count, time = self._children(method, route, status)
        count.inc()
        time.observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
