"""What `expunge audit` prints for people: a few lines, then one table of the attacks."""

from typing import Any

from .output import figure, print_facts, print_table

ATTACKS = {
    "loss_threshold": "loss threshold",
    "lira": "LiRA (offline)",
    "rmia": "RMIA (offline)",
    "u_lira": "U-LiRA",
}


def show(answer: dict[str, Any]) -> None:
    """Accuracy, distance, promise, attacks, warnings."""
    found = answer["audit"]
    print_facts([("model", answer["target"]), *_accuracy(found), *_distance(found), *_promise(answer)])
    print()
    _attacks(found["mia"])
    for warning in found["warnings"]:
        print(f"\nWARNING  {warning}")


def _accuracy(found: dict[str, Any]) -> list[tuple[str, str]]:
    rates = found["accuracy"]
    kept = rates["test_retained_classes"]
    return [
        ("accuracy", f"forgotten {rates['forget']:.2%} (UA {found['ua']:.2%})   retained (RA) {rates['retain']:.2%}   "
         f"test (TA) {rates['test']:.2%}" + ("" if kept is None else f", over retained classes {kept:.2%}")),
    ]  # fmt: skip


def _distance(found: dict[str, Any]) -> list[tuple[str, str]]:
    apart = found["to_retrained"]
    if apart is None:
        return []
    gaps = "   ".join(f"{name.replace('_', ' ')} {gap:+.2%}" for name, gap in apart["accuracy_gap"].items())
    weights = "" if apart["weights"] is None else f"   weights {figure(apart['weights'])}"
    return [
        ("minus retrained", gaps),
        ("from retrained", f"KL {figure(apart['kl'])} nats   disagreement {apart['disagreement']:.2%} (test samples)"
         + weights),
    ]  # fmt: skip


def _promise(answer: dict[str, Any]) -> list[tuple[str, str]]:
    lines, promise, bound = list[tuple[str, str]](), answer["certificate"], answer["lower_bound"]
    if promise is not None:
        most = promise["allowed"]
        budget = f"epsilon {figure(promise['epsilon'])} at delta {promise['delta']:g}, mu {figure(promise['mu'])}"
        game = "telling unlearned from retrained-then-unlearned"
        rates = f"AUC {most['auc']:.4f}, TPR {most['tpr_at_1']:.2%} at 1 % FPR"
        lines += [(promise["kind"], budget), ("allows at most", f"{rates}, for {game}")]
    if bound is not None:
        proved = f"epsilon >= {figure(bound['epsilon'])}; mu >= {figure(bound['mu'])}, so "
        proved += f"epsilon >= {figure(bound['epsilon_if_gaussian'])} if Gaussian"
        terms = f"delta {bound['delta']:g}, confidence {bound['confidence']:g}, {sum(bound['runs']):,} runs"
        lines.append(("runs prove", f"{proved} ({terms})"))
    return lines


def _attacks(mia: dict[str, Any]) -> None:
    efficacy = {name[4:]: result for name, result in mia.items() if name.startswith("svc_")}
    print_table(
        ["MIA-Efficacy by", "taken for non-members", "separates"],
        [[name.replace("_", " "), f"{r['efficacy']:.2%}", f"{r['separates']:.2%}"] for name, r in efficacy.items()],
    )
    print()
    rows = [(title, mia[name]) for name, title in ATTACKS.items() if name in mia]
    print_table(
        ["attack", "AUC", "95 % interval", "TPR at 1 % FPR", "at 0.1 %"],
        [[title, f"{r['auc']:.4f}", f"{r['interval'][0]:.4f} to {r['interval'][1]:.4f}", _rate(r["tpr_at_1"]),
          _rate(r["tpr_at_01"])] for title, r in rows],
    )  # fmt: skip


def _rate(value: float | None) -> str:
    return "too few" if value is None else f"{value:.2%}"
