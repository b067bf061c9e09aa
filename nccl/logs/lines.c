/* Words and numbers of NCCL's lines, and which lines are about rings and trees. See said.h. */
#include "said.h"

#include <string.h>

static void skip_blanks(struct nccl_cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
        cursor->at++;
}

static bool is_digit(const struct nccl_cursor *cursor)
{
    return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

bool nccl_take_text(struct nccl_cursor *cursor, const char *text)
{
    struct nccl_cursor own = *cursor;
    const size_t length = strlen(text);
    skip_blanks(&own);
    if ((size_t)(own.end - own.at) < length || memcmp(own.at, text, length) != 0)
        return false;
    cursor->at = own.at + length;
    return true;
}

bool nccl_take_number(struct nccl_cursor *cursor, int32_t *out_number)
{
    struct nccl_cursor own = *cursor;
    const int64_t most = RONDE_MAX_RANKS;
    int64_t number = 0;
    skip_blanks(&own);
    const bool is_negative = own.at < own.end && *own.at == '-';
    own.at += is_negative;
    if (!is_digit(&own))
        return false;
    for (; is_digit(&own); own.at++)
        number = number > most ? number : 10 * number + (*own.at - '0');
    if (number > most)
        return false;
    *out_number = (int32_t)(is_negative ? -number : number);
    cursor->at = own.at;
    return true;
}

/* Lines on how two ranks are joined begin alike: "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", once "Ring 00 : 34 -> 33 ...". */
static bool says_via(const struct nccl_cursor *cursor)
{
    static const char word[] = " via ";
    const size_t length = sizeof word - 1;
    for (const char *at = cursor->at; (size_t)(cursor->end - at) >= length; at++)
        if (memcmp(at, word, length) == 0)
            return true;
    return false;
}

enum nccl_line nccl_line_kind(struct nccl_cursor *cursor)
{
    if (nccl_take_text(cursor, "Trees ["))
        return NCCL_LINE_TREES;
    const bool is_ring = nccl_take_text(cursor, "Ring ");
    if (!is_ring && !nccl_take_text(cursor, "Channel "))
        return NCCL_LINE_OTHER;
    struct nccl_cursor behind = *cursor;
    int32_t unused;
    /* Sentences begin so too. */
    if (!nccl_take_number(&behind, &unused) || says_via(cursor))
        return NCCL_LINE_OTHER;
    return is_ring ? NCCL_LINE_RING : NCCL_LINE_ORDER;
}
