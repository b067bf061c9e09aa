/* The text form of the process manager interface, which hydra needs. See pmi.h. */
#include "hw/bootstrap/pmi.h"

#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest line that is understood; launchers end theirs at 1024 or 4096 characters. */
#define LINE_BYTES 4200u

/* What of a line an error shows. */
#define SHOWN_BYTES 80u

/* Bytes of one value: two characters each, so that a line stays far below what any launcher takes. */
#define PIECE_BYTES 120u

/* Where no other limit holds: of initack, and of finalize without a rendezvous. */
#define CONNECT_NS 10e9
#define FINALIZE_NS 2e9

/* The connection to the launcher, and what was received of its lines. */
struct session {
    int fd;
    double deadline_ns;
    size_t have;
    char text[LINE_BYTES];
    char line[LINE_BYTES]; /* the last one, without its end */
    char name[300];        /* of the key-value space */
};

bool ronde_pmi_is_socket(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return fd > STDERR_FILENO && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_STREAM;
}

/* A received line, made printable for a message. */
static void make_printable(const char *text, char shown[SHOWN_BYTES])
{
    size_t k = 0;
    for (; text[k] && k + 1 < SHOWN_BYTES; k++)
        shown[k] = (char)(isprint((unsigned char)text[k]) ? text[k] : '?');
    shown[k] = '\0';
}

/* Waits for more of a line. */
static enum ronde_status receive_some(struct session *session)
{
    struct pollfd one = {session->fd, POLLIN, 0};
    const int left_ms = ronde_socket_left_ms(session->deadline_ns, 1000);
    if (left_ms == 0)
        return RONDE_TIMEOUT;
    if (poll(&one, 1, left_ms) <= 0)
        return RONDE_OK;
    const ssize_t got = recv(session->fd, session->text + session->have,
                             sizeof session->text - session->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return RONDE_OK;
    if (got <= 0)
        return RONDE_IO;
    session->have += (size_t)got;
    return RONDE_OK;
}

/* The next line; launchers send several at once, and halves. */
static enum ronde_status read_line(struct session *session, const char *question,
                                   struct ronde_error *error)
{
    char *end = NULL;
    while (!(end = memchr(session->text, '\n', session->have))) {
        if (session->have == sizeof session->text)
            return ronde_fail(error, RONDE_IO, "pmi: the answer to %s has no end", question);
        const enum ronde_status status = receive_some(session);
        if (status == RONDE_TIMEOUT)
            return ronde_fail(error, status, "pmi: no answer to %s in time%s", question,
                              strcmp(question, "barrier_in") == 0 ? ": a rank has not come" : "");
        if (status != RONDE_OK)
            return ronde_fail(error, status, "pmi: the launcher left at %s", question);
    }
    const size_t length = (size_t)(end - session->text);
    memcpy(session->line, session->text, length);
    session->line[length] = '\0';
    session->have -= length + 1;
    memmove(session->text, end + 1, session->have);
    return RONDE_OK;
}

/* What follows "key=" in the last line; false where there is no such key, or it is too long. */
static bool find_value(const struct session *session, const char *key, char *out, size_t bytes)
{
    const size_t length = strlen(key);
    const char *at = session->line;
    while (strncmp(at, key, length) != 0 || at[length] != '=') {
        at += strcspn(at, " ");
        if (*at == '\0')
            return false;
        at++;
    }
    at += length + 1;
    const size_t found = strcspn(at, " ");
    if (found >= bytes)
        return false;
    memcpy(out, at, found);
    out[found] = '\0';
    return true;
}

static bool find_number(const struct session *session, const char *key, uint32_t *out)
{
    char text[16];
    char *end = NULL;
    if (!find_value(session, key, text, sizeof text) || !isdigit((unsigned char)text[0]))
        return false;
    const unsigned long long number = strtoull(text, &end, 10);
    *out = (uint32_t)number;
    return *end == '\0' && number <= UINT32_MAX;
}

static enum ronde_status fail_answer(const struct session *session, const char *question,
                                     struct ronde_error *error)
{
    char shown[SHOWN_BYTES];
    make_printable(session->line, shown);
    return ronde_fail(error, RONDE_IO, "pmi: the launcher answers \"%s\" to %s", shown, question);
}

/* Sends a line and reads the answer, which must have this name and, where it has a code, that of success. */
static enum ronde_status request(struct session *session, const char *question, const char *rest,
                                 const char *answer, struct ronde_error *error)
{
    char line[LINE_BYTES];
    char name[32];
    char code[16];
    const int length = snprintf(line, sizeof line, "cmd=%s%s\n", question, rest);
    enum ronde_status status =
        ronde_socket_send(session->fd, line, (size_t)length, session->deadline_ns);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "pmi: the launcher does not take %s", question);
    status = read_line(session, question, error);
    if (status != RONDE_OK)
        return status;
    if (!find_value(session, "cmd", name, sizeof name) || strcmp(name, answer) != 0 ||
        (find_value(session, "rc", code, sizeof code) && strcmp(code, "0") != 0))
        return fail_answer(session, question, error);
    return RONDE_OK;
}

