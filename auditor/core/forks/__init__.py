"""Forks: what a diff from the upstream changes, class by class, and the questions that a reviewer asks of it. Pure."""
