/*
 * The ends of registered buffers: memory that is gone is never read for what is there now, nor what a rank offered that has
 * given up; what is refused, and that nothing is left.
 */
#include "net/registered.h"
#include "support/suite.h"

#include "ronde/text.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* A sum that is long enough to be read in place. */
#define COUNT 60000u

struct sum {
    struct ronde_launch launch;
    void *in[TEAM_MAX];
    void *out[TEAM_MAX];
};

static void fill_sum(struct sum *sum, const struct registered_proc *proc,
                     const struct team_member *member, int32_t value)
{
    int32_t *in = (int32_t *)(void *)(proc->segment + 4096);
    memset(sum, 0, sizeof *sum);
    for (uint32_t k = 0; k < COUNT; k++)
        in[k] = value + (int32_t)k;
    sum->in[member->join.rank] = in;
    sum->out[member->join.rank] = in + COUNT + 100;
    sum->launch = (struct ronde_launch){
        .count = COUNT, .dtype = RONDE_INT32, .op = RONDE_SUM, .in = sum->in, .out = sum->out};
}

/* Sums `value` of every rank, and says whether this rank's messages were read in place. */
static enum ronde_status run_sum(struct registered_proc *proc, const struct team_member *member,
                                 int32_t value, bool *out_pulled, struct ronde_error *error)
{
    struct sum sum;
    struct ronde_result result;
    void *run = NULL;
    const uint64_t before = registered_pulled(proc);
    fill_sum(&sum, proc, member, value);
    enum ronde_status status = ronde_cuda_run(proc->program, &sum.launch, &run, error);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    *out_pulled = registered_pulled(proc) > before;
    const int32_t *out = sum.out[member->join.rank];
    bool is_right = true;
    for (uint32_t k = 0; k < COUNT && status == RONDE_OK; k++)
        is_right &= out[k] == (int32_t)member->join.ranks * (value + (int32_t)k);
    (void)team_check(member, is_right, "a sum is wrong");
    (void)team_check(member,
                     status != RONDE_OK || (result.protocol == RONDE_PROTOCOL_PULL) == *out_pulled,
                     "the protocol is not what was done");
    return status;
}

/* Other memory at the same address: only rank 1's is exchanged. */
static void exchange_segment(struct registered_proc *proc, const struct team_member *member)
{
    unsigned char *const before = proc->segment;
    registered_free(proc);
    emulated_gpu_wish(proc->gpus[0], before);
    registered_take(proc);
    (void)team_check(member, proc->segment == before, "the address is another one");
}

/* Freed without a word, and something else where it was; then registered properly again. */
static enum ronde_status reuse(const struct team_member *member, struct ronde_error *error)
{
    const struct registered_plan *plan = member->self;
    const bool exchanges = member->join.rank == 1;
    struct ronde_registration *again = NULL;
    struct registered_proc proc;
    bool is_pulled = false;
    enum ronde_status status = registered_open(&proc, member, plan, error);
    if (status == RONDE_OK)
        status = registered_load(&proc, RONDE_ALL_REDUCE, "ring", error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 1, &is_pulled, error);
    (void)team_check(member, !is_pulled, "it was not registered yet");
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment, REGISTERED_BYTES, &proc.registration,
                                     error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 10, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered");
    if (status == RONDE_OK && exchanges)
        exchange_segment(&proc, member);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 100, &is_pulled, error);
    (void)team_check(member, is_pulled == !exchanges, "other memory at the address is another's");
    /* A registration of what is there now stands beside the one of what was. */
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment, REGISTERED_BYTES, &again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 1000, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered again");
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, proc.registration, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 3, &is_pulled, error);
    if (status == RONDE_OK)
        status = ronde_cuda_deregister(proc.self, again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 4, &is_pulled, error);
    (void)team_check(member, !is_pulled, "it is registered no more");
    if (status == RONDE_OK && exchanges)
        exchange_segment(&proc, member);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment, REGISTERED_BYTES, &again, error);
    if (status == RONDE_OK)
        status = run_sum(&proc, member, 5, &is_pulled, error);
    (void)team_check(member, is_pulled, "it is registered for the third time");
    /* What is registered at the end goes with the backend. */
    registered_close(&proc, member);
    return status;
}

