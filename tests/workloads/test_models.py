"""The paper's models: sizes, shapes, initialisation from a seed."""

import pytest
import torch
from safetensors.torch import save_file

from expunge import weights
from expunge.errors import ConfigError, DataError
from expunge.workloads import MODELS, build

SIZES = {
    "mlp": 4_364_554,
    "digits_mlp": 26_122,
    "resnet18": 11_173_962,
    "resnet8": 78_042,
    "resnet20": 272_474,
    "vit_tiny": 5_526_346,
}
INPUTS = {
    "mlp": (1, 28, 28),
    "digits_mlp": (1, 8, 8),
    "resnet18": (3, 32, 32),
    "resnet8": (3, 32, 32),
    "resnet20": (3, 32, 32),
    "vit_tiny": (3, 224, 224),
}

pytestmark = pytest.mark.usefixtures("vision")  # for timm


@pytest.mark.parametrize("name", MODELS)
def test_number_of_parameters_and_shape_of_the_answer(name):
    model = build(name, seed=0)
    assert sum(parameter.numel() for parameter in model.parameters()) == SIZES[name]
    with torch.no_grad():
        assert model.eval()(torch.zeros(2, *INPUTS[name])).shape == (2, 10)


def test_the_papers_mlp_has_the_papers_layers():
    model = build("mlp", seed=0)
    assert [tuple(p.shape) for name, p in model.named_parameters() if name.endswith("weight")] == [
        (2048, 784), (1024, 2048), (512, 1024), (256, 512), (10, 256),
    ]  # fmt: skip
    assert list(dict(model.named_children())) == ["fc1", "fc2", "fc3", "fc4", "fc5"]
    x, h = torch.randn(3, 1, 28, 28), None
    h = x.reshape(3, 784)
    for i in range(1, 6):
        layer = model.get_submodule(f"fc{i}")
        h = h @ layer.weight.T + layer.bias
        h = h.clamp(min=0) if i < 5 else h
    torch.testing.assert_close(model(x), h)


def test_the_resnet_is_the_cifar_one():
    model = build("resnet18", seed=0)
    stages = []
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        stage.register_forward_hook(lambda _, __, out: stages.append(tuple(out.shape[1:])))
    model(torch.zeros(2, 3, 32, 32))
    assert stages == [(64, 32, 32), (128, 16, 16), (256, 8, 8), (512, 4, 4)]
    assert model.conv1.weight.std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.1)


@pytest.mark.parametrize("name", ["digits_mlp", "resnet18", "vit_tiny"])
def test_a_seed_gives_one_model_and_leaves_the_generator_alone(name):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first, again, other = (weights.digest(build(name, seed=seed).state_dict()) for seed in (0, 0, 1))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), state)


def test_a_vit_for_smaller_images():
    model = build("vit_tiny", seed=0, image_size=64)
    assert model(torch.zeros(2, 3, 64, 64)).shape == (2, 10)
    assert len(model.blocks) == 12


def test_pretrained_weights_from_a_file(tmp_path):
    """Another classifier stays out; everything else comes in, or it is an error."""
    trained = build("vit_tiny", seed=7, image_size=64).state_dict()
    path = tmp_path / "vit.safetensors"
    save_file({**trained, "head.weight": torch.zeros(1000, 192), "head.bias": torch.zeros(1000)}, path)
    model = build("vit_tiny", seed=0, image_size=64, weights=path)
    fresh = build("vit_tiny", seed=0, image_size=64).state_dict()
    for name, value in model.state_dict().items():
        assert torch.equal(value, fresh[name] if name.startswith("head.") else trained[name]), name
    save_file({name: value for name, value in trained.items() if "blocks.3" not in name}, path)
    with pytest.raises(DataError, match=r"12 tensors are missing or of another shape, such as blocks\.3\."):
        build("vit_tiny", seed=0, image_size=64, weights=path)
    with pytest.raises(DataError, match=r"of another shape, such as fc1\.bias"):
        build("digits_mlp", seed=0, weights=path)


def test_an_unknown_model_is_refused():
    with pytest.raises(
        ConfigError, match="must be one of mlp, digits_mlp, resnet18, resnet8, resnet20, vit_tiny; got 'gpt'"
    ):
        build("gpt", seed=0)
    with pytest.raises(ConfigError, match=r"seed must be a whole number; got 1\.5"):
        build("mlp", seed=1.5)
