"""Arguments of an estimator by name, as scikit-learn reads and sets them."""

from __future__ import annotations

import inspect
from typing import Any, Self

from nodecopy.errors import ModelError


class Parameters:
    """What scikit-learn's `BaseEstimator` gives: arguments are attributes of the same names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Args:
            deep: add those of estimators among them, as ``name__…``.
        """
        own = {name: getattr(self, name) for name in _parameters(type(self))}
        inner = {
            f"{name}__{key}": value
            for name, part in own.items()
            if deep and isinstance(part, Parameters)
            for key, value in part.get_params().items()
        }
        return own | inner

    def set_params(self, **parameters: Any) -> Self:
        """Set constructor arguments by name; ``name__…`` reaches into an estimator among them."""
        accepted = _parameters(type(self))
        for name, value in parameters.items():
            outer, nested, inner = name.partition("__")
            part = getattr(self, outer) if outer in accepted else None
            if nested and isinstance(part, Parameters):
                part.set_params(**{inner: value})
            elif name in accepted:
                setattr(self, name, value)
            else:
                raise ModelError(
                    f"unknown parameter {name!r}; accepted: {', '.join(sorted(accepted))}"
                )
        return self

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted; scikit-learn's ``clone`` asks for it.

        A connection to a cluster cannot be copied, and is shared.
        """
        from sklearn.base import clone

        copied = self.get_params(deep=False)
        for name in copied.keys() - {"executor"}:
            copied[name] = clone(copied[name], safe=False)
        return type(self)(**copied)

    def __repr__(self) -> str:
        """Show the arguments that differ from their defaults."""
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(_parameters(type(self))[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(kind).parameters
    return {name: parameter for name, parameter in parameters.items() if name != "self"}
