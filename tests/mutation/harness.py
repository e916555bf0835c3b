"""A pytest plugin that collects the tests once and runs them, in a child process, for each mutant.

First the tests run as they are, traced, so that a mutant later meets only the tests that reach its line.
"""

import contextlib
import gc
import importlib
import itertools
import os
import pickle
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.transplant import transplant


class Harness:
    """Run the collected tests on every mutant of one module; `survivors` are those that none noticed."""

    def __init__(self, module: str) -> None:
        self.name = module
        self.killed: list[Mutant] = []
        self.survivors: list[Mutant] = []
        self._reach = _Reach()

    @property
    def count(self) -> int:
        return len(self.killed) + len(self.survivors)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings

        # No shrinking: that a test fails is all we want to know.
        settings.register_profile(
            "mutation", deadline=None, derandomize=True, max_examples=60, phases=(Phase.explicit, Phase.generate)
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        module = sys.modules[self.name]
        path = str(module.__file__)
        limit = self._measure(session, path)
        gc.freeze()  # a child that collects garbage would copy all that it inherits
        for mutant in mutants(Path(path).read_text(), path):
            (self.killed if self._is_noticed(session, module, mutant, limit) else self.survivors).append(mutant)
        return True

    def _measure(self, session: Any, path: str) -> int:
        """Trace the tests as they are, and return how many seconds to wait for them."""
        with tempfile.NamedTemporaryFile() as file:

            def traced() -> int:
                session.config.pluginmanager.register(self._reach)
                self._reach.path = path
                failed = _run(session, session.items)
                found = dict(self._reach.lines), self._reach.seconds, list(sys.modules)
                Path(file.name).write_bytes(pickle.dumps(found))
                return failed

            if _in_child(traced, 600):
                raise pytest.UsageError(f"The tests of {self.name} fail as they are, or take over ten minutes.")
            self._reach.lines, self._reach.seconds, imported = pickle.loads(Path(file.name).read_bytes())
        _import(imported)
        if _in_child(lambda: _run(session, self._quickest_first(session.items)), 600):
            raise pytest.UsageError(f"The tests of {self.name} depend on their order: any mutant would seem noticed.")
        return 30 + 5 * int(sum(self._reach.seconds.values()))

    def _quickest_first(self, items: list[Any]) -> list[Any]:
        return sorted(items, key=lambda item: self._reach.seconds[item.nodeid])

    def _is_noticed(self, session: Any, module: ModuleType, mutant: Mutant, limit: int) -> bool:
        items = self._quickest_first([item for item in session.items if self._reach.reaches(item, mutant.lines)])

        def changed() -> int:  # even where no test gets there: perhaps the module can no longer be imported
            transplant(mutant.code, module)
            return _run(session, items)

        return _in_child(changed, limit) != 0


class _Reach:
    """Which lines of one file each test and each fixture runs."""

    def __init__(self) -> None:
        self.path = ""
        self.lines: dict[str, set[int]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self._now: list[str] = []

    def reaches(self, item: Any, lines: range | None) -> bool:
        # A fixture's lines count for every test that uses it, whichever came first.
        return lines is None or any(
            not self.lines.get(name, set()).isdisjoint(lines) for name in (item.nodeid, *item.fixturenames)
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        start = time.perf_counter()
        self._now.append(item.nodeid)
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self._now.pop()
            self.seconds[item.nodeid] = time.perf_counter() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        self._now.append(fixturedef.argname)
        try:
            return (yield)
        finally:
            self._now.pop()

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename == self.path else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.lines[self._now[-1]].add(frame.f_lineno)
        return self._line


def _import(names: list[str]) -> None:
    """Import what the tests import on their way, here and once: each child would spend seconds on it."""
    for name in names:
        if name not in sys.modules and not name.startswith(("centrality", "tests")):
            with contextlib.suppress(ImportError, AttributeError):
                importlib.import_module(name)


def _run(session: Any, items: list[Any]) -> int:
    """1 as soon as a test fails, else 0."""
    session.config.pluginmanager.unregister(name="terminalreporter")
    for item, following in itertools.zip_longest(items, items[1:]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _in_child(work: Callable[[], int], limit: int) -> int:
    """What a forked child makes of it: 0 if all is well; anything else if it fails, dies or takes too long."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 1
    try:
        signal.alarm(limit)  # its default action ends the child, whatever it is at
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        status = work()
    finally:
        os._exit(status)
