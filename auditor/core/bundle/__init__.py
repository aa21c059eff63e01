"""A run in one file whose every byte follows from the run, and what looking at such a file shows. Pure."""
