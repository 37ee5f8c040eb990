"""What runs passes: the pass manager, pipelines as text, and the default pipelines with their options."""
