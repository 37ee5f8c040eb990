"""StableHLO, as `jax.jit(f).lower(x).as_text()` prints it, brought to the graph level."""
