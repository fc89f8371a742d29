import pytest
import torch
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors are faster on one thread, and other tests run beside these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """Paths of a private key, its public key, and the public key of somebody else."""
    folder = tmp_path_factory.mktemp("keys")
    paths = [folder / name for name in ("key.pem", "public.pem", "other.pem")]
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    paths[0].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for path, owner in zip(paths[1:], (key, other), strict=True):
        path.write_bytes(owner.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return paths
