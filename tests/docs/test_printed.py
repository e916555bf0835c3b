"""The pages' printed outputs and numbers are held against the program: what these checks let through, and what not."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def script(name: str):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


printed, numbers = script("printed"), script("number_sources")


@pytest.mark.parametrize(
    ("shown", "now", "same"),
    [
        ("area 940 (-0.96)", "area 940 (-0.95)", True),  # two units of the last digit
        ("area 940 (-0.96)", "area 940 (-0.90)", False),
        ("typically 446.8", "typically 450.1", True),  # 2%
        ("typically 446.8", "typically 460.1", False),
        ("1,200 rows", "1,201 rows", False),  # whole numbers are counts
        ("[0.5   1.25]", "[0.5 1.25]", True),  # columns may be set wider
        ("0.5 global", "0.5 local", False),
        ("0.5", "0.5 0.6", False),
    ],
)
def test_lines_are_the_same_up_to_the_last_digits_of_decimals(shown, now, same):
    assert printed.same_line(shown, now) is same


def test_three_points_stand_for_any_lines():
    assert printed.same(["a", "...", "d"], ["a", "b", "c", "d"])
    assert printed.same(["...", "d"], ["d"])
    assert not printed.same(["a", "...", "d"], ["a", "b"])
    assert not printed.same(["a"], ["a", "b"])


PAGE = """\
```console
$ echo one
$ centrality version
0.2
```

```python
x = 2
```

```python
print("two", x)
x * 2
```

```text
two 2
4
```

```text
no output of anything
```
"""


def test_steps_of_a_page_are_commands_and_blocks_with_what_stands_below_them():
    assert printed.steps_of("A page without code.\n") == []
    found = [(step.source.splitlines()[0], step.shown) for step in printed.steps_of(PAGE)]
    assert found == [
        ("echo one", None),
        ("centrality version", ["0.2"]),
        ("x = 2", None),
        ('print("two", x)', ["two 2", "4"]),
    ]


def test_python_is_run_as_in_a_notebook_and_names_are_kept():
    names: dict[str, object] = {}
    assert printed.run_python("x = 2", names) == ""
    assert printed.run_python('print("two", x)\nx * 2', names) == "two 2\n4\n"


def test_an_output_that_is_not_printed_is_named_and_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(printed, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text('```python\nprint("new")\n```\n\n```text\nold\n```\n')
    count, found = printed.differences(page)
    assert count == 1
    assert "shown:\nold\n  printed:\nnew" in found[0]
    printed.differences(page, write=True)
    assert page.read_text() == '```python\nprint("new")\n```\n\n```text\nnew\n```\n'
    assert printed.differences(page) == (1, [])


def test_a_page_whose_code_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(printed, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("```python\n1 / 0\n```\n\n```text\n1\n```\n")
    assert printed.differences(tmp_path / "page.md") == (0, ["page.md: ZeroDivisionError: division by zero"])


def test_every_number_in_the_pages_has_a_source_and_every_source_a_number():
    text = "# A\n\nTaken `0.5` of [30](x_12.md) in 12% and 3.\n\n```python\n99\n```\n"
    text += "\n## B\n\n<!-- table -->\n77\n<!-- end -->\n\n1e-5\n"
    assert list(numbers.numbers(text)) == [("A", "30"), ("A", "12%"), ("B", "1e-5")]
    found = [("p", "A", "30"), ("p", "B", "1e-5")]
    assert numbers.check(found, {("p", ""): "page"}) == []
    assert numbers.check(found, {("p", "A"): "README.md"})[0].startswith('p, "B": where does 1e-5 come from?')
    assert numbers.check(found, {("p", ""): "page", ("q", ""): "page"}) == [
        "docs/number_sources.csv: q, '' has no number"
    ]
    assert numbers.check(found, {("p", ""): "no/such.csv"}) == ["docs/number_sources.csv: there is no no/such.csv"]
    assert numbers.main() == 0