static void memory_that_is_gone_is_not_taken_for_what_is_there_now(void)
{
    static const struct registered_plan plans[] = {
        {.ranks = 1, .devices = 1},
        {.ranks = 1, .devices = 1, .lacks_descriptors = true},
        {.ranks = 1, .devices = 1, .piece_bytes = 1u << 19}};
    for (size_t k = 0; k < sizeof plans / sizeof plans[0]; k++)
        team_run_expecting(3, reuse, &plans[k], results, RONDE_OK);
}

/* What is wrong at one rank, and what all say of it. */
struct mistake {
    uint32_t which;
    enum ronde_status status;
    const char *text;
};

static enum ronde_status err(const struct team_member *member, struct ronde_error *error)
{
    const struct mistake *mistake = member->self;
    const struct registered_plan plan = {.ranks = 1, .devices = 1, .piece_bytes = 1u << 20};
    const bool is_wrong = member->join.rank == 1;
    struct ronde_registration *other = NULL;
    struct registered_proc proc;
    enum ronde_status status = registered_open(&proc, member, &plan, error);
    void *start = proc.segment;
    uint64_t bytes = REGISTERED_BYTES;
    if (is_wrong && mistake->which == 0)
        start = &proc;
    if (is_wrong && mistake->which == 1)
        bytes += 1;
    if (is_wrong && mistake->which == 6)
        bytes = UINT64_MAX;
    if (is_wrong && mistake->which == 2)
        emulated_gpu_refuse(proc.gpus[0], EMULATED_OFFER, 3);
    if (is_wrong && mistake->which == 3)
        emulated_gpu_refuse(proc.gpus[0], EMULATED_ATTACH, 1);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, start, bytes, &proc.registration, error);
    (void)team_check(member, (status == RONDE_OK) == (proc.registration != NULL),
                     "a registration that failed");
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, proc.segment + 100, 1000, &other, error);
    if (status == RONDE_OK && mistake->which == 4)
        status = ronde_cuda_deregister(proc.self, is_wrong ? other : proc.registration, error);
    if (status == RONDE_OK && mistake->which == 5)
        status = ronde_cuda_deregister(proc.self, is_wrong ? (void *)&proc : other, error);
    registered_close(&proc, member);
    return status;
}

static void what_one_process_cannot_register_none_does(void)
{
    static const struct mistake mistakes[] = {
        {0, RONDE_BAD_ARGUMENT, "is not memory of the device"},
        {1, RONDE_BAD_ARGUMENT, "is not memory of the device"},
        {2, RONDE_DEVICE, "the driver refuses to export"},
        {3, RONDE_DEVICE, "registered memory of rank 0: "},
        {4, RONDE_REJECTED, "disagree about which buffer is registered no more"},
        {5, RONDE_BAD_ARGUMENT, "no buffer is registered by that"},
        {6, RONDE_BAD_ARGUMENT, "ends beyond all addresses"}};
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        team_run_expecting(3, err, &mistakes[k], results, mistakes[k].status);
        for (uint32_t p = 0; p < 3; p++)
            if (!strstr(results[p].message, mistakes[k].text)) {
                CU_FAIL("another error");
                suite_note("%s", results[p].message);
            }
    }
}

/* A schedule in which a rank combines what others send and passes it on, and one of these withdraws what it has offered. */
struct withdrawal {
    const char *text;
    uint32_t ranks;
    uint32_t reader;
    uint32_t senders[2]; /* the first of them, and one past the last */
    uint32_t by;
};

