"""The doctor on any policy that lynx-agent takes: it never fails, and what it shows is what the profiles decide."""

from __future__ import annotations

import json
import warnings
from random import Random

import pytest

import campaign
from bobcat import PolicyCompileError, PolicyWarning, compile_policy, request_from_json
from bobcat.doctor import probe_requests
from bobcat.doctor.examine import examine
from oracle.lynx_policies import as_text, policy

pytestmark = pytest.mark.campaign
POLICIES = max(150, campaign.SIZE // 10)


@pytest.mark.parametrize("seed", campaign.seeds(POLICIES, 0, 1))
def test_what_the_doctor_shows_is_what_the_profiles_decide(seed: int) -> None:
    rng = Random(seed)
    text = as_text(rng, policy(rng))
    if text is None:  # not every policy that is a mapping can be written down
        return
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(probe_requests, "MAX_REQUESTS", 2000)
        warnings.simplefilter("ignore", PolicyWarning)
        try:
            found = examine(text)
        except PolicyCompileError:
            with pytest.raises(PolicyCompileError):
                compile_policy(text, profile="lynx")
            return
        lynx = compile_policy(text, profile="lynx")
        for refusal in found.refusals:
            if refusal.request is not None:
                assert lynx.evaluate(request_from_json(json.dumps(refusal.request))) == refusal.lynx
        if found.refusals:
            with pytest.raises(PolicyCompileError):
                compile_policy(text)
            return
        strict = compile_policy(text)
        for difference in found.differences:
            call = request_from_json(json.dumps(difference.request))
            assert lynx.evaluate(call) == difference.lynx
            assert strict.evaluate(call) == difference.strict
            assert difference.lynx != difference.strict
