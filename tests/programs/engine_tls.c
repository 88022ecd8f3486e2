/* Scripts of TLS: where the handshake ends, what is waited for, when a call ends. */
#include "lib/tls_records.h"
#include "tests/programs/engine_script.h"

#define RUN(scripts) scripts_run(scripts, sizeof(scripts) / sizeof *(scripts))

/* The handshake is folded into the first call; its waits add up with the longest wait of the exchange. */
static void test_handshake(void) {
    static const struct script scripts[] = {
        {"TLS 1.3, the request right behind Finished", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send ccs+data+data; 57 bytes = answered; 60 close = "
         "success 55 20 "
         "past heard"},
        {"TLS 1.3, the request in a send of its own, long after", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send ccs+data; 5000 send data; 5020 bytes = answered; "
         "5021 close = "
         "success 55 20 past heard"},
        {"TLS 1.3 without a change of cipher", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello_long; 36 bytes; 37 send data; 40 send data; 57 bytes = answered; 60 "
         "close = "
         "success 52 17 past heard"},
        {"TLS 1.3 with HelloRetryRequest", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send ccs+hello_long; 77 bytes; 78 send data+data; 98 "
         "bytes = "
         "answered; 99 close = success 95 20 past heard"},
        {"TLS 1.2", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send key_exchange+ccs+finished; 67 bytes; 70 send "
         "data; 90 bytes = "
         "answered; 91 close = success 85 20 past heard"},
        {"TLS 1.2 with a client's certificate, each record in a send", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send certificate; 37 send key_exchange; 38 send ccs; "
         "38 send "
         "finished; 68 bytes; 70 send data; 90 bytes = answered; 91 close = success 85 20 past heard"},
        {"TLS 1.2, a session resumed", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send ccs+finished; 38 send data; 58 bytes = answered; "
         "59 close = "
         "success 55 20 past heard"},
        {"the same where the sealed Finished begins like a ClientHello", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 37 send ccs+finished_01+data; 58 bytes = answered; 59 "
         "close = success "
         "56 21 past heard"},
        {"the server's flight in pieces: its longest wait", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 46 bytes; 51 bytes; 60 send ccs+data+data; 80 bytes = "
         "answered; 81 "
         "close = success 55 20 past heard"},
        {"over a connect that nobody asked about", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 6 send hello; 36 bytes; 37 send ccs+data+data; 57 bytes = answered; 60 close = success "
         "56 20 past "
         "heard"}};
    RUN(scripts);
}

