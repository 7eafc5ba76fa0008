"""Manifest: graph.json, which says what the arrays of a stored graph are, and how to check them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from nodecopy.data.tables import EdgeCounts
from nodecopy.errors import FormatError, shown
from nodecopy.regular_file import regular_file
from nodecopy.typed import fits

MANIFEST = "graph.json"
FORMAT, VERSION = "nodecopy graph", 1
_WRITER = "nodecopy import"


@dataclass(frozen=True)
class ArrayEntry:
    """What one file holds: the type of its numbers, its shape, and a digest of the whole file."""

    dtype: str
    shape: tuple[int, ...]
    digest: str


@dataclass(frozen=True)
class Manifest:
    """What a folder holds beside its arrays.

    Attributes:
        name: of the dataset.
        class_names: [K].
        feature_names: [D].
        counts: what the rows of the edge file were.
        notes: what was changed or taken for granted.
        label_file: the name of the file of the labels, None where there were none.
        arrays: by name; each is in the file of that name, with ``.npy`` behind.
        filled: what was written for missing numbers, by the name of the feature.
    """

    name: str
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    counts: EdgeCounts
    notes: tuple[str, ...]
    label_file: str | None
    arrays: Mapping[str, ArrayEntry]
    filled: dict[str, float] = field(default_factory=dict)

    def text(self) -> str:
        """Return the manifest as JSON, with a digest of itself and thereby of all arrays."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(
            content | {"digest": manifest_digest(content)}, ensure_ascii=False, indent=1
        )


def array_file(name: str) -> str:
    """Return the name of the file of an array."""
    return f"{name}.npy"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder, or say why it is none."""
    if not folder.is_dir():
        raise FormatError(f"there is no folder {folder}; {_WRITER} writes one")
    path = folder / MANIFEST
    if not path.exists():
        raise FormatError(f"{folder} holds no graph: it lacks {MANIFEST}, which {_WRITER} writes")
    regular_file(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"{path} is not what {_WRITER} writes")
    if content.get("version") != VERSION:
        raise FormatError(
            f"{path} is of version {shown(content.get('version'))}; this release reads {VERSION}"
        )
    if content.pop("digest", None) != manifest_digest(content):
        raise FormatError(f"{path} is damaged: its content does not have its digest; import again")
    return _manifest(path, content)


def _manifest(path: Path, content: dict[str, Any]) -> Manifest:
    """Return the fields, each of the type that it must have."""
    try:
        arrays = {
            name: ArrayEntry(entry["dtype"], tuple(entry["shape"]), entry["digest"])
            for name, entry in content["arrays"].items()
        }
        counts = EdgeCounts(**content["counts"])
        texts = {key: tuple(content[key]) for key in ("class_names", "feature_names", "notes")}
        manifest = Manifest(
            name=content["name"],
            counts=counts,
            label_file=content["label_file"],
            arrays=arrays,
            filled=content["filled"],
            **texts,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{path} lacks a part: {error}") from error
    parts: list[Any] = [manifest, counts, *arrays.values()]
    for part in parts:
        hints = get_type_hints(type(part))
        for each in fields(part):
            if each.name not in ("arrays", "counts") and not fits(
                getattr(part, each.name), hints[each.name]
            ):
                raise FormatError(f"{path}: {each.name} is {shown(getattr(part, each.name))}")
    return manifest


def manifest_digest(content: Mapping[str, Any]) -> str:
    """Return a hash of what a manifest says."""
    plain = json.dumps(content, sort_keys=True).encode()
    return hashlib.blake2b(plain, digest_size=16).hexdigest()
