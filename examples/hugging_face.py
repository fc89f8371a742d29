"""A transformers model and dict batches: train, calibrate, plan, unlearn, certify, verify.

The model is built from a configuration, so nothing is downloaded. Run it: python examples/hugging_face.py
"""

import torch
from torch.utils.data import DataLoader, Dataset, Subset
from transformers import BertConfig, BertForSequenceClassification

import expunge
from expunge.workloads import RandomDeletion, split

WORDS, LENGTH = 40, 12


class Sentences(Dataset):
    """Sequences of words; the label says which half of the vocabulary fills them. Samples are dicts, as from a tokenizer."""

    def __init__(self, count: int, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(count) % 2
        noise = torch.randint(WORDS // 2, (count, LENGTH), generator=random)
        self.words = noise + self.labels[:, None] * (WORDS // 2)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {
            "input_ids": self.words[index],
            "attention_mask": torch.ones(LENGTH, dtype=torch.int64),
            "labels": self.labels[index],
        }


def build(seed: int) -> BertForSequenceClassification:
    """A very small BERT, freshly initialised."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=WORDS, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=LENGTH, initializer_range=0.2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return BertForSequenceClassification(config)


def loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """A batch is whatever the loader gives; the model computes its own loss."""
    return model(**batch).loss


def train(stream: Dataset, seed: int) -> torch.nn.Module:
    """As calibration wants it: the same stream and seed give the same model."""
    model = build(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    random = torch.Generator().manual_seed(seed)
    for _ in range(2):
        for batch in DataLoader(stream, 20, shuffle=True, generator=random):
            optimizer.zero_grad()
            loss(model, batch).backward()
            optimizer.step()
    return model


def accuracy(model: torch.nn.Module, dataset: Dataset) -> float:
    """On unseen sentences."""
    batch = next(iter(DataLoader(dataset, len(dataset))))
    with torch.inference_mode():
        return (model(**batch).logits.argmax(-1) == batch["labels"]).float().mean().item()


def main() -> None:
    """The whole way."""
    dataset, unseen, deletion = Sentences(400, seed=0), Sentences(400, seed=1), RandomDeletion(0.05)
    calibration = expunge.calibrate(train, dataset, deletion, pairs=5)
    model = train(dataset, seed=0)
    print(f"trained: test accuracy {accuracy(model, unseen):.1%}; {calibration.summary()}")

    goes = split(dataset, deletion, seed=1000)
    retained = DataLoader(Subset(dataset, goes.retain.tolist()), 20, shuffle=True)
    plan = expunge.plan(
        model, blocks=expunge.Permutation(2), proximity=calibration, epsilon=20, delta=1e-5, clip=0.0, step_size=0.0
    )
    recipe = expunge.FineTune(steps=30, optimizer="adam", lr=3e-3)
    outcome = expunge.unlearn(
        model, retained, loss, plan, fine_tune=recipe, forget=goes.forget.tolist(),
        public=["bert.embeddings.*_ids"],  # buffers that number the positions: they hold nothing of the data
    )  # fmt: skip
    for finding in expunge.verify(outcome.certificate, model)[:3]:
        print(f"{finding.name}: {finding.detail}")
    print(f"unlearned: epsilon {outcome.certificate.epsilon:.4g}, test accuracy {accuracy(model, unseen):.1%}")


if __name__ == "__main__":
    main()