/* "host:port", as hydra writes it: a name without a port of its own. */
static enum ronde_status connect_to(const char *place, double deadline_ns, int *out_fd,
                                    struct ronde_error *error)
{
    char host[256];
    const char *colon = strrchr(place, ':');
    char *end = NULL;
    const unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    const size_t length = colon ? (size_t)(colon - place) : 0;
    if (length == 0 || length >= sizeof host || *end != '\0' || port == 0 || port > UINT16_MAX)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "PMI_PORT=\"%.64s\" is not HOST:PORT", place);
    snprintf(host, sizeof host, "%.*s", (int)length, place);
    return ronde_socket_connect(host, (uint16_t)port, deadline_ns, out_fd, error);
}

/* After initack the launcher sends three numbers, a line each. */
static enum ronde_status send_initack(struct session *session, const char *id, uint32_t *out_rank,
                                      uint32_t *out_ranks, struct ronde_error *error)
{
    char rest[64];
    uint32_t ignored = 0;
    bool has_rank = false, has_ranks = false;
    snprintf(rest, sizeof rest, " pmiid=%.40s", id);
    RONDE_TRY(request(session, "initack", rest, "initack", error));
    for (int k = 0; k < 3; k++) {
        RONDE_TRY(read_line(session, "initack", error));
        const bool is_rank = find_number(session, "rank", out_rank);
        const bool is_ranks = find_number(session, "size", out_ranks);
        if (!is_rank && !is_ranks && !find_number(session, "debug", &ignored))
            return fail_answer(session, "initack", error);
        has_rank = has_rank || is_rank;
        has_ranks = has_ranks || is_ranks;
    }
    if (!has_rank || !has_ranks || *out_rank >= *out_ranks)
        return ronde_fail(error, RONDE_IO, "pmi: the launcher tells process %.40s no rank", id);
    return RONDE_OK;
}

enum ronde_status ronde_pmi_connect(const char *place, const char *id, int *out_fd,
                                    uint32_t *out_rank, uint32_t *out_ranks,
                                    struct ronde_error *error)
{
    struct session session = {.deadline_ns = ronde_clock_ns() + CONNECT_NS};
    RONDE_TRY(connect_to(place, session.deadline_ns, &session.fd, error));
    const enum ronde_status status = send_initack(&session, id, out_rank, out_ranks, error);
    if (status != RONDE_OK)
        close(session.fd);
    else
        *out_fd = session.fd;
    return status;
}

/* Puts or gets one piece; values are hexadecimal, since spaces and ends of lines have a meaning. */
static enum ronde_status put_piece(struct session *session, uint32_t number,
                                   const unsigned char *data, size_t bytes,
                                   struct ronde_error *error)
{
    char rest[sizeof session->name + 2 * PIECE_BYTES + 64];
    size_t used = (size_t)snprintf(rest, sizeof rest,
                                   " kvsname=%s key=ronde-%u value=", session->name, number);
    for (size_t k = 0; k < bytes; k++, used += 2)
        snprintf(rest + used, sizeof rest - used, "%02x", data[k]);
    return request(session, "put", rest, "put_result", error);
}

