"""votewise inside other people's trainers: one file a framework, imported by its own name."""
