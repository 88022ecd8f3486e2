#include "lib/outcome.h"

const char *outcome_name(enum outcome outcome) {
    switch (outcome) {
    case OUTCOME_SUCCESS:
        return "success";
    case OUTCOME_FAILURE:
        return "failure";
    case OUTCOME_IGNORED:
        break;
    }
    return "ignored";
}

const char *failure_reason_name(enum failure_reason reason) {
    static const char names[REASON_COUNT][12] = {"none",   "refused",     "timeout", "reset",
                                                 "closed", "unreachable", "dns",     "status"};
    /* A reason out of the panel may be any number. */
    return (unsigned)reason < REASON_COUNT ? names[reason] : names[REASON_NONE];
}
