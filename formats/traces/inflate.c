/* gzip, decoded as it is asked for. See source.h. */
#include "source.h"

#include <string.h>

static enum ronde_status refuse(const struct inflate *inflate, const char *what,
                                struct ronde_error *error)
{
    const uint64_t unread = inflate->input_end - inflate->input_at + inflate->bit_count / 8;
    return ronde_fail(error, RONDE_BAD_INPUT, "%.200s: byte %llu: %s; write the file again",
                      inflate->path, (unsigned long long)(inflate->file_bytes - unread), what);
}

/* The next byte of the file; false at its end. */
static bool next_byte(struct inflate *inflate, unsigned *out)
{
    if (inflate->input_at == inflate->input_end) {
        if (inflate->is_at_end)
            return false;
        inflate->input_at = 0;
        inflate->input_end = fread(inflate->input, 1, sizeof inflate->input, inflate->file);
        inflate->file_bytes += inflate->input_end;
        if (inflate->input_end == 0) {
            inflate->is_at_end = true;
            return false;
        }
    }
    *out = inflate->input[inflate->input_at++];
    return true;
}

/* Takes as many bytes as there is room for, where the input has eight: bits above bit_count are then those of the next ones. */
static void refill(struct inflate *inflate)
{
    uint64_t word = 0;
    const unsigned char *from = inflate->input + inflate->input_at;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)from[i] << 8 * i;
    const uint32_t bytes = (63 - inflate->bit_count) / 8;
    inflate->bits |= word << inflate->bit_count;
    inflate->input_at += bytes;
    inflate->bit_count += 8 * bytes;
    /* What was not taken comes again. */
    inflate->bits &= (UINT64_C(1) << inflate->bit_count) - 1;
}

/* Has at least so many bits ready, up to 32; false where the file has no more. */
static bool need(struct inflate *inflate, uint32_t count)
{
    if (inflate->bit_count < count && inflate->input_end - inflate->input_at >= 8)
        refill(inflate);
    while (inflate->bit_count < count) {
        unsigned byte = 0;
        if (!next_byte(inflate, &byte))
            return false;
        inflate->bits |= (uint64_t)byte << inflate->bit_count;
        inflate->bit_count += 8;
    }
    return true;
}

static uint32_t take(struct inflate *inflate, uint32_t count)
{
    const uint32_t value = (uint32_t)(inflate->bits & ((UINT64_C(1) << count) - 1));
    inflate->bits >>= count;
    inflate->bit_count -= count;
    return value;
}

/* Reads a number of so many bits; false where the file ends. */
static bool number(struct inflate *inflate, uint32_t count, uint32_t *out)
{
    if (!need(inflate, count))
        return false;
    *out = take(inflate, count);
    return true;
}

/* Bits of a code in the order in which they are read. */
static uint32_t reversed(uint32_t code, uint32_t bits)
{
    uint32_t result = 0;
    for (; bits > 0; bits--, code >>= 1)
        result = result << 1 | (code & 1);
    return result;
}

/* A canonical code of such lengths; false where more codes are claimed than there are. A code may be incomplete. */
static bool make_code(struct inflate_code *code, const uint8_t *bits, uint32_t symbols)
{
    uint16_t at[INFLATE_MOST_BITS + 2] = {0}, next[INFLATE_MOST_BITS + 2] = {0};
    int32_t left = 1;
    memset(code, 0, sizeof *code);
    for (uint32_t s = 0; s < symbols; s++)
        code->count[bits[s]]++;
    code->count[0] = 0;
    for (uint32_t length = 1; length <= INFLATE_MOST_BITS; length++) {
        left = 2 * left - code->count[length];
        if (left < 0)
            return false;
        at[length + 1] = (uint16_t)(at[length] + code->count[length]);
        next[length + 1] = (uint16_t)((next[length] + code->count[length]) << 1);
    }
    for (uint32_t s = 0; s < symbols; s++) {
        const uint32_t length = bits[s];
        if (length == 0)
            continue;
        code->symbol[at[length]++] = (uint16_t)s;
        const uint32_t word = next[length]++;
        if (length > INFLATE_FAST_BITS)
            continue;
        for (uint32_t f = reversed(word, length); f < 1u << INFLATE_FAST_BITS; f += 1u << length)
            code->fast[f] = (uint16_t)(s << 4 | length);
    }
    return true;
}

