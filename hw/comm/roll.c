/*
 * Asking around: who is doing what, and whom all the others wait for in the end.
 *
 * A rank whose time is over knows only its neighbours, and the one it waits for may itself be waiting. So it complains to
 * rank 0, which asks all ranks what they are doing and follows the answers from the one that complains, rank by rank, to
 * one that does not wait: it has not come, has left, or does not answer. That one is named to all. Nothing of this costs a
 * run anything before its time is over.
 */
#include "hw/comm/socket.h"
#include "hw/comm/star_parts.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Ranks in a call answer within some milliseconds, on a busy machine tens of them. */
#define ANSWERS_NS 5e8

/* How long a complaint may take: that, and rank 0 may be slow to begin. */
#define VERDICT_NS 1e9

/* What a rank turns out to do, beyond what it can say itself. */
enum { IS_SILENT = RONDE_DOING_COUNT, HAS_LEFT };

/* Room for one rank's part of an error. */
#define PART_BYTES 256

/* The ranks' answers. */
struct ronde_roll {
    struct ronde_report *reports; /* by rank */
    uint32_t ranks;
    uint32_t missing; /* answers */
};

static void account_for(const struct ronde_star *star, struct ronde_report *out)
{
    memset(out, 0, sizeof *out);
    out->waits_for = RONDE_NONE;
    if (star->account)
        star->account(star->account_self, out);
    if (star->is_gathering)
        out->doing = RONDE_DOING_GATHER;
}

void ronde_roll_answer(const struct ronde_star *star)
{
    struct ronde_report mine;
    account_for(star, &mine);
    (void)ronde_frame_send(star->polls[0].fd, RONDE_FRAME_REPORT, &mine, sizeof mine,
                           ronde_clock_ns());
}

/* Whether what was sent lies unacknowledged: a process may stand still, its system answers all the same. */
static bool is_out_of_reach(int fd)
{
    int unread = 0;
    return ioctl(fd, TIOCOUTQ, &unread) == 0 && unread > 0;
}

/* Why a rank says nothing, as far as its connection shows it. */
static const char *silence_of(const struct ronde_star *star, uint32_t rank)
{
    return is_out_of_reach(star->polls[star->rank == 0 ? rank : 0].fd)
               ? "its host does not answer"
               : "it makes no call of the communicator";
}

/* The first rank that is not where most are: a silent one rather than one that only does something else. */
static uint32_t find_absent(const struct ronde_roll *roll, uint32_t doing)
{
    uint32_t found = RONDE_NONE;
    for (uint32_t rank = 0; rank < roll->ranks; rank++) {
        if (roll->reports[rank].doing == IS_SILENT)
            return rank;
        if (roll->reports[rank].doing != doing && found == RONDE_NONE)
            found = rank;
    }
    return found;
}

/* The rank that another waits for; RONDE_NONE if for nobody. */
static uint32_t next_of(const struct ronde_roll *roll, uint32_t rank)
{
    const struct ronde_report *at = &roll->reports[rank];
    const bool is_vague = at->doing == RONDE_DOING_RUN && at->waits_for == RONDE_ANYBODY;
    if (at->doing == RONDE_DOING_GATHER || is_vague)
        return find_absent(roll, at->doing);
    return at->doing == RONDE_DOING_RUN ? at->waits_for : RONDE_NONE;
}

/* Follows who waits for whom. Returns one that does not wait, or one of a circle; *out_before waits for it. */
static uint32_t follow(const struct ronde_roll *roll, uint32_t from, uint32_t *out_before)
{
    *out_before = from;
    for (uint32_t hop = 0; hop < roll->ranks; hop++) {
        const uint32_t next = next_of(roll, from);
        if (next == RONDE_NONE)
            break;
        *out_before = from;
        from = next;
    }
    return from;
}

