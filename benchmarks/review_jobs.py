"""What a review takes on the explorer page: clicks, keys and seconds of fifteen jobs; each outcome is checked.

1,200 houses, ten of them with a planted error, served by `centrality explore`; a script does what a reader would do. A
click or a drag is one, a key is one, each letter that is typed is one. Seconds are those of the machine, from the first
act until the outcome is seen: how long a person thinks is not in them.

    python -m benchmarks.review_jobs
"""

import csv
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from tests.browser import opened
from tests.explorer.pages import settle

from benchmarks._results import save
from centrality import FUSE, Chain, representations

ROWS, GAPS = 1200, 25
ASKED = "(query) => (new URLSearchParams(location.hash.slice(1)).get('query') ?? '') === query"
FOUND = """() => fetch("ask", { method: "PUT", body: JSON.stringify({ ask: "findings" }) })
  .then((answer) => answer.json()).then(({ findings }) => [...new Set(findings.flatMap((one) => one.rows))])"""
NAMED, OUTLIER, FINE = "Ann", "o", "f"
ERRORS = (
    ("price", 7, 9e6), ("price", 19, 1.0), ("rooms", 40, 60.0), ("rooms", 77, 41.0), ("year", 99, 2190.0),
    ("year", 123, 190.0), ("area", 300, 3.0), ("area", 411, 4000.0), ("floor", 500, 77.0), ("floor", 600, -40.0),
)  # fmt: skip


def houses() -> pa.Table:
    """Houses whose columns hang together, with ten wild cells and some gaps; a number that is their key."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["flat", "house"], size=ROWS, p=[0.75, 0.25])
    area = np.where(kind == "flat", 70, 140) * rng.lognormal(sigma=0.2, size=ROWS)
    columns = {
        "area": area.round(1),
        "rooms": np.maximum(1, np.round(area / 28 + rng.normal(0, 0.6, size=ROWS))),
        "year": rng.integers(1900, 2021, size=ROWS).astype(float),
        "floor": np.where(kind == "flat", rng.integers(0, 9, size=ROWS), 0).astype(float),
        "price": (area * 3000 * rng.lognormal(sigma=0.15, size=ROWS)).round(0),
    }
    for name, row, value in ERRORS:
        columns[name][row] = value
    gaps = np.isin(np.arange(ROWS), np.arange(800, 800 + GAPS))
    price = pa.array(columns.pop("price"), mask=gaps)
    return pa.table({"number": np.arange(ROWS) + 70_000, "kind": kind, **columns, "price": price})


class Hand:
    """What a reader does on a tab, counted."""

    def __init__(self, tab: Any) -> None:
        self.tab, self.clicks, self.keys = tab, 0, 0

    def click(self, what: Any) -> None:
        self.clicks += 1
        what.click()

    def press(self, key: str) -> None:
        self.keys += 1
        self.tab.keyboard.press(key)
        settle(self.tab)

    def search(self, query: str) -> None:
        """Find rows; the box is emptied before, which is one more key."""
        self.press("/")
        self.keys += 1 + len(query)
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.type(query)
        self.tab.wait_for_function(ASKED, arg=query)
        settle(self.tab)
        self.press("Enter")  # letters are commands again

    def write(self, what: Any, text: str) -> None:
        self.click(what)
        self.keys += len(text) + 1
        what.fill(text)
        what.press("Tab")

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Shift and a drag: a box."""
        self.clicks += 1
        self.tab.keyboard.down("Shift")
        self.tab.mouse.move(*start)
        self.tab.mouse.down()
        self.tab.mouse.move(*end, steps=8)
        self.tab.mouse.up()
        self.tab.keyboard.up("Shift")
        settle(self.tab)


def chosen(tab: Any) -> int:
    """The number of the row that is reviewed, once the page has it."""
    tab.locator(".review .facts").wait_for()
    return int(tab.locator(".review .facts").inner_text().split()[1])


def left(tab: Any) -> int:
    """How many rows the filter leaves."""
    return int(tab.locator(".bar .rows").inner_text().split()[0].replace(",", ""))


