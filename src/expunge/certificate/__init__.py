"""Certificates: issued from a ledger, verified by anyone, re-certified when the proximity is known better."""

from .document import Certificate
from .issue import history, issue
from .recertify import recertify
from .signing import sign
from .verify import Finding, load, verify

__all__ = ["Certificate", "Finding", "history", "issue", "load", "recertify", "sign", "verify"]
