"""Later rounds (docs/spec/history.md): what statements decide, and what makes an action void."""

from __future__ import annotations

from typing import Any, NamedTuple

from .encoding import refuse
from .identity import id_bytes, without
from .members import Members, action_threshold, faults, quorum, verify_signers


class Decision(NamedTuple):
    """`base` is the certified head that a round begins at, `carried` the prepared record that goes first in it."""

    base: dict[str, Any] | None
    carried: dict[str, Any] | None


def decide(statements: list[dict[str, Any]]) -> Decision:
    heads = [statement["head"] for statement in statements if statement["head"] is not None]
    top = max((head["height"] for head in heads), default=-1)
    highest = {head["recordHash"] for head in heads if head["height"] == top}
    if len(highest) > 1:
        refuse("two stated heads of one height contradict each other")
    base = {"recordHash": highest.pop(), "height": top} if highest else None
    above = [
        prepared
        for prepared in (statement["prepared"] for statement in statements)
        if prepared is not None and prepared["height"] == top + 1
    ]
    if not above:
        return Decision(base, None)
    best = min(above, key=lambda prepared: (-prepared["round"], id_bytes(prepared["recordHash"])))
    return Decision(base, {"recordHash": best["recordHash"], "round": best["round"]})


def verify_reanchor(members: Members, completed: dict[str, Any]) -> Decision:
    """What a completed re-anchor decides, or Refused. Whether its records are true is for the chain."""
    body, statements = completed["body"], completed["statements"]
    if body["round"] == 0:
        refuse("a re-anchor begins a round after the first")
    if (body["conversationId"], body["membershipHash"]) != (members.conversation_id, members.membership_hash):
        refuse("the re-anchor is another conversation's")
    if len(statements) < quorum(len(members.cards)):
        refuse("the re-anchor has too few statements")
    place = ("conversationId", "membershipHash", "round", "routerInstanceId")
    if any(statement[name] != body[name] for statement in statements for name in place):
        refuse("a statement speaks of another membership, round or Router instance")
    verify_signers(members, [(without(statement, "signature"), statement["signature"]) for statement in statements])
    decision = decide(statements)
    if body["baseRecordHash"] != record_hash(decision.base) or body["carriedRecordHash"] != record_hash(decision.carried):
        refuse("the re-anchor's body is not what its statements decide")
    if (body["previousAnchorHash"] is None) != (decision.base is None):
        refuse("the re-anchor names an anchor before its base, and only where there is one")
    return decision


def record_hash(named: dict[str, Any] | None) -> str | None:
    return None if named is None else str(named["recordHash"])


def refusals_needed(n: int, height: int) -> int:
    return faults(n) + (n - action_threshold(n, height)) + 1


def verify_void(members: Members, action_hash: str, height: int, refusals: list[dict[str, Any]]) -> None:
    """Whether refusals prove that an action can never be certified, or Refused."""
    needed = refusals_needed(len(members.cards), height)
    if len(refusals) < needed:
        refuse(f"{len(refusals)} refusals where {needed} are needed")
    if any(refusal["actionHash"] != action_hash for refusal in refusals):
        refuse("a refusal speaks of another action")
    verify_signers(members, [(without(refusal, "signature"), refusal["signature"]) for refusal in refusals])
