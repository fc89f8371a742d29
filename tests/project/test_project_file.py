"""The project file is read strictly: what is wrong is named, with what was expected and, where it can be, what was meant."""

import pytest

from expunge.errors import ConfigError, DataError
from expunge.project import settings, template


def refusal(place):
    with pytest.raises((ConfigError, DataError)) as caught:
        place.load()
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("epsilon = 20.0", "epsilom = 20.0", ["[target]", "'epsilom'", "Did you mean 'epsilon'?"]),
        ("[fine_tune]", "[finetune]", ["'finetune'", "Did you mean 'fine_tune'?"]),
        ("epsilon = 20.0", 'epsilon = "20"', ["[target] epsilon", "a number", "'20'"]),
        ("epsilon = 20.0", "epsilon = 0", ["[target]", "epsilon", "above 0", "0"]),
        ("delta = 1e-5", "delta = 1.0", ["[target]", "delta", "below 1"]),
        ("delta = 1e-5", "", ["[target] needs delta"]),
        ("steps = 2", "steps = 2.5", ["[mechanism] steps", "a whole number", '"best"', "2.5"]),
        ("steps = 2", 'steps = "worst"', ["[mechanism] steps", '"best"', "'worst'"]),
        ("steps = 2", "steps = true", ["[mechanism] steps", "True"]),
        ("steps = 2", "steps = 0", ["[mechanism]", "steps", "at least 1"]),
        ("blocks = 2", "blocks = 0", ["[mechanism]", "blocks", "at least 1"]),
        ("blocks = 2", 'design = "Permuation"', ["[mechanism] design", '"Permutation"', "'Permuation'"]),
        ("clip = 1.0", "clip = -1.0", ["[mechanism]", "clip", "at least 0"]),
        ("clip = 1.0", "clip = nan", ["[mechanism]", "clip", "nan"]),
        ("pairs = 4", "pairs = 0", ["[calibration]", "pairs", "at least 1"]),
        ("pairs = 4", "pairs = 4\nfailure = 1.5", ["[calibration]", "failure", "below 1"]),
        ("lr = 0.1", "lr = -0.1", ["[fine_tune]", "lr", "at least 0"]),
        ("lr = 0.1", 'optimizer = "adan"', ["[fine_tune] optimizer", '"adam"', "'adan'"]),
        ("random = 0.1", "random = 1.5", ["[deletion]", "random", "below 1"]),
        ("random = 0.1", "random = 0.1\nclass = 1", ["[deletion]", "exactly one", "random, class"]),
        ("random = 0.1", "", ["[deletion]", "exactly one", "none"]),
        ("random = 0.1", "random = 0.1\nseed = 3", ["[deletion] seed", "4 or more", "3"]),
        ("retrained = 2", 'baselines = ["retrian"]', ["[audit] baselines", '"retrain"', "retrian"]),
        ('name = "toy"', 'name = "toy"\nworkload = "digits-mlp"', ["[model] factory", "workload", "exclude"]),
        ('factory = "toy:model"', "", ["[model] factory"]),
        ('train = "toy:train"', "", ["[model] train"]),
        ("batch_size = 30", "batch_size = 0", ["[data]", "batch_size"]),
        ("[deletion]\nrandom = 0.1", "", ["[deletion]", "expunge init"]),
        ("[target]", "target = 3\n[elsewhere]", ["elsewhere"]),
        ("epsilon = 20.0", "epsilon = ", ["not valid TOML", "line"]),
    ],
)
def test_what_is_wrong_is_named(place, old, new, told):
    place.change(old, new)
    said = refusal(place)
    assert all(part in said for part in told), said


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path):
    with pytest.raises(DataError, match="expunge init"):
        settings.load(tmp_path / "nothing.toml")


def test_a_table_must_be_a_table(place):
    place.file.write_text(
        "target = 3\n" + place.file.read_text().replace("[target]\nepsilon = 20.0\ndelta = 1e-5\n", "")
    )
    assert "target must be a table" in refusal(place)


def test_values_arrive_where_they_belong(place):
    project = place.load()
    assert (project.target.epsilon, project.target.delta) == (20.0, 1e-5)
    assert (project.mechanism.blocks, project.mechanism.steps, project.mechanism.clip) == (2, 2, 1.0)
    assert (project.deletion.random, project.deletion.class_) == (0.1, None)
    assert project.folder == place.folder / "run"


def test_a_class_is_written_class(place):
    place.change("random = 0.1", "class = 2")
    assert place.load().deletion.class_ == 2
    place.change("class = 2", "class_ = 2")
    assert "Did you mean 'class'?" in refusal(place)


@pytest.mark.parametrize("workload", ["digits-mlp", None])
def test_what_init_writes_can_be_read_and_says_the_defaults(tmp_path, workload):
    """Every line that is commented out is the default, or only an example of its type: with all of them it still reads."""
    place = tmp_path / "expunge.toml"
    text = template.text(name="n", workload=workload)
    place.write_text(text)
    project = settings.load(place)
    assert (project.project.workload, project.deletion.random, project.target.epsilon) == (workload, 0.1, 30.0)
    named = {line.removeprefix("# ").split(" = ")[0] for line in text.splitlines() if " = " in line}
    known = {key for table in settings.tables().values() for key in table.__dataclass_fields__}
    told_elsewhere = {"scale", "public_weights"}  # docs/project.md has them; most projects need neither
    other = {"weights", "loss", "factory", "train", "dataset", "test", "public"} if workload else {"folder"}
    assert {key.rstrip("_") for key in known} - named <= told_elsewhere | other
    assert named - {"class"} <= known
