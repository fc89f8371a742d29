import json

import pytest

from expunge.errors import DataError
from expunge.report import from_dict, load


def change(values, place, new):
    *path, last = place.split(".")
    for name in path:
        values = values[int(name) if name.isdecimal() else name]
    if new is DELETE:
        del values[last]
    else:
        values[last] = new


DELETE = object()


def test_the_example_is_read_whole(values):
    results = from_dict(values)
    assert results.asked.deletion.removed == 144
    assert results.certificate.epsilon <= results.asked.target.epsilon
    assert results.certificate.proximity.gap == max(pair.gap.total for pair in results.calibration.pairs)
    assert [row.method for row in results.comparison.rows] == [
        "blockwise_nft",
        "output_perturbation",
        "from_public",
        "retrain",
    ]
    assert results.verification.valid
    assert sum(block.dimension for block in results.signal.blocks) == results.asked.model.parameters


def test_what_was_asked_is_enough(values):
    results = from_dict({name: values[name] for name in ("schema", "created", "asked")})
    assert results.certificate is results.comparison is results.curves is None


@pytest.mark.parametrize(
    ("place", "new", "told"),
    [
        ("asked", DELETE, "results lacks asked"),
        ("asked.model.parameters", 2.5, "results.asked.model.parameters must be a whole number; got 2.5"),
        ("asked.model.parameters", True, "must be a whole number; got True"),
        ("asked.project", 3, "results.asked.project must be text; got 3"),
        ("asked.deletion.count", 3, "results.asked.deletion has unknown field 'count'"),
        ("verfication", {}, "did you mean 'verification'?"),
        ("curves.privacy", [[1e-5]], r"results.curves.privacy\[0\] must be a list of 2"),
        ("curves.privacy", "none", "results.curves.privacy must be a list"),
        ("certificate.kind", "promise", "results.certificate.kind must be one of 'certificate', 'simulation'"),
        ("certificate.guarantee.mu", "2", "must be a finite number; got '2'"),
        ("certificate.hops", [], "must have at least one entry"),
        ("certificate.guarantee.accountant", "moments", "lacks the accountant"),
        ("signal.blocks", None, "results.signal.blocks must be a list; got None"),
        ("verification.valid", 1, "must be true or false; got 1"),
        ("schema", "expunge.results/2", "this is no results file"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(values, place, new, told):
    change(values, place, new)
    with pytest.raises(DataError, match=told):
        from_dict(values)


def test_other_rooms_may_add_to_their_documents(values):
    values["certificate"]["later"] = values["comparison"]["rows"][0]["later"] = 1
    from_dict(values)


def test_the_verification_of_another_certificate_is_refused(values):
    values["certificate"]["sha256"]["certificate"] = "0" * 64
    with pytest.raises(DataError, match="another certificate"):
        from_dict(values)


@pytest.mark.parametrize(
    ("place", "new", "told"),
    [("certificate", None, "there is no certificate"), ("certificate.kind", "simulation", "is a simulation")],
)
def test_valid_needs_a_certificate(values, place, new, told):
    change(values, place, new)
    with pytest.raises(DataError, match=told):
        from_dict(values)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not valid JSON"),
        (b"[]", "no results file"),
        (b'{"schema": NaN}', "NaN is no number"),
        (b'{"schema": "a", "schema": "b"}', "names a field twice"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_a_file_that_is_no_results_file(tmp_path, content, told):
    file = tmp_path / "results.json"
    file.write_bytes(content)
    with pytest.raises(DataError, match=told):
        load(file)


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        load(tmp_path / "nowhere.json")


def test_numbers_too_large_are_not_read_as_infinity(tmp_path, values):
    values["asked"]["target"]["epsilon"] = "HUGE"
    file = tmp_path / "results.json"
    file.write_text(json.dumps(values).replace('"HUGE"', "1e999"))
    with pytest.raises(DataError, match="finite"):
        load(file)
