"""Attributes that are worked out when they are first read."""

from stepwell.lazy import cached_property


class _Counting:
    """Counts how often its attribute is worked out."""

    def __init__(self) -> None:
        self.count = 0

    @cached_property
    def number(self) -> int:
        """How often it was, with this time."""
        self.count += 1
        return self.count


def test_an_attribute_is_worked_out_once_for_each_instance():
    first, second = _Counting(), _Counting()
    assert first.count == 0
    assert (first.number, first.number, second.number) == (1, 1, 1)
    assert (first.count, second.count) == (1, 1)


def test_the_class_has_its_documentation():
    assert _Counting.number.__doc__ == "How often it was, with this time."


def test_what_is_known_can_be_forgotten():
    counting = _Counting()
    assert counting.number == 1
    del counting.number
    assert counting.number == 2
