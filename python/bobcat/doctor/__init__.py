"""Search for requests on which a lynx-agent policy behaves differently in the strict profile.

    examination = examine(text, "policy.yaml")

Requests are generated from the policy's clauses (`candidate_values`, `probe_requests`); `bobcat.doctor.examine`
evaluates both profiles. Finding no difference does not prove that the profiles agree. PERF: the lints search for calls
with these modules and examine nothing.
"""
