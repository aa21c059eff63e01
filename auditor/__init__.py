"""Audits published claims about the speed of LLM servers.

The road, one stage after the other, each a function from record to record:

    claim -> plan -> probe -> replay -> evidence -> account -> judge -> report -> publish
"""

__version__ = "0.1.0"
