/* Cases of lib/text.c. */
#include "lib/text.h"
#include "tests/programs/check.h"

#include <stdint.h>

static char bytes[256];

static const char *escaped(const char *string, size_t size, size_t room) {
    struct text text = text_in(bytes, room);
    text_add_escaped(&text, string, size);
    return bytes;
}

static const char *duration(uint64_t ns) {
    struct text text = text_in(bytes, sizeof bytes);
    text_add_duration(&text, ns);
    return bytes;
}

static const char *ratio(uint32_t hundredths) {
    struct text text = text_in(bytes, sizeof bytes);
    text_add_ratio(&text, hundredths);
    return bytes;
}

#define ESCAPED(literal) escaped((literal), sizeof(literal) - 1, sizeof bytes)

static void test_escape(void) {
    check_text(ESCAPED("plain text"), "plain text");
    check_text(ESCAPED("\x1b[31m\r\n\0\x7f"), "\\x1b[31m\\x0d\\x0a\\x00\\x7f");
    check_text(ESCAPED("a\\b"), "a\\\\b");
    check_text(ESCAPED("z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80"),
               "z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80");
    /* U+0080..U+009F steer terminals too. */
    check_text(ESCAPED("\xc2\x9b"), "\\xc2\\x9b");
    /* Cut short, a lone continuation, too long a form, a surrogate, beyond U+10FFFF. */
    check_text(ESCAPED("\xc3"), "\\xc3");
    check_text(ESCAPED("\xe2\x82"), "\\xe2\\x82");
    check_text(ESCAPED("\xbc!"), "\\xbc!");
    check_text(ESCAPED("\xc0\xaf"), "\\xc0\\xaf");
    check_text(ESCAPED("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
    check_text(ESCAPED("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    check_text(ESCAPED("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    check_text(ESCAPED("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
}

static void test_cut(void) {
    struct text text = text_in(bytes, 6);
    text_add(&text, "abc");
    text_add(&text, "defgh");
    check_text(bytes, "abcde");
    CHECK(text.length == 5);
    text_add_number(&text, 7);
    check_text(bytes, "abcde");
    text = text_in(bytes, 1);
    text_add(&text, "x");
    check_text(bytes, "");
    /* An escape is whole or absent, and nothing follows where one was left out. */
    text = text_in(bytes, 6);
    text_add_escaped(&text, "abc\x01z", 5);
    text_add(&text, "y");
    check_text(bytes, "abc");
    check_text(escaped("ab\xe2\x82\xac", 5, 5), "ab");
}

static void test_numbers(void) {
    struct text text = text_in(bytes, sizeof bytes);
    text_add_number(&text, UINT64_MAX);
    text_add(&text, " ");
    text_add_number(&text, 0);
    text_add(&text, " ");
    text_add_hex(&text, 0xdeadbeef01234567u);
    check_text(bytes, "18446744073709551615 0 deadbeef01234567");
}

static void test_units(void) {
    const uint64_t ms = 1000000, s = 1000 * ms;
    check_text(duration(0), "0s");
    check_text(duration(700 * ms), "700ms");
    check_text(duration(1500 * ms), "1.5s");
    check_text(duration(12500000), "12.5ms");
    check_text(duration(250000), "0.25ms");
    check_text(duration(1000), "0.001ms");
    check_text(duration(s), "1s");
    check_text(duration(1001 * ms), "1.001s");
    check_text(duration(90 * s), "90s");
    check_text(duration(120 * s), "2m");
    check_text(duration(3600 * s), "1h");
    check_text(duration(5400 * s), "90m");
    check_text(duration(720 * 3600 * s), "720h");
    check_text(ratio(5000), "50%");
    check_text(ratio(25), "0.25%");
    check_text(ratio(1), "0.01%");
    check_text(ratio(3350), "33.5%");
    check_text(ratio(10000), "100%");
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"escape", test_escape}, {"cut", test_cut}, {"numbers", test_numbers}, {"units", test_units}};
    return run_case(cases, sizeof cases / sizeof cases[0], argc, argv);
}
