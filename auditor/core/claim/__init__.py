"""A claim: its file, its records, its published number, and what it leaves open."""
