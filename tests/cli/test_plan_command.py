import json

import pytest

from expunge import accounting as acc

WORDS = (
    "plan --epsilon 30 --delta 1e-5 --proximity 0.5 --clip 5000 --step-size 1e-4 --weight-decay 100 "
    "--steps 1 --blocks 4 --parameters 4364554"
)
MNIST = WORDS.split()


def planned(expunge, *words):
    code, out, err = expunge(*words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_readme_command_says_what_matters(expunge):
    code, out, err = expunge(*MNIST)
    assert (code, err) == (0, "")
    for fact in (
        "30",
        "1e-05",
        "0.5",
        "gaussian",
        "0.32101",
        "2500",
        "1,091,139",
        "670.63",
        "0.10736",
        "0.32664",
        "0.4987",
    ):
        assert fact in out, fact
    assert "not valid by the renyi accountant" in out
    assert "1.125" in out or "1.126" in out


def test_json_holds_the_same_facts(expunge):
    answer = planned(expunge, *MNIST)
    assert answer["mu"] == pytest.approx(acc.gaussian.mu(30.0, 1e-5), rel=1e-9)
    assert answer["mu"] <= acc.gaussian.mu(30.0, 1e-5)
    assert [row["dimension"] for row in answer["per_block"]] == [1091139, 1091139, 1091138, 1091138]
    assert {(row["clip"], row["steps"]) for row in answer["per_block"]} == {(2500.0, 1)}
    sigma = answer["per_block"][0]["sigma"]
    assert answer["noise_norm"] == pytest.approx(sigma * 4364554**0.5)
    assert answer["output_perturbation"]["sigma"] == pytest.approx(0.5 / answer["mu"])
    assert answer["paper"]["valid"] == {"renyi": False, "gaussian": True}
    assert answer["delta"] == 1e-5
    assert answer["failure"] == answer["unconditional_delta"] == 1.0  # a bare number promises nothing in any case


@pytest.mark.parametrize("accountant", ["gaussian", "renyi"])
@pytest.mark.parametrize("steps", ["1", "7", "best"])
@pytest.mark.parametrize("blocks", ["1", "4", "101"])
def test_account_reads_back_what_was_planned(expunge, tmp_path, accountant, steps, blocks):
    words = [*MNIST, "--accountant", accountant]
    words[words.index("--steps") + 1] = steps
    words[words.index("--blocks") + 1] = blocks
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(planned(expunge, *words)["ledger"]))
    code, out, err = expunge("account", path, "--proximity", "0.5", "--delta", "1e-5", "--json")
    assert (code, err) == (0, "")
    assert 30 * (1 - 1e-6) < json.loads(out)["epsilon"][accountant] <= 30


def test_best_steps_are_found(expunge):
    words = WORDS.replace("--steps 1", "--steps best").replace("--clip 5000", "--clip 500").split()
    answer = planned(expunge, *words)
    best = acc.best_steps(0.5, step_size=1e-4, weight_decay=100.0, clip=500.0)
    assert answer["per_block"][0]["steps"] == best > 1


def test_a_failure_probability_is_added_for_the_unconditional_statement(expunge):
    answer = planned(expunge, *MNIST, "--failure", "0.0909")
    assert answer["unconditional_delta"] == pytest.approx(0.0909 + 1e-5)
    _, out, _ = expunge(*MNIST, "--failure", "0.0909")
    assert "0.09091" in out


def test_many_blocks_are_summed_up_for_people(expunge):
    words = WORDS.replace("--blocks 4", "--blocks 1000").split()
    code, out, _ = expunge(*words)
    assert code == 0
    assert len(out.splitlines()) < 40
    assert "980 more" in out
    assert len(planned(expunge, *words)["per_block"]) == 1000


@pytest.mark.parametrize(
    "change",
    [
        "--step-size 1e-4|--step-size 0",
        "--clip 5000|--clip 0",
        "--proximity 0.5|--proximity 0",
        "--weight-decay 100|--weight-decay 0",
    ],
)
def test_the_edges_of_what_makes_sense_are_planned_in_both_ways_of_printing(expunge, change):
    old, new = change.split("|")
    words = WORDS.replace(old, new).split()
    assert 30 * (1 - 1e-6) < acc.gaussian.epsilon(planned(expunge, *words)["mu"], 1e-5) <= 30
    code, out, err = expunge(*words)
    assert (code, err) == (0, "")
    assert "inf" not in out
    assert "nan" not in out