static const char pair[] = "ronde 1\ncollective broadcast\nalgorithm pair\nranks 2\n"
                           "program 0 positions 0\n  send in[0] -> +1\n  copy in[0] out[0]\n"
                           "program 1 positions 1\n  recv out[0] <- -1\n";
static const char star[] = "ronde 1\ncollective reduce\nalgorithm star\nranks 5\n"
                           "program 0 positions 0\n  rrc in[0] out[0] <- +1\n"
                           "program 1 scratch 1 positions 1\n"
                           "  rrc in[0] scratch[0] <- +1\n"
                           "  rrc scratch[0] scratch[0] <- +2\n"
                           "  rrs scratch[0] <- -2 -> -1\n"
                           "program 2 positions 2\n  send in[0] -> -1\n"
                           "program 3 positions 3\n  send in[0] -> -2\n"
                           "program 4 positions 4\n  send in[0] -> +2\n";

/* What the reader waits for before it looks at its kernel: a byte of each sender, of which one's buffer is its own again. */
static int gate[2];

#define SENT_COUNT 1000u
#define UNTOUCHED 0x5a5a5a5a

static enum ronde_status load_text(struct registered_proc *proc, const char *text,
                                   struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_schedule_read(text, strlen(text), "text", ronde_mem_default(), NULL, &proc->schedule,
                            error);
    return status == RONDE_OK ? ronde_cuda_load(proc->self, proc->schedule, &proc->program, error)
                              : status;
}

/* A sender has offered when its kernel has been polled, and withdrawn when it ends by its time limit. */
static enum ronde_status run_gated(const struct team_member *member,
                                   const struct ronde_launch *launch,
                                   const struct registered_proc *proc, struct ronde_error *error)
{
    const struct withdrawal *withdrawal = member->self;
    const uint32_t rank = member->join.rank;
    const bool sends = rank >= withdrawal->senders[0] && rank < withdrawal->senders[1];
    struct ronde_result result;
    void *run = NULL;
    bool is_over = false;
    char byte = 0;
    enum ronde_status status = ronde_cuda_run(proc->program, launch, &run, error);
    for (uint32_t k = 0; k < 4 && sends && rank != withdrawal->by && status == RONDE_OK; k++)
        status = ronde_cuda_test(run, &is_over, error);
    if (sends && rank != withdrawal->by)
        (void)team_check(member, write(gate[1], &byte, 1) == 1, "the gate");
    for (uint32_t k = withdrawal->senders[0]; k < withdrawal->senders[1]; k++)
        if (rank == withdrawal->reader)
            (void)team_check(member, read(gate[0], &byte, 1) == 1, "the gate");
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    if (rank == withdrawal->by) {
        memset(launch->in[rank], 0x77, SENT_COUNT * sizeof(int32_t));
        (void)team_check(member, write(gate[1], &byte, 1) == 1, "the gate");
    }
    (void)team_check(member, !sends || registered_pulled(proc) == 1, "nothing was offered");
    return status;
}

/*
 * A rank's run ends by its time limit while its message is offered and not read; then its buffer is its caller's, who writes there.
 * The reader finds the offer, and must not take what is there now for a message, nor pass on what it combined with others.
 */
static enum ronde_status withdraw(const struct team_member *member, struct ronde_error *error)
{
    const struct withdrawal *withdrawal = member->self;
    const struct registered_plan plan = {.ranks = 1, .devices = 1};
    const uint32_t rank = member->join.rank;
    const uint64_t touches =
        1 + withdrawal->senders[1] - withdrawal->senders[0] + (withdrawal->ranks > 2);
    struct registered_proc proc;
    struct sum sum;
    enum ronde_status status = registered_open_shared(&proc, member, &plan, error);
    if (status == RONDE_OK)
        status = load_text(&proc, withdrawal->text, error);
    if (status == RONDE_OK) {
        fill_sum(&sum, &proc, member, 1);
        sum.launch.count = SENT_COUNT;
        sum.launch.timeout_ns = rank == withdrawal->by ? 20000000 : 0;
        sum.launch.protocol = RONDE_PROTOCOL_PULL;
        int32_t *const out = sum.out[rank];
        out[0] = UNTOUCHED;
        status = run_gated(member, &sum.launch, &proc, error);
        (void)team_check(member,
                         rank == withdrawal->reader || withdrawal->ranks == 2 || out[0] == UNTOUCHED,
                         "what was withdrawn was passed on");
        (void)team_check(member,
                         rank != withdrawal->reader ||
                             emulated_gpu_counts(proc.gpus[0]).moved_bytes ==
                                 touches * SENT_COUNT * sizeof *out,
                         "messages were not read as one");
    }
    registered_close(&proc, member);
    return status;
}

