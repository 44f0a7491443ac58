"""The conditions on a bundle that is loaded: its signers, its profile, its id and its epoch."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from bobcat import BundleError, PolicyBundle, compile_policy, load_bundle, request_from_json
from bobcat.bundle import file
from bobcat.bundle.manifest import MAX_EPOCH
from bobcat.bundle.sign import public_key

TEXT = "rules: [{id: look, match: {tool: search}, decision: allow}]"
KEY = bytes(range(32))
TRUSTED = [public_key(KEY)]
BUNDLES = Path(__file__).parents[1] / "bundles" / "v1"


@pytest.fixture
def bundle() -> PolicyBundle:
    return compile_policy(TEXT)


@pytest.fixture
def lax() -> PolicyBundle:
    return compile_policy(TEXT, profile="lynx")


def refused(data: bytes | Path, **conditions: Any) -> tuple[str, str]:
    """The code and the message with which a bundle is refused."""
    with pytest.raises(BundleError) as caught:
        load_bundle(data, **conditions)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize("empty", [[], (), set(), frozenset(), {}, iter([])])
def test_without_a_trusted_key_no_bundle_is_trusted(bundle: PolicyBundle, empty: Any) -> None:
    for data in (bundle.to_bytes(), bundle.to_bytes(private_key=KEY)):
        assert refused(data, trusted_keys=copy.copy(empty))[0] == "unsigned"
        assert load_bundle(data, trusted_keys=None) == bundle


@pytest.mark.parametrize("single", [public_key(KEY), bytes.fromhex(public_key(KEY)), bytearray(b" " * 32), ""])
def test_a_single_key_is_no_list_of_keys(bundle: PolicyBundle, single: Any) -> None:
    assert refused(bundle.to_bytes(private_key=KEY), trusted_keys=single)[0] == "bad_key"


@pytest.mark.parametrize("key", [32, None, 1.5, [0] * 32])
def test_a_key_is_text_or_bytes(bundle: PolicyBundle, key: Any) -> None:
    assert refused(bundle.to_bytes(private_key=KEY), trusted_keys=[key])[0] == "bad_key"


def test_a_bundle_of_the_other_profile_needs_to_be_asked_for(bundle: PolicyBundle, lax: PolicyBundle) -> None:
    code, message = refused(lax.to_bytes())
    assert (code, "profile='lynx'" in message, "--profile lynx" in message) == ("profile_mismatch", True, True)
    assert refused(bundle.to_bytes(), profile="lynx")[0] == "profile_mismatch"
    assert load_bundle(lax.to_bytes(), profile="lynx") == lax
    assert [load_bundle(each.to_bytes(), profile=None) for each in (bundle, lax)] == [bundle, lax]


def test_a_released_bundle_of_the_lynx_profile_needs_to_be_asked_for() -> None:
    assert refused(BUNDLES / "lynx.bobcat", trusted_keys=TRUSTED)[0] == "profile_mismatch"
    assert load_bundle(BUNDLES / "lynx.bobcat", profile="lynx").profile == "lynx"


@pytest.mark.parametrize("profile", ["", "Strict", "any", 1])
def test_an_unknown_profile_is_an_error(bundle: PolicyBundle, profile: Any) -> None:
    with pytest.raises(ValueError, match="`profile` must be one of strict, lynx or None"):
        load_bundle(bundle.to_bytes(), profile=profile)


def test_a_profile_that_the_manifest_makes_up_is_refused(lax: PolicyBundle) -> None:
    content = dict(file.unpack(lax.to_bytes()).content)
    content[file.MANIFEST] = content[file.MANIFEST].replace(b'"profile":"lynx"', b'"profile":"strict"')
    assert refused(file.pack(content))[0] == "bad_manifest"


def test_bundles_of_both_profiles_are_copied_and_pickled(bundle: PolicyBundle, lax: PolicyBundle) -> None:
    for each in (bundle, lax):
        again = pickle.loads(pickle.dumps(each))
        assert (again, again.profile) == (each, each.profile)


@pytest.mark.parametrize("other", ["", "0" * 64, "id[:16]", "ID", "id "])
def test_a_bundle_with_another_id_is_refused(bundle: PolicyBundle, other: str) -> None:
    wanted = {"id[:16]": bundle.id[:16], "ID": bundle.id.upper(), "id ": bundle.id + " "}.get(other, other)
    code, message = refused(bundle.to_bytes(private_key=KEY), trusted_keys=TRUSTED, expected_id=wanted)
    assert (code, bundle.id in message, repr(wanted) in message) == ("id_mismatch", True, True)
    assert load_bundle(bundle.to_bytes(), expected_id=bundle.id) == bundle


def test_an_epoch_is_in_the_signed_manifest_and_not_in_the_id(bundle: PolicyBundle) -> None:
    plain, fifth = bundle.to_bytes(private_key=KEY), bundle.to_bytes(private_key=KEY, epoch=5)
    assert plain != fifth
    loaded = load_bundle(fifth, trusted_keys=TRUSTED)
    assert (loaded.id, loaded.epoch, loaded == bundle) == (bundle.id, 5, True)
    assert (load_bundle(plain).epoch, bundle.epoch) == (None, None)
    forged = dict(file.unpack(fifth).content)
    forged[file.MANIFEST] = forged[file.MANIFEST].replace(b'"epoch":5', b'"epoch":6')
    assert refused(file.pack(forged), trusted_keys=TRUSTED)[0] == "bad_signature"
    moved = {**file.unpack(plain).content, file.MANIFEST: file.unpack(fifth).content[file.MANIFEST]}
    assert refused(file.pack(moved), trusted_keys=TRUSTED)[0] == "bad_signature"


def test_a_bundle_without_an_epoch_has_the_bytes_it_had(bundle: PolicyBundle) -> None:
    assert b"epoch" not in file.unpack(bundle.to_bytes()).content[file.MANIFEST]
    released = (BUNDLES / "full.bobcat").read_bytes()
    assert load_bundle(released).to_bytes(sources=True, private_key=KEY) == released


@pytest.mark.parametrize(("epoch", "least"), [(None, 1), (0, 1), (4, 5), (5, MAX_EPOCH)])
def test_an_older_bundle_of_the_same_key_is_refused(bundle: PolicyBundle, epoch: int | None, least: int) -> None:
    data = bundle.to_bytes(private_key=KEY, epoch=epoch)
    code, message = refused(data, trusted_keys=TRUSTED, min_epoch=least)
    assert (code, str(least) in message) == ("old_epoch", True)


@pytest.mark.parametrize(("epoch", "least"), [(None, 0), (0, 0), (5, 5), (6, 5), (MAX_EPOCH, MAX_EPOCH), (5, None)])
def test_a_bundle_that_is_new_enough_is_loaded(bundle: PolicyBundle, epoch: int | None, least: int | None) -> None:
    data = bundle.to_bytes(private_key=KEY, epoch=epoch)
    loaded = load_bundle(data, trusted_keys=TRUSTED, min_epoch=least)
    assert loaded.evaluate(request_from_json({"tool": "search"})).verdict == "allow"
    assert loaded.epoch == epoch
    assert loaded.to_bytes(private_key=KEY) == data
    assert load_bundle(loaded.to_bytes(epoch=7)).epoch == 7
    assert pickle.loads(pickle.dumps(loaded)).epoch == epoch


@pytest.mark.parametrize("epoch", [-1, MAX_EPOCH + 1, True, 1.0, "5"])
def test_an_epoch_is_a_whole_number(bundle: PolicyBundle, epoch: Any) -> None:
    with pytest.raises(BundleError) as caught:
        bundle.to_bytes(epoch=epoch)
    assert caught.value.code == "bad_epoch"
    assert refused(bundle.to_bytes(epoch=1), min_epoch=epoch)[0] == "bad_epoch"


@pytest.mark.parametrize("written", [b"-1", b"1.0", b"null", b'"5"', b"9007199254740992", b"true"])
def test_a_manifest_with_an_invalid_epoch_is_malformed(bundle: PolicyBundle, written: bytes) -> None:
    content = dict(file.unpack(bundle.to_bytes(epoch=5)).content)
    content[file.MANIFEST] = content[file.MANIFEST].replace(b'"epoch":5', b'"epoch":' + written)
    assert refused(file.pack(content))[0] == "bad_manifest"