/* A code of more bits than the table's, one bit after the other. */
static bool long_symbol(struct inflate *inflate, const struct inflate_code *code, uint32_t *out)
{
    uint32_t word = 0, first = 0, index = 0;
    for (uint32_t length = 1; length <= INFLATE_MOST_BITS; length++) {
        uint32_t bit = 0;
        if (!number(inflate, 1, &bit))
            return false;
        word |= bit;
        const uint32_t count = code->count[length];
        if (word < first + count) {
            *out = code->symbol[index + word - first];
            return true;
        }
        index += count;
        first = (first + count) << 1;
        word <<= 1;
    }
    return false;
}

static bool symbol(struct inflate *inflate, const struct inflate_code *code, uint32_t *out)
{
    (void)need(inflate, INFLATE_MOST_BITS); /* the last code of a file may have fewer behind it */
    const uint32_t entry = code->fast[inflate->bits & ((1u << INFLATE_FAST_BITS) - 1)];
    if (entry == 0 || (entry & 15) > inflate->bit_count)
        return long_symbol(inflate, code, out);
    (void)take(inflate, entry & 15);
    *out = entry >> 4;
    return true;
}

/* What follows a symbol of 257 and more, and a distance's: RFC 1951, 3.2.5. */
static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[] = {1,    2,    3,    4,     5,     7,    9,    13,
                                         17,   25,   33,   49,    65,    97,   129,  193,
                                         257,  385,  513,  769,   1025,  1537, 2049, 3073,
                                         4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

/* The lengths of a block's two codes, themselves coded. */
static enum ronde_status read_codes(struct inflate *inflate, struct ronde_error *error)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t bits[INFLATE_SYMBOLS + 32] = {0};
    uint32_t literals = 0, distances = 0, codes = 0, at = 0;
    if (!number(inflate, 5, &literals) || !number(inflate, 5, &distances) ||
        !number(inflate, 4, &codes))
        return refuse(inflate, "it ends within a block", error);
    literals += 257;
    distances += 1;
    if (literals > 286 || distances > 30)
        return refuse(inflate, "a code of more symbols than there are", error);
    for (uint32_t i = 0; i < codes + 4; i++) {
        uint32_t length = 0;
        if (!number(inflate, 3, &length))
            return refuse(inflate, "it ends within a block", error);
        bits[order[i]] = (uint8_t)length;
    }
    if (!make_code(&inflate->lengths, bits, 19))
        return refuse(inflate, "a code of more symbols than there are", error);
    memset(bits, 0, sizeof bits);
    while (at < literals + distances) {
        uint32_t what = 0, more = 0;
        if (!symbol(inflate, &inflate->lengths, &what))
            return refuse(inflate, "bits that are no code", error);
        if (what < 16) {
            bits[at++] = (uint8_t)what;
            continue;
        }
        if ((what == 16 && at == 0) || !number(inflate, what == 16 ? 2 : what == 17 ? 3 : 7, &more))
            return refuse(inflate, "bits that are no code", error);
        more += what == 18 ? 11 : 3;
        if (at + more > literals + distances)
            return refuse(inflate, "a code of more symbols than there are", error);
        const uint8_t repeated = what == 16 ? bits[at - 1] : 0;
        while (more-- > 0)
            bits[at++] = repeated;
    }
    return make_code(&inflate->lengths, bits, literals) &&
                   make_code(&inflate->distances, bits + literals, distances)
               ? RONDE_OK
               : refuse(inflate, "a code of more symbols than there are", error);
}