static int digit_of(char character)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = character ? strchr(digits, character) : NULL;
    return at ? (int)(at - digits) : -1;
}

static enum ronde_status get_piece(struct session *session, uint32_t number, unsigned char *data,
                                   size_t bytes, struct ronde_error *error)
{
    char rest[sizeof session->name + 64];
    char value[2 * PIECE_BYTES + 1];
    snprintf(rest, sizeof rest, " kvsname=%s key=ronde-%u", session->name, number);
    RONDE_TRY(request(session, "get", rest, "get_result", error));
    if (!find_value(session, "value", value, sizeof value) || strlen(value) != 2 * bytes)
        return fail_answer(session, "get", error);
    for (size_t k = 0; k < bytes; k++) {
        const int high = digit_of(value[2 * k]);
        const int low = digit_of(value[2 * k + 1]);
        if (high < 0 || low < 0)
            return fail_answer(session, "get", error);
        data[k] = (unsigned char)(16 * high + low);
    }
    return RONDE_OK;
}

static enum ronde_status send_init(struct session *session, struct ronde_error *error)
{
    return request(session, "init", " pmi_version=1 pmi_subversion=1", "response_to_init", error);
}

/* Sends init, then asks for the limits and the name of the key-value space. */
static enum ronde_status begin(struct session *session, struct ronde_error *error)
{
    uint32_t longest = 0;
    struct ronde_error why = {0};
    /* A launcher that does not answer init is taken for absent. */
    if (send_init(session, &why) != RONDE_OK)
        return ronde_fail(error, RONDE_UNAVAILABLE, "%s", why.message);
    RONDE_TRY(request(session, "get_maxes", "", "maxes", error));
    if (!find_number(session, "vallen_max", &longest))
        return fail_answer(session, "get_maxes", error);
    if (longest <= 2 * PIECE_BYTES)
        return ronde_fail(error, RONDE_IO,
                          "pmi: the launcher takes values of %u characters, %u are needed", longest,
                          2 * PIECE_BYTES + 1);
    RONDE_TRY(request(session, "get_my_kvsname", "", "my_kvsname", error));
    if (!find_value(session, "kvsname", session->name, sizeof session->name))
        return fail_answer(session, "get_my_kvsname", error);
    return RONDE_OK;
}

/* Rank 0 puts all pieces before the barrier, the others get them after it. */
static enum ronde_status transfer(struct session *session, bool is_put, unsigned char *data,
                                  size_t bytes, struct ronde_error *error)
{
    uint32_t number = 0;
    for (size_t at = 0; at < bytes; at += PIECE_BYTES, number++) {
        const size_t length = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        RONDE_TRY(is_put ? put_piece(session, number, data + at, length, error)
                         : get_piece(session, number, data + at, length, error));
    }
    return RONDE_OK;
}

enum ronde_status ronde_pmi_share(const struct ronde_pmi *pmi, void *data, size_t bytes,
                                  struct ronde_error *error)
{
    struct session session = {.fd = pmi->fd, .deadline_ns = pmi->deadline_ns};
    RONDE_TRY(begin(&session, error));
    if (pmi->rank == 0)
        RONDE_TRY(transfer(&session, true, data, bytes, error));
    RONDE_TRY(request(&session, "barrier_in", "", "barrier_out", error));
    if (pmi->rank != 0)
        RONDE_TRY(transfer(&session, false, data, bytes, error));
    return request(&session, "finalize", "", "finalize_ack", error);
}

void ronde_pmi_finalize(int fd)
{
    struct session session = {.fd = fd, .deadline_ns = ronde_clock_ns() + FINALIZE_NS};
    if (send_init(&session, NULL) == RONDE_OK)
        (void)request(&session, "finalize", "", "finalize_ack", NULL);
}
