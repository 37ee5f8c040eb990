"""What traced values are told by, where nothing that traces is loaded."""


class Traced:
    """The base of everything that stands for arrays while a function is traced."""

    __slots__ = ()