static void fixed_codes(struct inflate *inflate)
{
    uint8_t bits[INFLATE_SYMBOLS];
    for (uint32_t s = 0; s < INFLATE_SYMBOLS; s++)
        bits[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
    (void)make_code(&inflate->lengths, bits, INFLATE_SYMBOLS);
    memset(bits, 5, 30);
    (void)make_code(&inflate->distances, bits, 30);
}

/* Copies what is left of a match, as far as there is room. A match may reach into what it writes. */
static void copy_match(struct inflate *inflate)
{
    const size_t room = INFLATE_ROOM - inflate->out_end;
    const size_t count = inflate->length < room ? inflate->length : room;
    unsigned char *to = inflate->out + inflate->out_end;
    const unsigned char *from = to - inflate->distance;
    if (inflate->distance >= count)
        memcpy(to, from, count);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    inflate->out_end += count;
    inflate->length -= (uint32_t)count;
}

static enum ronde_status read_match(struct inflate *inflate, uint32_t code,
                                    struct ronde_error *error)
{
    uint32_t extra = 0, distance = 0;
    code -= 257;
    if (code >= 29 || !number(inflate, length_extra[code], &extra))
        return refuse(inflate, "bits that are no code", error);
    inflate->length = length_base[code] + extra;
    if (!symbol(inflate, &inflate->distances, &distance) || distance >= 30 ||
        !number(inflate, distance_extra[distance], &extra))
        return refuse(inflate, "bits that are no code", error);
    inflate->distance = distance_base[distance] + extra;
    /* Bytes of this member alone: the window may still have those of the one before. */
    if (inflate->distance > inflate->out_end)
        return refuse(inflate, "it refers to bytes before its first", error);
    copy_match(inflate);
    return RONDE_OK;
}

static enum ronde_status decode(struct inflate *inflate, struct ronde_error *error)
{
    copy_match(inflate);
    while (inflate->out_end < INFLATE_ROOM) {
        uint32_t code = 0;
        if (!symbol(inflate, &inflate->lengths, &code))
            return refuse(inflate, "it ends within a block, or has bits that are no code", error);
        if (code < 256) {
            inflate->out[inflate->out_end++] = (unsigned char)code;
        } else if (code == 256) {
            inflate->mode = INFLATE_BLOCK;
            return RONDE_OK;
        } else {
            const enum ronde_status status = read_match(inflate, code, error);
            if (status != RONDE_OK)
                return status;
        }
    }
    return RONDE_OK;
}

static enum ronde_status copy_stored(struct inflate *inflate, struct ronde_error *error)
{
    while (inflate->length > 0 && inflate->out_end < INFLATE_ROOM) {
        uint32_t byte = 0;
        if (!number(inflate, 8, &byte))
            return refuse(inflate, "it ends within a block", error);
        inflate->out[inflate->out_end++] = (unsigned char)byte;
        inflate->length--;
    }
    if (inflate->length == 0)
        inflate->mode = INFLATE_BLOCK;
    return RONDE_OK;
}

/* The head of the next block; behind the last one check sum and length. */
static enum ronde_status read_block(struct inflate *inflate, struct ronde_error *error)
{
    uint32_t last = 0, kind = 0, length = 0, complement = 0;
    if (inflate->is_last)
        return RONDE_OK;
    if (!number(inflate, 1, &last) || !number(inflate, 2, &kind))
        return refuse(inflate, "it ends before its last block", error);
    inflate->is_last = last != 0;
    inflate->mode = INFLATE_CODED;
    if (kind == 1) {
        fixed_codes(inflate);
        return RONDE_OK;
    }
    if (kind == 2)
        return read_codes(inflate, error);
    (void)take(inflate, inflate->bit_count % 8);
    if (kind != 0 || !number(inflate, 16, &length) || !number(inflate, 16, &complement) ||
        (length ^ complement) != 0xffff)
        return refuse(inflate, "no block of deflate", error);
    inflate->length = length;
    inflate->mode = INFLATE_STORED;
    return RONDE_OK;
}

static bool skip_text(struct inflate *inflate)
{
    uint32_t byte = 1;
    while (byte != 0)
        if (!number(inflate, 8, &byte))
            return false;
    return true;
}

/* RFC 1952, 2.3: magic, flags, what they announce. */
static enum ronde_status read_header(struct inflate *inflate, struct ronde_error *error)
{
    uint32_t magic = 0, method = 0, flags = 0, unused = 0, extra = 0;
    bool is_whole = number(inflate, 16, &magic) && number(inflate, 8, &method) &&
                    number(inflate, 8, &flags) && number(inflate, 32, &unused) &&
                    number(inflate, 16, &unused);
    if (!is_whole || magic != 0x8b1f || method != 8)
        return refuse(inflate, "no head of gzip", error);
    if (flags & 4) {
        is_whole = number(inflate, 16, &extra);
        while (is_whole && extra-- > 0)
            is_whole = number(inflate, 8, &unused);
    }
    is_whole = is_whole && (!(flags & 8) || skip_text(inflate)) &&
               (!(flags & 16) || skip_text(inflate)) &&
               (!(flags & 2) || number(inflate, 16, &unused));
    inflate->mode = INFLATE_BLOCK;
    inflate->is_last = false;
    inflate->crc = 0;
    inflate->member_bytes = 0;
    return is_whole ? RONDE_OK : refuse(inflate, "it ends within its head", error);
}

/* Tables of CRC-32 as gzip has it: of a byte, and of one that up to seven zeroes follow. */
static void make_tables(struct inflate *inflate)
{
    uint32_t *table = inflate->crc_table;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        table[byte] = crc;
    }
    for (uint32_t i = 256; i < 8 * 256; i++)
        table[i] = table[i - 256] >> 8 ^ table[table[i - 256] & 255];
}

