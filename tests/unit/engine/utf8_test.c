/** UTF-8: what is a character, what is a control character, and how names that are not UTF-8 are shown. */
#include "support/suite.h"

#include "ronde/utf8.h"

#include <stdint.h>
#include <string.h>

/* The definition, by code points: the way back from the encoding, for every character there is. */
static size_t encode(uint32_t point, char *text)
{
    if (point < 0x80) {
        text[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        text[0] = (char)(0xc0 | point >> 6);
        text[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        text[0] = (char)(0xe0 | point >> 12);
        text[1] = (char)(0x80 | (point >> 6 & 0x3f));
        text[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | point >> 18);
    text[1] = (char)(0x80 | (point >> 12 & 0x3f));
    text[2] = (char)(0x80 | (point >> 6 & 0x3f));
    text[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

static void every_character_is_one(void)
{
    uint32_t wrong = 0;
    for (uint32_t point = 1; point <= 0x1fffff; point++) {
        char text[5] = "";
        const size_t bytes = encode(point, text);
        const bool is_character = point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
        wrong += ronde_utf8_bytes(text) != (is_character ? bytes : 0) ? 1 : 0;
        const bool is_control = !is_character || point < 0x20 || (point >= 0x7f && point < 0xa0);
        wrong += ronde_utf8_has_control(text) != is_control ? 1 : 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void what_is_none_becomes_a_replacement(void)
{
    static const struct {
        const char *text;
        const char *mended;
    } cases[] = {
        {"", ""},
        {"ring", "ring"},
        {"m\xc3\xbcnster", "m\xc3\xbcnster"},
        {"m\xfcnster", "m\xef\xbf\xbdnster"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char mended[64];
        CU_ASSERT_FATAL(RONDE_UTF8_MENDED_BYTES(strlen(cases[i].text)) <= sizeof mended);
        ronde_utf8_mend(cases[i].text, mended);
        CU_ASSERT_STRING_EQUAL(mended, cases[i].mended);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_character_is_one", every_character_is_one},
        {"what_is_none_becomes_a_replacement", what_is_none_becomes_a_replacement},
    };
    return suite_run("utf8", cases, sizeof cases / sizeof cases[0]);
}
