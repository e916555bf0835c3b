"""A PostgreSQL of our own on loopback, from Debian's package: a must in CI, a reason to skip elsewhere."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

USER = "postgres"  # a system user: the server refuses to run as root


def programs() -> Path:
    """The folder of the server's programs: the one that CENTRALITY_POSTGRES names, or the newest."""
    if named := os.environ.get("CENTRALITY_POSTGRES"):
        return Path(named)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    if found or on_path:
        return (found[-1] if found else Path(on_path or "")).parent
    if os.environ.get("CI"):
        pytest.fail("There is no PostgreSQL: CI must test on a real one (apt install postgresql).")
    pytest.skip("There is no PostgreSQL on this machine (apt install postgresql).")


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a server with its data in this folder; yield the address of it, without a database."""
    bin_, data = programs(), folder / "data"
    as_user = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    data.mkdir()
    if as_user:
        folder.chmod(0o711)
        shutil.chown(data, USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run([*as_user, bin_ / program, *arguments], cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    run("initdb", "-D", str(data), "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run("pg_ctl", "-D", str(data), "-o", options, "-l", str(data / "log"), "-w", "start")
    try:
        yield f"postgresql://tester@127.0.0.1:{port}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def run_sql(address: str, *statements: str) -> list[Any]:
    """Run statements one after another; return the rows of the last."""
    from adbc_driver_postgresql import dbapi

    rows: list[Any] = []
    with dbapi.connect(address, autocommit=True) as connection:
        for statement in statements:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.description else []
    return rows
