import pytest

from expunge.errors import ConfigError
from expunge.planning import Trial, advise, front

UNLEARNED = Trial("noise", "certified", 10.0, 100, (0.95,))
SCRATCH = Trial("fresh", "from scratch", 0.0, 100, (0.90,))
RETRAINED = Trial("again", "retrained", 0.0, 1000, (0.955,))


def test_the_front_has_what_nothing_beats():
    worse = Trial("worse", "certified", 10.0, 100, (0.94,))
    private = Trial("private", "certified", 3.0, 100, (0.92,))
    dominated = Trial("dominated", "certified", 3.0, 100, (0.89,))  # from scratch is better, and private for nothing
    found = front([UNLEARNED, worse, private, dominated, SCRATCH, RETRAINED])
    assert [one.name for one in found] == ["fresh", "again", "private", "noise"]


def test_retraining_beats_what_is_no_better_only_if_it_costs_no_more():
    assert UNLEARNED in front([UNLEARNED, RETRAINED])
    assert front([UNLEARNED, Trial("again", "retrained", 0.0, 100, (0.95,))])[0].kind == "retrained"


def test_a_way_that_holds_its_own_is_recommended():
    advice = advise([UNLEARNED, SCRATCH, RETRAINED], epsilon=10.0)
    assert (advice.verdict, advice.best) == ("unlearn", UNLEARNED)
    assert "95.00%" in advice.why


@pytest.mark.parametrize(
    ("certified", "scratch", "retrained", "verdict"),
    [
        (0.95, 0.951, 0.955, "train afresh"),  # exact, and no worse
        (0.95, 0.951, 0.99, "retrain"),  # both lose too much
        (0.90, 0.80, 0.99, "retrain"),
        (0.985, 0.97, 0.99, "unlearn"),
    ],
)
def test_the_truth_is_said(certified, scratch, retrained, verdict):
    trials = [
        Trial("noise", "certified", 10.0, 100, (certified,)),
        Trial("fresh", "from scratch", 0.0, 100, (scratch,)),
        Trial("again", "retrained", 0.0, 1000, (retrained,)),
    ]
    assert advise(trials, epsilon=10.0).verdict == verdict


def test_retraining_that_takes_no_longer_is_the_advice():
    quick = Trial("again", "retrained", 0.0, 100, (0.9,))
    assert advise([UNLEARNED, SCRATCH, quick], epsilon=10.0).verdict == "retrain"


def test_a_lead_within_the_doubt_is_none():
    sure = Trial("noise", "certified", 10.0, 100, (0.950, 0.952, 0.951))
    doubtful = Trial("noise", "certified", 10.0, 100, (0.93, 0.97, 0.953))
    scratch = Trial("fresh", "from scratch", 0.0, 100, (0.947, 0.948, 0.949))
    assert advise([sure, scratch, RETRAINED], epsilon=10.0).verdict == "unlearn"
    assert advise([doubtful, scratch, RETRAINED], epsilon=10.0).verdict == "train afresh"


def test_only_trials_within_the_target_count():
    loose = Trial("loose", "certified", 30.0, 100, (0.99,))
    assert advise([UNLEARNED, loose, SCRATCH, RETRAINED], epsilon=10.0).best is UNLEARNED
    with pytest.raises(ConfigError, match="within epsilon 10"):
        advise([loose, SCRATCH, RETRAINED], epsilon=10.0)


def test_scores_are_numbers():
    with pytest.raises(ConfigError, match="finite score"):
        Trial("noise", "certified", 1.0, 1, ())
    with pytest.raises(ConfigError, match="finite score"):
        Trial("noise", "certified", 1.0, 1, (float("nan"),))
