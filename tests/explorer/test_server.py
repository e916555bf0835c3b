"""Who may ask the server, how it begins and ends, and what the built front end is allowed."""

import base64
import gzip
import hashlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import tables
from centrality.apps.cli import main
from centrality.apps.explorer import server
from centrality.apps.explorer.content import LazyKeys, items_of, row_keys
from centrality.apps.explorer.payload import MOST_PICTURES, pack
from centrality.apps.explorer.server import MOST_CONNECTIONS, Explorer, Handler
from centrality.network.calibration import SOFT
from tests.explorer.pages import serving, some_view, unpacked
from tests.foreground import foreground

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "centrality" / "apps" / "explorer" / "static"
MOST_GZIPPED = 66_300  # bytes of script and style sheet together


# Who may ask the server


def ask(server: Explorer, path: str, *, cookie: bool = True, **headers: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    if cookie:
        headers["Cookie"] = f"{server.cookie}={server.token}"
    connection.request("GET", path, headers=headers)
    answer: Any = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use():
    with serving(some_view()) as server:
        assert ask(server, "/", cookie=False).status == 403
        assert ask(server, "/data", cookie=False).status == 403
        assert ask(server, "/?token=wrong", cookie=False).status == 403
        answer = ask(server, f"/?token={server.token}", cookie=False)
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(server, "/", cookie=False, Cookie=cookie.partition(";")[0]).status == 200
        for wrong in (f"{server.cookie}=wrong", "no cookie at all", 'a="\\400'):
            assert ask(server, "/", cookie=False, Cookie=wrong).status == 403


def test_the_frame_is_answered_before_there_is_a_view_and_the_rest_waits_for_it():
    with serving(None, title="Soon") as server:
        assert b"<title>Soon</title>" in ask(server, "/").body
        assert ask(server, "/explorer.js").status == ask(server, "/explorer.css").status == 200
        found: list[Any] = []
        waiting = threading.Thread(target=lambda: found.append(ask(server, "/data")))
        waiting.start()
        waiting.join(0.3)
        assert found == []
        view = some_view()
        server.show(view)
        waiting.join(10)
        assert (found[0].status, found[0].body) == (200, pack(view, pictures=False, reasons=False))


def test_who_waits_for_a_view_that_cannot_be_made_is_told_why():
    with serving(None) as server:
        found: list[Any] = []
        waiting = threading.Thread(target=lambda: found.append(ask(server, "/data")))
        waiting.start()
        server.fail(ValueError("rows.csv holds no numbers."))
        waiting.join(10)
        assert found[0].status == 503
        assert b"rows.csv holds no numbers." in found[0].body


def test_keys_of_very_many_rows_are_made_when_they_are_asked_for():
    made = []

    def make() -> tuple[str, ...]:
        made.append(True)
        return tuple(f"k\u00e9{row}" for row in range(50))

    view = some_view(keys=LazyKeys(50, make))
    with serving(view) as server:
        assert unpacked(ask(server, "/data").body)[0]["keys"] == "ask"
        assert not made
        body = ask(server, "/keys").body
    ends = np.frombuffer(body[:200], dtype="<u4")
    text = body[200:].rstrip(b"\0").decode()
    assert [text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)] == list(view.keys)
    assert unpacked(pack(view, pictures=False, reasons=True))[0]["keys"] != "ask"  # a file has nobody to ask
    assert made == [True]


def test_only_this_machines_own_names_are_answered_whatever_the_port():
    with serving(some_view()) as server:
        for host in ("localhost", "localhost:9999", "127.0.0.1:1", "[::1]:8000", socket.gethostname()):
            assert ask(server, "/", Host=host).status == 200, host
        for host in ("evil.example", "localhost.evil.example", "evil.example:8000", ""):
            assert ask(server, "/", Host=host).status == 403, host


def test_nothing_but_the_pages_own_parts_is_served(tmp_path):
    Image.new("RGB", (20, 20), "red").save(tmp_path / "a.png")
    paths = [str(tmp_path / "a.png")] * 50
    with serving(some_view(items=items_of(paths, 50))) as server:
        for path in ("/", "/explorer.js", "/explorer.css", "/data", "/picture/0", "/picture/49", "/marks"):
            answer = ask(server, path)
            assert answer.status == 200, path
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for path in (
            "/picture/50", "/picture/-1", "/picture/..%2f..%2fetc%2fpasswd", f"/picture/{paths[0]}", "/picture/0/../1",
            "/../pyproject.toml", "/static/explorer.js", "/explorer.py", "/picture", "/picture/", "//etc/passwd",
            "/picture/²", "/why/3", "/picture/1e1",
        ):  # fmt: skip
            status = ask(server, path.replace("²", "%C2%B2")).status
            assert status == 404, path
        assert ask(server, "/picture/0").body[:2] in (b"\x89P", b"\xff\xd8")
        (tmp_path / "a.png").unlink()
        assert ask(server, "/picture/0").status == 404
    with serving(some_view()) as server:  # rows without pictures
        assert ask(server, "/picture/0").status == 404


