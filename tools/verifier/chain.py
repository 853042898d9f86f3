"""The laws of a record chain (docs/spec/history.md): what makes a record certified after its predecessor."""

from __future__ import annotations

from typing import Any, NamedTuple

from .encoding import hash_id, refuse
from .members import Members, action_threshold, quorum, verify_membership, verify_signers
from .rounds import record_hash, verify_reanchor
from .values import history_record


class Place(NamedTuple):
    """Where a record stands: its height, and the hash and round of the anchor that its action names."""

    height: int
    anchor_hash: str
    round: int


class Chain:
    """A verified chain as far as it has been read: a record is judged against it, then becomes its head."""

    def __init__(self, registry_key: str) -> None:
        self.registry_key = registry_key
        self.members: Members | None = None
        self.record_hash: str | None = None
        # In the order of the chain.
        self.places: dict[str, Place] = {}
        self.posts: set[tuple[str, str]] = set()

    @property
    def height(self) -> int:
        return len(self.places) - 1

    @property
    def head(self) -> Place | None:
        return None if self.record_hash is None else self.places[self.record_hash]

    def append(self, record: Any) -> None:
        history_record(record)
        core = record["recordCore"]
        action = core["action"]
        members = self._verify_position(core)
        self._verify_hashes(record, members)
        anchor = self._verify_action_anchor(record, members)
        stored_under = self._verify_durability_anchor(record, members, anchor["round"])
        author = action["authorAgentId"]
        if author not in members.cards:
            refuse("the author is not a member")
        post = (author, action["postIntent"]["postId"])
        if post in self.posts:
            refuse("the author used this post id in an earlier record")
        self._verify_evidence(record, members, stored_under)
        self.members, self.record_hash = members, record["recordHash"]
        self.places[record["recordHash"]] = Place(action["height"], core["anchorHash"], anchor["round"])
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

    def _verify_action_anchor(self, record: dict[str, Any], members: Members) -> dict[str, Any]:
        """The anchor that the record names, which it must enclose, and which must belong where the record stands."""
        core = record["recordCore"]
        action, enclosed = core["action"], record["routerAnchor"]
        anchor: dict[str, Any] = enclosed if enclosed["kind"] == "genesis_anchor" else enclosed["body"]
        if core["anchorHash"] != hash_id("anc_", "anchor", anchor):
            refuse("the enclosed anchor is not the one that the record names")
        if action["kind"] == "genesis":
            if action["anchor"] != anchor:
                refuse("the GENESIS does not carry its own anchor")
        elif action["anchorHash"] != core["anchorHash"]:
            refuse("action and record name different anchors")
        if (anchor["conversationId"], anchor["membershipHash"]) != (members.conversation_id, members.membership_hash):
            refuse("the anchor is another conversation's")
        head = self.head
        stays = head is not None and head.anchor_hash == core["anchorHash"]
        if enclosed["kind"] == "genesis_anchor":
            if anchor["round"] != 0:
                refuse("a genesis anchor is of round 0")
            if head is not None and not stays:
                refuse("a genesis anchor comes back")
            return anchor
        base, carried = verify_reanchor(members, enclosed)
        if stays:
            return anchor
        if head is not None and anchor["round"] <= head.round:
            refuse("rounds fall, or one round has two anchors")
        if base is None:
            if head is not None and carried is None:
                refuse("the round begins before GENESIS and does not carry it")
        elif not self._is_place(base, anchor["previousAnchorHash"]):
            refuse("the round does not begin at a record of this chain")
        if carried is not None:
            place = self.places.get(carried["recordHash"])
            if place is None or place.height != (0 if base is None else base["height"] + 1):
                refuse("the record that the round carries does not follow its base")
        return anchor

    def _is_place(self, named: dict[str, Any], anchor_hash: str | None) -> bool:
        place = self.places.get(named["recordHash"])
        return place is not None and (place.height, place.anchor_hash) == (named["height"], anchor_hash)

    def _verify_durability_anchor(self, record: dict[str, Any], members: Members, action_round: int) -> str:
        """The hash of the anchor under which the record was stored."""
        enclosed = record["durabilityAnchor"]
        if enclosed is None:
            return str(record["recordCore"]["anchorHash"])
        body = enclosed["body"]
        base, carried = verify_reanchor(members, enclosed)
        if body["round"] <= action_round:
            refuse("the record was stored in a round that is not later than its action's")
        if record_hash(carried) != record["recordHash"]:
            refuse("the record was stored in a round that does not carry it")
        if record_hash(base) != self.record_hash:
            refuse("the record was stored in a round that begins at another record")
        if base is not None and not self._is_place(base, body["previousAnchorHash"]):
            refuse("the round does not begin where its base stands")
        return hash_id("anc_", "anchor", body)

    def _verify_evidence(self, record: dict[str, Any], members: Members, stored_under: str) -> None:
        core = record["recordCore"]
        action = core["action"]
        n = len(members.cards)
        vote = {
            "conversationId": action["conversationId"],
            "height": action["height"],
            "previousRecordHash": action["previousRecordHash"],
            "recordHash": record["recordHash"],
        }
        if all(entry["signerAgentId"] != action["authorAgentId"] for entry in record["actionSignatures"]):
            refuse("the action certificate lacks its author")
        verify_votes(
            members,
            record["actionSignatures"],
            action_threshold(n, action["height"]),
            vote | {"kind": "action_vote", "anchorHash": core["anchorHash"], "actionHash": core["actionHash"]},
        )
        verify_votes(
            members,
            record["durabilityVotes"],
            quorum(n),
            vote | {"kind": "durability_vote", "anchorHash": stored_under},
        )


def verify_votes(members: Members, evidence: list[dict[str, str]], threshold: int, vote: dict[str, Any]) -> None:
    if len(evidence) < threshold:
        refuse(f"{len(evidence)} signers where {threshold} are needed")
    verify_signers(
        members, [(vote | {"signerAgentId": entry["signerAgentId"]}, entry["signature"]) for entry in evidence]
    )
