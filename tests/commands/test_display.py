"""How results are shown: notes, colours, tables."""

from centrality.apps.cli import main
from centrality.apps.commands._terminal import aligned, coloured, shows_colour


def test_verbose_says_how_long_it_took_and_quiet_hides_notes(folder, capsys):
    main(["rank", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--top", "1", "--verbose"])
    told = capsys.readouterr().err
    assert "m.safetensors" in told.splitlines()[0]
    assert "top=1" in told.splitlines()[0]
    assert "centrality: done in" in told
    for option, noted in ((None, True), ("--quiet", False)):
        arguments = ["detect", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--fdr", "0.004"]
        assert main([*arguments, option] if option else arguments) == 0
        assert ("note: Nothing can be called an outlier" in capsys.readouterr().err) is noted


def test_colour_is_for_terminals_without_no_color(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert shows_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colour(Terminal())


def test_a_table_is_aligned():
    lines = aligned(["name", "n"], [["a", "1"], ["long one", "10"]], left=(0,))
    assert [coloured(line, colour=False) for line in lines] == [
        "name       n",
        "a          1",
        "long one  10",
    ]