/* Those that wait for a rank, directly or not. */
static uint32_t count_waiting(const struct ronde_roll *roll, uint32_t root)
{
    uint32_t count = 0;
    uint32_t before;
    for (uint32_t rank = 0; rank < roll->ranks; rank++)
        count += rank != root && follow(roll, rank, &before) == root;
    return count;
}

/* A rank in a run, or elsewhere, in its own words. */
static void describe(const struct ronde_report *report, uint32_t rank, char text[PART_BYTES])
{
    if (report->doing == RONDE_DOING_RUN)
        snprintf(text, PART_BYTES, "%s (run %llu, still for %.3g s)", report->reason,
                 (unsigned long long)report->run, (double)report->still_ns / 1e9);
    else
        snprintf(text, PART_BYTES, "rank %u %s", rank,
                 report->doing == RONDE_DOING_GATHER ? "has come to gather" : "is in no run");
}

/* What a rank that is waited for has not done. */
static void describe_debt(const struct ronde_report *creditor, uint32_t rank, char text[PART_BYTES])
{
    if (creditor->doing != RONDE_DOING_RUN)
        snprintf(text, PART_BYTES, "rank %u has not come to gather", rank);
    else
        snprintf(text, PART_BYTES, "rank %u %s run %llu (%.95s)", rank,
                 creditor->is_unbegun ? "has not begun" : "stands still in",
                 (unsigned long long)creditor->run, creditor->name);
}

/* What somebody has waited for too long. */
static const char *name_of(const struct ronde_report *complaint)
{
    return complaint->doing == RONDE_DOING_GATHER ? "a gathering" : "the run";
}

/* In words, what was found about the rank that somebody's complaint leads to. */
static void judge(const struct ronde_star *star, uint32_t from, double limit_ns,
                  struct ronde_error *why)
{
    const struct ronde_roll *roll = star->roll;
    char debt[PART_BYTES];
    char other[PART_BYTES];
    uint32_t before;
    const double limit_s = limit_ns / 1e9;
    const uint32_t root = follow(roll, from, &before);
    const uint32_t next = next_of(roll, root);
    const struct ronde_report *at = &roll->reports[root];
    const char *what = name_of(&roll->reports[from]);
    if (next != RONDE_NONE || before == root || at->doing == RONDE_DOING_RUN) {
        describe(at, root, debt);
        if (next != RONDE_NONE)
            describe(&roll->reports[next], next, other);
        (void)ronde_fail(why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s%s%s", what, limit_s,
                         debt, next != RONDE_NONE ? "; " : "", next != RONDE_NONE ? other : "");
        return;
    }
    const uint32_t waiting = count_waiting(roll, root);
    const char *reason = at->doing == HAS_LEFT    ? "it has left the communicator"
                         : at->doing == IS_SILENT ? silence_of(star, root)
                                                  : "it answers, and is in no run";
    describe_debt(&roll->reports[before], root, debt);
    (void)ronde_fail(why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s: %s; %u rank%s for it",
                     what, limit_s, debt, reason, waiting, waiting == 1 ? " waits" : "s wait");
}

/* Asks everybody who is still there; notes who cannot be asked. */
static void ask_all(struct ronde_star *star, struct ronde_roll *roll, uint32_t from)
{
    for (uint32_t rank = 1; rank < star->ranks; rank++) {
        const int fd = star->polls[rank].fd;
        if (rank == from)
            continue;
        if (star->inboxes[rank].is_full) {
            roll->reports[rank].doing = RONDE_DOING_GATHER;
            continue;
        }
        roll->reports[rank].doing = fd < 0 ? HAS_LEFT : IS_SILENT;
        roll->missing += fd >= 0;
        if (fd >= 0)
            (void)ronde_frame_send(fd, RONDE_FRAME_ROLL, NULL, 0, ronde_clock_ns());
    }
}

