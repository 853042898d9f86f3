"""Values, evidence and packets of conversations (docs/spec/history.md): shapes only, chain.py says what is true."""

from __future__ import annotations

from typing import Any

from .encoding import canonical_decode, canonical_text, depth_of, refuse
from .identity import AGENT_ID, ID, SIGNATURE, encoded_card, id_bytes
from .shapes import (
    Check,
    boolean,
    either,
    exactly,
    extended,
    list_of,
    natural,
    null,
    nullable,
    shape,
    text,
    text_matching,
)

CONTENT_BYTES_MAX, CONTENT_DEPTH_MAX = 262_144, 10
PACKET_BYTES_MAX, LINE_BYTES_MAX, DEPTH_MAX = 380_000, 1_048_576, 24
MEMBERS_MAX = 32

OPAQUE = ID["history_continuation"]
CONVERSATION_ID, MEMBERSHIP_HASH = ID["conversation_id"], ID["membership_hash"]
RECORD_HASH, ANCHOR_HASH, ACTION_HASH = ID["record_hash"], ID["anchor_hash"], ID["action_hash"]


def any_json(value: Any) -> None:
    """The value of a data part: any finite JSON, which canonical decoding has already seen to."""


content_parts = list_of(
    either(
        shape(type=exactly("text"), text=text),
        shape(type=exactly("data"), value=any_json),
    ),
    least=1,
)


def content(value: Any) -> None:
    content_parts(value)
    spelled = canonical_text(value)
    if len(spelled.encode("utf-8")) > CONTENT_BYTES_MAX:
        refuse(f"content of more than {CONTENT_BYTES_MAX} bytes")
    if depth_of(spelled) > CONTENT_DEPTH_MAX:
        refuse(f"content nests deeper than {CONTENT_DEPTH_MAX}")


membership = shape(
    kind=exactly("membership"),
    conversationId=CONVERSATION_ID,
    members=list_of(encoded_card, 2, MEMBERS_MAX),
)
post_intent = shape(
    kind=exactly("post_intent"),
    conversationId=CONVERSATION_ID,
    membershipHash=MEMBERSHIP_HASH,
    authorAgentId=AGENT_ID,
    postId=ID["post_id"],
    content=content,
)
genesis_anchor = shape(
    kind=exactly("genesis_anchor"),
    conversationId=CONVERSATION_ID,
    membershipHash=MEMBERSHIP_HASH,
    round=natural(),
    routerInstanceId=ID["router_instance_id"],
)
reanchor_body = shape(
    kind=exactly("reanchor_body"),
    conversationId=CONVERSATION_ID,
    membershipHash=MEMBERSHIP_HASH,
    round=natural(),
    routerInstanceId=ID["router_instance_id"],
    previousAnchorHash=nullable(ANCHOR_HASH),
    baseRecordHash=nullable(RECORD_HASH),
    carriedRecordHash=nullable(RECORD_HASH),
)
anchor = either(genesis_anchor, reanchor_body)
action_fields: dict[str, Check] = {
    "conversationId": CONVERSATION_ID,
    "membershipHash": MEMBERSHIP_HASH,
    "authorAgentId": AGENT_ID,
    "postIntent": post_intent,
    "postIntentHash": ID["post_intent_hash"],
}
genesis_action = shape(
    kind=exactly("genesis"),
    height=exactly(0),
    anchor=anchor,
    previousRecordHash=null,
    **action_fields,
)
post_action = shape(
    kind=exactly("post"),
    height=natural(1),
    anchorHash=ANCHOR_HASH,
    previousRecordHash=RECORD_HASH,
    **action_fields,
)
genesis_core = shape(
    kind=exactly("record_core"),
    membership=membership,
    anchorHash=ANCHOR_HASH,
    action=genesis_action,
    actionHash=ACTION_HASH,
)
post_core = shape(
    kind=exactly("record_core"),
    membershipHash=MEMBERSHIP_HASH,
    anchorHash=ANCHOR_HASH,
    action=post_action,
    actionHash=ACTION_HASH,
)
record_core = either(genesis_core, post_core)

vote_fields: dict[str, Check] = {
    "signerAgentId": AGENT_ID,
    "conversationId": CONVERSATION_ID,
    "height": natural(),
    "previousRecordHash": nullable(RECORD_HASH),
    "anchorHash": ANCHOR_HASH,
    "recordHash": RECORD_HASH,
}
action_vote = shape(kind=exactly("action_vote"), actionHash=ACTION_HASH, **vote_fields)
durability_vote = shape(kind=exactly("durability_vote"), **vote_fields)
carry_vote = shape(kind=exactly("carry_vote"), **vote_fields)
reanchor_statement = shape(
    kind=exactly("reanchor_statement"),
    signerAgentId=AGENT_ID,
    conversationId=CONVERSATION_ID,
    membershipHash=MEMBERSHIP_HASH,
    round=natural(),
    routerInstanceId=ID["router_instance_id"],
    head=nullable(shape(recordHash=RECORD_HASH, height=natural())),
    prepared=nullable(shape(recordHash=RECORD_HASH, height=natural(), round=natural())),
)

signer_evidence = shape(signerAgentId=AGENT_ID, signature=SIGNATURE)
evidence_list = list_of(signer_evidence, 1, MEMBERS_MAX)


def signatures(value: Any) -> None:
    """1 to 32 signers in strictly increasing order of their decoded ids."""
    evidence_list(value)
    order = [id_bytes(entry["signerAgentId"]) for entry in value]
    if any(left >= right for left, right in zip(order, order[1:])):
        refuse("signers do not stand in increasing order of their decoded ids")


