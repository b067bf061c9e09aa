/*
 * Stall diagnosis: which rank all others wait for, directly or not, when a time limit has passed.
 *
 * A rank that times out knows only its own peers, and the one it waits for may itself be waiting. So it sends a timeout
 * notice to rank 0, which queries all ranks' reports and follows waits_for from the sender, rank by rank, to one that
 * does not wait: it has not begun the call, has left, or does not reply. The alarm to all names that rank. Until a time
 * limit has passed none of this costs a run anything.
 */
#include "hw/bootstrap/control_channel_parts.h"
#include "hw/bootstrap/socket.h"
#include "ronde/hw.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* Limit of the replies: ranks in a call reply within some milliseconds, on a busy machine tens of them. */
#define REPORTS_NS 5e8

/* How long a rank waits for rank 0's verdict: that, and rank 0 may be slow to begin. */
#define VERDICT_NS 1e9

/* States of a rank that it does not report itself. */
enum { IS_SILENT = RONDE_ACTIVITY_COUNT, HAS_LEFT };

/* Room for one rank's part of an error. */
#define PART_BYTES 256

/* The ranks' reports. */
struct ronde_stall_diagnosis {
    struct ronde_report *reports; /* by rank */
    uint32_t ranks;
    uint32_t missing; /* reports */
};

static void fill_report(const struct ronde_control_channel *control, struct ronde_report *out)
{
    memset(out, 0, sizeof *out);
    out->waits_for = RONDE_NONE;
    if (control->describe)
        control->describe(control->describe_self, out);
    if (control->is_gathering)
        out->activity = RONDE_ACTIVITY_ALLGATHER;
}

void ronde_stall_report(const struct ronde_control_channel *control)
{
    struct ronde_report mine;
    fill_report(control, &mine);
    (void)ronde_frame_send(control->polls[0].fd, RONDE_FRAME_STATUS, &mine, sizeof mine,
                           ronde_clock_ns());
}

/* Whether sent bytes are unacknowledged: the kernel of a stopped process acknowledges all the same. */
static bool is_unacknowledged(int fd)
{
    int unread = 0;
    return ioctl(fd, TIOCOUTQ, &unread) == 0 && unread > 0;
}

/* Why a rank does not reply, as far as its connection shows it. */
static const char *explain_silence(const struct ronde_control_channel *control, uint32_t rank)
{
    return is_unacknowledged(control->polls[control->rank == 0 ? rank : 0].fd)
               ? "its host does not answer"
               : "it makes no call of the communicator";
}

/* The first rank that does not reply. */
static uint32_t find_silent(const struct ronde_stall_diagnosis *stall)
{
    for (uint32_t rank = 0; rank < stall->ranks; rank++)
        if (stall->reports[rank].activity == IS_SILENT)
            return rank;
    return RONDE_NONE;
}

/* The same, else the first with another activity than this one. */
static uint32_t find_absent(const struct ronde_stall_diagnosis *stall, uint32_t activity)
{
    uint32_t found = find_silent(stall);
    for (uint32_t rank = 0; rank < stall->ranks && found == RONDE_NONE; rank++)
        if (stall->reports[rank].activity != activity)
            found = rank;
    return found;
}

/* The rank that this one waits for, or RONDE_NONE. */
static uint32_t next_of(const struct ronde_stall_diagnosis *stall, uint32_t rank)
{
    const struct ronde_report *at = &stall->reports[rank];
    const bool is_vague = at->activity == RONDE_ACTIVITY_RUN && at->waits_for == RONDE_UNKNOWN_RANK;
    if (at->activity == RONDE_ACTIVITY_ALLGATHER || is_vague)
        return find_absent(stall, at->activity);
    if (at->activity == RONDE_ACTIVITY_RUN && at->waits_for == RONDE_SILENT_RANK)
        return find_silent(stall);
    return at->activity == RONDE_ACTIVITY_RUN ? at->waits_for : RONDE_NONE;
}

/* Follows the wait-for chain. Returns a rank that does not wait, or one of a cycle; *out_before waits for it. */
static uint32_t follow(const struct ronde_stall_diagnosis *stall, uint32_t from,
                       uint32_t *out_before)
{
    *out_before = from;
    for (uint32_t hop = 0; hop < stall->ranks; hop++) {
        const uint32_t next = next_of(stall, from);
        if (next == RONDE_NONE)
            break;
        *out_before = from;
        from = next;
    }
    return from;
}

