"""The files of deploy/ say what the program understands: no container can be built here, so they are read."""

import configparser
import re
import shlex
from pathlib import Path

import pytest

from centrality.apps.commands._parser import parser

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def served(words: list[str]):
    """What the command line makes of `centrality serve ...`."""
    return parser().parse_args(words)


def docker_lines() -> list[str]:
    return [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]


def exec_form(line: str) -> list[str]:
    return re.findall(r'"([^"]*)"', line)


def test_the_dockerfile_keeps_to_the_rules_of_a_linter():
    lines = docker_lines()
    images = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", image) for image in images)  # a version, never latest
    assert len(images) == 2  # no compiler in what runs
    last = lines[max(k for k, line in enumerate(lines) if line.startswith("FROM")) :]
    assert "USER 10001" in last  # not root
    assert not any("apt-get" in line for line in last)
    installs = [line for line in lines if "apt-get install" in line]
    assert all("--no-install-recommends" in line and "rm -rf /var/lib/apt/lists/*" in line for line in installs)
    assert all("--no-cache-dir" in line for line in lines if "pip " in line)
    assert {line.split()[0] for line in lines} <= {
        "FROM", "RUN", "WORKDIR", "COPY", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    for start in ("ENTRYPOINT", "CMD"):
        (line,) = (line for line in last if line.startswith(start))
        assert line.split(maxsplit=1)[1].startswith("[")  # so that SIGTERM reaches it


def test_what_the_container_starts_is_a_command_of_ours_on_the_port_it_shows():
    lines = docker_lines()
    entry, command = (next(line for line in lines if line.startswith(start)) for start in ("ENTRYPOINT", "CMD"))
    assert exec_form(entry) == ["centrality"]
    found = served(exec_form(command))
    assert f"EXPOSE {found.port}" in lines
    assert f"127.0.0.1:{found.port}/health" in next(line for line in lines if line.startswith("HEALTHCHECK"))


def test_the_image_is_built_from_what_the_sdist_needs():
    kept = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    assert kept >= {"src", "engine", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in kept)


def test_the_systemd_unit_starts_a_command_of_ours_and_waits_for_requests():
    unit = configparser.ConfigParser()
    setattr(unit, "optionxform", str)  # noqa: B010  (names as they are written; its type knows only a method)
    unit.read(DEPLOY / "centrality.service")
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[0].endswith("/bin/centrality")
    found = served(words[1:])
    assert found.token_file is not None  # a proxy is in front: all of the world asks from 127.0.0.1
    assert int(unit["Service"]["TimeoutStopSec"]) > found.max_seconds
    assert unit["Service"]["User"] != "root"


def test_the_proxy_passes_what_the_service_takes():
    text = (DEPLOY / "nginx.conf").read_text()
    usual = served(["serve", "m.safetensors"])
    assert f"proxy_pass http://127.0.0.1:{usual.port};" in text
    assert f"client_max_body_size {usual.max_bytes >> 20}m;" in text
    [seconds] = re.findall(r"proxy_read_timeout (\d+)s;", text)
    assert int(seconds) > usual.max_seconds
    assert text.count("{") == text.count("}")


def test_kubernetes_probes_a_page_that_needs_no_token():
    yaml = pytest.importorskip("yaml")
    pod = yaml.safe_load((DEPLOY / "kubernetes.yaml").read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    usual = served(["serve", "m.safetensors"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": usual.port}
    assert pod["terminationGracePeriodSeconds"] > usual.max_seconds
    assert f"useradd --uid {pod['securityContext']['runAsUser']} " in (DEPLOY / "Dockerfile").read_text()
    assert container["env"][0]["name"] == "CENTRALITY_TOKEN"
