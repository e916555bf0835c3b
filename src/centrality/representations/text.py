"""Represent texts by their n-grams, or by a pretrained language model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, InputTypeError, optional, whole_number
from centrality._internal.model_file import Arrays
from centrality.representations.base import State
from centrality.representations.embedding import Embedding, fingerprint, pretrained
from centrality.representations.plain_encoders import NgramEncoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

NGRAMS = "ngrams"  # needs no pretrained weights
POOLINGS = ("auto", "cls", "mean", "max")


class Text(Embedding):
    """Turns texts into vectors: by the letters that occur in them, or by a language model.

    Parameters
    ----------
    model : "ngrams", hashed character n-grams, rare ones weighing more: it needs no download, and sees words, not what
        they mean. Or a language model, which sees more: a name that transformers or sentence-transformers knows, or a
        folder with such a model.
    pooling : how a text's tokens become one vector: "cls", "mean", "max", or "auto": as a sentence-transformers
        model has it, "mean" for others. The paper takes "cls". N-grams have none.
    normalize : bring vectors to unit length before they are scaled together.
    column : which column holds the text, when tables are given.
    batch_size : texts encoded together.
    max_length : tokens after which a text is cut; None means as many as the model can take.
    download : fetch weights that are not on disk.
    device : "auto" (a GPU if there is one), "cpu", "cuda", ...
    progress : show a bar.

    Examples
    --------
    >>> from centrality.representations import Text
    >>> Text().fit_transform(["a good day", "a good night", "42"]).shape
    (3, 256)
    >>> Text("all-MiniLM-L6-v2", download=True).fit_transform(["good", "bad"]).shape  # doctest: +SKIP
    (2, 384)
    """

    model: str
    kind = "text"
    spellings = ("text:COLUMN",)

    def __init__(
        self,
        model: str = NGRAMS,
        *,
        pooling: str = "auto",
        normalize: bool = True,
        column: str | None = None,
        batch_size: int = 64,
        max_length: int | None = None,
        download: bool = False,
        device: str = "auto",
        progress: bool = False,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.column = column
        self.batch_size = batch_size
        self.max_length = max_length
        self.download = download
        self.device = device
        self.progress = progress

    def warm_up(self) -> None:
        """Load the encoder, and encode a text."""
        self.transform([""])

    def _load_encoder(self) -> "LanguageEncoder | NgramEncoder":
        if self.model == NGRAMS:
            return NgramEncoder()
        return LanguageEncoder(
            self.model, self.pooling, max_length=self.max_length, download=self.download, device=self.device
        )

    def _fit_encoder(self, items: Sequence[object]) -> None:
        if isinstance(self._encoder, NgramEncoder):
            self._encoder.fit([_checked(i, item) for i, item in enumerate(items)])

    def state(self) -> tuple[State, Arrays]:
        plain, arrays = super().state()
        return plain, arrays | (self._encoder.state() if isinstance(self._encoder, NgramEncoder) else {})

    def restore(self, state: State, arrays: Arrays) -> Self:
        if self.model == NGRAMS:
            self._encoder = NgramEncoder.restored(arrays)
        return super().restore(state, arrays)

    def _encode(self, items: Sequence[object]) -> NDArray[np.float32]:
        from tqdm import tqdm

        texts = [_checked(i, item) for i, item in enumerate(items)]
        size = whole_number("batch_size", self.batch_size)
        # Texts of like length go together, which takes little padding.
        order = np.argsort([len(text) for text in texts], kind="stable")
        result: NDArray[np.float32] | None = None
        for start in tqdm(range(0, len(order), size), disable=not self.progress, unit="batch"):
            chosen = order[start : start + size]
            part = self._encoder([texts[i] for i in chosen])
            if result is None:
                result = np.empty((len(texts), part.shape[1]), dtype=np.float32)
            result[chosen] = part
        if result is None:
            raise InputError("Texts were wanted, got none.")
        result[[not text.strip() for text in texts]] = 0.0  # an encoder makes something of nothing
        return result

    def describe(self) -> dict[str, str]:
        name = self.columns_[0] if self.columns_ else "text"
        if self.model == NGRAMS:
            return {name: "text, by its character n-grams"}
        return {name: f"text, as {self.model} sees it (pooling: {self.pooling})"}


class LanguageEncoder:
    """Runs a loaded language model: texts in, vectors out."""

    def __init__(self, name: str, pooling: str, *, max_length: int | None, download: bool, device: str) -> None:
        if pooling not in POOLINGS:
            raise InputError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}.")
        from centrality._internal.devices import find_encoder_device

        has_pooling = name.startswith("sentence-transformers/") or Path(name, "modules.json").is_file()
        by_sentences = pooling == "auto" and has_pooling
        # Before the device: a missing extra is named before the torch that it installs.
        library = optional("sentence_transformers" if by_sentences else "transformers", "text")
        self.device = find_encoder_device(device)
        self.pooling = "mean" if pooling == "auto" else pooling
        self.sentences: SentenceTransformer | None = None
        if by_sentences:
            load = partial(library.SentenceTransformer, device=str(self.device))
            self.sentences = pretrained(load, name, download=download, kind="Text")
            if max_length is not None:
                self.sentences.max_seq_length = whole_number("max_length", max_length)
            self.fingerprint = fingerprint(self.sentences, "own pooling", max_length)
            return
        self.tokenizer = pretrained(library.AutoTokenizer.from_pretrained, name, download=download, kind="Text")
        model = pretrained(library.AutoModel.from_pretrained, name, download=download, kind="Text")
        self.model = model.to(self.device).eval()
        longest = getattr(self.model.config, "max_position_embeddings", 512)
        self.max_length = min(whole_number("max_length", max_length), longest) if max_length is not None else longest
        self.fingerprint = fingerprint(self.model, self.pooling, self.max_length)

    def __call__(self, texts: list[str], /) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each text."""
        import torch

        if self.sentences is not None:
            vectors = self.sentences.encode(texts, batch_size=len(texts), show_progress_bar=False)
            return np.asarray(vectors, dtype=np.float32)
        tokens = self.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.device)
        with torch.inference_mode():
            states = self.model(**tokens).last_hidden_state  # (n, tokens, d)
            real = tokens["attention_mask"].unsqueeze(2).to(states.dtype)  # (n, tokens, 1): 0 where padded
            if self.pooling == "cls":
                pooled = states[:, 0]
            elif self.pooling == "mean":
                pooled = (states * real).sum(1) / real.sum(1).clamp(min=1)
            else:
                pooled = states.masked_fill(real == 0, -torch.inf).amax(1)
        return np.asarray(pooled.float().cpu().numpy(), dtype=np.float32)


def _checked(i: int, item: object) -> str:
    """Return the item if it is a text, and an empty one if it is missing; raise for anything else."""
    if item is None or item != item:
        return ""
    if not isinstance(item, str):
        raise InputTypeError(f"Texts were wanted, but item {i} is of type {type(item).__name__}.")
    try:
        item.encode()
    except UnicodeEncodeError:
        raise InputError(f"Text {i} holds half a character (a lone surrogate), which is no text.") from None
    return item
