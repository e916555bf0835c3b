"""HTML for notebooks: whatever a column or a file is called, it stays text."""

from html.parser import HTMLParser

from centrality._internal import text

HOSTILE = "<script>alert('&')</script>"


class Seen(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_text_is_shown_as_text_wherever_it_stands():
    pages = (
        text.facts_table({HOSTILE: HOSTILE}, [HOSTILE]),
        text.table([HOSTILE, "why"], [[HOSTILE, HOSTILE]]),
        text.joined([HOSTILE], "p"),
        text.line_of_bar(0.5, HOSTILE, 90),
        text.chart([text.Bar(0, 1, text.RED)], 10, HOSTILE),
    )
    for page in pages:
        assert "script" not in Seen(page).tags
    assert Seen(pages[0]).text == [HOSTILE, HOSTILE, "Warnings", HOSTILE]


def test_markup_is_not_escaped_again():
    inner = text.joined(["a & b"], "b")
    page = Seen(text.table(["x", "y"], [[1, inner]]))
    assert page.tags.count("b") == 1
    assert page.text == ["x", "y", "1", "a & b"]


def test_a_chart_has_a_bar_for_each_value_side_by_side():
    page = text.chart([text.Bar(0, 4, text.RED), text.Bar(2, 2, text.BLUE)], 10, "two", "<line/>")
    assert [f"x='{k * text.BAR_WIDTH}'" in page for k in range(3)] == [True, True, False]
    assert page.count("<rect") == 2
    assert page.index("<line/>") < page.index("<rect")
