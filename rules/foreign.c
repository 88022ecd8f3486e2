/* Keys that are none of this version's: what to answer to each. */
#include "rules/keys.h"
#include "rules/notes.h"
#include "rules/suggest.h"

#include <string.h>

/* Keys of cutout that come with a later version. A file that needs one must not be taken for less. */
static const char *const LATER[] = {"refuse_delay",     "fallback",    "connect_timeout",
                                    "response_timeout", "http_errors", "grpc_errors"};

/* A key of another product, written without '_', '-' and '.' and in lower case, and cutout's answer to it. */
struct foreign {
    const char *name;
    const char *product;
    const char *answer;
};

static const struct foreign FOREIGN[] = {
    {"failureratethreshold", "Resilience4j", "'error_ratio'"},
    {"slowcallratethreshold", "Resilience4j", "'slow_ratio'"},
    {"slowcalldurationthreshold", "Resilience4j", "'slow_call'"},
    {"minimumnumberofcalls", "Resilience4j", "'min_calls'"},
    {"slidingwindowsize", "Resilience4j", "'window', a time"},
    {"slidingwindowtype", "Resilience4j", "'window', always a time"},
    {"waitdurationinopenstate", "Resilience4j", "'open_for'"},
    {"permittednumberofcallsinhalfopenstate", "Resilience4j", "'probes'"},
    {"maxwaitdurationinhalfopenstate", "Resilience4j", "'probe_timeout'"},
    {"automatictransitionfromopentohalfopenenabled", "Resilience4j",
     "no such key: the first call after 'open_for' is the first probe"},
    {"recordexceptions", "Resilience4j", "no such key: failures are those of the network"},
    {"ignoreexceptions", "Resilience4j", "no such key: failures are those of the network"},
    {"enableexponentialbackoff", "Resilience4j", "'open_backoff'"},
    {"exponentialbackoffmultiplier", "Resilience4j", "'open_backoff'"},
    {"exponentialmaxwaitdurationinopenstate", "Resilience4j", "'open_max'"},
    {"enablerandomizedwait", "Resilience4j", "'open_jitter'"},
    {"randomizedwaitfactor", "Resilience4j", "'open_jitter'"},
    {"maxconcurrentcalls", "Resilience4j", "'max_in_flight'"},
    {"minrequestamount", "Sentinel", "'min_calls'"},
    {"statintervalms", "Sentinel", "'window'"},
    {"statintervalinms", "Sentinel", "'window'"},
    {"statslidingwindowbucketcount", "Sentinel", "'buckets'"},
    {"timewindow", "Sentinel", "'open_for'"},
    {"retrytimeoutms", "Sentinel", "'open_for'"},
    {"slowratiothreshold", "Sentinel", "'slow_ratio'"},
    {"maxallowedrtms", "Sentinel", "'slow_call'"},
    {"maxallowedrt", "Sentinel", "'slow_call'"},
    {"probenum", "Sentinel", "'probes'"},
    {"grade", "Sentinel", "'error_ratio', 'error_count' or 'slow_ratio'"},
    {"count", "Sentinel", "'error_ratio', 'error_count', or 'slow_call'"},
    {"warmupperiodsec", "Sentinel", "'warmup'"},
    {"resource", "Sentinel", "'match'"},
    {"consecutive5xx", "Envoy", "'consecutive_errors'"},
    {"consecutive5xxerrors", "Istio", "'consecutive_errors'"},
    {"consecutivegatewayfailure", "Envoy", "'consecutive_errors'"},
    {"consecutivegatewayerrors", "Istio", "'consecutive_errors'"},
    {"consecutivelocaloriginfailure", "Envoy", "'consecutive_errors'"},
    {"consecutivelocaloriginfailures", "Istio", "'consecutive_errors'"},
    {"failurepercentagethreshold", "Envoy", "'error_ratio'"},
    {"failurepercentagerequestvolume", "Envoy", "'min_calls'"},
    {"successraterequestvolume", "Envoy", "'min_calls'"},
    {"interval", "Envoy", "'window'"},
    {"baseejectiontime", "Envoy", "'open_for'"},
    {"maxejectiontime", "Envoy", "'open_max'"},
    {"maxejectionpercent", "Envoy", "'max_open'"},
    {"minhealthpercent", "Istio", "'max_open' (100% less it)"},
    {"maxejectiontimejitter", "Envoy", "'open_jitter'"},
    {"maxpendingrequests", "Envoy", "'max_in_flight'"},
    {"http1maxpendingrequests", "Istio", "'max_in_flight'"},
    {"http2maxrequests", "Istio", "'max_in_flight'"},
    {"errorthresholdpercentage", "Hystrix", "'error_ratio'"},
    {"requestvolumethreshold", "Hystrix", "'min_calls'"},
    {"sleepwindowinmilliseconds", "Hystrix", "'open_for'"},
    {"timeinmilliseconds", "Hystrix", "'window'"},
    {"numbuckets", "Hystrix", "'buckets'"},
    {"maxconcurrentrequests", "Hystrix", "'max_in_flight'"},
    {"failureratio", "Polly", "'error_ratio'"},
    {"samplingduration", "Polly", "'window'"},
    {"minimumthroughput", "Polly", "'min_calls'"},
    {"breakduration", "Polly", "'open_for'"},
    {"successratio", "another product", "'error_ratio' (100% less it)"},
    {"successthreshold", "another product", "'probes'"},
    {"failurethreshold", "another product", "'consecutive_errors'"},
    {"resettimeout", "another product", "'open_for'"},
    {"volumethreshold", "opossum", "'min_calls'"},
    {"rollingcounttimeout", "opossum", "'window'"},
    {"rollingcountbuckets", "opossum", "'buckets'"},
    {"allowwarmup", "opossum", "'warmup'"},
    {"capacity", "opossum", "'max_in_flight'"},
    {"maxrequests", "gobreaker", "'probes'"},
    {"failmax", "pybreaker", "'consecutive_errors'"},
    {"maxfails", "nginx", "'consecutive_errors'"},
    {"failtimeout", "nginx", "'open_for'"},
    {"maxconns", "nginx", "'max_in_flight'"},
    {"maxconn", "HAProxy", "'max_in_flight'"},
    {"errorlimit", "HAProxy", "'consecutive_errors'"},
    {"fall", "HAProxy", "'consecutive_errors'"},
    {"rise", "HAProxy", "'probes'"},
};

