"""What the hardware can do at most: bytes of a step, bounds on tokens per second, and a claim laid beside them.

Pure arithmetic over the records of `auditor.reference` and of checkpoints; `docs/physics.md` has the method.
"""
