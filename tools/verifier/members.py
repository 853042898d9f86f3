"""Who a conversation is between, and how many of them each certificate needs (docs/spec/history.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

from .curves import is_signed
from .encoding import hash_id, refuse
from .identity import id_bytes, verify_card


def faults(n: int) -> int:
    """Members that may be arbitrarily faulty."""
    return 0 if n < 4 else (n - 1) // 3


def quorum(n: int) -> int:
    return n - faults(n)


def action_threshold(n: int, height: int) -> int:
    return n if height == 0 else quorum(n)


class Members(NamedTuple):
    conversation_id: str
    membership_hash: str
    cards: dict[str, dict[str, Any]]

    @property
    def names(self) -> list[str]:
        return [card["agentName"] for card in self.cards.values()]


def verify_membership(value: dict[str, Any], registry_key: str) -> Members:
    cards = [verify_card(encoded, registry_key) for encoded in value["members"]]
    ids = [card["agentId"] for card in cards]
    if not increasing(ids):
        refuse("members do not stand in increasing order of their decoded ids")
    if len({card["agentName"] for card in cards}) != len(cards):
        refuse("a name is repeated in the membership")
    identity = {"kind": "conversation_identity", "memberAgentIds": ids}
    if value["conversationId"] != hash_id("cnv_", "conversation", identity):
        refuse("the conversation id is not that of these members")
    return Members(value["conversationId"], hash_id("mbr_", "membership", value), dict(zip(ids, cards)))


def increasing(ids: list[str]) -> bool:
    order = [id_bytes(one) for one in ids]
    return all(left < right for left, right in zip(order, order[1:]))


def verify_signers(members: Members, signed: list[tuple[dict[str, Any], str]]) -> None:
    """Each statement is the true word of the member that it names, and no member speaks twice."""
    if not increasing([statement["signerAgentId"] for statement, _ in signed]):
        refuse("signers do not stand in increasing order of their decoded ids")
    for statement, signature in signed:
        kind = statement["kind"]
        card = members.cards.get(statement["signerAgentId"])
        if card is None:
            refuse("a signer is not a member")
        if not is_signed(card["signingKey"], kind.replace("_", "-"), statement, signature):
            refuse(f"the {kind.replace('_', ' ')} of {card['agentName']} does not verify")
