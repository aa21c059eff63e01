"""The database: an index of claims, runs and verdicts. The run folder remains the proof."""
