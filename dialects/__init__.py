"""What each level of the IR can say."""

from . import upstream as upstream  # what it says of xDSL's operations holds wherever ours are used
