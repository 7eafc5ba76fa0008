"""A fitted classifier as a file holds it, and what its parts must be to fit together.

Whoever wrote a file: it is read whole and consistent, or refused.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodecopy.calibration import FittedPart, FittedStack
from nodecopy.classifiers import (
    Fitted,
    FittedBlocks,
    FittedNetwork,
    FittedStudent,
    GivenProbabilities,
    SpreadLabels,
)
from nodecopy.data.kernel_map import FittedKernelMap
from nodecopy.errors import FormatError, ModelError, shown
from nodecopy.estimator.scaling import Scaling
from nodecopy.nn.diffusion import Diffusion
from nodecopy.nn.network import Network
from nodecopy.persistence import (
    Arrays,
    SavedModel,
    check_types,
    decode,
    encode,
    read_model,
    write_model,
)
from nodecopy.posterior import FittedBayesianGCN, Posterior
from nodecopy.rng import stream
from nodecopy.typed import fits
from nodecopy.weights import WeightSamples

# More members, draws or steps than this are no setting of anyone, and would be computed for ever.
_MOST = 1_000_000

# Temperatures by which log-probabilities can be divided without overflow; no fit is near the ends.
_TEMPERATURES = (1e-100, 1e100)

_NUMBERS = r"[<>|=]?([biuf][1248]|f16)"


# What `read_fitted` looks for in a folder.
MODEL_FILE = "model.safetensors"


@dataclass(frozen=True, eq=False)
class FittedState:
    """All that a fit leaves.

    Attributes:
        classes: what the columns of probabilities stand for [K].
        num_features: D.
        scaling: of the features.
        hubs: what the features stand for, where none were given [D].
        model: the fitted model.
    """

    classes: NDArray[Any]
    num_features: int
    scaling: Scaling
    hubs: NDArray[np.int64] | None
    model: Fitted


def write_fitted(
    path: str | os.PathLike[str],
    state: FittedState,
    arguments: Mapping[str, Any],
    hints: Mapping[str, Any],
) -> None:
    """Write what a fit left to one file.

    Args:
        path: the file.
        state: what to write.
        arguments: of the classifier, by name.
        hints: the types of these.
    """
    if state.classes.dtype.kind not in "biufU":
        raise ModelError(f"classes of type {state.classes.dtype} cannot be saved")
    arrays: Arrays = {}
    settings = {
        "parameters": {
            name: _encoded(name, value, arrays, hints) for name, value in arguments.items()
        },
        "classes": {"values": state.classes.tolist(), "dtype": state.classes.dtype.str},
        "features": state.num_features,
        "scaling": encode(state.scaling, "scaling", arrays),
        "hubs": encode(state.hubs, "hubs", arrays),
        "model": encode(state.model, "model", arrays),
    }
    write_model(path, SavedModel(settings, arrays))


def read_fitted(
    path: str | os.PathLike[str], hints: Mapping[str, Any]
) -> tuple[FittedState, dict[str, Any]]:
    """Return what `write_fitted` wrote, if all of it fits together, and the arguments."""
    settings, arrays = read_model(model_file(path))
    try:
        parameters = settings["parameters"]
        arguments = {name: decode(value, arrays) for name, value in parameters.items()}
        if foreign := arguments.keys() - (hints.keys() - {"return"}):
            raise FormatError(f"the classifier has no {', '.join(sorted(foreign))}")
        check_types("the model", arguments, hints)
        for name in ("n_zeta", "n_graphs", "n_weights"):
            if arguments.get(name) is not None:
                _check_count(name, arguments[name], _MOST)
        state = FittedState(
            _classes(settings["classes"]),
            settings["features"],
            decode(settings["scaling"], arrays),
            decode(settings["hubs"], arrays),
            decode(settings["model"], arrays),
        )
        _check_state(state)
    except (LookupError, TypeError, AttributeError) as error:
        raise FormatError(f"{path} lacks a part of the model: {error}") from error
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise FormatError(f"{path} holds no model: {error}") from error
    return state, arguments


def model_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of a model, given it or its folder."""
    folder = Path(path)
    if not folder.is_dir():
        return folder
    if not (folder / MODEL_FILE).exists() and (folder / "model" / MODEL_FILE).exists():
        raise FormatError(f"the model is in the folder {folder / 'model'}, not in {folder}")
    return folder / MODEL_FILE


@dataclass(frozen=True)
class Sizes:
    """N nodes, D features, K classes."""

    nodes: int
    features: int
    classes: int

    def shape(self, letters: str) -> tuple[int, ...]:
        """Return the shape that letters stand for: of "NK", (N, K)."""
        size = {"N": self.nodes, "D": self.features, "K": self.classes}
        return tuple(size[letter] for letter in letters)