def raw_answer(server: Explorer, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_nonsense_is_answered_and_nothing_is_printed(capsys):
    with serving(some_view()) as server:
        cookie = f"Cookie: {server.cookie}={server.token}\r\n".encode()
        nonsense = {b"GET / HTTP/1.1\r\nHost: [": b"403", b"GET http://[ HTTP/1.1\r\nHost: localhost": b"400"}
        for request, status in nonsense.items():
            assert raw_answer(server, request + b"\r\n\r\n").startswith(b"HTTP/1.0 " + status)
        huge = b"GET /picture/" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n" + cookie + b"\r\n"
        assert raw_answer(server, huge).startswith(b"HTTP/1.0 404")
    assert capsys.readouterr() == ("", "")


def test_a_client_that_leaves_in_the_middle_of_a_download_prints_nothing(capsys):
    with serving(some_view()) as server:
        server.answers.data = bytes(50_000_000)  # more than the system keeps for a client that does not read
        for _ in range(3):
            client = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
            cookie = f"{server.cookie}={server.token}"
            client.sendall(f"GET /data HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
            assert client.recv(12) == b"HTTP/1.0 200"
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not a farewell
            client.close()
        assert ask(server, "/").status == 200
    assert capsys.readouterr() == ("", "")


def test_stalled_clients_hold_no_more_than_a_few_threads_and_lock_nobody_out(capsys):
    with serving(some_view()) as server:
        before = threading.active_count()
        stalled = []
        for _ in range(3 * MOST_CONNECTIONS):
            stalled.append(socket.create_connection(("127.0.0.1", server.server_port), timeout=10))
            stalled[-1].sendall(b"GET / HTTP/1.1\r\n")  # and no more
        assert ask(server, "/").status == 200
        for client in stalled[: 2 * MOST_CONNECTIONS]:
            assert client.recv(1) == b""  # it has been left: its thread ends with it
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name and threading.active_count() > before + MOST_CONNECTIONS:
                thread.join(0.2)
        assert threading.active_count() <= before + MOST_CONNECTIONS
        assert Handler.timeout is not None  # the last ones are left when they have been silent for so long
        for client in stalled:
            client.close()
    assert capsys.readouterr() == ("", "")


def test_the_server_listens_on_this_machine_only_and_says_when_a_port_is_taken(capsys, mixed, tmp_path):
    with serving(some_view()) as server:
        assert server.server_address[0] == "127.0.0.1"
        model, table = mixed
        model.save(tmp_path / "m.safetensors")
        tables.write(table, tmp_path / "t.csv")
        arguments = ["explore", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "--map", "pca"]
        assert main([*arguments, "--port", str(server.server_port)]) == 2
        said = capsys.readouterr().err
        assert f"port {server.server_port}: Address already in use" in said
        assert "--port 0" in said


@pytest.mark.slow
def test_explore_serves_until_ctrl_c_and_ends_cleanly(mixed, tmp_path):
    model, table = mixed
    model.save(tmp_path / "m.safetensors")
    tables.write(table, tmp_path / "t.parquet")
    command = [
        sys.executable,
        "-m",
        "centrality.apps.cli",
        "explore",
        "m.safetensors",
        "t.parquet",
        "--port",
        "0",
        "--map",
        "pca",
    ]
    with foreground():
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "http" not in line:
        line = process.stdout.readline()
        assert line, process.stderr.read()
    port, token = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line).groups()
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
    connection.request("GET", "/data", headers={"Cookie": f"centrality-{port}={token}"})
    header, found = unpacked(connection.getresponse().read())
    connection.close()
    assert header["n"] == 300
    np.testing.assert_allclose(SOFT.squeeze(found["units"]), model.heads(table.drop_columns(["name"])), atol=1e-6)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "Closed." in out
    assert err == ""


def test_explore_writes_one_file_whole_or_not_at_all(mixed, tmp_path, capsys):
    model, table = mixed
    model.save(tmp_path / "m.safetensors")
    tables.write(table, tmp_path / "t.csv")
    arguments = ["explore", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "--map", "pca", "--json"]
    assert main([*arguments, "--export", str(tmp_path / "no" / "page.html")]) == 2
    assert "does not exist" in capsys.readouterr().err
    for name in ("m.safetensors", "t.csv"):
        before = (tmp_path / name).read_bytes()
        assert main([*arguments, "--export", str(tmp_path / name)]) == 2
        assert f"{tmp_path / name} would be overwritten" in capsys.readouterr().err
        assert (tmp_path / name).read_bytes() == before
    assert main([*arguments, "--export", str(tmp_path / "page.html"), "--items", "name"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rows"] == 300
    assert result["bytes"] == (tmp_path / "page.html").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors", "page.html", "t.csv"]
    header, found = unpacked(exported_bytes(tmp_path / "page.html"))
    assert found["get"](header["keys"]["text"]).tobytes().decode() == "".join(row_keys(table))
    assert main([*arguments, "--export", str(tmp_path / "page.html"), "--key", "name"]) == 0
    header, found = unpacked(exported_bytes(tmp_path / "page.html"))
    assert found["get"](header["keys"]["text"]).tobytes().decode().startswith("row 0row 1row 2")


def exported_bytes(path):
    """The data in an exported page."""
    return base64.b64decode(re.search(r'id="centrality-data">([^<]+)<', path.read_text()).group(1))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--marks", "noise.csv"], "holds no marks: columns row, mark and note were wanted"),
        (["--key", "gap"], "A key needs a value in each row, but 'gap' has none in row 1"),
        (["--key", "nosuch"], "nosuch"),
    ],
)
def test_what_cannot_keep_marks_is_one_sentence_and_exit_2(mixed, tmp_path, capsys, monkeypatch, options, problem):
    model, table = mixed
    monkeypatch.chdir(tmp_path)
    model.save("m.safetensors")
    tables.write(table.append_column("gap", pa.array([1.0, None] * 150)), "t.parquet")
    Path("noise.csv").write_bytes(np.random.default_rng(1).bytes(3000))
    assert main(["explore", "m.safetensors", "t.parquet", "--map", "pca", "--no-browser", "--quiet", *options]) == 2
    said = capsys.readouterr().err.strip()
    assert problem in said
    assert len(said.splitlines()) == 1
    assert said.isprintable()


def test_an_exported_page_carries_a_bounded_number_of_pictures():
    n = MOST_PICTURES + 500
    pictures = np.random.default_rng(0).integers(0, 255, (n, 4, 4)).astype(np.uint8)
    items = items_of(pictures, n)
    header, found = unpacked(pack(some_view(n, items=items), pictures=True, reasons=True))
    rows, ends, files = (found["get"](header["items"]["embedded"][part]) for part in ("rows", "ends", "files"))
    assert MOST_PICTURES / 2 < len(rows) <= MOST_PICTURES
    assert len(set(rows.tolist())) == len(rows) == len(ends)
    assert ends[-1] == len(files)
    assert files[ends[6] : ends[7]].tobytes() == items.picture(int(rows[7]))


# The built front end


def test_the_committed_bundle_is_made_from_the_committed_sources():
    first, script = (STATIC / "explorer.js").read_text(encoding="utf-8").split("\n", 1)
    style = (STATIC / "explorer.css").read_text(encoding="utf-8")
    web = ROOT / "web"
    sources = [
        web / "build.mjs",
        web / "package-lock.json",
        *sorted(path for path in (web / "src").rglob("*") if path.is_file()),
    ]
    each = "".join(hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in sources)
    sha = {"sources": each, "bundle": script + style}
    for what, text in sha.items():
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        assert f"{what} {digest}" in first, f"The bundle is stale ({what}): run make web"


def test_the_lock_file_names_checksums_and_no_place_to_download_from():
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    needed = {name: package for name, package in packages.items() if name}  # the one without a name is ours
    assert needed
    for name, package in needed.items():
        assert "resolved" not in package, f"{name}: npm must be told omit-lockfile-registry-resolved, see web/.npmrc"
        assert package["integrity"].startswith("sha512-")


def test_the_bundle_stays_small_and_asks_for_nothing_forbidden():
    script, style = server.built_file("explorer.js"), server.built_file("explorer.css")
    assert sum(len(gzip.compress(text.encode(), mtime=0)) for text in (script, style)) <= MOST_GZIPPED
    assert not re.search(r"\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)", script)
    assert "url(" not in style
    assert "</script" not in script  # it stands in one


def test_the_colours_grow_lighter_evenly_for_every_kind_of_colour_vision():
    code = (ROOT / "web" / "src" / "core" / "colours.ts").read_text()
    stops = re.search(r'EVEN = hex\(\s*"([0-9a-f]+)"', code).group(1)
    rgb = np.array([int(stops[k : k + 2], 16) for k in range(0, len(stops), 2)]).reshape(-1, 3) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # What is left of red, green and blue without one kind of cone (Viénot, Brettel and Mollon 1999; blue: luminance).
    visions = {
        "usual": np.eye(3),
        "no red cones": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
        "no green cones": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
    }
    for name, seen in visions.items():
        luminance = (linear @ seen.T).clip(0) @ [0.2126, 0.7152, 0.0722]
        lightness = 116 * np.where(luminance > 0.008856, np.cbrt(luminance), 7.787 * luminance + 16 / 116) - 16
        steps = np.diff(lightness)
        assert steps.min() > 2.3, name  # a difference that can just be seen
        if name == "usual":
            assert steps.max() < 1.6 * steps.min()


def test_the_policy_of_an_exported_page_allows_its_own_script_and_nothing_else():
    text = server.single_file_page(some_view(title="<script>alert(1)</script>"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "<script>alert" not in text