completed_reanchor = shape(
    kind=exactly("completed_reanchor"),
    body=reanchor_body,
    statements=list_of(extended(reanchor_statement, signature=SIGNATURE), 1, MEMBERS_MAX),
)
router_anchor = either(genesis_anchor, completed_reanchor)
history_record = shape(
    recordHash=RECORD_HASH,
    recordCore=record_core,
    routerAnchor=router_anchor,
    durabilityAnchor=nullable(completed_reanchor),
    actionSignatures=signatures,
    durabilityVotes=signatures,
)
certified_record = shape(
    kind=exactly("certified_record"),
    recordCore=record_core,
    routerAnchor=router_anchor,
    durabilityAnchor=nullable(completed_reanchor),
    actionSignatures=signatures,
    durabilityVotes=signatures,
)

signed_refusal = shape(
    kind=exactly("refusal"),
    signerAgentId=AGENT_ID,
    actionHash=ACTION_HASH,
    reason=text_matching("contact-policy|withdrawn", "a reason"),
    signature=SIGNATURE,
)
refusal_set = list_of(signed_refusal)

certificate = shape(
    recordHash=RECORD_HASH,
    actionHash=ACTION_HASH,
    height=natural(),
    previousRecordHash=nullable(RECORD_HASH),
    anchorHash=ANCHOR_HASH,
    signatures=signatures,
)

PACKET_VOTES_MAX = MEMBERS_MAX * 4
PACKETS: dict[str, Check] = {
    "proposal_packet": shape(
        ["actionVote"],
        kind=exactly("proposal_packet"),
        recordCore=record_core,
        authorSignature=SIGNATURE,
        actionVote=signer_evidence,
    ),
    "vote_packet": shape(
        kind=exactly("vote_packet"),
        actionVotes=list_of(extended(action_vote, signature=SIGNATURE), 0, PACKET_VOTES_MAX),
        durabilityVotes=list_of(extended(durability_vote, signature=SIGNATURE), 0, PACKET_VOTES_MAX),
        carryVotes=list_of(extended(carry_vote, signature=SIGNATURE), 0, PACKET_VOTES_MAX),
    ),
    "action_certificate": shape(
        kind=exactly("action_certificate"),
        conversationId=CONVERSATION_ID,
        recordHash=RECORD_HASH,
        actionHash=ACTION_HASH,
        height=natural(),
        previousRecordHash=nullable(RECORD_HASH),
        anchorHash=ANCHOR_HASH,
        signatures=signatures,
        durabilityVote=signer_evidence,
    ),
    "certified_notice": shape(
        kind=exactly("certified_notice"),
        conversationId=CONVERSATION_ID,
        recordHash=RECORD_HASH,
        height=natural(),
        durabilityAnchorHash=ANCHOR_HASH,
        actionSignatures=signatures,
        durabilityVotes=signatures,
    ),
    "catch_up_request": shape(
        kind=exactly("catch_up_request"),
        conversationId=CONVERSATION_ID,
        knownRecordHash=nullable(RECORD_HASH),
        knownAnchorHash=nullable(ANCHOR_HASH),
    ),
    "catch_up_page": shape(
        kind=exactly("catch_up_page"),
        conversationId=CONVERSATION_ID,
        afterRecordHash=nullable(RECORD_HASH),
        items=list_of(either(certified_record, completed_reanchor)),
        hasMore=boolean,
    ),
    "record_request": shape(kind=exactly("record_request"), conversationId=CONVERSATION_ID, recordHash=RECORD_HASH),
    "record_response": shape(
        kind=exactly("record_response"),
        recordCore=record_core,
        routerAnchor=router_anchor,
        actionSignatures=signatures,
    ),
    "refusal": signed_refusal,
    "withdrawal": shape(
        kind=exactly("withdrawal"), authorAgentId=AGENT_ID, actionHash=ACTION_HASH, signature=SIGNATURE
    ),
    "wish": shape(
        kind=exactly("wish"),
        signerAgentId=AGENT_ID,
        conversationId=CONVERSATION_ID,
        round=natural(),
        routerInstanceId=ID["router_instance_id"],
        signature=SIGNATURE,
    ),
    "statement_packet": shape(
        kind=exactly("statement_packet"),
        statement=reanchor_statement,
        signature=SIGNATURE,
        headProof=nullable(
            shape(action=certificate, durabilityAnchorHash=ANCHOR_HASH, durabilityVotes=signatures),
        ),
        preparedProof=nullable(
            shape(
                action=certificate,
                anchor=anchor,
                carry=nullable(shape(anchor=anchor, carryVotes=signatures)),
            )
        ),
    ),
    "completed_reanchor": completed_reanchor,
    "equivocation_proof": shape(
        kind=exactly("equivocation_proof"),
        conversationId=CONVERSATION_ID,
        routerInstanceId=ID["router_instance_id"],
        lane=OPAQUE,
        sequence=natural(),
        heads=list_of(shape(laneHead=OPAQUE, signature=SIGNATURE), 2, 2),
    ),
}


def decode_packet(data: bytes) -> Any:
    packet = canonical_decode(data, PACKET_BYTES_MAX, DEPTH_MAX)
    kind = packet.get("kind") if isinstance(packet, dict) else None
    if not isinstance(kind, str) or kind not in PACKETS:
        refuse("not a packet of a known kind")
    PACKETS[kind](packet)
    return packet
