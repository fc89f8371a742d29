import json

import pytest

from expunge import accounting as acc


@pytest.fixture(scope="module")
def vectors(shared):
    return json.loads((shared / "vectors" / "accounting.json").read_text())


def exact(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def test_conversions_match_the_published_vectors(vectors):
    for v in vectors["conversion"]:
        budget = (v["epsilon"], v["delta"])
        assert acc.gaussian.mu(*budget) == exact(v["mu_gaussian"])
        assert acc.renyi.mu(*budget) == exact(v["mu_renyi"])
        assert acc.renyi.order(*budget) == (exact(v["renyi_order"]), exact(v["renyi_epsilon"]))


def test_conversions_of_the_vectors_are_inverses(vectors):
    for v in vectors["conversion"]:
        for module, mu in ((acc.gaussian, v["mu_gaussian"]), (acc.renyi, v["mu_renyi"])):
            assert module.epsilon(mu, v["delta"]) == exact(v["epsilon"])
        # δ moves by a factor e^{-a dε/μ}: the vectors' 16 digits of ε and μ are not 9 digits of δ
        assert acc.gaussian.delta(v["mu_gaussian"], v["epsilon"]) == pytest.approx(v["delta"], rel=1e-8)
        assert acc.renyi.delta(v["mu_renyi"], v["epsilon"]) == pytest.approx(v["delta"], rel=1e-8)


def test_constant_schedules_match_the_published_vectors(vectors):
    for v in vectors["constant"]:
        schedule = {name: v[name] for name in ("step_size", "weight_decay", "clip", "steps")}
        for name, module in (("gaussian", acc.gaussian), ("renyi", acc.renyi)):
            mu = module.mu(v["epsilon"], v["delta"])
            assert acc.sigma(mu, v["gap"], **schedule) == exact(v[f"sigma_{name}"])


def test_any_schedules_match_the_published_vectors(vectors):
    for v in vectors["schedule"]:
        columns = (v[name] for name in ("step_size", "weight_decay", "clip", "sigma"))
        block = acc.Block(tuple(acc.Step(*row) for row in zip(*columns, strict=True)))
        assert acc.mu(v["gap"], block) == exact(v["mu"])
        assert acc.mu(gaps=[v["gap"]], blocks=[block]) == exact(v["mu"])


def test_blocks_match_the_published_vectors(vectors):
    for v in vectors["blocks"]:
        blocks = [
            acc.Block((acc.Step(b["step_size"], b["weight_decay"], b["clip"], b["sigma"]),) * b["steps"])
            for b in v["blocks"]
        ]
        assert acc.mu(v["gap"], blocks) == exact(v["mu"])
