"""Folders of images."""

import pytest

from centrality import tables
from centrality.tables import TableError


def test_a_folder_of_images_is_a_table_of_paths(tmp_path):
    for name in ("b/2.PNG", "a/1.jpg", "a/.hidden.jpg", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert tables.read(tmp_path)["path"].to_pylist() == [str(tmp_path / "a/1.jpg"), str(tmp_path / "b/2.PNG")]


def test_an_empty_folder_says_what_was_wanted(tmp_path):
    with pytest.raises(TableError, match=r"a folder of \.parquet files or of images was wanted"):
        tables.read(tmp_path)


def test_a_folder_of_images_by_its_address_is_the_same_table(tmp_path):
    (tmp_path / "1.png").touch()
    assert tables.read(f"file://{tmp_path}").equals(tables.read(tmp_path))
