"""votewise inside other people's trainers: one file per framework, each imported by its own name."""
