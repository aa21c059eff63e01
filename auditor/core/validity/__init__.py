"""Is the output output? Answers looked at, questions whose answers are known, and the model's own log-probabilities."""

from auditor.core.validity.answer import Fault, Validity, validity_of

__all__ = ["Fault", "Validity", "validity_of"]
