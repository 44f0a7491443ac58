"""Where a policy written for lynx-agent means something else in the strict profile, shown by requests.

    examination = examine(text, "policy.yaml")

The requests are made from the policy's own clauses (`values`, `probes`) and decided on by both profiles (`examine`).
Not finding a difference is no proof that there is none.
"""

from bobcat.analysis.doctor.examine import Difference, Examination, Refusal, examine

__all__ = ["Difference", "Examination", "Refusal", "examine"]
