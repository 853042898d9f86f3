"""The laws of a record chain (docs/spec/history.md): what makes a record certified after its predecessor."""

from __future__ import annotations

from typing import Any, NamedTuple

from .curves import is_signed
from .encoding import hash_id, refuse
from .identity import id_bytes, verify_card
from .values import history_record


def quorum(n: int) -> int:
    return n if n < 4 else n - (n - 1) // 3


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
    order = [id_bytes(agent_id) for agent_id in ids]
    if any(left >= right for left, right in zip(order, order[1:])):
        refuse("members do not stand in increasing order of their decoded ids")
    if len({card["agentName"] for card in cards}) != len(cards):
        refuse("a name is repeated in the membership")
    identity = {"kind": "conversation_identity", "memberAgentIds": ids}
    if value["conversationId"] != hash_id("cnv_", "conversation", identity):
        refuse("the conversation id is not that of these members")
    return Members(value["conversationId"], hash_id("mbr_", "membership", value), dict(zip(ids, cards)))


class Chain:
    """A verified chain as far as it has been read: a record is judged against it, then becomes its head."""

    def __init__(self, registry_key: str) -> None:
        self.registry_key = registry_key
        self.members: Members | None = None
        self.height = -1
        self.record_hash: str | None = None
        self.anchor_hash: str | None = None
        self.posts: set[tuple[str, str]] = set()

    def append(self, record: Any) -> None:
        history_record(record)
        core = record["recordCore"]
        action = core["action"]
        members = self._verify_position(core)
        self._verify_hashes(record, members)
        self._verify_anchor(record)
        author = action["authorAgentId"]
        if author not in members.cards:
            refuse("the author is not a member")
        post = (author, action["postIntent"]["postId"])
        if post in self.posts:
            refuse("the author used this post id in an earlier record")
        self._verify_evidence(record, members)
        self.members, self.height = members, action["height"]
        self.record_hash, self.anchor_hash = record["recordHash"], core["anchorHash"]
        self.posts.add(post)

    def _verify_position(self, core: dict[str, Any]) -> Members:
        action = core["action"]
        if action["kind"] == "genesis":
            if self.members is not None:
                refuse("a GENESIS stands only at the beginning of a chain")
            return verify_membership(core["membership"], self.registry_key)
        if self.members is None:
            refuse("a chain begins with a GENESIS")
        if action["height"] != self.height + 1 or action["previousRecordHash"] != self.record_hash:
            refuse("the record does not directly follow its predecessor")
        if core["membershipHash"] != self.members.membership_hash:
            refuse("the record names another membership")
        return self.members

    def _verify_hashes(self, record: dict[str, Any], members: Members) -> None:
        core = record["recordCore"]
        action = core["action"]
        intent = action["postIntent"]
        for part in (action, intent):
            if part["conversationId"] != members.conversation_id or part["membershipHash"] != members.membership_hash:
                refuse("a part names another conversation or membership")
        if intent["authorAgentId"] != action["authorAgentId"]:
            refuse("the intent is another author's")
        if action["postIntentHash"] != hash_id("pit_", "post-intent", intent):
            refuse("the post intent's hash does not recompute")
        if core["actionHash"] != hash_id("ach_", "action", action):
            refuse("the action's hash does not recompute")
        if record["recordHash"] != hash_id("rch_", "record", core):
            refuse("the record's hash does not recompute")

    def _verify_anchor(self, record: dict[str, Any]) -> None:
        core = record["recordCore"]
        action, anchor = core["action"], record["routerAnchor"]
        if anchor["kind"] != "genesis_anchor" or record["durabilityAnchor"] is not None:
            refuse("the record stands under a completed re-anchor, which this verifier does not check")
        if core["anchorHash"] != hash_id("anc_", "anchor", anchor):
            refuse("the enclosed anchor is not the one that the record names")
        if action["kind"] == "genesis":
            if action["anchor"] != anchor or anchor["round"] != 0:
                refuse("the GENESIS does not carry its own anchor of round 0")
            if (
                anchor["conversationId"] != action["conversationId"]
                or anchor["membershipHash"] != action["membershipHash"]
            ):
                refuse("the anchor is another conversation's")
        elif action["anchorHash"] != core["anchorHash"] or core["anchorHash"] != self.anchor_hash:
            refuse("the record names an anchor that its chain has not accepted")

    def _verify_evidence(self, record: dict[str, Any], members: Members) -> None:
        core = record["recordCore"]
        action = core["action"]
        n = len(members.cards)
        vote = {
            "conversationId": action["conversationId"],
            "height": action["height"],
            "previousRecordHash": action["previousRecordHash"],
            "anchorHash": core["anchorHash"],
            "recordHash": record["recordHash"],
        }
        action_threshold = n if action["kind"] == "genesis" else quorum(n)
        if all(entry["signerAgentId"] != action["authorAgentId"] for entry in record["actionSignatures"]):
            refuse("the action certificate lacks its author")
        verify_votes(
            members,
            record["actionSignatures"],
            action_threshold,
            vote | {"kind": "action_vote", "actionHash": core["actionHash"]},
        )
        verify_votes(members, record["durabilityVotes"], quorum(n), vote | {"kind": "durability_vote"})


def verify_votes(members: Members, evidence: list[dict[str, str]], threshold: int, vote: dict[str, Any]) -> None:
    if len(evidence) < threshold:
        refuse(f"{len(evidence)} signers where {threshold} are needed")
    for entry in evidence:
        card = members.cards.get(entry["signerAgentId"])
        if card is None:
            refuse("a signer is not a member")
        statement = vote | {"signerAgentId": entry["signerAgentId"]}
        if not is_signed(card["signingKey"], vote["kind"].replace("_", "-"), statement, entry["signature"]):
            refuse(f"the {vote['kind'].replace('_', ' ')} of {card['agentName']} does not verify")
