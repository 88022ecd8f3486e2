/* The bits of a conversation's `talk` word; its layout is described in lib/conversation.h. */
#ifndef CUTOUT_LIB_TALK_H
#define CUTOUT_LIB_TALK_H

#include "lib/conversation.h"

#include <stdbool.h>
#include <stdint.h>

#define TALK_EXCHANGED   UINT64_C(0x0001) /* an exchange has ended on this connection */
#define TALK_FOLDED      UINT64_C(0x0002) /* the current call is the one the connect began */
#define TALK_UNSENT      UINT64_C(0x0004) /* the send that begins the request has not moved a byte yet */
#define TALK_SENT        UINT64_C(0x0008) /* the first bytes out have told what is spoken */
#define TALK_HALF_CLOSED UINT64_C(0x0010) /* the program has ended its side */
#define TALK_WAS_IDLE    UINT64_C(0x0020) /* idle for a second or more when this request was sent */
#define TALK_TLS         UINT64_C(0x0040)
#define TALK_HANDSHAKE   UINT64_C(0x0080) /* TLS: no request has begun yet */
#define TALK_ANSWERED    UINT64_C(0x0100) /* TLS: a record came in after the request's last send */
#define TALK_EVERY       UINT64_C(0x0200) /* each further exchange is a call */
#define TALK_JUDGE       10               /* 2 bits: enum rule_judge */
#define TALK_PROTOCOL    12               /* 3 bits: the rule's, then the recognised enum rule_protocol */
#define TALK_FLAGS       UINT64_C(0xffff)
#define TALK_CALL_FLAGS  (TALK_FOLDED | TALK_UNSENT | TALK_WAS_IDLE | TALK_ANSWERED)
#define TALK_SEQUENCE    48

static inline enum conversation_phase talk_phase(uint64_t talk) {
    return (enum conversation_phase)(talk >> 24 & 7);
}

static inline uint64_t talk_with_phase(uint64_t talk, enum conversation_phase phase) {
    return (talk & ~(UINT64_C(7) << 24)) | (uint64_t)phase << 24;
}

static inline uint8_t talk_era(uint64_t talk) {
    return (uint8_t)(talk >> 16);
}

static inline enum rule_judge talk_judge(uint64_t talk) {
    return (enum rule_judge)(talk >> TALK_JUDGE & 3);
}

static inline enum rule_protocol talk_protocol(uint64_t talk) {
    return (enum rule_protocol)(talk >> TALK_PROTOCOL & 7);
}

static inline struct ticket talk_ticket(uint64_t talk) {
    struct ticket ticket = {(uint16_t)(talk >> 36 & 0xfff), (uint8_t)(talk >> 30 & 63),
                            (uint8_t)(talk >> 27 & 7)};
    return ticket;
}

static inline uint64_t talk_with_ticket(uint64_t talk, struct ticket ticket) {
    talk &= ~(UINT64_C(0x1fffff) << 27);
    return talk | (uint64_t)(ticket.generation & 0xfff) << 36 | (uint64_t)(ticket.permit & 63) << 30 |
           (uint64_t)(ticket.standing & 7) << 27;
}

static inline bool talk_has(uint64_t talk, uint64_t flag) {
    return (talk & flag) != 0;
}

/* The word as a process of that era sees it: what was outstanding at a fork is the parent's. */
static inline uint64_t talk_in_era(uint64_t talk, uint8_t era) {
    enum conversation_phase phase = talk_phase(talk);
    if (talk_era(talk) == era) {
        return talk;
    }
    talk = (talk & ~(UINT64_C(0xff) << 16)) | (uint64_t)era << 16;
    if (phase == PHASE_CONNECTING || phase == PHASE_FRESH || phase == PHASE_REQUEST) {
        talk = talk_with_phase(talk & ~TALK_CALL_FLAGS, PHASE_IDLE);
    }
    return talk_with_ticket(talk, (struct ticket){0, 0, STANDING_NONE});
}

#endif
