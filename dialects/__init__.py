"""What each level of the IR can say."""

from xdsl.dialects.arith import ExtSIOp
from xdsl.traits import Pure

# xDSL says so of `extui` and `trunci` only, and what may have effects is neither moved nor run in lanes.
ExtSIOp.traits.add_trait(Pure())