/* Of several senders whose messages are combined as one, any may be the one that withdraws. */
static void what_is_withdrawn_is_no_message(void)
{
    static const struct withdrawal withdrawals[] = {{pair, 2, 1, {0, 1}, 0},
                                                    {star, 5, 1, {2, 5}, 2},
                                                    {star, 5, 1, {2, 5}, 3},
                                                    {star, 5, 1, {2, 5}, 4}};
    for (size_t k = 0; k < sizeof withdrawals / sizeof withdrawals[0]; k++) {
        CU_ASSERT_FATAL(pipe(gate) == 0);
        team_run_expecting(withdrawals[k].ranks, withdraw, &withdrawals[k], results, RONDE_TIMEOUT);
        suite_note("%s", results[withdrawals[k].reader].message);
        close(gate[0]);
        close(gate[1]);
    }
}

/* Rank 1 dies while the others' kernels wait for it and read from it, without a limit of time. */
static enum ronde_status die_inside(const struct team_member *member, struct ronde_error *error)
{
    const struct registered_plan plan = {.ranks = 1, .devices = 1};
    struct registered_proc proc;
    struct sum sum;
    struct ronde_result result;
    void *run = NULL;
    enum ronde_status status = registered_open_shared(&proc, member, &plan, error);
    if (status == RONDE_OK)
        status = registered_load(&proc, RONDE_ALL_REDUCE, "ring", error);
    fill_sum(&sum, &proc, member, 1);
    if (status == RONDE_OK)
        status = ronde_cuda_run(proc.program, &sum.launch, &run, error);
    if (status == RONDE_OK && member->join.rank == 1)
        raise(SIGKILL);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    registered_close(&proc, member);
    return status;
}

static void a_killed_process_leaves_nothing_mapped(void)
{
    CU_ASSERT_FATAL(team_run(3, die_inside, NULL, results));
    CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
    for (uint32_t p = 0; p < 3; p += 2) {
        team_expect(&results[p], 1, RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[p].message, "rank 1 was lost"));
    }
}

/* Over a network there is nothing to map. */
static enum ronde_status register_there(const struct team_member *member, struct ronde_error *error)
{
    const struct registered_plan plan = {.ranks = 1, .devices = 1};
    struct registered_proc proc;
    enum ronde_status status = registered_open(&proc, member, &plan, error);
    if (status == RONDE_OK)
        status = ronde_cuda_register(proc.self, NULL, 0, &proc.registration, error);
    registered_close(&proc, member);
    return status;
}

static void refuse_there(void)
{
    team_run_expecting(4, register_there, NULL, results, RONDE_UNSUPPORTED);
}

static void ranks_on_several_hosts_are_refused(void)
{
    team_over_ucx(refuse_there);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(memory_that_is_gone_is_not_taken_for_what_is_there_now),
        SUITE_CASE(what_one_process_cannot_register_none_does),
        SUITE_CASE(what_is_withdrawn_is_no_message),
        SUITE_CASE(a_killed_process_leaves_nothing_mapped),
        SUITE_CASE(ranks_on_several_hosts_are_refused),
    };
    return suite_run("registered ends", cases, sizeof cases / sizeof cases[0]);
}
