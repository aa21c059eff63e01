"""Servers beside each other: whether they may be compared, by how much they differ, and what that could have shown."""
