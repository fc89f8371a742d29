"""One deletion request after another on one model: what each cost, what is left, and when to retrain.

    head = Head(features, labels, classes=10, l2=1e-3, gradient=1e-5)
    model = head.train()
    ledger = Ledger.begin("requests", model, epsilon=1, delta=1e-5)
    head.carry_out(ledger, model, [17, 4711])

docs/requests.md says which proximity a second request may rest on, and why.
"""

from .head import Head
from .ledger import Ledger
from .pipeline import Pipeline

__all__ = ["Head", "Ledger", "Pipeline"]