class Desk:
    """A folder with the houses, their model and the marks; the page is served from it."""

    def __init__(self, folder: Path) -> None:
        self.data, self.model, self.marks = folder / "houses.csv", folder / "m.safetensors", folder / "marks.csv"
        self.table = houses()
        pacsv.write_csv(self.table, self.data)
        read = self.table.drop_columns(["number"])
        Chain(representations.Table(), FUSE(random_state=0)).fit(read).save(self.model)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = ""
        self.server: subprocess.Popen[str] | None = None

    def run(self, *options: str, stdout: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        """Start `centrality explore` with these options."""
        parts = ["explore", self.model, self.data, "--marks", self.marks, "--key", "number", "--map", "pca", *options]
        return subprocess.Popen(
            [sys.executable, "-m", "centrality.apps.cli", *map(str, parts)], stdout=stdout, text=True
        )

    def start(self) -> None:
        self.server = self.run("--no-browser", "--port", str(self.port))
        assert self.server.stdout is not None
        self.url = next(line.split()[1] for line in self.server.stdout if line.startswith("Explorer: "))

    def stop(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.communicate(timeout=60)
        self.server = None

    def kept(self) -> dict[str, str]:
        """The mark of each house that has one, by its number, as the file has it."""
        if not self.marks.exists():
            return {}
        with self.marks.open(newline="") as file:
            return {line["key"]: line["mark"] for line in csv.DictReader(file) if line["mark"]}

    def until(self, fits: Callable[[dict[str, str]], bool]) -> None:
        """Wait until the file says it."""
        for _ in range(600):
            if fits(self.kept()):
                return
            time.sleep(0.1)
        raise AssertionError(f"The file of marks holds {len(self.kept())} marks, not those that were given.")


class Jobs:
    """Does the jobs one after another, each on what the ones before have left."""

    def __init__(self, browser: Any, desk: Desk, folder: Path) -> None:
        self.browser, self.desk, self.folder = browser, desk, folder
        self.found: list[dict[str, object]] = []

    def open(self, url: str | None = None) -> Hand:
        tab = self.browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        tab.goto(url or self.desk.url)
        tab.wait_for_selector("[data-ready]")
        settle(tab)
        return Hand(tab)

    @contextmanager
    def job(self, name: str, *hands: Hand) -> Iterator[dict[str, str]]:
        """Count what is done in the block; `outcome` is put down by it."""
        for hand in hands:
            hand.clicks = hand.keys = 0
        said: dict[str, str] = {}
        start = time.perf_counter()
        yield said
        seconds = time.perf_counter() - start
        count = {"clicks": sum(hand.clicks for hand in hands), "keys": sum(hand.keys for hand in hands)}
        line = {"job": name, **count, "seconds": round(seconds, 1), "outcome": said["outcome"]}
        self.found.append(line | {"load": round(os.getloadavg()[0], 1)})
        print(self.found[-1], flush=True)

    def is_it_ok(self, hand: Hand) -> None:
        with self.job("is this file ok?", hand) as said:
            hand.tab.locator(".finding").first.wait_for()
            rows = hand.tab.evaluate(FOUND)
            found = {row for _, row, _ in ERRORS} & set(rows)
            said["outcome"] = f"{len(found)} of {len(ERRORS)} planted errors among the {len(rows)} rows of the findings"

    def suspicious_group(self, hand: Hand) -> None:
        with self.job("a suspicious group, and in what it differs", hand) as said:
            hand.click(hand.tab.locator(".finding").first)
            hand.click(hand.tab.get_by_role("button", name="compare with the others"))
            first = hand.tab.locator(".comparison dd").first.inner_text()
            said["outcome"] = f"{hand.tab.locator('.comparison dt').first.inner_text()}: {first}"

    def two_groups(self, hand: Hand) -> None:
        with self.job("two groups compared", hand) as said:
            for side, name in (("Group A", "kind: house"), ("Group B", "kind: flat")):
                hand.clicks += 1
                hand.tab.get_by_label(side).select_option(name)
                settle(hand.tab)
            said["outcome"] = f"{hand.tab.locator('.comparison dt').count()} columns with counts"

    def share(self, hand: Hand) -> None:
        with self.job("share it as one file", hand) as said:
            hand.click(hand.tab.locator("summary", has_text="Saved"))
            with hand.tab.expect_download() as download:
                hand.click(hand.tab.get_by_role("button", name="Save as one file"))
            size = download.value.path().stat().st_size
            said["outcome"] = f"one file of {size / 1e6:.1f} MB"
        hand.press("Escape")

    def find_errors(self, hand: Hand) -> None:
        planted = {row for _, row, _ in ERRORS}
        with self.job("find the ten planted errors", hand) as said:
            looked, marked = 0, set[int]()
            hand.press("r")
            hand.click(hand.tab.get_by_role("button", name="the oddest instead"))
            hand.tab.locator(".review h2", has_text="of 100 done").wait_for()
            settle(hand.tab)
            while marked != planted and looked < 100:
                row = chosen(hand.tab)
                looked += 1
                marked |= {row} & planted
                hand.press(OUTLIER if row in planted else FINE)
            said["outcome"] = f"{len(marked)} of {len(planted)} among the first {looked} rows of the queue"

    def mark_twenty(self, hand: Hand) -> None:
        before = len(self.desk.kept())
        with self.job("mark 20 rows one by one", hand) as said:
            for k in range(20):
                hand.press(FINE if k % 3 else "l")
            self.desk.until(lambda kept: len(kept) == before + 20)
            said["outcome"] = "20 marks more in the file"

    def mark_many(self, hand: Hand) -> None:
        with self.job("mark 900 rows at once, and take it back", hand) as said:
            before = self.desk.kept()
            hand.search("kind:flat")
            many = left(hand.tab)
            hand.press("Shift+F")
            self.desk.until(lambda kept: len(kept) > many - 1)
            hand.press("u")
            self.desk.until(lambda kept: kept == before)
            said["outcome"] = f"{many} marks in the file, then those of before"

    def lasso(self, hand: Hand) -> None:
        with self.job("mark what lies in a box on the map", hand) as said:
            before = self.desk.kept()
            hand.search("")
            box = hand.tab.locator("canvas.points").bounding_box()
            middle = box["x"] + box["width"] / 2
            hand.drag((box["x"] + 70, box["y"] + 5), (middle, box["y"] + box["height"] - 5))
            many = int(hand.tab.locator(".bulk .said").first.inner_text().split()[0].replace(",", ""))
            hand.press("Shift+L")
            self.desk.until(lambda kept: list(kept.values()).count("later") >= many)
            hand.press("u")
            self.desk.until(lambda kept: kept == before)
            hand.press("Escape")
            hand.press("Escape")
            said["outcome"] = f"{many} marks in the file, then those of before"

    def compare(self, hand: Hand) -> None:
        with self.job("compare a row with its neighbours", hand) as said:
            hand.press("n")
            hand.tab.locator(".near button").first.wait_for()
            cells = hand.tab.locator(".cells-beside tbody tr").count()
            near = hand.tab.locator(".near button").count()
            hand.click(hand.tab.locator(".near button").first)
            settle(hand.tab)
            said["outcome"] = (
                f"{cells} cells beside those of the nearest typical row; {near} more rows near it, one opened"
            )

    def filter_by_mark(self, hand: Hand) -> None:
        with self.job("show the outliers only", hand) as said:
            hand.search("mark:outlier")
            wanted = list(self.desk.kept().values()).count("outlier")
            assert left(hand.tab) == wanted
            said["outcome"] = f"{wanted} rows, as many as the file has"
        hand.search("")

    def find_missing(self, hand: Hand) -> None:
        with self.job("find the rows without a price", hand) as said:
            hand.press("c")
            hand.click(hand.tab.get_by_role("button", name=f"{GAPS} missing"))
            hand.tab.wait_for_function("() => location.hash.includes('missing')")
            settle(hand.tab)
            assert left(hand.tab) == GAPS
            said["outcome"] = f"{GAPS} rows"
        hand.search("")
        hand.press("r")

    def hand_over(self, hand: Hand) -> None:
        """A page with the marks goes to a colleague, and comes back with more."""
        sent, back = self.folder / "sent.html", self.folder / "back.html"
        self.desk.run("--export", str(sent), stdout=subprocess.DEVNULL).communicate()
        before = self.desk.kept()
        colleague = self.open(sent.as_uri())
        with self.job("hand over to a colleague, and take the marks back", hand, colleague) as said:
            colleague.click(colleague.tab.locator("summary", has_text="Saved"))
            colleague.write(colleague.tab.get_by_label("Your name, for the file of marks"), NAMED)
            colleague.press("Escape")
            colleague.press("r")
            for _ in range(3):
                colleague.press(OUTLIER)
            with colleague.tab.expect_download() as download:
                colleague.click(colleague.tab.locator("summary", has_text="Saved"))
                colleague.click(colleague.tab.get_by_role("button", name="Save as one file"))
            download.value.save_as(back)
            with hand.tab.expect_file_chooser() as chooser:
                hand.click(hand.tab.locator("summary", has_text="Saved"))
                hand.click(hand.tab.get_by_role("button", name="Take marks from a file"))
            chooser.value.set_files(back)
            self.desk.until(lambda kept: len(kept) == len(before) + 3)
            assert self.desk.marks.read_text().count(f",{NAMED},") == 3
            said["outcome"] = f"3 marks more in the file, by {NAMED}, all others as before"
        colleague.tab.close()

    def two_tabs(self, hand: Hand) -> None:
        before = self.desk.kept()
        other = self.open()
        with self.job("two tabs on one file", hand, other) as said:
            for one, query, key in ((hand, "#1000", FINE), (other, "#1001", OUTLIER)):
                one.search(query)  # a row by its number
                one.press("n")
                one.press(key)
            self.desk.until(lambda kept: len(kept) == len(before) + 2)
            said["outcome"] = "2 marks more in the file, one of each tab"
        other.tab.close()
        hand.search("")

    def dead_server(self, hand: Hand) -> None:
        before = self.desk.kept()
        self.desk.stop()
        with self.job("go on while the server is dead", hand) as said:
            hand.press("Escape")
            for _ in range(4):  # where no row is chosen, the first key chooses the first that has no mark
                hand.press(FINE)
            hand.tab.locator(".unkept", has_text="3 marks are not kept").wait_for()
            self.desk.start()
            hand.tab.context.new_page().goto(self.desk.url)  # which the command does by itself
            self.desk.until(lambda kept: len(kept) == len(before) + 3)
            hand.tab.locator(".unkept").wait_for(state="hidden")
            said["outcome"] = "a banner says so; all 3 marks are in the file once it runs again"

    def tomorrow(self, hand: Hand) -> None:
        hand.tab.close()
        self.desk.stop()
        before = self.desk.kept()
        order = np.random.default_rng(1).permutation(ROWS)
        pacsv.write_csv(self.desk.table.take(order), self.desk.data)
        with self.job("resume tomorrow, the rows in another order") as said:
            self.desk.start()
            hand = self.open()
            hand.search("mark:outlier")
            assert left(hand.tab) == list(before.values()).count("outlier")
            hand.search("mark:outlier price>8000000")  # the first of the planted errors, wherever it stands now
            assert left(hand.tab) == 1
            assert self.desk.kept() == before
            said["outcome"] = f"all {len(before)} marks on their rows; nothing to be done but the command"


def main() -> None:
    with tempfile.TemporaryDirectory() as name, opened() as browser:
        desk = Desk(Path(name))
        desk.start()
        try:
            jobs = Jobs(browser, desk, Path(name))
            hand = jobs.open()
            for job in (
                jobs.is_it_ok, jobs.suspicious_group, jobs.two_groups, jobs.share, jobs.find_errors,
                jobs.mark_twenty, jobs.mark_many, jobs.lasso, jobs.compare, jobs.filter_by_mark,
                jobs.find_missing, jobs.hand_over, jobs.two_tabs, jobs.dead_server, jobs.tomorrow,
            ):  # fmt: skip
                job(hand)
        finally:
            desk.stop()
    save("review_jobs", jobs.found)


if __name__ == "__main__":
    main()
