"""Text cut into records, wherever quotation marks and line breaks stand."""

import io
import itertools

import pytest

from centrality.tables import text


def test_a_quoted_line_break_at_the_edge_of_a_block_splits_no_record():
    content = b"a,b\n" + b'1,"two\nlines"\n' * 9
    for size in range(1, 40):
        blocks = list(text.Blocks(io.BufferedReader(io.BytesIO(content)), b",", size=size))
        assert b"".join(blocks) == content
        assert sum(len(text.split_records(block, b",")) for block in blocks) == 10


def blocks_of(content, separator=b",", **options):
    return list(text.Blocks(io.BufferedReader(io.BytesIO(content)), separator, **options))


RECORDS = [
    b'1,5" pipe,2',
    b'2,"two\nlines",3',
    b'3,pipe 5",4',
    b'4,"say ""hi""\n",5',
    b'5,"",""',
    b"6,plain,",
    b'"\n",,7',
]


def test_marks_inside_a_field_open_nothing():
    content = b"\n".join(RECORDS) + b"\n"
    ends = list(itertools.accumulate(len(record) + 1 for record in RECORDS))
    assert list(text.record_ends(content, b",")) == ends
    assert text.split_records(content, b",") == RECORDS
    for size in range(1, 100):
        blocks = blocks_of(content, size=size)
        assert b"".join(blocks) == content
        assert set(itertools.accumulate(map(len, blocks))) <= set(ends)


@pytest.mark.parametrize("chosen", list(itertools.combinations(range(len(RECORDS)), 3)))
def test_the_last_end_is_the_last_of_all_ends_wherever_the_text_is_cut(chosen):
    content = b"\n".join(RECORDS[i] for i in chosen) + b"\n"
    for cut in range(len(content) + 1):
        expected = max(text.record_ends(content[:cut], b","), default=0)
        assert text.last_record_end(content[:cut], b",") == expected


def test_one_odd_mark_keeps_no_rows_waiting():
    content = b'a,b\n1,5" pipe\n' + b"2,plain\n" * 10_000
    blocks = blocks_of(content, size=1000)
    assert b"".join(blocks) == content
    assert max(map(len, blocks)) < 1020


def test_a_mark_that_nothing_closes_is_looked_for_a_few_times_only(monkeypatch):
    content = b'1,"open\n' + b"2,plain\n" * 20_000
    looked_at = []
    look = text.last_record_end

    def looks(text: bytes, mark: bytes) -> int:
        looked_at.append(len(text))
        return look(text, mark)

    monkeypatch.setattr(text, "VERY_LONG", 1000)
    monkeypatch.setattr(text, "last_record_end", looks)
    with pytest.raises(ValueError, match="a quotation mark opens a field that never ends"):
        blocks_of(content, size=100)
    assert sum(looked_at) < 3 * len(content)  # not the square of it: that would be 800 times


def test_lines_of_empty_fields_are_records_and_empty_lines_are_none():
    assert text.split_records(b"\t\t\n\r\n1\t2\t3\r\n\t\t", b"\t") == [b"\t\t", b"1\t2\t3", b"\t\t"]
    assert text.split_lines(b'{"a": 1}\n  \n{}\n') == [b'{"a": 1}', b"{}"]
    assert blocks_of(b"a\tb\n1\t2\n\t", b"\t", size=3)[-1] == b"\t"
    assert blocks_of(b'{"a": 1}\n \t', None, size=9) == [b'{"a": 1}\n']
