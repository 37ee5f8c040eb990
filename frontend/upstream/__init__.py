"""What every way in from upstream's dialects of arrays to the graph level shares."""
