"""Wrong input is refused with what, got, expected and what to do."""

import pytest
import torch
from classifiers import make
from torch import nn

from expunge.errors import ConfigError, CoverageError, DataError
from expunge.methods import METHODS, Task, Unlearned

NEED_FORGET = ["gradient_ascent", "influence", "salun", "amun"]


@pytest.mark.parametrize("name", NEED_FORGET)
def test_a_method_that_needs_the_data_that_goes(digits, name):
    with pytest.raises(ConfigError, match=rf"{name} looks at the data that goes\. Give Task\(forget="):
        make(name)(digits.task(forget=None))


@pytest.mark.parametrize("name", ["salun", "amun"])
def test_a_class_that_does_not_exist(digits, name):
    wrong = [(digits.inputs[:8], torch.full((8,), 12))]
    with pytest.raises(DataError, match=r"a label is 12, and the model scores classes 0 … 9: there is no such class"):
        make(name)(digits.task(forget=wrong))


@pytest.mark.parametrize("name", ["salun", "amun"])
@pytest.mark.parametrize(
    ("head", "got"), [(nn.Flatten(0), "(512,)"), (nn.Linear(64, 1), "(8, 1)"), (nn.Unflatten(1, (8, 8)), "(8, 8, 8)")]
)
def test_a_model_without_a_classifier(digits, name, head, got):
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), head)
    task = digits.task(model=model, forget=[(digits.inputs[:8], digits.labels[:8])])
    with pytest.raises(ConfigError) as error:
        make(name)(task)
    assert f"{name} needs a classifier: model(inputs) must give one row of scores" in str(error.value)
    assert got in str(error.value)


@pytest.mark.parametrize("name", ["salun", "amun"])
@pytest.mark.parametrize("batch", [torch.zeros(3), {"x": 1}, (torch.zeros(3, 1, 8, 8), torch.zeros(2).long())])
def test_batches_that_are_not_inputs_and_labels(digits, name, batch):
    with pytest.raises(DataError, match=rf"{name} needs batches \(inputs, labels\) of tensors"):
        make(name)(digits.task(forget=[batch]))
    with pytest.raises(DataError, match="needs whole numbers as labels"):
        make(name)(digits.task(forget=[(digits.inputs[:3], torch.zeros(3))]))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("retrain", "gradient_ascent")])
def test_data_that_gives_nothing(digits, name):
    with pytest.raises(DataError, match="gave no batch"):
        make(name)(digits.task(retain=[]))


@pytest.mark.parametrize("name", NEED_FORGET)
def test_forgotten_data_that_give_nothing(digits, name):
    with pytest.raises(DataError, match="gave no batch"):
        make(name)(digits.task(forget=[]))


def test_an_iterator_that_is_used_up(digits):
    with pytest.raises(DataError, match="an iterator that is used up"):
        make("fine_tune", epochs=2)(digits.task(retain=iter(list(digits.task().retain))))


@pytest.mark.parametrize("name", ["retrain", "from_public"])
def test_where_to_begin_must_be_told(digits, name):
    with pytest.raises(ConfigError, match=f"{name} begins at the public initialisation"):
        make(name)(digits.task(fresh=None))
    model = digits.workload.model(0)
    with pytest.raises(ConfigError, match="must make a new module each time"):
        make(name)(digits.task(model=model, fresh=lambda: model))


def test_retraining_must_be_told_how(digits):
    with pytest.raises(ConfigError, match="retrain needs to know how the original was trained"):
        make("retrain")(digits.task(train=None))


@pytest.mark.parametrize("name", ["fine_tune", "salun"])
def test_a_model_with_nothing_to_train(digits, name):
    task = digits.task()
    task.model.requires_grad_(False)
    with pytest.raises(ConfigError, match="no trainable parameter"):
        make(name)(task)


def test_a_certified_method_refuses_frozen_parameters(digits):
    task = digits.task()
    next(task.model.parameters()).requires_grad_(False)
    with pytest.raises(CoverageError, match="frozen"):
        make("output_perturbation")(task)


def test_a_run_that_diverges_gives_no_model(digits):
    with pytest.raises(DataError, match=r"fine_tune: .* is no longer finite\. Lower the learning rate"):
        make("fine_tune", lr=1e6, epochs=20)(digits.task())


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("fine_tune", {"epochs": 0}, "epochs must be a whole number, at least 1; got 0"),
        ("fine_tune", {"steps": 2.5}, "steps must be a whole number"),
        ("gradient_ascent", {"lr": -1.0}, "lr must be a finite number, above 0"),
        ("salun", {"fraction": 1.5}, "fraction must be a finite number, above 0"),
        ("l1_sparse", {"gamma": float("nan")}, "gamma must be a finite number"),
        ("influence", {"fisher_samples": 0}, "fisher_samples must be a whole number"),
        ("amun", {"pass_share": 1.5}, "pass_share must be a finite number, above 0"),
        ("salun", {"pass_share": 0.0}, "pass_share must be a finite number, above 0"),
        ("influence", {"pass_share": 0.0}, "pass_share must be a finite number, above 0"),
        ("amun", {"radius": 0.0}, "radius must be a finite number, above 0"),
        ("output_perturbation", {"keep": 0.0}, "keep must be a finite number, above 0"),
    ],
)
def test_hyper_parameters_are_checked(name, values, told):
    with pytest.raises(ConfigError) as error:
        make(name, **values)
    assert told in str(error.value)


def test_a_loss_that_is_no_function_and_one_that_is_no_number(digits):
    with pytest.raises(ConfigError, match=r"a task needs a torch.nn.Module and a loss"):
        digits.task(loss=None)
    with pytest.raises(ConfigError, match="must return a scalar tensor"):
        make("fine_tune")(digits.task(loss=lambda model, batch: model(batch[0])))


def test_a_loss_with_parameters_is_still_refused_where_it_would_be_certified(digits):
    class Leaky(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(10, 10)

        def forward(self, model, batch):
            return nn.functional.cross_entropy(self.inner(model(batch[0])), batch[1])

    with pytest.raises(CoverageError, match="the loss holds tensors that are not the model's"):
        make("output_perturbation")(digits.task(loss=Leaky()))


def test_no_empirical_method_can_carry_a_certificate(digits):
    done = make("output_perturbation", simulate=0)(digits.task())
    with pytest.raises(ConfigError, match="a certificate belongs to certified methods, and to no other"):
        Unlearned("salun", "empirical", done.model, done.certificate, 1, 1, 1.0)
    with pytest.raises(ConfigError, match="a certificate belongs to certified methods"):
        Unlearned("nft", "certified", done.model, None, 1, 1, 1.0)
    assert isinstance(digits.task(), Task)