def _encoded(name: str, value: Any, arrays: Arrays, hints: Mapping[str, Any]) -> Any:
    """Return an argument as a file can hold it, and as `read_fitted` reads it back."""
    try:
        encoded = encode(value, name, arrays)
        check_types("the model", {name: decode(encoded, arrays)}, hints)
    except FormatError as error:
        raise ModelError(f"{name} cannot be saved: {error}") from error
    except ModelError as error:
        if name not in ("base", "graph_model"):  # the trained networks predict without these two
            raise
        raise ModelError(f"{error}; to save without it, set_params({name}=None)") from error
    return encoded


def _check_state(state: FittedState) -> None:
    _check_inputs(state.scaling, state.hubs, state.num_features)
    if type(state.model) not in (FittedStack, *_SHAPES):
        raise FormatError(f"the model must be a fit; got {shown(state.model)}")
    sizes = Sizes(_num_nodes(state.model), state.num_features, len(state.classes))
    _check_fit("model", state.model, sizes)


def _classes(saved: Mapping[str, Any]) -> NDArray[Any]:
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


def _check_inputs(scaling: Any, hubs: Any, num_features: object) -> None:
    """Refuse what scales or stands for features if it does not have a number for each."""
    _check_count("features", num_features)
    shape = (num_features,)
    if not isinstance(scaling, Scaling) or (scaling.shift is None) != (scaling.scale is None):
        raise FormatError("the scaling of the features is not that of a model")
    if scaling.shift is not None and scaling.scale is not None:
        _check("scaling.shift", scaling.shift, shape)
        _check("scaling.scale", scaling.scale, shape)
        if not np.all(scaling.scale > 0):
            raise FormatError("scaling.scale must be positive")
    if hubs is not None:
        _check_numbers("hubs", hubs, shape, None)


def _num_nodes(model: Fitted) -> int:
    """Return N, from an array of the file."""
    if isinstance(model, FittedStack):
        return _num_nodes(model.components[0])
    return len(model.probabilities) if model.probabilities.ndim else 0


def _check_stack(name: str, fitted: FittedStack, sizes: Sizes) -> None:
    count, held, pool = len(fitted.components), fitted.held_out, fitted.pool
    seen = sizes
    if fitted.features is not None:
        _check_kernel(f"{name}.features", fitted.features, sizes.features)
        seen = dataclasses.replace(sizes, features=fitted.features.whitening.shape[1])
    for number, part in enumerate(fitted.components):
        _check_fit(f"{name}.components.{number}", part, seen)
    m, whole = len(held.nodes), sizes.nodes
    if fitted.part is not None:
        whole = _check_part(f"{name}.part", fitted.part, sizes)
    _check_numbers(f"{name}.held_out.nodes", held.nodes, (m,), whole)
    _check_numbers(f"{name}.held_out.truth", held.truth, (m,), sizes.classes)
    _check_numbers(f"{name}.held_out.folds", held.folds, (m,), max(m, 1))
    _check(f"{name}.held_out.probabilities", held.probabilities, (count, m, sizes.classes))
    least, most = _TEMPERATURES
    for temperature in (*pool.temperatures, pool.temperature):
        if not least <= temperature <= most:
            raise FormatError(
                f"a temperature of {name}.pool must be from {least} to {most}; got "
                f"{shown(temperature)}"
            )
    if (
        len(pool.weights) != count
        or len(pool.temperatures) != count
        or not all(weight >= 0 for weight in pool.weights)
        or not np.isclose(sum(pool.weights), 1.0)
    ):
        raise FormatError(f"{name}.pool is not that of {count} components: {shown(pool)}")
    if not 0 < fitted.weight_unit < np.inf:
        raise FormatError(f"{name}.weight_unit must be positive; got {fitted.weight_unit}")


def _check_part(name: str, part: FittedPart, sizes: Sizes) -> int:
    """Return the nodes of the whole graph."""
    whole = len(part.posterior.probabilities)
    _check_posterior(f"{name}.posterior", part.posterior, whole, sizes.classes)
    _check_numbers(f"{name}.nodes", part.nodes, (sizes.nodes,), whole)
    if np.any(np.diff(part.nodes) <= 0):
        raise FormatError(f"{name}.nodes must ascend")
    return whole


def _check_posterior(name: str, posterior: Posterior, nodes: int, classes: int) -> None:
    _check(f"{name}.probabilities", posterior.probabilities, (nodes, classes))
    for field in dataclasses.fields(posterior):
        if field.name.endswith(("_entropy", "_information")):
            _check(f"{name}.{field.name}", getattr(posterior, field.name), (nodes,))
    for count in ("num_members", "num_draws"):
        _check_count(count, getattr(posterior, count), _MOST)


def _check_kernel(name: str, fitted: FittedKernelMap, d: int) -> None:
    landmarks, skewed = len(fitted.landmarks), len(fitted.skewed)
    _check(f"{name}.mean", fitted.mean, (d,))
    _check(f"{name}.deviation", fitted.deviation, (d,))
    _check_numbers(f"{name}.skewed", fitted.skewed, (skewed,), d)
    quantiles, whitening = fitted.quantiles, fitted.whitening
    # A column goes by one quantile at least.
    _check(f"{name}.quantiles", quantiles, (skewed, max(quantiles.shape[-1], min(skewed, 1))))
    _check(f"{name}.landmarks", fitted.landmarks, (landmarks, d))
    _check(f"{name}.whitening", whitening, (landmarks, whitening.shape[-1]))
    if not np.all(fitted.deviation > 0):
        raise FormatError(f"{name}.deviation must be positive")