/* How many ranks wait for this one, directly or not. */
static uint32_t count_waiting(const struct ronde_stall_diagnosis *stall, uint32_t root)
{
    uint32_t count = 0;
    uint32_t before;
    for (uint32_t rank = 0; rank < stall->ranks; rank++)
        count += rank != root && follow(stall, rank, &before) == root;
    return count;
}

/* A report as text. */
static void describe(const struct ronde_report *report, uint32_t rank, char text[PART_BYTES])
{
    if (report->activity == RONDE_ACTIVITY_RUN)
        snprintf(text, PART_BYTES, "%s (run %llu, still for %.3g s)", report->reason,
                 (unsigned long long)report->run, (double)report->still_ns / 1e9);
    else
        snprintf(text, PART_BYTES, "rank %u %s", rank,
                 report->activity == RONDE_ACTIVITY_ALLGATHER ? "has come to gather"
                                                              : "is in no run");
}

/* What an awaited rank has not done. */
static void describe_missing(const struct ronde_report *waiter, uint32_t rank, char text[PART_BYTES])
{
    if (waiter->activity != RONDE_ACTIVITY_RUN)
        snprintf(text, PART_BYTES, "rank %u has not come to gather", rank);
    else
        snprintf(text, PART_BYTES, "rank %u %s run %llu (%.95s)", rank,
                 waiter->is_unbegun ? "has not begun" : "stands still in",
                 (unsigned long long)waiter->run, waiter->name);
}

/* The call that has timed out. */
static const char *name_of(const struct ronde_report *notice)
{
    return notice->activity == RONDE_ACTIVITY_ALLGATHER ? "a gathering" : "the run";
}

/* Writes the error: the rank that the notice's wait-for chain leads to, and why the others wait for it. */
static void write_verdict(const struct ronde_control_channel *control, uint32_t from,
                          double limit_ns, struct ronde_error *why)
{
    const struct ronde_stall_diagnosis *stall = control->stall;
    char missing_text[PART_BYTES];
    char other[PART_BYTES];
    uint32_t before;
    const double limit_s = limit_ns / 1e9;
    const uint32_t root = follow(stall, from, &before);
    const uint32_t next = next_of(stall, root);
    const struct ronde_report *at = &stall->reports[root];
    const char *what = name_of(&stall->reports[from]);
    if (next != RONDE_NONE || before == root || at->activity == RONDE_ACTIVITY_RUN) {
        describe(at, root, missing_text);
        if (next != RONDE_NONE)
            describe(&stall->reports[next], next, other);
        (void)ronde_fail(why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s%s%s", what, limit_s,
                         missing_text, next != RONDE_NONE ? "; " : "",
                         next != RONDE_NONE ? other : "");
        return;
    }
    const uint32_t waiting = count_waiting(stall, root);
    const char *reason = at->activity == HAS_LEFT    ? "it has left the communicator"
                         : at->activity == IS_SILENT ? explain_silence(control, root)
                                                     : "it answers, and is in no run";
    describe_missing(&stall->reports[before], root, missing_text);
    (void)ronde_fail(why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s: %s; %u rank%s for it",
                     what, limit_s, missing_text, reason, waiting,
                     waiting == 1 ? " waits" : "s wait");
}

/* Queries all connected ranks; marks those that cannot be queried. */
static void query_all(struct ronde_control_channel *control, struct ronde_stall_diagnosis *stall,
                      uint32_t from)
{
    for (uint32_t rank = 1; rank < control->ranks; rank++) {
        const int fd = control->polls[rank].fd;
        if (rank == from)
            continue;
        if (control->inboxes[rank].is_full) {
            stall->reports[rank].activity = RONDE_ACTIVITY_ALLGATHER;
            continue;
        }
        stall->reports[rank].activity = fd < 0 ? HAS_LEFT : IS_SILENT;
        stall->missing += fd >= 0;
        if (fd >= 0)
            (void)ronde_frame_send(fd, RONDE_FRAME_STATUS_QUERY, NULL, 0, ronde_clock_ns());
    }
}

