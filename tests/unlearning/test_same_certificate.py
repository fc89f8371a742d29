"""k blocks with C₁/√k and one block with C₁ are worth the same, whatever the blocks are."""

import pytest
import rig

import expunge
from expunge import FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole

KINDS = [Whole(), RandomRotation(2), RandomRotation(5), FastRotation(3), Permutation(64), LayerCycle(2), HeadBody()]


@pytest.mark.parametrize("accountant", ["gaussian", "renyi"])
@pytest.mark.parametrize(
    "settings", [{}, {"steps": 3, "weight_decay": 0.0}, {"clip": 0.0, "steps": 1}, {"epsilon": 0.5}]
)
def test_the_same_epsilon_for_every_division(accountant, settings):
    certificates = []
    for design in KINDS:
        model = rig.mlp()
        outcome = rig.unlearn(model, rig.plan(model, design, accountant=accountant, **settings))
        expunge.verify(outcome.certificate, model)
        certificates.append(outcome.certificate)
    whole, *others = certificates
    target = settings.get("epsilon", 30.0)
    assert target * (1 - 1e-6) < whole.epsilon <= target
    for certificate in others:
        assert certificate.epsilon == pytest.approx(whole.epsilon, rel=1e-9)
        assert certificate.mu == pytest.approx(whole.mu, rel=1e-9)
        blocks = certificate["hops"][-1]["blocks"]
        assert sum(block["dimension"] for block in blocks) == 51
        sigmas = [block["steps"][0]["sigma"] for block in blocks]
        assert sigmas == pytest.approx([whole["hops"][-1]["blocks"][0]["steps"][0]["sigma"]] * len(blocks), rel=1e-9)


def test_the_ledger_says_what_was_done():
    model = rig.mlp()
    made = rig.plan(model, Permutation(3), steps=4, noise_every=2)
    outcome = rig.unlearn(model, made)
    assert rig.ledger(outcome) == made.blocks
    assert [block.noisy_coordinates for block in outcome.record.blocks] == [2 * b.dimension for b in made.blocks]
    assert outcome.certificate["sha256"]["plan"] == made.sha256


def test_a_simulation_says_so_and_does_not_verify():
    model = rig.mlp()
    outcome = rig.unlearn(model, simulate=12345)
    assert outcome.certificate["kind"] == "simulation"
    assert b"12345" not in outcome.certificate.to_bytes()
    with pytest.raises(expunge.CertificationError, match="simulation"):
        expunge.verify(outcome.certificate, model)


def test_runs_differ_unless_they_are_simulations_of_one_seed():
    shas = {}
    for seed in (None, None, 1, 1, 2):
        shas.setdefault(seed, []).append(rig.unlearn(rig.mlp(), simulate=seed).record.output_sha256)
    assert len(set(shas[None])) == 2
    assert len(set(shas[1])) == 1
    assert len({*shas[None], *shas[1], *shas[2]}) == 4
