"""What a fit takes at least, known before anything is allocated."""

from __future__ import annotations

from nodecopy.errors import ModelError
from nodecopy.machine import size_text, usable_memory
from nodecopy.nn.network import Network
from nodecopy.rng import stream

# Copies of the weights of one network while it is trained; every other network keeps one.
_TRAINING_COPIES = 5
# Bytes of a node and a class: what the base classifier gives, sums and means over draws, entropies.
_NODE_CLASS_BYTES = 64


def check_size(
    network: Network, members: int, sizes: tuple[int, int, int], max_memory: int | None
) -> None:
    """Refuse a fit whose weights and probabilities alone take more memory than there may be.

    Args:
        network: the architecture.
        members: M, the networks that are trained.
        sizes: N, D and K.
        max_memory: bytes; None is half of what this process may use.
    """
    num_nodes, num_features, num_classes = sizes
    most = usable_memory() // 2 if max_memory is None else max_memory
    weights = 4 * _num_weights(network, num_features, num_classes) * (members + _TRAINING_COPIES)
    probabilities = _NODE_CLASS_BYTES * num_nodes * num_classes
    if weights + probabilities > most:
        what = f"{num_features:,} features" if weights > probabilities else f"{num_nodes:,} nodes"
        raise ModelError(
            f"{what} and {num_classes:,} classes take about {size_text(weights + probabilities)} "
            f"of memory in {members:,} networks; max_memory is {size_text(most)}"
        )


def _num_weights(network: Network, num_features: int, num_classes: int) -> int:
    """Count the weights of a network from those of small ones: they grow linearly in D and K."""

    def count(d: int, k: int) -> int:
        drawn = network.initial_weights(d, k, stream(0, "size"))
        return sum(weight.numel() for weight in drawn.values())

    base, by_feature, by_class = count(1, 1), count(2, 1), count(1, 2)
    both = count(2, 2) - by_feature - by_class + base  # of a network without a hidden layer
    d, k = num_features - 1, num_classes - 1
    return base + d * (by_feature - base) + k * (by_class - base) + d * k * both