/* Eight bytes at a time: their tables do not wait for each other. */
static uint32_t checked(const struct inflate *inflate, const unsigned char *bytes, size_t count)
{
    const uint32_t *table = inflate->crc_table;
    uint32_t crc = ~inflate->crc;
    for (; count >= 8; count -= 8, bytes += 8)
        crc = table[1792 + ((crc ^ bytes[0]) & 255)] ^ table[1536 + ((crc >> 8 ^ bytes[1]) & 255)] ^
              table[1280 + ((crc >> 16 ^ bytes[2]) & 255)] ^
              table[1024 + ((crc >> 24 ^ bytes[3]) & 255)] ^ table[768 + bytes[4]] ^
              table[512 + bytes[5]] ^ table[256 + bytes[6]] ^ table[bytes[7]];
    for (; count > 0; count--, bytes++)
        crc = crc >> 8 ^ table[(crc ^ *bytes) & 255];
    return ~crc;
}

void inflate_open(struct inflate *inflate, FILE *file, const char *path)
{
    memset(inflate, 0, sizeof *inflate);
    inflate->file = file;
    inflate->path = path;
    make_tables(inflate);
}

/* Check sum and length of what was decoded; behind them another member, or the end. */
static enum ronde_status read_trailer(struct inflate *inflate, struct ronde_error *error)
{
    uint32_t crc = 0, bytes = 0;
    (void)take(inflate, inflate->bit_count % 8);
    if (!number(inflate, 32, &crc) || !number(inflate, 32, &bytes))
        return refuse(inflate, "it ends before its check sum", error);
    if (crc != inflate->crc || bytes != (uint32_t)inflate->member_bytes)
        return refuse(inflate, "the check sum is of other bytes", error);
    /* Zeroes may fill the last block of a tape. */
    while (need(inflate, 8) && (inflate->bits & 255) == 0)
        (void)take(inflate, 8);
    inflate->mode = inflate->bit_count > 0 ? INFLATE_HEADER : INFLATE_END;
    return RONDE_OK;
}

/* Decodes until bytes are there or the file is at its end. */
static enum ronde_status produce(struct inflate *inflate, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (inflate->out_end == INFLATE_ROOM) {
        memmove(inflate->out, inflate->out + INFLATE_ROOM - INFLATE_WINDOW, INFLATE_WINDOW);
        inflate->out_end = INFLATE_WINDOW;
        inflate->out_done = INFLATE_WINDOW;
    }
    const size_t from = inflate->out_end;
    while (status == RONDE_OK && inflate->out_end == from && inflate->mode != INFLATE_END) {
        if (inflate->mode == INFLATE_HEADER)
            status = read_header(inflate, error);
        else if (inflate->mode == INFLATE_STORED)
            status = copy_stored(inflate, error);
        else if (inflate->mode == INFLATE_CODED)
            status = decode(inflate, error);
        else
            status = inflate->is_last ? read_trailer(inflate, error) : read_block(inflate, error);
    }
    inflate->crc = checked(inflate, inflate->out + from, inflate->out_end - from);
    inflate->member_bytes += inflate->out_end - from;
    return status;
}

enum ronde_status inflate_read(struct inflate *inflate, unsigned char *to, size_t capacity,
                               size_t *out_bytes, struct ronde_error *error)
{
    *out_bytes = 0;
    if (inflate->out_done == inflate->out_end) {
        const enum ronde_status status = produce(inflate, error);
        if (status != RONDE_OK)
            return status;
    }
    if (ferror(inflate->file))
        return ronde_fail(error, RONDE_IO, "%.200s: cannot be read", inflate->path);
    const size_t there = inflate->out_end - inflate->out_done;
    *out_bytes = there < capacity ? there : capacity;
    memcpy(to, inflate->out + inflate->out_done, *out_bytes);
    inflate->out_done += *out_bytes;
    return RONDE_OK;
}