/* Rank 0: finds out whom a rank waits for whose time is over, and tells all. Always fails. */
static enum ronde_status call_roll(struct ronde_star *star, uint32_t from,
                                   const struct ronde_complaint *complaint,
                                   struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + ANSWERS_NS;
    struct ronde_roll roll = {ronde_mem_new(star->mem, star->ranks, sizeof *roll.reports),
                              star->ranks, 0};
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    if (roll.reports) {
        star->roll = &roll;
        account_for(star, &roll.reports[0]);
        roll.reports[from] = complaint->report;
        ask_all(star, &roll, from);
        for (int left_ms = 1; status == RONDE_OK && left_ms > 0 && roll.missing > 0;) {
            left_ms = ronde_socket_left_ms(deadline_ns, 10);
            status = ronde_star_look(star, left_ms, error);
        }
        judge(star, from, (double)complaint->limit_ns, &why);
        star->roll = NULL;
    }
    (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory to ask %u ranks what they wait for",
                     star->ranks);
    ronde_mem_free(star->mem, roll.reports, star->ranks, sizeof *roll.reports);
    return status == RONDE_OK ? ronde_star_settle(star, &why, star->poll_count, error) : status;
}

/* Whether a report is one. */
static bool is_sound(const struct ronde_star *star, struct ronde_report *report)
{
    report->name[sizeof report->name - 1] = '\0';
    report->reason[sizeof report->reason - 1] = '\0';
    return report->doing < RONDE_DOING_COUNT &&
           (report->waits_for < star->ranks || report->waits_for >= RONDE_ANYBODY);
}

enum ronde_status ronde_roll_hear(struct ronde_star *star, uint32_t entry,
                                  const struct ronde_frame_head *head, struct ronde_error *error)
{
    const bool is_late = head->kind == RONDE_FRAME_LATE;
    struct ronde_complaint complaint = {0, {0}};
    void *data = is_late ? (void *)&complaint : (void *)&complaint.report;
    const size_t bytes = is_late ? sizeof complaint : sizeof complaint.report;
    if (ronde_frame_read(star->polls[entry].fd, data, head->bytes < bytes ? head->bytes : bytes) !=
        RONDE_OK)
        return ronde_star_lose(star, entry, error);
    if (star->rank != 0 || head->bytes != bytes || !is_sound(star, &complaint.report))
        return ronde_star_refuse(star, entry, error);
    if (!star->roll)
        return is_late ? call_roll(star, entry, &complaint, error) : RONDE_OK;
    star->roll->missing -= star->roll->reports[entry].doing == IS_SILENT;
    star->roll->reports[entry] = complaint.report;
    return RONDE_OK;
}

/* Rank 0 has not said anything: each rank knows only its own part. */
static enum ronde_status fail_alone(struct ronde_star *star, const struct ronde_complaint *complaint,
                                    struct ronde_error *error)
{
    const bool has_left = star->polls[0].fd < 0;
    const struct ronde_report *mine = &complaint->report;
    struct ronde_error why = {0};
    char text[PART_BYTES];
    if (mine->waits_for == 0 || mine->doing == RONDE_DOING_GATHER)
        describe_debt(mine, 0, text);
    else
        describe(mine, star->rank, text);
    (void)ronde_fail(&why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s; rank 0 is silent: %s",
                     name_of(mine), (double)complaint->limit_ns / 1e9, text,
                     has_left ? "it has left the communicator" : silence_of(star, 0));
    return ronde_star_settle(star, &why, star->poll_count, error);
}

enum ronde_status ronde_star_late(struct ronde_star *star, double limit_ns,
                                  struct ronde_error *error)
{
    struct ronde_complaint mine = {(uint64_t)limit_ns, {0}};
    account_for(star, &mine.report);
    if (star->rank == 0)
        return call_roll(star, 0, &mine, error);
    if (star->polls[0].fd >= 0)
        (void)ronde_frame_send(star->polls[0].fd, RONDE_FRAME_LATE, &mine, sizeof mine,
                               ronde_clock_ns());
    const enum ronde_status status = ronde_star_linger(star, VERDICT_NS, error);
    return status == RONDE_OK ? fail_alone(star, &mine, error) : status;
}
