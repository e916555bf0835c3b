"""The Kafka loop of the page about jobs, as it stands there, against brokers that come with the client library."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from centrality import FUSE
from tests.conftest import quick

confluent_kafka = pytest.importorskip("confluent_kafka")

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "jobs.md"
(SCRIPT,) = re.findall(r"<!-- job: score_orders.py -->\n```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
WITHIN = 120  # seconds: other tests want the processor too

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be asked to end there"),
]


class Kafka:
    """A broker of Kafka on this machine, with what is in its topics."""

    def __init__(self) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1})
        (broker,) = self._producer.list_topics(timeout=WITHIN).brokers.values()
        self.address = f"{broker.host}:{broker.port}"
        settings = {"bootstrap.servers": self.address, "group.id": "test", "auto.offset.reset": "earliest"}
        self._scored = confluent_kafka.Consumer(settings)
        self._topics = {"orders", "orders-scored"}
        for topic in self._topics:  # which makes them
            self._producer.list_topics(topic, timeout=WITHIN)
        self._scored.subscribe(["orders-scored"])
        self.answers: list[tuple[str, dict[str, float | str]]] = []

    def send(self, orders: dict[str, str]) -> None:
        for key, order in orders.items():
            self._producer.produce("orders", order, key=key)
        assert self._producer.flush(WITHIN) == 0

    def read_until(self, is_enough: Callable[[], bool]) -> None:
        """Add what comes to the answers until there are enough."""
        ends = time.monotonic() + WITHIN
        while not is_enough():
            assert time.monotonic() < ends, f"only {len(self.answers)} answers came"
            for message in self._scored.consume(1000, timeout=0.2):
                assert message.error() is None
                self.answers.append((message.key().decode(), json.loads(message.value())))

    def committed(self) -> int:
        """How many orders the group of the script has done with."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.address, "group.id": "score-orders"})
        partitions = self._producer.list_topics("orders", timeout=WITHIN).topics["orders"].partitions
        places = [confluent_kafka.TopicPartition("orders", number) for number in partitions]
        offsets = [place.offset for place in consumer.committed(places, timeout=WITHIN)]
        consumer.close()
        return sum(offset for offset in offsets if offset > 0)

    def close(self) -> None:
        self._scored.close()


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    kafka = Kafka()
    yield kafka
    kafka.close()


@pytest.fixture
def model(tmp_path) -> FUSE:
    model = quick().fit(np.random.default_rng(0).normal(size=(200, 2)))
    model.save(tmp_path / "orders.safetensors")
    (tmp_path / "score_orders.py").write_text(SCRIPT)
    return model


@pytest.fixture
def start(kafka, tmp_path) -> Iterator[Callable[[], subprocess.Popen]]:
    """Start the script; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        command = [sys.executable, "score_orders.py"]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"KAFKA": kafka.address}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def orders(count: int, *, seed: int = 0) -> dict[str, list[float]]:
    rows = np.random.default_rng(seed).normal(size=(count, 2))
    return {f"{seed}-{number}": row.tolist() for number, row in enumerate(rows)}


def as_messages(rows: dict[str, list[float]]) -> dict[str, str]:
    return {key: json.dumps({"id": key, "amount": amount, "weight": weight}) for key, (amount, weight) in rows.items()}


def test_every_order_gets_its_scores_a_wrong_one_what_is_wrong_and_all_is_committed_at_the_end(kafka, model, start):
    rows = orders(300)
    wrong = {
        "no json": "{",
        "no weight": '{"amount": 1}',
        "a text": '{"amount": "much", "weight": 1}',
        "nan": '{"amount": NaN, "weight": 1}',
        "a list": "[1, 2]",
        "empty": "",
    }
    kafka.send(as_messages(rows) | wrong)
    script = start()
    kafka.read_until(lambda: len(kafka.answers) == len(rows) + len(wrong))
    answers = dict(kafka.answers)
    assert {key for key, answer in answers.items() if "error" in answer} == set(wrong)
    X = np.array(list(rows.values()))
    np.testing.assert_allclose([answers[key]["centrality"] for key in rows], model.centrality(X), rtol=1e-12)
    np.testing.assert_allclose([answers[key]["p_value"] for key in rows], model.p_values(X), rtol=1e-12)
    script.terminate()
    assert script.wait(timeout=WITHIN) == 0
    assert kafka.committed() == len(rows) + len(wrong)


def test_of_a_loop_that_is_killed_no_order_is_lost(kafka, model, start):
    first, second = orders(2500, seed=1), orders(500, seed=2)
    kafka.send(as_messages(first))
    script = start()
    kafka.read_until(lambda: bool(kafka.answers))
    script.kill()
    script.wait()
    kafka.send(as_messages(second))
    start()
    wanted = first.keys() | second.keys()
    kafka.read_until(lambda: {key for key, _ in kafka.answers} == wanted)
    twice = len(kafka.answers) - len(wanted)
    assert twice <= 1000  # at most what was read and not yet committed
    by_key: dict[str, set[float | str]] = {}
    for key, answer in kafka.answers:
        by_key.setdefault(key, set()).add(answer["centrality"])
    assert all(len(scores) == 1 for scores in by_key.values())
