"""The texts of the page about jobs are run as they stand there, as far as they are ours."""

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "jobs.md"
TEXTS = dict(re.findall(r"<!-- job: (\S+) -->\n```\S+\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))

pytestmark = pytest.mark.slow


def orders(*, moved: float = 0.0, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    amount, weight = rng.normal(size=(2, 800))
    return pa.table({"id": np.arange(800), "amount": amount + moved, "weight": weight + amount})


@pytest.fixture
def shop(tmp_path, monkeypatch) -> str:
    """A shop's database, its address in a variable, and `centrality` on the path, in a folder of its own."""
    address = f"sqlite:{tmp_path}/shop.db"
    monkeypatch.setenv("SHOP", address)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    tables.write(orders(seed=1), f"{address}#orders_fine")
    (tmp_path / "nightly.sh").write_text(TEXTS["nightly.sh"])
    (tmp_path / "nightly.sh").chmod(0o755)
    return address


def run(command: str) -> int:
    return subprocess.run(["/bin/sh", "-c", command], check=False).returncode


def test_a_quiet_night_ends_with_0_and_one_in_which_rows_have_changed_with_1(shop):
    tables.write(orders(seed=2), f"{shop}#orders_today")
    assert run("./nightly.sh") == 0
    scores = tables.read(f"{shop}#orders_scores")
    assert scores.column_names == ["id", "centrality", "p_value", "reasons"]
    assert scores.num_rows == 800
    with tables.database.database_access(if_exists="replace"):
        tables.write(orders(moved=3, seed=3), f"{shop}#orders_today")
    assert run("./nightly.sh") == 1
    low = np.asarray(tables.read(f"{shop}#orders_scores")["p_value"])
    assert np.median(low) < 0.05  # the scores of tonight are there all the same


def test_a_night_without_rows_ends_with_2_and_leaves_the_scores_of_the_night_before(shop):
    assert run("./nightly.sh") == 2
    assert "orders_scores" not in tables.database.connect(tables.database.DatabasePlace.of(shop)).tables()


def test_cron_and_systemd_start_the_script(shop):
    tables.write(orders(seed=2), f"{shop}#orders_today")
    line = re.fullmatch(r"(?:[\d*]+ ){5}cd /var/lib/orders && (\S+)\n", TEXTS["crontab"])
    assert line
    service, timer = (configparser.ConfigParser(interpolation=None) for _ in range(2))
    service.optionxform = timer.optionxform = str  # type: ignore[assignment, method-assign]
    service.read_string(TEXTS["orders.service"])
    timer.read_string(TEXTS["orders.timer"])
    assert timer["Timer"]["OnCalendar"] == "*-*-* 04:30"
    assert run(service["Service"]["ExecStart"]) == 0
    assert run(line[1]) == 0


def test_the_steps_of_the_action_fail_where_something_is_wrong(shop):
    steps = [line for line in re.findall(r"- run: (.*)", TEXTS["check.yml"]) if not line.startswith("pip ")]
    assert len(steps) == 1
    Path("data").mkdir()
    old, new = orders(seed=4), orders(seed=5)
    tables.write(old, "data/old.csv")
    tables.write(new, "data/new.csv")
    assert run(steps[0]) == 0
    wrong = new["amount"].to_numpy().copy()
    wrong[17:25] = 99999
    tables.write(new.set_column(1, "amount", pa.array(wrong)), "data/new.csv")
    assert run(steps[0]) == 1
    assert "99999" in Path("report.html").read_text().replace(",", "")


def test_after_dbt_its_test_finds_the_odd_orders(shop):
    tables.write(orders(seed=2), f"{shop}#orders_today")
    assert run(TEXTS["nightly.sh"]) == 0
    odd = orders(seed=2)
    amounts = odd["amount"].to_numpy().copy()
    amounts[5] = 60.0
    with tables.database.database_access(if_exists="replace"):
        tables.write(odd.set_column(1, "amount", pa.array(amounts)), f"{shop}#orders_today")
    assert run(TEXTS["after_dbt.sh"]) == 0
    query = TEXTS["assert_no_odd_orders.sql"].replace("{{ source('checks', 'orders_scores') }}", "orders_scores")
    assert 5 in tables.read(f"{shop}#query={query}")["id"].to_pylist()


def test_the_task_of_airflow_fails_where_rows_have_changed(shop):
    tables.write(orders(moved=3, seed=3), f"{shop}#orders_today")
    assert run("./nightly.sh") == 1
    (call,) = [
        node for node in ast.walk(ast.parse(TEXTS["dag.py"]))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "BashOperator"
    ]  # fmt: skip
    (command,) = [ast.literal_eval(word.value) for word in call.keywords if word.arg == "bash_command"]
    assert run(command) == 1


def test_no_text_is_left_out():
    tested = {"nightly.sh", "crontab", "orders.service", "orders.timer", "check.yml", "after_dbt.sh", "dag.py"}
    assert set(TEXTS) == tested | {"assert_no_odd_orders.sql", "score_orders.py"}  # the last: test_kafka_loop.py
    assert shutil.which("sh")
