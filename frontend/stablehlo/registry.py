"""The operations of StableHLO and CHLO that are known; `@hlo("add")` enters a function for one."""

from ..upstream.operations import Operations

hlo = Operations("StableHLO", ("stablehlo", "chlo"), ("stablehlo.return",))
