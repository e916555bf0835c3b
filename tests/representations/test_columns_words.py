"""Columns of words: texts of rare n-grams are odd among the others, in fitting and later."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import FUSE, Chain
from centrality.model.reader import reader_of
from centrality.representations import Table
from centrality.representations.columns import COMPONENTS, Words
from centrality.tables import read
from centrality.tables.columns import NEW_GAP, NEW_VALUE
from tests.conftest import quick

GERMAN = [
    "Bundestag beschließt neues Gesetz über die Rentenversicherung",
    "Nach dem Hochwasser beginnt das große Aufräumen in Sachsen",
    "Bayern München gewinnt auswärts gegen den Hamburger SV",
    "Regierung streitet weiter über die Reform der Krankenkassen",
    "Forscher entdecken unbekannte Fischart vor der Küste Norwegens",
]


def made_sentences(n: int, rng: np.random.Generator) -> list[str]:
    who = ["the teacher", "a young doctor", "our neighbour", "the old baker", "her brother", "the new mayor"]
    does = ["sells", "paints", "forgets", "repairs", "carries", "wants to keep", "never finds", "looks for"]
    what = [
        "a wooden table",
        "the yellow house",
        "two small boats",
        "some fresh bread",
        "an empty garden",
        "the bridge",
    ]
    when = ["this morning", "on a rainy day", "before the holidays", "while others sleep", "with great care"]
    return [" ".join(rng.choice(part) for part in (who, does, what, when)) for _ in range(n)]


def beside_numbers(texts: list[str], rng: np.random.Generator) -> pa.Table:
    n = len(texts)
    return pa.table(
        {"text": texts, "a": rng.normal(size=n), "b": rng.exponential(size=n), "kind": rng.choice(list("xyz"), n)}
    )


def test_foreign_texts_are_the_oddest_beside_other_columns_too():
    rng = np.random.default_rng(0)
    table = beside_numbers([*made_sentences(400, rng), *GERMAN], rng)
    oddest = np.argsort(Chain(Table(), quick()).fit(table).centrality(table, t=0.5))[:10]
    assert set(range(400, 405)) <= set(oddest.tolist())


@pytest.mark.data
@pytest.mark.parametrize("seed", range(3))
def test_german_sentences_among_english_news_are_among_the_oddest(data, seed):
    rng = np.random.default_rng(seed)
    news = read(data / "extra" / "ag_news_test.csv.gz")["description"].to_pylist()
    table = beside_numbers([*rng.choice(news, 400, replace=False).tolist(), *GERMAN], rng)
    scores = Chain(Table(), FUSE(random_state=0)).fit(table).centrality(table, t=0.5)
    assert (scores[400:] < np.quantile(scores, 0.05)).all()


def test_the_rarity_of_new_texts_counts_n_grams_never_seen_as_the_rarest():
    words = Words.fit("text", pa.chunked_array([made_sentences(200, np.random.default_rng(0))]))
    new = pa.chunked_array([["the teacher sells a wooden table", "the teacher sells a wxqzvk tvqzle", "wxqzvk"]])
    rarity = words.encode("text", new).block[:, COMPONENTS]
    assert rarity[0] < rarity[1]
    unknown = words.encode("text", pa.chunked_array([["wxqzvk"]]))
    assert unknown.faults[NEW_VALUE].all()
    # Five n-grams of four letters, " wxq" to "zvk ", each as rare as one that two of the 200 texts have.
    expected = (np.log(201 / 3) + 1 - words.usual_idf) * np.sqrt(5) / words.deviation
    assert unknown.block[0, COMPONENTS] == pytest.approx(expected)


def test_a_gap_and_a_text_of_single_letters_have_no_rarity():
    words = Words.fit("text", pa.chunked_array([made_sentences(200, np.random.default_rng(0))]))
    block = words.encode("text", pa.chunked_array([["", None, "a b c"]])).block
    np.testing.assert_array_equal(block[:, COMPONENTS], 0.0)


def test_texts_without_a_word_of_two_letters_have_no_rarity_at_all():
    texts = [" ".join(np.random.default_rng(i).choice(list("abcdefgh"), 6)) for i in range(60)]
    words = Words.fit("text", pa.chunked_array([texts]))
    assert words.deviation == 0
    assert len(words.names("text")) == len(words.components)


def test_reasons_say_that_the_words_of_a_text_are_rare():
    rng = np.random.default_rng(0)
    table = beside_numbers([*made_sentences(400, rng), *GERMAN], rng)
    model = Chain(Table(), quick()).fit(table)
    reason = model.reasons(table.slice(400, 1))[0][0]
    assert (reason.feature, reason.typical) == ("text", "words that other rows have")
    assert reader_of(model).features_with_names().names == ["text", "a", "b", "kind"]


def test_a_blank_text_is_a_gap_and_a_gap_is_marked_where_fitting_had_some():
    texts = [" ".join(f"word{(7 * k + j) % 60}" for j in range(3)) for k in range(200)]
    x = np.arange(200) % 7
    whole = Table().fit(pa.table({"text": texts, "x": x}))
    assert whole.examined(pa.table({"text": [" ", "", None], "x": [1, 1, 1]}))[1].cells == {"text": {NEW_GAP: 3}}
    texts[::20] = [""] * 10
    table = Table().fit(pa.table({"text": texts, "x": x}))
    rows = pa.table({"text": [None, " ", texts[1]], "x": [1, 1, 1]})
    Z, names = table.transform(rows), table.get_feature_names_out().tolist()
    np.testing.assert_allclose(Z[:, names.index("text missing")], [0.95, 0.95, -0.05], rtol=1e-6)
    np.testing.assert_array_equal(Z[0], Z[1])
