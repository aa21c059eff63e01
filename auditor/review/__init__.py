"""Reviewing what others hand in: engine logs, and later forks and results of other tools."""
