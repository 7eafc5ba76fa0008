"""What a fit gives: one value for each kind of target, and the same in words.

``base`` has what all kinds share and says what a kind adds; ``classes`` and ``class_words`` are one
class per node, ``tags`` and ``tag_words`` several tags. `result_of` chooses.
"""

from nodecopy.result.base import (
    GRAPH_FILE,
    MODEL_FILE,
    PREDICTIONS,
    SUSPECTS,
    Result,
    incomplete_model,
    model_file,
)
from nodecopy.result.classes import ClassResult
from nodecopy.result.numbers import NumberResult
from nodecopy.result.tags import TagResult
from nodecopy.result.words import Words

__all__ = [
    "GRAPH_FILE",
    "MODEL_FILE",
    "PREDICTIONS",
    "SUSPECTS",
    "ClassResult",
    "NumberResult",
    "Result",
    "TagResult",
    "Words",
    "incomplete_model",
    "model_file",
]
