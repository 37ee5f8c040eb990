"""Where a convolution's operands and its result are when a call begins, and how fast they come from there."""

from __future__ import annotations

from ...lazy import cached_property
from ...targets.target import Target
from ..constants import least_constant_bytes
from ..facts import Access, Contraction, Home
from .convolution_reads import ConvolutionReads
from .cost import beyond_share


class ConvolutionResidence(ConvolutionReads):
    """What is near when a call of one convolution begins on one target, and what is not."""

    def __init__(self, c: Contraction, target: Target):
        super().__init__(c, target)
        self.rates = target.rates
        self._image_bytes, self._weight_bytes = self.traffic.image, self.traffic.weights

    @cached_property
    def _beyond_l2(self) -> float:
        """Bytes/s from beyond L2: from the last cache where the operands stay there between calls."""
        return (self.rates.beyond_l2 if self._is_cached else self.rates.read_memory).core

    @property
    def far_latency(self) -> float:
        """Seconds from a load to its line from there, which nothing has asked for before."""
        return self.rates.latency("L3" if self._is_cached else "memory")

    @cached_property
    def _is_cached(self) -> bool:
        """Whether the operands stay in the last cache between calls."""
        last = self.core.caches[-1]
        size = self._image_bytes + self._weight_bytes
        return last.level > 2 and size <= last.bytes // last.shared_by

    @cached_property
    def weights_rate(self) -> float:
        """Bytes/s of the weights, which come from memory where all constants of the program leave the last cache between calls."""
        last, facts = self.core.caches[-1], self.c.facts
        is_constant = facts.buffers[self.c.right.buffer].home is Home.CONSTANT
        if is_constant and facts.constants > last.bytes // last.shared_by:
            return self.rates.read_memory.core
        return self._beyond_l2

    @cached_property
    def result_is_far(self) -> bool:
        """Whether some of a result, with what it is finished with, leaves L2 between calls."""
        return self._far_share > 0

    @cached_property
    def _far_share(self) -> float:
        """
        The part of all operands and results that does: what is read and written in turn between two calls, and so all constants of the program
        where weights are one of these. (On two threads of a Granite Rapids core ResNet-50 took 1.03 of the time with plans that counted on what had
        stayed.)
        """
        facts = self.c.facts
        is_constant = facts.buffers[self.c.right.buffer].home is Home.CONSTANT
        constants = least_constant_bytes(facts.constants) if is_constant else 0
        weights = max(self._weight_bytes, constants)
        size = sum(float(facts.buffers[buffer].bytes or 0) for buffer in self.c.streams)
        return beyond_share(self.near_2, size + self._image_bytes + weights)

    @cached_property
    def weights_are_far(self) -> bool:
        """Whether weights leave L2 between calls, and are more than the image: few tiles share each of them."""
        return self.result_is_far and self._weight_bytes > self._image_bytes

    @cached_property
    def _far_image(self) -> float:
        """The bytes of the image that are not in L2 when a call begins."""
        return self._far_share * self._image_bytes

    @cached_property
    def _kept_weights(self) -> float:
        """The bytes of weights that are in L2 when a call begins."""
        return (1 - self._far_share) * self._weight_bytes

    def _bytes(self, access: Access) -> float:
        return float(self.c.facts.buffers[access.buffer].bytes or 0)
