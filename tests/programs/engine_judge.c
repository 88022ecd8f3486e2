/* Scripts of which exchanges are calls: judge, and the protocol that the first bytes show. */
#include "tests/programs/engine_script.h"

#define RUN(scripts) scripts_run(scripts, sizeof(scripts) / sizeof *(scripts))

static void test_connect(void) {
    static const struct script scripts[] = {
        {"the connect alone", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 7 up = success 7 0 in; 8 look = left_out auto; 9 send http; 5000 timeout; 5001 bytes;"
         "5002 send http; 5003 eof; 5004 close timed_out answered"},
        {"it fails", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 7 fail timeout = timeout 7 0 in; 8 send http; 9 close"},
        {"nobody asks: the first byte in tells", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 7 bytes = success 7 0 in heard; 8 send http; 9 bytes; 10 close"},
        {"in a forked child nothing begins", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 1 fork; 2 up; 3 send http; 4 bytes; 5 close timed_out"},
        {"given up", JUDGE_CONNECT, PROTOCOL_AUTO, "0 connect; 700 close timed_out = timeout 700 0 in"},
        {"given up without a time-out", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 250 close = ignored 250 0 in"}};
    RUN(scripts);
}

static void test_first(void) {
    static const struct script scripts[] = {
        {"connect and first exchange, whatever is spoken", JUDGE_FIRST, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 21 look = left_out http; 30 "
         "send http;"
         "40 bytes; 50 send http; 9000 timeout; 9001 eof; 9002 close timed_out answered"},
        {"the rule's protocol does not change that", JUDGE_FIRST, PROTOCOL_HTTP,
         "0 connect; 5 up; 10 send plain; 20 bytes = success 15 10 past heard; 30 send plain; 40 eof"},
        {"after a failed first exchange nothing more", JUDGE_FIRST, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 2010 timeout = timeout 2005 2000 past; 2020 send http; 2030 bytes; "
         "2040 eof"}};
    RUN(scripts);
}

static void test_every(void) {
    static const struct script scripts[] = {
        {"each exchange, whatever is spoken", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 20 bytes = success 15 10 past heard; 30 send plain = asks; 35 "
         "bytes = success "
         "5 5 past heard; 40 send tiny = asks; 47 bytes = success 7 7 past heard; 48 look = none; 50 send "
         "http = asks;"
         "60 eof = closed 10 10 past; 61 look = left_out over none; 62 send plain; 63 close"},
        {"also where the rule says that it speaks none", JUDGE_EVERY, PROTOCOL_NONE,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 21 look = none; 30 send http = "
         "asks;"
         "35 bytes = success 5 5 past heard"}};
    RUN(scripts);
}

static void test_auto(void) {
    static const struct script scripts[] = {
        {"HTTP: every request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 21 look = http; 30 send http = "
         "asks;"
         "31 look = outstanding http; 35 bytes = success 5 5 past heard; 40 send http = asks; 45 fail reset "
         "= reset 5 5 "
         "past"},
        {"Redis: every request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send redis; 20 bytes = success 15 10 past heard; 21 look = redis; 30 send "
         "redis = asks;"
         "35 bytes = success 5 5 past heard; 40 send redis = asks; 5040 timeout = timeout 5000 5000 past;"
         "6000 send redis = asks; 6001 bytes = success 1 1 past heard"},
        {"anything else: the first exchange", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 20 bytes = success 15 10 past heard; 21 look = left_out none; 30 "
         "send http;"
         "35 bytes; 40 eof; 41 close timed_out answered"},
        {"TLS: the first exchange", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 5 send hello; 15 bytes; 15 send ccs+data+data; 30 bytes = answered; 40 send data "
         "= success 30 "
         "15 past heard; 41 look = left_out none; 50 bytes; 60 send data; 70 close"},
        {"the server speaks first: one exchange, whatever comes after it", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 5 receive; 20 bytes = success 20 15 past heard; 21 look = left_out auto"},
        {"the rule says HTTP", JUDGE_AUTO, PROTOCOL_HTTP,
         "0 connect; 5 up; 10 send tiny; 20 bytes = success 15 10 past heard; 30 send tiny = asks; 35 bytes "
         "= success 5 "
         "5 past heard; 36 look = http"},
        {"the rule says Redis, whose words may be typed by hand", JUDGE_AUTO, PROTOCOL_REDIS,
         "0 connect; 5 up; 10 send tiny; 20 bytes = success 15 10 past heard; 30 send tiny = asks; 35 bytes "
         "= success 5 "
         "5 past heard; 36 look = redis"},
        {"the rule says none", JUDGE_AUTO, PROTOCOL_NONE,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 21 look = left_out none; 30 "
         "send http"}};
    RUN(scripts);
}

/* The answer may be in before the thread that sent the request has come back to say so. */
static void test_answered_first(void) {
    static const struct script scripts[] = {{"HTTP", JUDGE_AUTO, PROTOCOL_AUTO,
                                             "0 connect; 5 up; 10 begin; 20 bytes = success 15 10 past "
                                             "heard; 21 sent http; 22 look = http; 30 send http = "
                                             "asks; 31 bytes = success 1 1 past heard"},
                                            {"anything else", JUDGE_AUTO, PROTOCOL_AUTO,
                                             "0 connect; 5 up; 10 begin; 20 bytes = success 15 10 past "
                                             "heard; 21 sent plain; 22 look = left_out none"},
                                            {"its size is not the next request's", JUDGE_EVERY, PROTOCOL_AUTO,
                                             "0 connect; 5 up; 10 begin; 20 bytes = success 15 10 past "
                                             "heard; 21 sent http 65536; 30 send http 100 until 90 "
                                             "= asks; 100 bytes = success 70 70 past heard"}};
    RUN(scripts);
}

static enum rule_protocol recognised(const char *text) {
    return protocol_recognise((const unsigned char *)text, strlen(text));
}

static void test_recognised(void) {
    static const char *const http[] = {"GET ",    "POST ",    "PUT ",   "HEAD ",
                                       "DELETE ", "OPTIONS ", "PATCH ", "TRACE "};
    static const char *const redis[] = {"*1\r\n", "*12\r\n", "*9999\r\n$3\r\nSET", "*123456\r\n"};
    static const char *const none[] = {
        "",       "G",       "GET",     "GETS ",  "get ", "CONNECT a:1",  "PRI * HTTP/2.0",
        "*\r\n",  "*0\r\n",  "*-1\r\n", "*1\n\n", "*1\r", "*1234567\r\n", "PING\r\n",
        " GET /", "*1x\r\n", "SSH-2.0-"};
    for (size_t i = 0; i < sizeof http / sizeof *http; i++) {
        CHECK(recognised(http[i]) == PROTOCOL_HTTP);
    }
    for (size_t i = 0; i < sizeof redis / sizeof *redis; i++) {
        CHECK(recognised(redis[i]) == PROTOCOL_REDIS);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(recognised(none[i]) == PROTOCOL_NONE);
    }
    /* Any bytes at all, and no byte beyond them is read. */
    uint64_t seed = 1;
    for (unsigned i = 0; i < 100000; i++) {
        size_t size = random_below(&seed, 12);
        unsigned char *bytes = malloc(size ? size : 1);
        for (size_t at = 0; at < size; at++) {
            bytes[at] = (unsigned char)"*1\r\nGET \x16\x03\x01"[random_below(&seed, 11)];
        }
        protocol_recognise(bytes, size);
        protocol_is_client_hello(bytes, size);
        free(bytes);
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"connect", test_connect},
                                             {"first", test_first},
                                             {"every", test_every},
                                             {"auto", test_auto},
                                             {"answered_first", test_answered_first},
                                             {"recognised", test_recognised}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