/* A call of its own only when it fails, and then one in its connect. */
static void test_handshake_fails(void) {
    static const struct script scripts[] = {
        {"the server closes", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 eof = closed 15 0 in"},
        {"the server closes after an alert", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 eof = closed 15 0 in"},
        {"a reset", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 fail reset = reset 15 0 in"},
        {"the socket's time-out", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 2006 timeout = timeout 2005 0 in"},
        {"given up", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 36 bytes; 3036 close timed_out = timeout 3005 0 in"},
        {"given up after long", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 6006 close answered = timeout 6005 0 in"},
        {"aborted", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 106 close answered = ignored 105 0 in"}};
    RUN(scripts);
}

/* A connection that is set up and then not used is ignored, or where there never was an exchange the connect is the call. */
static void test_spare(void) {
    static const struct script scripts[] = {
        {"TLS 1.3, session tickets and no request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send ccs+data; 27 bytes; 28 bytes; 9000 close answered "
         "timed_out = "
         "ignored 25 0 in"},
        {"TLS 1.3 without tickets", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send ccs+data; 9000 close answered timed_out = ignored "
         "15 0 in"},
        {"TLS 1.2", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send key_exchange+ccs+finished; 27 bytes; 9000 close "
         "answered "
         "timed_out = ignored 25 0 in"},
        {"TLS 1.2 whose server does not finish", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send key_exchange+ccs+finished; 9017 close answered = "
         "timeout 9015 "
         "0 in"},
        {"to a destination that has never answered", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send ccs+data; 27 bytes; 9000 close = success 25 0 in"},
        {"waited on, as for a greeting that does not come", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 send hello; 16 bytes; 17 send ccs+data; 3017 close timed_out here = timeout "
         "3015 0 in"}};
    RUN(scripts);
}

/* The response time is the longest single wait between two sends; after the last record nothing is waited for. */
static void test_waits(void) {
    static const struct script scripts[] = {
        {"tickets after the handshake, then the true, slow, answer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 15 bytes = answered; 16 bytes; 816 "
         "bytes; 820 "
         "close = success 810 800 past heard"},
        {"tickets between the handshake and the request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data; 15 bytes; 16 bytes; 9000 send data; "
         "9030 bytes = "
         "answered; 9040 close = success 45 30 past heard"},
        {"an acknowledgement, then the answer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 210 bytes = answered; 310 bytes; "
         "311 close = "
         "success 210 200 past heard"},
        {"after the last record nothing is waited for", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 900000 close "
         "timed_out = "
         "success 30 20 past heard"},
        {"a record that lay unread is dated when it arrived", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 900 bytes at 30 = answered; 901 "
         "close = success "
         "30 20 past heard"},
        {"a request in pieces", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data; 20 send data_long; 21 send data_long; "
         "41 bytes = "
         "answered; 50 close = success 30 20 past heard"},
        {"a long one waits from its last send", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data; 20 send "
         "data_long+data_long+data_long+data_long+data_long until 900; 910 bytes = answered; 950 close = "
         "success 20 10 "
         "past heard"}};
    RUN(scripts);
}

/* It ends at the next application data sent after a record came in, at end of stream, or at close. */
static void test_ends(void) {
    static const struct script scripts[] = {
        {"at the next request, which is a call of its own under every", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 31 bytes; 100 "
         "send data = "
         "success 30 20 past heard asks; 150 bytes = answered; 160 send data = success 50 50 past heard "
         "asks; 161 look = "
         "outstanding none; 190 eof = closed 30 30 past"},
        {"at the next request, the last call under first", JUDGE_FIRST, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 100 send data "
         "= success 30 "
         "20 past heard; 101 look = left_out none; 102 bytes; 103 eof"},
        {"at end of stream", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 900 eof = "
         "success 30 20 "
         "past heard"},
        {"at close, even after a time-out", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 900 close "
         "timed_out "
         "answered = success 30 20 past heard"},
        {"a reset after the answer has begun", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 900 fail "
         "reset = success 30 "
         "20 past heard"},
        {"a time-out of the socket after the answer has begun ends nothing", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 5030 timeout; "
         "5040 bytes;"
         "5050 close = success 5020 5010 past heard"},
        {"no answer at all", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 310 close timed_out = timeout 310 "
         "300 past"},
        {"the server hangs up on the request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 eof = closed 30 20 past"},
        {"a stale one: idle since its last record", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 35 bytes; "
         "1035 send data = success 30 20 past heard asks; 1036 eof = ignored 1 1 past"},
        {"not stale by a microsecond", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 35 bytes; "
         "1034.999 send data = success 30 20 past heard asks; 1036 eof = closed 1.001 1.001 past"},
        {"a stale one after a send that would block", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 100 send data "
         "= success 30 "
         "20 past heard asks; 120 bytes = answered; 130 blocked = success 20 20 past heard asks released; "
         "1130 send data "
         "= asks; 1131 eof = ignored 1 1 past"}};
    RUN(scripts);
}

/* close_notify is no request. Only whole: its first bytes alone would end and ask as well. */
static void test_close_notify(void) {
    static const struct script scripts[] = {
        {"after the answer", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send "
         "ccs+data+data; 30 bytes = answered; 40 send alert = success 30 "
         "20 past heard asks released; 41 look = none; 42 eof; 43 close"},
        {"and again", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send "
         "ccs+data+data; 30 bytes = answered; 40 send alert = success 30 "
         "20 past heard asks released; 50 send alert = asks released; 60 "
         "send data = asks; 65 bytes = answered; 66 close "
         "= success 5 5 past heard"},
        {"in the middle of a call the wait goes on", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 20 send alert; 30 bytes = "
         "answered; 31 close = success 30 20 past heard"},
        {"of TLS 1.3, after the answer", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data+data; 30 bytes = answered; 40 send "
         "alert_sealed = success 30 20 past heard asks released; 42 eof; 43 close timed_out"},
        {"before anything was asked, the server's word for it read to the end", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send key_exchange+ccs+finished; 20 bytes; 100 send "
         "alert; 110 eof = ignored 100 0 in"},
        {"of TLS 1.3, the same", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send ccs+data; 20 bytes; 100 send alert_sealed; 110 "
         "eof = ignored 100 0 in"},
        {"given up with it, after long", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 10 bytes; 10 send key_exchange+ccs+finished; 20 bytes; 20 send "
         "data; 6020 send alert; 6021 close answered = timeout 6021 6001 past"}};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        script_run(&scripts[i], CUT_NONE, 0);
        script_run(&scripts[i], CUT_PIECES, 1);
    }
}

/* --- the stream of records by itself --- */

static uint64_t feed(uint64_t state, const unsigned char *bytes, size_t size, size_t step, unsigned *begun) {
    for (size_t at = 0; at < size; at += step) {
        bool data = false;
        state = tls_records_feed(state, bytes + at, size - at < step ? size - at : step, &data);
        *begun += data;
    }
    return state;
}

/* Cut after every byte of every record, and fed byte by byte, it comes to the same. */
static void test_cut(void) {
    static const char *const streams[][8] = {
        {"hello", "ccs", "data", "data", NULL},
        {"hello", "ccs", "hello_long", "data", "data", NULL},
        {"hello", "key_exchange", "ccs", "finished", "data", NULL},
        {"hello", "ccs", "finished_01", "data", "alert", NULL},
        {"hello_long", "data", "data_long", "data", "alert_sealed", NULL}};
    static unsigned char bytes[65536];
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        size_t size = 0;
        unsigned whole = 0, records = 0;
        uint64_t state = 0, one_by_one = 0;
        for (unsigned record = 0; streams[i][record] != NULL; record++) {
            size_t start = size;
            size += sample_add(bytes + size, streams[i][record]);
            records += bytes[start] == 23 && strcmp(streams[i][record], "alert_sealed") != 0;
            state = feed(state, bytes + start, size - start, size, &whole);
            CHECK((state & 0x7ffff) == 0); /* between two records */
        }
        CHECK(whole == records && tls_records_request_begun(state));
        for (size_t step = 1; step < 8; step++) {
            unsigned begun = 0;
            one_by_one = feed(0, bytes, size, step, &begun);
            CHECK(one_by_one == state && (step > 1 || begun == records));
        }
        for (size_t cut = 1; cut < size; cut++) {
            bool data = false;
            uint64_t cut_state =
                tls_records_feed(tls_records_feed(0, bytes, cut, &data), bytes + cut, size - cut, &data);
            CHECK(cut_state == state && data);
        }
    }
}

/* A long connection's records are counted no further than need be. */
static void test_many(void) {
    static unsigned char bytes[2000];
    size_t size = sample_add(bytes, "data");
    bool data = false;
    uint64_t state = tls_records_feed(0, bytes, size, &data), third = 0;
    CHECK(data && !tls_records_request_begun(state));
    for (unsigned record = 2; record < 100; record++) {
        data = false;
        state = tls_records_feed(state, bytes, size, &data);
        CHECK(data && tls_records_request_begun(state));
        third = record == 3 ? state : third;
        CHECK(record < 3 || state == third);
    }
}

/* Whatever a sealed Finished of TLS 1.2 begins with, it is no second ClientHello: of all first bytes, and of all pairs
 * but that of a hello, which one resumed session in 65,536 brings. */
static void test_sealed(void) {
    unsigned char bytes[1024];
    for (unsigned pair = 0; pair < 65536; pair++) {
        struct sample_record finished = {"", 22, 3, (unsigned char)(pair >> 8), (unsigned char)pair, 40};
        bool data = false;
        size_t size = sample_add(bytes, "hello");
        size += sample_add(bytes + size, "ccs");
        size += sample_add_record(bytes + size, &finished);
        size += sample_add(bytes + size, "data");
        CHECK(tls_records_request_begun(tls_records_feed(0, bytes, size, &data)) == (pair != 0x0100));
    }
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"handshake", test_handshake},
                                             {"handshake_fails", test_handshake_fails},
                                             {"spare", test_spare},
                                             {"waits", test_waits},
                                             {"ends", test_ends},
                                             {"close_notify", test_close_notify},
                                             {"cut", test_cut},
                                             {"many", test_many},
                                             {"sealed", test_sealed}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
