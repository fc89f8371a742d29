"""Signatures, checked by us, by plain `cryptography`, and by securesystemslib; and everything that must not pass."""

import base64
import json
import random

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from paperwork import issued, network, opened, refused, unlearn
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
from test_certificate_mutations import damaged

import expunge
from expunge import certificate
from expunge.certificate.document import canonical, sealed


@pytest.fixture(scope="module")
def outcome():
    return unlearn(network())


@pytest.fixture(scope="module")
def signed(outcome, keys):
    return certificate.sign(outcome.certificate, keys[0])


def written(envelope):
    return json.dumps(envelope, sort_keys=True, indent=1).encode() + b"\n"


def said(findings):
    return next(finding.detail for finding in findings if finding.name == "signature")


def test_a_signed_certificate_verifies_and_says_by_whom(signed, outcome, keys, tmp_path):
    signed.save(tmp_path / "signed.json")
    findings = certificate.verify(tmp_path / "signed.json", outcome.model, public_key=keys[1])
    assert str(keys[1]) in said(findings)
    assert dict(certificate.load(tmp_path / "signed.json")) == dict(outcome.certificate)


def test_plain_cryptography_verifies_it_with_an_encoding_written_by_hand(signed, outcome, keys):
    envelope = json.loads(signed.to_bytes())
    kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
    encoded = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    (signature,) = envelope["signatures"]
    key = load_pem_public_key(keys[1].read_bytes())
    key.verify(base64.b64decode(signature["sig"]), encoded)
    with pytest.raises(InvalidSignature):
        key.verify(base64.b64decode(signature["sig"]), encoded[:-1] + b" ")
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    (subject,) = statement["subject"]
    assert subject["digest"] == {"sha256": expunge.weights.digest(outcome.model.state_dict())}
    assert statement["predicate"] == opened(outcome.certificate)


def test_securesystemslib_verifies_the_file(signed, keys):
    envelope = Envelope.from_dict(json.loads(signed.to_bytes()))
    key = SSlibKey.from_crypto(load_pem_public_key(keys[1].read_bytes()))
    assert list(envelope.verify([key], 1)) == [key.keyid]


def test_no_damaged_envelope_verifies_with_the_key(signed, keys):
    content, dice = signed.to_bytes(), random.Random(4)
    for number in range(3_000):
        changed = damaged(content, dice)
        assert changed == content or refused(changed, public_key=keys[1]), number


def test_without_the_key_damage_is_refused_or_said_to_be_unchecked(signed, outcome):
    assert "NOT checked" in said(certificate.verify(signed, outcome.model))
    content, dice = signed.to_bytes(), random.Random(5)
    for _ in range(2_000):
        changed = damaged(content, dice)
        if not refused(changed):
            assert "NOT checked" in said(certificate.verify(changed))
            assert json.loads(changed)["payload"] == json.loads(content)["payload"]


@pytest.mark.parametrize(
    "change",
    [{"x": 1}, {"keyid": ""}, {"keyid": 1}, {"keyid": []}, {"sig": ""}, {"sig": "AA=="}, {"sig": None}, {"sig": "é"}],
    ids=str,
)
def test_any_change_of_the_signature_is_refused(signed, keys, change):
    envelope = json.loads(signed.to_bytes())
    envelope["signatures"][0] |= change
    assert refused(written(envelope), public_key=keys[1])
    refused(written(envelope))


@pytest.mark.parametrize("value", [[], None, {}, [1], "x", [{}]], ids=str)
@pytest.mark.parametrize("name", ["signatures", "payload", "payloadType"])
def test_an_envelope_of_another_shape_is_refused_in_words(signed, name, value):
    assert refused(written({**json.loads(signed.to_bytes()), name: value}))


@pytest.mark.parametrize("change", [{"sha256": None}, {"sha256": {}}, {"sha256": []}, {"schema": "x"}], ids=str)
def test_a_payload_of_another_shape_is_refused_in_words(signed, keys, change):
    envelope = json.loads(signed.to_bytes())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"] |= change
    envelope["payload"] = base64.b64encode(canonical(statement)).decode()
    assert refused(written(envelope))
    assert refused(written(envelope), public_key=keys[1])


def test_resealed_content_under_an_old_signature_is_refused(signed, keys):
    envelope = json.loads(signed.to_bytes())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"] = sealed({**statement["predicate"], "created": "2020-01-01T00:00:00Z"})
    envelope["payload"] = base64.b64encode(canonical(statement)).decode()
    assert refused(written(envelope), public_key=keys[1])


def test_another_key_and_no_signature_are_refused(signed, outcome, keys):
    assert refused(signed, outcome.model, public_key=keys[2])
    assert refused(outcome.certificate, outcome.model, public_key=keys[1])
    assert said(certificate.verify(outcome.certificate)) == "not signed"


def test_keys_that_are_none_are_refused_in_words(signed, keys, tmp_path):
    large, small = rsa.generate_private_key(65537, 2048), load_pem_private_key(keys[0].read_bytes(), None)
    form = (Encoding.PEM, PrivateFormat.PKCS8)
    (tmp_path / "rsa").write_bytes(large.private_bytes(*form, NoEncryption()))
    (tmp_path / "locked").write_bytes(small.private_bytes(*form, BestAvailableEncryption(b"secret")))
    (tmp_path / "rsa public").write_bytes(
        large.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "text").write_text("no key")
    for name in ("rsa", "locked", "rsa public", "text", "missing", "."):
        with pytest.raises(expunge.DataError):
            certificate.sign(issued(), tmp_path / name)
        assert refused(signed, public_key=tmp_path / name)
    assert refused(signed, public_key=keys[0])
