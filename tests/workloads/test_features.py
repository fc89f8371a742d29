"""Features of a frozen backbone: the right ones, and computed once."""

from dataclasses import replace

import pytest
import torch

from expunge import weights
from expunge.errors import ConfigError, DataError
from expunge.workloads import Backbone, Dataset, extract, features
from expunge.workloads import vision as libraries


@pytest.fixture(scope="module")
def pictures():
    chance = torch.Generator().manual_seed(0)
    images = torch.randint(256, (12, 3, 32, 32), generator=chance).to(torch.uint8)
    labels = torch.arange(12) % 3
    return Dataset("pictures", images[:8], labels[:8], images[8:], labels[8:], 3, (0.0,) * 3, (1.0,) * 3)


@pytest.fixture(scope="module")
def small_weights(tmp_path_factory, vision):
    path = tmp_path_factory.mktemp("weights") / "squeeze.pth"
    torch.manual_seed(0)
    torch.save(libraries.torchvision().models.shufflenet_v2_x0_5(weights=None).state_dict(), path)
    return path


@pytest.fixture
def backbone(small_weights):
    return Backbone("shufflenet_v2_x0_5", small_weights, image_size=64)


def test_features_are_what_enters_the_last_linear_layer(backbone, pictures, tmp_path):
    told = []
    found = extract(backbone, pictures, cache=tmp_path, batch_size=5, progress=lambda *row: told.append(row))
    assert (found.inputs.shape, found.test_inputs.shape) == ((8, 1024), (4, 1024))
    assert told == [(5, 12), (8, 12), (12, 12)]
    assert found.name == "pictures+shufflenet_v2_x0_5"
    assert torch.equal(found.labels, pictures.labels)
    model = backbone.build()
    with torch.no_grad():
        scores = model(backbone.prepare(pictures.inputs))
    torch.testing.assert_close(model.fc(found.inputs), scores, atol=1e-4, rtol=1e-4)


def test_a_second_time_they_come_from_disk(backbone, pictures, tmp_path, monkeypatch):
    first = extract(backbone, pictures, cache=tmp_path)
    monkeypatch.setattr(features, "_run", None)  # calling it would fail
    again = extract(backbone, pictures, cache=tmp_path)
    assert torch.equal(first.inputs, again.inputs)
    assert first.sha256 == again.sha256
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda content: content[:-100], lambda content: b""])
def test_a_damaged_cache_is_no_features(backbone, pictures, tmp_path, damage):
    extract(backbone, pictures, cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    with pytest.raises(
        DataError, match=r"features-.* is not a file of weights.*Delete it, and they are computed again"
    ):
        extract(backbone, pictures, cache=tmp_path)


def test_another_file_in_the_caches_place_is_no_features(backbone, pictures, tmp_path):
    extract(backbone, pictures, cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    weights.save({"inputs": torch.zeros(8, 3)}, kept)
    with pytest.raises(DataError, match="is no cache of features"):
        extract(backbone, pictures, cache=tmp_path)


def test_other_data_weights_or_preprocessing_are_other_features(backbone, pictures, small_weights, tmp_path):
    extract(backbone, pictures, cache=tmp_path)
    extract(replace(backbone, image_size=32), pictures, cache=tmp_path)
    extract(backbone, replace(pictures, inputs=pictures.inputs.flip(0)), cache=tmp_path)
    state = torch.load(small_weights, weights_only=True)
    state["fc.bias"] += 1
    torch.save(state, tmp_path / "other.pth")
    extract(replace(backbone, weights=tmp_path / "other.pth"), pictures, cache=tmp_path)
    torch.save({**state, "fc.bias": state["fc.bias"] - 1}, tmp_path / "moved.pth")
    assert len(list(tmp_path.glob("*.safetensors"))) == 4
    extract(backbone, replace(pictures, name="renamed"), cache=tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) == 4


def test_a_samples_features_depend_on_that_sample_alone(backbone, pictures, tmp_path):
    alone = replace(pictures, inputs=pictures.inputs[:1], labels=pictures.labels[:1])
    one, all_of_them = (extract(backbone, data, cache=tmp_path).inputs for data in (alone, pictures))
    torch.testing.assert_close(one[0], all_of_them[0], atol=1e-5, rtol=1e-4)


def test_grey_images_become_colour(backbone, pictures):
    grey = backbone.prepare(pictures.inputs[:, :1])
    assert grey.shape == (8, 3, 64, 64)


def test_a_timm_backbone(timm, pictures, tmp_path):
    name = "resnet18"
    path = tmp_path / "weights.pth"
    torch.save(libraries.timm().create_model(name, pretrained=False).state_dict(), path)
    found = extract(Backbone(name, path, "timm", image_size=32), pictures, cache=tmp_path)
    assert found.inputs.shape == (8, 512)


def test_what_does_not_fit_is_refused(backbone, pictures, small_weights, tmp_path):
    with pytest.raises(DataError, match="does not fit mobilenet_v2"):
        Backbone("mobilenet_v2", small_weights).build()
    with pytest.raises(ConfigError, match="torchvision has no model 'resnet1800'"):
        Backbone("resnet1800", small_weights).build()
    with pytest.raises(ConfigError, match="library must be torchvision or timm; got 'keras'"):
        Backbone("resnet18", small_weights, "keras").build()
    with pytest.raises(DataError, match="cannot read"):
        Backbone("resnet18", tmp_path / "nowhere.pth").build()
    with pytest.raises(DataError, match="needs uint8 images"):
        backbone.prepare(pictures.inputs.float())


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(libraries, "import_module", missing)
    with pytest.raises(ConfigError, match=r"needs timm .*pip install 'expunge\[vision\]'"):
        libraries.timm()


def test_public_mobilenet_features_tell_ships_from_frogs(vision, shared, real, tmp_path):
    """Real weights, real images: a nearest-class-mean rule on 120 images is far above chance."""
    from expunge.workloads import load

    cifar = load("cifar10", real)
    train, test = ((labels == 8) | (labels == 6) for labels in (cifar.labels[:600], cifar.test_labels[:300]))
    two = replace(
        cifar,
        inputs=cifar.inputs[:600][train],
        labels=cifar.labels[:600][train],
        test_inputs=cifar.test_inputs[:300][test],
        test_labels=cifar.test_labels[:300][test],
    )
    found = extract(
        Backbone("mobilenet_v2", shared / "weights" / "mobilenet_v2-b0353104.pth", image_size=64), two, cache=tmp_path
    )
    assert found.inputs.shape[1] == 1280
    means = torch.stack([found.inputs[found.labels == label].mean(0) for label in (6, 8)])
    guesses = torch.cdist(found.test_inputs, means).argmin(1) * 2 + 6
    assert (guesses == found.test_labels).float().mean() > 0.9
