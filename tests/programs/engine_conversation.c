/* Scripts of lib/conversation.c: when a call begins, what it waits for, how it ends. */
#include "tests/programs/engine_script.h"

#define RUN(scripts) scripts_run(scripts, sizeof(scripts) / sizeof *(scripts))

static void test_folded(void) {
    static const struct script scripts[] = {
        {"a connect and its first exchange are one call", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 5 send plain; 30 bytes = success 30 25 past heard"},
        {"the time a pool keeps the connection idle is not response time", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 100000 send http; 100020 bytes = success 25 20 past heard"},
        {"nor that of a liveness check that brought nothing", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 7 receive; 100000 send http; 100020 bytes = success 25 20 past heard"},
        {"an answer in no time at all", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send http; 0 bytes = success 0 0 past heard"},
        {"established is news once", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 8 up; 10 send http; 12 up; 15 bytes = success 10 5 past heard; 20 up; 30 look = "
         "http"},
        {"nobody asked whether the connect was done: the send tells", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 send plain; 30 bytes = success 30 25 past heard"},
        {"an answer that lay unread is dated when it arrived", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 900 bytes at 15 = success 10 5 past heard"},
        {"an arrival before the request is none", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 900 bytes at 7 = success 5 0 past heard"},
        {"a request in many pieces waits from its first", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 1 up; 10 send http; 20 send plain; 30 send plain; 50 bytes = success 41 40 past heard"},
        {"a connection that failed is none; the next connect begins anew", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 3 fail refused = refused 3 0 in; 4 look = left_out over auto; 5 send plain; 6 bytes; 7 "
         "eof;"
         "8 close; 10 connect; 11 up; 12 send plain; 15 bytes = success 4 3 past heard"}};
    RUN(scripts);
}

static void test_server_first(void) {
    static const struct script scripts[] = {
        {"where the server speaks first, the wait begins with the first attempt to receive", JUDGE_AUTO,
         PROTOCOL_AUTO, "0 connect; 5 up; 1000 receive; 1030 bytes = success 35 30 past heard"},
        {"only the first attempt", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 1000 receive; 1010 receive; 1030 bytes = success 35 30 past heard"},
        {"bytes that nobody waited for took no time", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 1000 bytes = success 5 0 past heard"},
        {"they may be the first news of the connect", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 30 bytes = success 30 0 in heard"},
        {"a greeting that does not come in time", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 3010 timeout = timeout 3005 3000 past"},
        {"the server closes at once", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 12 eof = closed 7 2 past"},
        {"after a greeting each request is a call under every", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 receive; 4 bytes = success 3 2 past heard; 10 send plain = asks;"
         "15 bytes = success 5 5 past heard"}};
    RUN(scripts);
}

/* 64 KiB wait from the first send, one byte more from the last. */
static void test_long_request(void) {
    static const struct script scripts[] = {
        {"64 KiB", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 65536 until 500; 600 bytes = success 590 590 past heard"},
        {"64 KiB and a byte", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 65537 until 500; 600 bytes = success 100 100 past heard"},
        {"64 KiB in two sends", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 65508 until 12; 300 send plain until 500; 600 bytes = success 590 "
         "590 past "
         "heard"},
        {"64 KiB and a byte in two sends", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 65509 until 12; 300 send plain until 500; 600 bytes = success 100 "
         "100 past "
         "heard"},
        {"from the last of many", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 100000 until 12; 300 send plain until 310; 500 send plain until 510;"
         "600 bytes = success 90 90 past heard"},
        {"the next request is measured for itself", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http 100000 until 90; 100 bytes = success 10 10 past heard;"
         "200 send http until 250 = asks; 260 bytes = success 60 60 past heard"},
        {"an upload over an unconfirmed connect", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 10 send http 100000 until 500; 600 bytes = success 110 100 past heard"}};
    RUN(scripts);
}

static void test_one_call(void) {
    static const struct script scripts[] = {
        {"peeking ends the call, reading it is no second one", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 5 bytes = success 4 3 past heard; 5 bytes; 6 bytes; 7 look = http"},
        {"more bytes after the first belong to it", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 5 bytes = success 4 3 past heard; 6 bytes; 900 bytes; 5000 bytes"},
        {"a pipeline is one call", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send redis; 3 send redis; 4 send redis; 10 bytes = success 9 8 past heard; 11 "
         "bytes;"
         "12 bytes; 20 send redis = asks; 25 bytes = success 5 5 past heard"},
        {"bytes with nothing outstanding are no call", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send plain; 5 bytes = success 4 3 past heard; 1000 bytes; 1001 timeout; 1002 "
         "bytes;"
         "1003 eof; 1004 close"},
        {"nor is closing with nothing outstanding", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send plain; 5 bytes = success 4 3 past heard; 9000 fail reset; 9001 close "
         "timed_out"},
        {"waiting for what comes unasked is no call", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send plain; 5 bytes = success 4 3 past heard; 6 receive; 9000 timeout;"
         "9001 send plain = asks; 9005 bytes = success 4 4 past heard"},
        {"a time-out leaves the connection: its late answer is no call, the next request is", JUDGE_EVERY,
         PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 1002 timeout = timeout 1001 1000 past; 1500 bytes; 2000 send http = "
         "asks;"
         "2010 bytes = success 10 10 past heard"}};
    RUN(scripts);
}

static void test_unsent(void) {
    static const struct script scripts[] = {
        {"a first send that would block takes its wait back", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 blocked; 11 look = fresh outstanding auto; 1000 blocked; 2000 send http;"
         "2020 bytes = success 25 20 past heard"},
        {"and leaves a spare connection", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 blocked; 9000 close timed_out answered = ignored 5 0 past"},
        {"on which the server may speak first", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 blocked; 1000 receive; 1030 bytes = success 35 30 past heard"},
        {"a later one takes the call back", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 5 bytes = success 4 3 past heard; 10 blocked = asks released; 11 "
         "look = http;"
         "12 blocked = asks released; 500 bytes; 1000 send http = asks; 1020 bytes = success 20 20 past "
         "heard"},
        {"the rest of a request that would block takes nothing back", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 5 bytes = success 4 3 past heard; 10 send http = asks; 12 blocked;"
         "30 blocked; 40 bytes = success 30 30 past heard"},
        {"while the connect goes on, a send that would block is no news", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 3 blocked; 4 look = connecting outstanding auto; 9 up; 10 send http; 15 bytes = success "
         "14 5 "
         "past heard"},
        {"a send from which the program never comes back is one all the same", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 10 begin; 20 bytes = success 11 10 past heard; 30 begin = asks; 35 bytes = "
         "success 5 5 "
         "past heard"},
        {"a send that fails ends the call it began", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 up; 2 send http; 5 bytes = success 4 3 past heard; 10 begin = asks; 12 fail reset = "
         "reset 2 2 "
         "past; 13 look = left_out over http"}};
    RUN(scripts);
}

/* A descriptor serves one connection after another; nothing of the last one sticks to the next. */
static void test_again(void) {
    static const struct script scripts[] = {
        {"the first bytes of the last one", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send tiny; 10 eof = closed 10 10 past; 20 connect; 20 up; 20 send http; 21 look "
         "= outstanding http; 25 bytes = success 5 5 past heard; 30 send http = asks"},
        {"its size", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send http 100000 until 90; 100 eof = closed 10 10 past; 200 connect; 200 up; "
         "200 send http until 250; 260 bytes = success 60 60 past heard"},
        {"its waits", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send hello; 500 bytes; 501 eof = closed 500 0 in; 600 connect; 600 up; 600 send "
         "hello; 610 bytes; 610 send ccs+data+data; 630 bytes = answered; 640 close = success 30 20 past "
         "heard"},
        {"that it has served a call", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send http; 10 bytes = success 10 10 past heard; 20 close; 9000 connect; 9000 "
         "up; 9500 send http; 9501 eof = closed 1 1 past"},
        {"that its side was ended", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 0 up; 0 send http; 1 shut; 10 eof = ignored 10 10 past; 20 connect; 20 up; 20 send "
         "http; 25 eof = closed 5 5 past"}};
    RUN(scripts);
}

/* A connect that fails is one failed call, whichever call brings the news. */
static void test_connect_fails(void) {
    static const struct script scripts[] = {
        {"the connect itself, a second connect or SO_ERROR", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 7 fail refused = refused 7 0 in; 8 fail refused; 9 send plain; 10 bytes; 11 eof; 12 "
         "close"},
        {"the first send", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 7 begin; 7 fail unreachable = unreachable 7 0 in; 8 close timed_out answered"},
        {"the first receive", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 receive; 7 fail reset = reset 7 0 in; 8 close"},
        {"a time-out of the socket", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 2000 fail timeout = timeout 2000 0 in; 2001 close"},
        {"the program's own fault", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 7 fail none = ignored 7 0 in; 8 fail refused; 9 close; 10 look = left_out over auto"},
        {"whatever is judged", JUDGE_CONNECT, PROTOCOL_AUTO,
         "0 connect; 7 fail refused = refused 7 0 in; 8 close"},
        {"and under first", JUDGE_FIRST, PROTOCOL_AUTO,
         "0 connect; 7 fail refused = refused 7 0 in; 8 close"}};
    RUN(scripts);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"folded", test_folded},
                                             {"server_first", test_server_first},
                                             {"long_request", test_long_request},
                                             {"one_call", test_one_call},
                                             {"unsent", test_unsent},
                                             {"again", test_again},
                                             {"connect_fails", test_connect_fails}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
