"""The plan of a run and the prompts that it sends."""