# The arrays of each kind of fit, and the shapes that they must have.
_SHAPES: dict[type, dict[str, str]] = {
    FittedBayesianGCN: {"base_probabilities": "NK"},
    FittedNetwork: {"probabilities": "NK"},
    FittedBlocks: {"probabilities": "NK", "before": "NK", "affinity": "KK", "weights": "DK"},
    FittedStudent: {"probabilities": "NK", "weights": "DK"},
    SpreadLabels: {"probabilities": "NK"},
    GivenProbabilities: {"probabilities": "NK"},
}


def _check_fit(name: str, fitted: Any, sizes: Sizes) -> None:
    """Refuse a fit whose arrays are not of the sizes of the model, or that is never computed."""
    if isinstance(fitted, FittedStack):
        _check_stack(name, fitted, sizes)
        return
    for array, letters in _SHAPES[type(fitted)].items():
        kind = "float32" if array == "weights" else "real numbers"
        _check(f"{name}.{array}", getattr(fitted, array), sizes.shape(letters), kind)
    if isinstance(fitted, FittedBayesianGCN):
        _check_posterior(f"{name}.posterior", fitted.posterior, *sizes.shape("NK"))
        _check_samples(f"{name}.samples", fitted.samples, sizes)
    elif isinstance(fitted, FittedNetwork):
        _check_samples(f"{name}.weights", fitted.weights, sizes)
    elif isinstance(fitted, FittedBlocks):
        if not 0 <= fitted.edge_weight < np.inf:
            raise FormatError(f"{name}.edge_weight must not be negative; got {fitted.edge_weight}")
    elif isinstance(fitted, FittedStudent):
        _check_steps(fitted.diffusion.steps)
    elif isinstance(fitted, SpreadLabels):
        _check(f"{name}.labels", fitted.labels, (len(fitted.nodes), sizes.classes))
        _check_numbers(f"{name}.nodes", fitted.nodes, (len(fitted.nodes),), sizes.nodes)
        _check_steps(fitted.model.steps)


def _check_samples(name: str, samples: WeightSamples, sizes: Sizes) -> None:
    """Refuse weights that are not those of the network, for so many features and classes."""
    if not samples.seeds or not samples.keys:
        raise FormatError(f"{name} has no members or no draws")
    _check_count(f"{name}.stored", samples.stored)
    held = {key: w.numpy() for key, w in samples.weights.items()}
    widest = max((max(w.shape, default=0) for w in held.values()), default=0)
    network, num_features = samples.network, sizes.features
    if isinstance(network, Diffusion):
        _check_steps(network.steps)
        num_features = sizes.features if network.features else sizes.nodes
    # Known before weights of that size are made, to compare with.
    if num_features > widest:
        raise FormatError(f"no weights of the model are for {num_features:,} features")
    for setting, value in _sizes_of(network):
        if value > widest:
            raise FormatError(f"no weights of the model are for {setting} = {value:,}")
    wanted = network.initial_weights(num_features, sizes.classes, stream(0, "shape"))
    if set(held) != set(wanted):
        names = ", ".join(sorted(wanted))
        raise FormatError(
            f"{name}.weights must be {names}; got {', '.join(sorted(held)) or 'none'}"
        )
    for key, one in wanted.items():
        shape = (samples.stored * len(samples), *one.shape)
        _check(f"{name}.weights.{key}", held[key], shape, "float32")


def _sizes_of(network: Network) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers among the settings of a network: widths, degrees, heads."""
    if isinstance(network, Diffusion):
        return  # it has one layer, and its steps are no size
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


def _check_numbers(
    name: str, array: NDArray[Any], shape: tuple[Any, ...], below: int | None
) -> None:
    if array.shape != shape or array.dtype.kind not in "iu":
        raise FormatError(f"{name} must be whole numbers {list(shape)}; got {list(array.shape)}")
    if below is not None and array.size and not 0 <= array.min() <= array.max() < below:
        raise FormatError(f"{name} must be numbers from 0 to {below - 1}")


def _check_steps(steps: int) -> None:
    if steps > _MOST:
        raise FormatError(f"steps must be at most {_MOST:,}; got {steps:,}")


def _check_count(name: str, value: object, most: int | None = None) -> None:
    if not fits(value, int) or value < 1:  # type: ignore[operator]
        raise FormatError(f"{name} must be a whole number, at least 1; got {shown(value)}")
    if most is not None and value > most:  # type: ignore[operator]
        raise FormatError(f"{name} must be at most {most:,}; got {value:,}")
