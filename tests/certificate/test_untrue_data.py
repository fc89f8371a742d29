"""Ways in which the data, or the plan, could be other than the certificate says. Each is refused."""

import json

import pytest
import torch
from paperwork import batches, certified, cross_entropy, network, plan
from torch.utils.data import DataLoader, Subset, TensorDataset

import expunge


def loader_of(indices):
    x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
    return DataLoader(Subset(TensorDataset(x, y), indices), batch_size=4)


@pytest.mark.parametrize("indices", [[0, 1, 19], [0, 1, -1], [*range(20)]])
def test_a_forgotten_sample_in_the_loader_is_found_however_it_is_counted(indices):
    assert not certified(network(), loader=loader_of(indices), forget=[19])


@pytest.mark.parametrize("forget", [[-1], ["a"], 5, "abc", [None], [2**70]], ids=str)
def test_a_forget_set_that_is_no_list_of_indices_is_refused_in_words(forget):
    assert not certified(network(), loader=loader_of(range(10)), forget=forget)


def test_a_function_that_tells_no_indices_proves_nothing():
    assert not certified(network(), loader=loader_of(range(20)), forget=[19], indices=lambda batch: [])


def test_a_plan_with_less_noise_than_it_promises_is_refused():
    made = plan(network())
    text = json.loads(made.to_json())
    text["blocks"][0]["steps"][0]["sigma"] *= 0.999
    with pytest.raises(expunge.BudgetError):
        expunge.unlearn(network(), batches(), cross_entropy, expunge.Plan.from_json(json.dumps(text)))