/* True when name is that word, whatever its case and whatever joins its parts. */
static bool is_foreign(struct piece name, const char *word) {
    size_t at = 0, size = strlen(word);
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.bytes[i];
        if (byte == '_' || byte == '-' || byte == '.') {
            continue;
        }
        byte = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
        if (at >= size || byte != word[at++]) {
            return false;
        }
    }
    return at == size;
}

static bool explain_foreign(struct text *text, struct piece name) {
    for (size_t i = 0; i < sizeof FOREIGN / sizeof FOREIGN[0]; i++) {
        if (is_foreign(name, FOREIGN[i].name)) {
            text_add(text, ", a key of ");
            text_add(text, FOREIGN[i].product);
            text_add(text, ", expected ");
            text_add(text, FOREIGN[i].answer);
            return true;
        }
    }
    return false;
}

void key_explain_unknown(struct text *text, struct piece name) {
    text_add(text, "found ");
    text_add_found(text, name);
    for (size_t i = 0; i < sizeof LATER / sizeof LATER[0]; i++) {
        if (piece_is(name, LATER[i])) {
            text_add(text,
                     ", expected a key that this version of cutout knows: this one it does not know yet");
            return;
        }
    }
    if (piece_is(name, "include")) {
        text_add(text, " as a key, expected include FILE without '='");
        return;
    }
    struct suggestion suggestion = {.found = name};
    for (enum rules_key key = KEY_MODE; key < KEY_NONE; key++) {
        suggest_consider(&suggestion, key_name(key));
    }
    if (suggestion.best == NULL && explain_foreign(text, name)) {
        return;
    }
    text_add(text, ", expected a key of cutout");
    text_add_suggestion(text, &suggestion);
}
