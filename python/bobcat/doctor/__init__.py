"""Search for requests on which a lynx-agent policy behaves differently in the strict profile.

    examination = examine(text, "policy.yaml")

Requests are generated from the policy's clauses (`candidate_values`, `probe_requests`); `examine` evaluates both
profiles. Finding no difference does not prove that the profiles agree.
"""

from bobcat.doctor.examine import Difference, Examination, StrictRefusal, examine

__all__ = ["Difference", "Examination", "StrictRefusal", "examine"]
