"""Papers whose results votewise repeats: their runs, their recipes, their published numbers."""
