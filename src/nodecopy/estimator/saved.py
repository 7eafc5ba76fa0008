"""What a saved model must be for its parts to fit together; whoever wrote the file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.errors import FormatError, shown
from nodecopy.estimator.scaling import Scaling
from nodecopy.nn.network import Network
from nodecopy.posterior import Posterior
from nodecopy.rng import stream
from nodecopy.typed import fits
from nodecopy.weights import WeightSamples

# More members or draws than this are no setting of anyone, and would be computed for ever.
_MOST = 1_000_000

_NUMBERS = r"[<>|=]?([biuf][1248]|f16)"


def saved_classes(saved: Mapping[str, Any]) -> NDArray[Any]:
    """Return the classes of a model [K]: different texts, or numbers of one type."""
    values, dtype = saved["values"], str(saved["dtype"])
    texts = fits(values, list[str])
    numbers = fits(values, list[bool]) or fits(values, list[float])
    if not values or not (texts or (numbers and re.fullmatch(_NUMBERS, dtype))):
        raise FormatError(f"the classes must be texts or numbers; got {shown(values)}")
    # The width of text is that of the longest one: a file does not decide how much to allocate.
    classes = np.array(values, dtype=str if texts else dtype)
    if len(set(classes.tolist())) != len(classes):
        raise FormatError(f"the classes must differ; got {shown(values)}")
    return classes


def check_posterior(posterior: Posterior, base: NDArray[Any], num_classes: int) -> None:
    """Refuse a posterior, or the probabilities of a base classifier, of another shape or type."""
    n = len(posterior.probabilities) if posterior.probabilities.ndim else 0
    _check("posterior.probabilities", posterior.probabilities, (n, num_classes))
    _check("base_proba", base, (n, num_classes))
    for name in ("expected_entropy", "graph_information", "weight_information"):
        _check(f"posterior.{name}", getattr(posterior, name), (n,))
    for name in ("num_members", "num_draws"):
        _check_count(name, getattr(posterior, name), _MOST)


def check_inputs(scaling: Scaling, hubs: NDArray[Any] | None, num_features: object) -> None:
    """Refuse what scales or stands for features if it does not have a number for each."""
    _check_count("features", num_features)
    shape = (num_features,)
    if not isinstance(scaling.rows, bool) or (scaling.shift is None) != (scaling.scale is None):
        raise FormatError("the scaling of the features is not that of a model")
    if scaling.shift is not None and scaling.scale is not None:
        _check("scaling.shift", scaling.shift, shape)
        _check("scaling.scale", scaling.scale, shape)
        if not np.all(scaling.scale > 0):
            raise FormatError("scaling.scale must be positive")
    if hubs is not None and (hubs.shape != shape or hubs.dtype.kind not in "iu"):
        raise FormatError(f"hubs must be whole numbers {list(shape)}; got {list(hubs.shape)}")


def check_samples(samples: WeightSamples, num_features: int, num_classes: int) -> None:
    """Refuse weights that are not those of the network, for so many features and classes."""
    if not samples.seeds or not fits(samples.seeds, tuple[int, ...]):
        raise FormatError(f"the members must have whole numbers; got {shown(samples.seeds)}")
    if not samples.keys or not fits(samples.keys, tuple[int | None, ...]):
        raise FormatError(f"the keys of masks must be whole numbers; got {shown(samples.keys)}")
    _check_count("stored", samples.stored)
    held = {name: w.numpy() for name, w in samples.weights.items()}
    widest = max((max(w.shape, default=0) for w in held.values()), default=0)
    # Known before weights of that size are made, to compare with.
    if num_features > widest:
        raise FormatError(f"no weights of the model are for {num_features:,} features")
    for name, value in _sizes_of(samples.network):
        if value > widest:
            raise FormatError(f"no weights of the model are for {name} = {value:,}")
    sizes = (num_features, num_classes)
    wanted = samples.network.initial_weights(*sizes, stream(0, "shape"))
    if set(held) != set(wanted):
        names = ", ".join(sorted(wanted))
        raise FormatError(f"the weights must be {names}; got {', '.join(sorted(held)) or 'none'}")
    for name, one in wanted.items():
        shape = (samples.stored * len(samples), *one.shape)
        _check(f"weights.{name}", held[name], shape, "float32")


def check_counts(arguments: Mapping[str, Any]) -> None:
    """Refuse numbers of graphs or draws that nobody would wait for."""
    for name in ("n_zeta", "n_graphs", "n_weights"):
        if name in arguments:
            _check_count(name, arguments[name], _MOST)


def _sizes_of(network: Network) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers among the settings of a network: widths, degrees, heads."""
    for field in dataclasses.fields(network):  # type: ignore[arg-type]  # all of them are
        value = getattr(network, field.name)
        for size in value if isinstance(value, tuple) else (value,):
            if fits(size, int):
                yield field.name, size


def _check(
    name: str, array: NDArray[Any], shape: tuple[Any, ...], kind: str = "real numbers"
) -> None:
    if array.shape != shape or array.dtype.kind != "f" or kind not in ("real numbers", array.dtype):
        raise FormatError(
            f"{name} must be {kind} {list(shape)}; got {array.dtype} {list(array.shape)}"
        )
    if not np.all(np.isfinite(array)):
        raise FormatError(f"{name} holds a number that is not finite")


def _check_count(name: str, value: object, most: int | None = None) -> None:
    if not fits(value, int) or value < 1:  # type: ignore[operator]
        raise FormatError(f"{name} must be a whole number, at least 1; got {shown(value)}")
    if most is not None and value > most:  # type: ignore[operator]
        raise FormatError(f"{name} must be at most {most:,}; got {value:,}")
