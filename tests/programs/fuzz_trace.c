/* Any bytes as a trace: the reader reads no byte beyond the line, names the column of whatever it refuses, writes what it
 * took so that it is taken again, and the engine survives what a trace can ask of it. */
#include "lib/replay.h"
#include "lib/trace.h"
#include "tests/programs/fuzz.h"

#include <string.h>

#define CALLS_MAX 256
#define MS        UINT64_C(1000000)

static void check_error(const struct trace_error *error, size_t size) {
    char text[TRACE_ERROR_MAX];
    MUST(error->found.column >= 1 && error->found.column + error->found.size <= size + 1);
    MUST(error->expected != NULL && error->expected[0] != '\0');
    MUST(trace_error_format(error, text, sizeof text) == strlen(text));
    MUST(strncmp(text, "found ", 6) == 0 && strstr(text, ", expected ") != NULL);
}

/* "a..": of which each reading drops a dot. */
static bool ends_in_dot(const char *name) {
    size_t size = strlen(name);
    return size > 0 && name[size - 1] == '.';
}

/* Writes the record down and reads it again. */
static void check_writing(const struct trace_record *record, const struct trace_target *target) {
    char line[TRACE_LINE_MAX], destination[ENDPOINT_TEXT_MAX];
    struct trace_record plain = *record, again;
    struct trace_target same;
    struct trace_error error;
    if (ends_in_dot(target->text) || ends_in_dot(target->host)) {
        return;
    }
    plain.destination.bytes = destination;
    plain.destination.size =
        endpoint_format(&target->endpoint, target->text, destination, sizeof destination);
    if (record->name.size > 0) {
        plain.name.bytes = target->host;
        plain.name.size = strlen(target->host);
    }
    plain.rule.bytes = target->rule;
    plain.rule.size = strlen(target->rule);
    size_t length = trace_write(&plain, line, sizeof line);
    MUST(length < sizeof line - 1 && length > 0 && line[length - 1] == '\n');
    MUST(trace_read(line, length - 1, &again, &error) == TRACE_CALL);
    MUST(trace_target(&again, &same, &error));
    MUST(endpoint_equal(&same.endpoint, &target->endpoint));
    MUST(strcmp(same.text, target->text) == 0 && strcmp(same.host, target->host) == 0);
    MUST(strcmp(same.rule, target->rule) == 0);
    MUST(again.start_ns == record->start_ns && again.response_ns == record->response_ns);
    MUST(again.outcome == record->outcome && again.reason == record->reason);
    MUST(again.kept == record->kept && again.connect == record->connect);
}

/* --- the engine --- */

static struct breaker breaker;
static struct replay_lane lane;
static struct replay replay;
static struct replay_rule rule;

static void begin_replay(void) {
    static const struct thresholds thresholds = {.buckets = 10,
                                                 .probes = 2,
                                                 .slow_written = 1,
                                                 .error_ratio = 5000,
                                                 .slow_ratio = 8000,
                                                 .consecutive_errors = 2,
                                                 .window_ms = 10000,
                                                 .min_calls = 3,
                                                 .min_slow_calls = 1,
                                                 .open_backoff = 200,
                                                 .slow_call_ns = 100 * MS,
                                                 .open_for_ns = 1000 * MS,
                                                 .probe_timeout_ns = 5000 * MS,
                                                 .warmup_ns = 50 * MS,
                                                 .forget_after_ns = 60000 * MS};
    static struct replay_call calls[CALLS_MAX];
    static struct replay_due due[CALLS_MAX];
    memset(&breaker, 0, sizeof breaker);
    memset(&replay, 0, sizeof replay);
    memset(&rule, 0, sizeof rule);
    lane = replay_lane(&breaker, &thresholds, &rule, true);
    replay.lanes = &lane;
    replay_give_room(&replay, calls, due, CALLS_MAX);
}

static void end_calls(uint64_t until_ns) {
    struct replay_change change;
    while (replay_end_due(&replay, until_ns, &change)) {
        MUST(change.now_ns <= until_ns);
    }
}

static void start_call(const struct trace_record *record, uint64_t *newest_ns) {
    struct replay_change changes[2];
    if (record->start_ns < *newest_ns) {
        return;
    }
    *newest_ns = record->start_ns;
    end_calls(record->start_ns);
    if (!replay_is_full(&replay)) {
        MUST(replay_start(&replay, 0, record, changes) <= 2);
    }
}

/* --- lines --- */

static void check_line(const char *line, size_t size, uint64_t *newest_ns) {
    struct trace_record record;
    struct trace_error error;
    struct trace_target target;
    switch (trace_read(line, size, &record, &error)) {
    case TRACE_BLANK:
    case TRACE_LOST:
        break;
    case TRACE_BAD:
        check_error(&error, size);
        break;
    case TRACE_CALL:
        if (!trace_target(&record, &target, &error)) {
            check_error(&error, size);
            break;
        }
        check_writing(&record, &target);
        start_call(&record, newest_ns);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    uint64_t newest_ns = 0;
    begin_replay();
    while (size > 0) {
        const uint8_t *feed = memchr(bytes, '\n', size);
        size_t length = feed != NULL ? (size_t)(feed - bytes) : size;
        char *line = malloc(length); /* of its own, so that a read beyond its end is seen */
        if (length > 0) {
            memcpy(line, bytes, length);
        }
        check_line(line, length, &newest_ns);
        free(line);
        size_t used = length + (feed != NULL);
        bytes += used;
        size -= used;
    }
    end_calls(UINT64_MAX);
    MUST(replay.due_count == 0);
    return 0;
}
