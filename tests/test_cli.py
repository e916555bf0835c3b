import json
import subprocess
import sys
from pathlib import Path

import pytest

from centrality.apps import commands
from centrality.apps.cli import main


def run(*arguments, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "centrality.apps.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


EXPLAIN = """
import contextlib, io, json, sys
from centrality.apps.cli import main
said = {}
for command in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main([*command.split(), "--help"])
    said[command] = out.getvalue(), sorted({"torch", "sklearn", "pyarrow", "numpy"} & set(sys.modules))
print(json.dumps(said))
"""


def test_every_command_explains_itself_without_importing_torch():
    done = subprocess.run(
        [sys.executable, "-c", EXPLAIN, "", *commands.ALL], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    assert said.keys() == {"", *commands.ALL}
    for text, imported in said.values():
        assert text.startswith("usage: centrality")
        assert imported == []


@pytest.mark.slow
def test_a_command_imports_neither_pandas_nor_scipys_statistics_and_both_can_be_used_afterwards(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"{k},{k * k % 7}\n" for k in range(60)))
    script = f"""
import sys
from centrality.apps.cli import main
main(["rank", {str(tmp_path / "rows.csv")!r}, "--quiet", "--json"])
print(sorted({{"pandas", "scipy.stats"}} & set(sys.modules)), file=sys.stderr)
import pyarrow as pa, scipy.stats
print(pa.table({{"a": [1]}}).to_pandas()["a"].sum(), scipy.stats.rankdata([5, 3])[0], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["[]", "1 2.0"]


def test_the_version_is_the_packages(capsys):
    from importlib.metadata import version

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"centrality {version('centrality')}"


@pytest.mark.slow
def test_the_installed_command_is_this_one():
    assert (
        run("--help").stdout
        == subprocess.run(
            [Path(sys.executable).with_name("centrality"), "--help"], capture_output=True, text=True, check=True
        ).stdout
    )


def test_centrality_alone_prints_its_help_and_is_no_mistake(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    assert "first steps:" in capsys.readouterr().out
