"""A comparison as results of a request (expunge.results/1), which the report makes a page of."""

from statistics import fmean
from typing import Any

from .case import open_view
from .request import Request


def results(request: Request, document: dict[str, Any]) -> dict[str, Any]:
    """The comparison, and what was asked. It releases no model, so there is no certificate; the page says so."""
    view, parts = open_view(request), request.split(request.seeds[0])
    before = [found["audit"]["accuracy"]["test"] for found in document["originals"]]
    parameters = sum(parameter.numel() for parameter in view.workload.model(0).parameters())
    says = " ".join(map(str, document["deletion"].values()))
    return {
        "schema": "expunge.results/1",
        "created": document["created"],
        "command": document["command"],
        "refused": "This page compares methods, and releases no model.",
        "asked": {
            "project": f"{request.workload}: ways to unlearn",
            "model": {"name": view.workload.recipe.model, "parameters": parameters, "accuracy": fmean(before)},
            "data": {"name": view.workload.dataset.name, "training": parts.size, "test": len(view.test_labels)},
            "deletion": {"kind": document["deletion"]["kind"], "says": says, "removed": len(parts.forget)},
            "target": document["target"],
        },
        "comparison": document,
    }
