"""`centrality serve` under load, beside services one would write in ten minutes, on one machine in the same run.

Rows of 32 columns, the default model. Single rows as JSON over 64 connections come from wrk (apt install wrk), turn by
turn to ours and to the plain ones, so that what else the machine does meets both; one longer run looks for errors.
Requests for each second of the server's processor time tell more than those a second where the machine is shared.
Large bodies are Arrow streams of 100,000 rows of float32; "in memory" is `model.centrality` of the same rows, in
between.

    python -m benchmarks.service [seconds of the long run]
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

from benchmarks._results import save
from benchmarks._served import ARROW, Served, Workshop, arrow, rows_of, table_of, workshop, wrk
from centrality import load

ROWS = 100_000
TURNS, SECONDS = 8, 4
OURS = "single rows, JSON"


def middle(runs: list[dict[str, float]]) -> dict[str, float]:
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return found | {"errors": sum(run["errors"] for run in runs)}


def single_rows(shop: Workshop, seconds: int) -> list[dict[str, object]]:
    model, script = shop.model, shop.script
    servers = {OURS: shop.serve()}
    servers |= {
        f"plain, {kind}": Served("benchmarks.plain_service", kind, model, "{port}") for kind in ("fastapi", "asgi")
    }
    for server in servers.values():
        wrk(server, script, 2)  # all are warm
    turns = [{what: wrk(server, script, SECONDS) for what, server in servers.items()} for _ in range(TURNS)]
    lines = []
    for what in servers:
        line = {"what": what, "seconds": SECONDS * TURNS, **middle([turn[what] for turn in turns])}
        for name, column in (("per_s", "ratio"), ("per_cpu_s", "ratio_cpu")):
            ratio = statistics.median(turn[OURS][name] / turn[what][name] for turn in turns)
            line |= {column: "" if what == OURS else ratio}
        lines.append(line)
    lines.append({"what": f"{OURS}, at length", "seconds": seconds, **wrk(servers[OURS], script, seconds)})
    for server in servers.values():
        server.stop()
    return lines


def large_bodies(shop: Workshop) -> list[dict[str, object]]:
    model, rows = load(shop.model), rows_of(ROWS)
    body, server = arrow(table_of(rows)), shop.serve()
    connections = [HTTPConnection("127.0.0.1", server.port) for _ in range(4)]

    def post(connection: HTTPConnection) -> None:
        connection.request("POST", "/score", body, ARROW)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 8 * ROWS) == (200, True)

    def rates(work: Callable[[], object], cpu: Callable[[], float], times: int) -> tuple[float, float]:
        """Rows a second, and for each second of the scoring process's processors."""
        before, before_cpu = time.perf_counter(), cpu()
        work()
        return times * ROWS / (time.perf_counter() - before), times * ROWS / max(cpu() - before_cpu, 1e-2)

    with ThreadPoolExecutor(4) as pool:
        kinds = {
            "in memory": lambda: rates(lambda: model.centrality(rows), time.process_time, 1),
            "100,000 rows, Arrow": lambda: rates(lambda: post(connections[0]), server.cpu, 1),
            "100,000 rows, Arrow, 4 at once": lambda: rates(lambda: list(pool.map(post, connections)), server.cpu, 4),
        }
        for measure in kinds.values():
            measure()
        turns = [{kind: measure() for kind, measure in kinds.items()} for _ in range(12)]
    server.stop()
    return [
        {
            "what": kind,
            "rows_per_s": int(statistics.median(turn[kind][0] for turn in turns)),
            "best": int(max(turn[kind][0] for turn in turns)),
            "rows_per_cpu_s": int(statistics.median(turn[kind][1] for turn in turns)),
            "of_memory": statistics.median(turn[kind][0] / turn["in memory"][0] for turn in turns),
        }
        for kind in kinds
    ]


def main(seconds: int = 60) -> None:
    with workshop() as shop:
        large = large_bodies(shop)
        single = single_rows(shop, seconds)
    columns = ["what", "seconds", "per_s", "per_cpu_s", "p50_ms", "p99_ms", "errors", "ratio", "ratio_cpu"]
    save("service", [{name: line.get(name, "") for name in columns} for line in single])
    save("service_arrow", large)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
