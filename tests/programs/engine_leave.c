/* Scripts of calls that end without an answer: given up, closed, stale, cut by a fork. */
#include "tests/programs/engine_script.h"

#define RUN(scripts) scripts_run(scripts, sizeof(scripts) / sizeof *(scripts))

static void test_no_exchange(void) {
    static const struct script scripts[] = {
        {"a port check or a spare connection, to a destination that has answered", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 close answered = ignored 5 0 past; 7 look = left_out over auto"},
        {"however long it was spare", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 600000 close answered = ignored 5 0 past"},
        {"and whatever else timed out on that thread", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 600000 close answered timed_out = ignored 5 0 past"},
        {"where there never was an exchange the connect is the call", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6000 close = success 5 0 past"},
        {"also after another descriptor's time-out", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 6000 close timed_out = success 5 0 past"},
        {"what waited for this one to speak and gave up says more", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 3000 close timed_out here = timeout 5 0 past"},
        {"as does an attempt to receive", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 3010 close timed_out = timeout 3005 3000 past"},
        {"the server has spoken, and nobody listened", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 9010 close answered arrived timed_out = ignored 9005 9000 past"},
        {"left while it waited for the server's first word", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 110 close = ignored 105 100 past"}};
    RUN(scripts);
}

static void test_timed_out(void) {
    static const struct script scripts[] = {
        {"a request whose wait timed out", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 310 close timed_out = timeout 305 300 past"},
        {"whether or not the destination has ever answered", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 310 close timed_out answered = timeout 305 300 past"},
        {"a later request", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 30 send http = asks; 330 close "
         "timed_out = "
         "timeout 300 300 past"},
        {"in its connect", JUDGE_AUTO, PROTOCOL_AUTO, "0 connect; 2000 close timed_out = timeout 2000 0 in"},
        {"in its connect, though the program believed it was done", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 2000 close timed_out unconnected = timeout 5 0 in"},
        {"and had tried to receive", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 2000 close timed_out unconnected = timeout 1995 0 in"},
        {"in its connect, without a time-out: the loser of happy eyeballs", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 250 close answered = ignored 250 0 in"},
        {"what is left is left, also where nothing was outstanding", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 30 close; 31 look = left_out "
         "over http; 32 send http; 33 bytes; 34 close timed_out"},
        {"nothing is given up after the answer", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 9000 close timed_out "
         "answered"}};
    RUN(scripts);
}

/* Longer than the written slow_call, or 5 s, on a destination that has answered before. */
static void test_long(void) {
    static const struct script scripts[] = {
        {"5 s", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 5010 close answered = ignored 5000 5000 past"},
        {"more than 5 s", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 5010.000001 close answered = timeout 5000.000001 5000.000001 past"},
        {"the connect is part of it", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 3000 up; 3000 send http; 5000.001 close answered = timeout 5000.001 2000.001 past"},
        {"idle time is not", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 60000 send http; 64000 close answered = ignored 4005 4000 past"},
        {"the rule's slow_call", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 710 close answered give_up 700 = ignored 700 700 past"},
        {"more than that", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 710.000001 close answered give_up 700 = timeout 700.000001 "
         "700.000001 past"},
        {"a destination that has never answered, say a log shipper's", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send plain; 3600000 close = ignored 3599990 3599990 past"},
        {"a connect", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5000.001 close answered = timeout 5000.001 0 in"},
        {"an answer that has arrived is no failure, read or not", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 9010 close answered timed_out arrived = ignored 9000 9000 past"},
        {"what is sent in pieces waits from its first", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 0 up; 10 send http; 4010 send plain; 5010.001 close answered = timeout 5000.001 "
         "5000.001 past"}};
    RUN(scripts);
}

static void test_errors(void) {
    static const struct script scripts[] = {
        {"a reset", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 fail reset = reset 15 10 past; 21 close"},
        {"the end of the stream", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 eof = closed 15 10 past; 21 eof; 22 look = left_out over http"},
        {"the end of the stream after the program ended its side: no_answer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 11 shut; 20 eof = ignored 15 10 past"},
        {"even where it sent nothing", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 shut; 20 eof = ignored 5 0 past"},
        {"a reset is one all the same", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 11 shut; 20 fail reset = reset 15 10 past"},
        {"ending one's side only ends the request", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 11 shut; 20 bytes = success 15 10 past heard; 21 eof"},
        {"nor is it an end of what the program waits for", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 11 shut; 3010 close timed_out = timeout 3005 3000 past"},
        {"the time-out of the socket, receiving or sending", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 2010 timeout = timeout 2005 2000 past; 2011 timeout; 2012 close "
         "timed_out"},
        {"the program's own fault", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 fail none = ignored 15 10 past; 21 look = left_out over http"},
        {"host unreachable in mid-call", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 fail unreachable = unreachable 15 10 past"}};
    RUN(scripts);
}

/* Idle for a second or more when the request was sent: the server closed an idle connection. */
static void test_stale(void) {
    static const struct script scripts[] = {
        {"a reset after just under a second", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 1019.999 send http = asks; "
         "1020 fail reset "
         "= reset 0.001 0.001 past"},
        {"after a second", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 1020 send http = asks; 1021 "
         "fail reset = "
         "ignored 1 1 past; 1022 look = left_out over http"},
        {"the end of the stream after just under a second", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 1019.999 send http = asks; "
         "1020 eof = "
         "closed 0.001 0.001 past"},
        {"after a second, however late the server says so", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 1020 send http = asks; 1500 "
         "send plain;"
         "9020 eof = ignored 8000 8000 past"},
        {"idle is what came after the answer's last byte", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 900 bytes; 1899.999 send http "
         "= asks; 1901 "
         "eof = closed 1.001 1.001 past"},
        {"after its last byte a second", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 900 bytes; 1900 send http = "
         "asks; 1901 eof "
         "= ignored 1 1 past"},
        {"a send that would block does not end the idleness", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 900 blocked = asks released; "
         "1020 send "
         "http = asks; 1021 eof = ignored 1 1 past"},
        {"a connection that has served no call is not stale", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 9000 send http; 9001 eof = closed 6 1 past"},
        {"nor is one whose only call timed out", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 2010 timeout = timeout 2005 2000 past; 9000 send http = asks; 9001 "
         "eof = closed "
         "1 1 past"},
        {"no other failure is forgiven", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 9000 send http = asks; 9001 "
         "fail "
         "unreachable = unreachable 1 1 past"},
        {"nor a time-out", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 9000 send http = asks; 11000 "
         "timeout = "
         "timeout 2000 2000 past; 11001 send http = asks; 11002 eof = closed 1 1 past"},
        {"the call after it begins afresh", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 9000 send http = asks; 9010 "
         "bytes = success "
         "10 10 past heard; 9020 send http = asks; 9021 eof = closed 1 1 past"}};
    RUN(scripts);
}

/* What was outstanding at a fork is the parent's; in the child the connection begins with nothing outstanding. */
static void test_fork(void) {
    static const struct script scripts[] = {
        {"in the connect", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 1 fork; 2 look = auto; 3 up; 4 fail refused; 5 bytes; 6 close timed_out"},
        {"before the first request: the child's is a call of its own", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 6 fork; 7 look = auto; 1000 send http = asks; 1010 bytes = success 10 10 past "
         "heard"},
        {"in mid-call", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 11 fork; 12 look = http; 20 bytes; 21 eof; 22 timeout; 30 "
         "send http = "
         "asks; 35 bytes = success 5 5 past heard"},
        {"in a send", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 begin; 11 fork; 12 sent http; 13 look = http; 20 send http = asks; 25 bytes = "
         "success 5 5 "
         "past heard"},
        {"between calls", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 30 fork; 40 send http = asks; "
         "45 bytes = "
         "success 5 5 past heard; 50 fork; 60 send http = asks; 61 fail reset = reset 1 1 past"},
        {"what is left out stays so", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 20 bytes = success 15 10 past heard; 30 fork; 31 look = left_out "
         "none; 40 send "
         "http; 45 bytes"},
        {"a connection that is over stays so", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 fail refused = refused 5 0 in; 6 fork; 7 look = left_out over auto; 8 connect; 9 up; "
         "10 send http;"
         "11 bytes = success 2 1 past heard"}};
    RUN(scripts);
}

/* Exchanges that passed where nobody saw them, and of which the kernel tells. */
static void test_unseen(void) {
    static const struct script scripts[] = {
        {"request and answer through stdio", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 900 close exchanged = success 5 0 past heard"},
        {"how long the answer took is sometimes known", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 900 close exchanged wait 300 = success 305 300 past heard"},
        {"the request was seen, the answer not", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 9000 close timed_out answered arrived exchanged wait 20 = success "
         "25 20 "
         "past heard"},
        {"a connect whose end was not seen either", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 900 close exchanged wait 20 = success 20 20 past heard"},
        {"a request unseen, and no answer: given up", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 900 close timed_out asked wait 800 = timeout 805 800 past"},
        {"or for too long", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 9000 close answered asked wait 5000 = timeout 5005 5000 past"},
        {"or only abandoned", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 900 close answered asked wait 800 = ignored 805 800 past"},
        {"it is no port check, also where there never was an exchange", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 900 close asked wait 800 = ignored 805 800 past"},
        {"an attempt to receive tells longer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 receive; 1010 close timed_out asked wait 800 = timeout 1005 1000 past"},
        {"in a connect of unknown length", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 900 close timed_out asked wait 800 = timeout 800 800 past"},
        {"the end of the stream was read unseen", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 20 close ended closed = closed 15 10 past"},
        {"nothing having been sent", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 20 close ended closed answered = closed 5 0 past"},
        {"a reset", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 20 close asked wait 10 ended reset answered = reset 15 10 past"},
        {"no_answer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 11 shut; 20 close ended closed = ignored 15 10 past"},
        {"stale", JUDGE_EVERY, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send http; 20 bytes = success 15 10 past heard; 1020 send http = asks; 1021 "
         "close ended closed = ignored 1 1 past"},
        {"TLS: bytes that came in are not yet an answer", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send hello; 300 close exchanged timed_out = ignored 295 0 in"},
        {"the kernel's ticks make nothing longer than it was", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 9 close exchanged wait 8 = success 9 4 past heard"},
        {"nothing was outstanding", JUDGE_AUTO, PROTOCOL_AUTO,
         "0 connect; 5 up; 10 send plain; 20 bytes = success 15 10 past heard; 30 close exchanged ended "
         "closed"}};
    RUN(scripts);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {{"no_exchange", test_no_exchange},
                                             {"timed_out", test_timed_out},
                                             {"long", test_long},
                                             {"errors", test_errors},
                                             {"stale", test_stale},
                                             {"fork", test_fork},
                                             {"unseen", test_unseen}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