/* Rank 0: finds the rank that a timed-out one waits for, and broadcasts the error. Always fails. */
static enum ronde_status diagnose_stall(struct ronde_control_channel *control, uint32_t from,
                                        const struct ronde_timeout_notice *notice,
                                        struct ronde_error *error)
{
    const double deadline_ns = ronde_clock_ns() + REPORTS_NS;
    struct ronde_stall_diagnosis stall = {ronde_mem_new(control->mem, control->ranks,
                                                        sizeof *stall.reports),
                                          control->ranks, 0};
    enum ronde_status status = RONDE_OK;
    struct ronde_error why = {0};
    if (stall.reports) {
        control->stall = &stall;
        fill_report(control, &stall.reports[0]);
        stall.reports[from] = notice->report;
        query_all(control, &stall, from);
        for (int left_ms = 1; status == RONDE_OK && left_ms > 0 && stall.missing > 0;) {
            left_ms = ronde_socket_left_ms(deadline_ns, 10);
            status = ronde_control_poll(control, left_ms, error);
        }
        write_verdict(control, from, (double)notice->limit_ns, &why);
        control->stall = NULL;
    }
    (void)ronde_fail(&why, RONDE_NO_MEMORY, "no memory to ask %u ranks what they wait for",
                     control->ranks);
    ronde_mem_free(control->mem, stall.reports, control->ranks, sizeof *stall.reports);
    return status == RONDE_OK ? ronde_control_settle(control, &why, control->poll_count, error)
                              : status;
}

/* Whether a received report is valid. */
static bool is_sound(const struct ronde_control_channel *control, struct ronde_report *report)
{
    report->name[sizeof report->name - 1] = '\0';
    report->reason[sizeof report->reason - 1] = '\0';
    return report->activity < RONDE_ACTIVITY_COUNT &&
           (report->waits_for < control->ranks || report->waits_for >= RONDE_SILENT_RANK);
}

enum ronde_status ronde_stall_receive(struct ronde_control_channel *control, uint32_t entry,
                                      const struct ronde_frame_head *head, struct ronde_error *error)
{
    const bool is_late = head->kind == RONDE_FRAME_TIMED_OUT;
    struct ronde_timeout_notice notice = {0, {0}};
    void *data = is_late ? (void *)&notice : (void *)&notice.report;
    const size_t bytes = is_late ? sizeof notice : sizeof notice.report;
    if (ronde_frame_read(control->polls[entry].fd, data,
                         head->bytes < bytes ? head->bytes : bytes) != RONDE_OK)
        return ronde_control_lost(control, entry, error);
    if (control->rank != 0 || head->bytes != bytes || !is_sound(control, &notice.report))
        return ronde_control_refuse(control, entry, error);
    if (!control->stall)
        return is_late ? diagnose_stall(control, entry, &notice, error) : RONDE_OK;
    control->stall->missing -= control->stall->reports[entry].activity == IS_SILENT;
    control->stall->reports[entry] = notice.report;
    return RONDE_OK;
}

/* No verdict from rank 0: each rank reports only its own part. */
static enum ronde_status fail_locally(struct ronde_control_channel *control,
                                      const struct ronde_timeout_notice *notice,
                                      struct ronde_error *error)
{
    const bool has_left = control->polls[0].fd < 0;
    const struct ronde_report *mine = &notice->report;
    struct ronde_error why = {0};
    char text[PART_BYTES];
    if (mine->waits_for == 0 || mine->activity == RONDE_ACTIVITY_ALLGATHER)
        describe_missing(mine, 0, text);
    else
        describe(mine, control->rank, text);
    (void)ronde_fail(&why, RONDE_TIMEOUT, "%s took longer than %.3g s: %s; rank 0 is silent: %s",
                     name_of(mine), (double)notice->limit_ns / 1e9, text,
                     has_left ? "it has left the communicator" : explain_silence(control, 0));
    return ronde_control_settle(control, &why, control->poll_count, error);
}

enum ronde_status ronde_control_timed_out(struct ronde_control_channel *control, double limit_ns,
                                          struct ronde_error *error)
{
    struct ronde_timeout_notice mine = {(uint64_t)limit_ns, {0}};
    fill_report(control, &mine.report);
    if (control->rank == 0)
        return diagnose_stall(control, 0, &mine, error);
    if (control->polls[0].fd >= 0)
        (void)ronde_frame_send(control->polls[0].fd, RONDE_FRAME_TIMED_OUT, &mine, sizeof mine,
                               ronde_clock_ns());
    RONDE_TRY(ronde_control_linger(control, VERDICT_NS, error));
    return fail_locally(control, &mine, error);
}
