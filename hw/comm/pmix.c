/*
 * PMIx: rank 0 puts, a fence carries what was put everywhere, the others get. See pmix.h.
 *
 * Calls that wait do so in PMIx's own thread, whose answer comes through a descriptor: launchers do not keep PMIx's own
 * limit of time across machines (Open MPI 4, Slurm 22).
 */
#include "hw/comm/pmix.h"

#include "hw/comm/socket.h"
#include "ronde/comm.h"
#include "ronde/hw.h"

#include <dlfcn.h>
#include <pmix.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The standard's own number of the interface, whatever the version of the package. */
#define LIBRARY "libpmix.so.2"
#define MISSING "no PMIx here (" LIBRARY "; package libpmix2)"

/* Under which the bytes are put, and how many there may be: as many as ronde_bootstrap's callback is promised. */
#define KEY "ronde"
#define DATA_BYTES 512u

/* The library's calls: name there, name here. */
#define PMIX_CALLS(X)                                                                              \
    X(PMIx_Init, init)                                                                             \
    X(PMIx_Initialized, is_initialized)                                                            \
    X(PMIx_Finalize, finalize)                                                                     \
    X(PMIx_Put, put)                                                                               \
    X(PMIx_Commit, commit)                                                                         \
    X(PMIx_Fence_nb, fence)                                                                        \
    X(PMIx_Get, get)                                                                               \
    X(PMIx_Get_nb, get_later)                                                                      \
    X(PMIx_Error_string, text)

/* A process's talk with PMIx: what its thread reads, and what that answers. */
struct talk {
#define DECLARE_CALL(name_there, name_here) __typeof__(&name_there) name_here;
    PMIX_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
    pmix_proc_t own;
    pmix_proc_t all; /* of its job */
    bool is_first;   /* nobody else in this process uses PMIx */
    bool is_late;    /* an answer may still come */
    int answered;    /* an eventfd */
    pmix_status_t status;
    size_t bytes;
    char data[DATA_BYTES];
};

static enum ronde_status fail(const struct talk *talk, const char *what, pmix_status_t result,
                              struct ronde_error *error)
{
    return ronde_fail(error, RONDE_IO, "pmix: %s: %.100s", what, talk->text(result));
}

/* Finds the calls. The library stays: it leaves handlers behind that run when the process ends. */
static const char *open_library(struct talk *talk)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? NULL : MISSING;
    void *symbol = NULL;
    /* A pointer to a function is stored as one to an object, as POSIX asks of dlsym's users. */
#define FIND_CALL(name_there, name_here)                                                           \
    symbol = library ? dlsym(library, #name_there) : NULL;                                         \
    memcpy(&talk->name_here, &symbol, sizeof symbol);                                              \
    missing = missing || symbol ? missing : LIBRARY " has no " #name_there;
    PMIX_CALLS(FIND_CALL)
#undef FIND_CALL
    return missing;
}

bool ronde_pmix_available(const char **out_reason)
{
    struct talk talk;
    *out_reason = open_library(&talk);
    return !*out_reason;
}

/* Errors: UNAVAILABLE. */
static enum ronde_status begin(struct talk *talk, struct ronde_error *error)
{
    const char *missing = open_library(talk);
    if (missing)
        return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: %s", missing);
    talk->is_first = talk->is_first || !talk->is_initialized();
    const pmix_status_t result = talk->init(&talk->own, NULL, 0);
    if (result == PMIX_SUCCESS)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: the launcher does not answer: %.100s",
                      talk->text(result));
}

static enum ronde_status find_ranks(const struct talk *talk, uint32_t *out_ranks,
                                    struct ronde_error *error)
{
    pmix_proc_t job = talk->own;
    pmix_value_t *value = NULL;
    job.rank = PMIX_RANK_WILDCARD;
    const pmix_status_t result = talk->get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    const bool is_number = result == PMIX_SUCCESS && value->type == PMIX_UINT32;
    *out_ranks = is_number ? value->data.uint32 : 0;
    if (result == PMIX_SUCCESS)
        free(value);
    if (is_number)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: no number of ranks: %.100s",
                      talk->text(result));
}

enum ronde_status ronde_pmix_ranks(uint32_t *out_ranks, struct ronde_error *error)
{
    struct talk talk = {.is_first = true};
    *out_ranks = 0;
    enum ronde_status status = begin(&talk, error);
    if (status != RONDE_OK)
        return status;
    status = find_ranks(&talk, out_ranks, error);
    if (status != RONDE_OK)
        (void)talk.finalize(NULL, 0);
    return status;
}

void ronde_pmix_leave(void)
{
    struct talk talk;
    if (!open_library(&talk))
        (void)talk.finalize(NULL, 0);
}

/* In PMIx's thread. The descriptor orders what is written here before what is read there. */
static void answer(struct talk *talk, pmix_status_t status)
{
    const uint64_t one = 1;
    talk->status = status;
    (void)!write(talk->answered, &one, sizeof one);
}

static void on_fence(pmix_status_t status, void *self)
{
    answer(self, status);
}

static void on_value(pmix_status_t status, pmix_value_t *value, void *self)
{
    struct talk *talk = self;
    if (status == PMIX_SUCCESS &&
        (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != talk->bytes))
        status = PMIX_ERR_TYPE_MISMATCH;
    if (status == PMIX_SUCCESS)
        memcpy(talk->data, value->data.bo.bytes, talk->bytes);
    answer(talk, status);
}

/* Waits for the answer to a call that was taken. */
static enum ronde_status await(struct talk *talk, pmix_status_t taken, const char *what,
                               double deadline_ns, struct ronde_error *error)
{
    struct pollfd one = {talk->answered, POLLIN, 0};
    uint64_t unused = 0;
    if (taken != PMIX_SUCCESS)
        return fail(talk, what, taken, error);
    for (int left_ms = 1; poll(&one, 1, left_ms) <= 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 1000);
        talk->is_late = left_ms == 0;
        if (talk->is_late)
            return ronde_fail(error, RONDE_TIMEOUT,
                              "pmix: %s has not ended in time: a rank has not come", what);
    }
    (void)!read(talk->answered, &unused, sizeof unused);
    return talk->status == PMIX_SUCCESS ? RONDE_OK : fail(talk, what, talk->status, error);
}

static enum ronde_status put(struct talk *talk, struct ronde_error *error)
{
    pmix_value_t value;
    memset(&value, 0, sizeof value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = talk->data;
    value.data.bo.size = talk->bytes;
    pmix_status_t result = talk->put(PMIX_GLOBAL, KEY, &value);
    if (result == PMIX_SUCCESS)
        result = talk->commit();
    return result == PMIX_SUCCESS ? RONDE_OK : fail(talk, "put", result, error);
}

/* Read by PMIx's thread, too. */
static const pmix_info_t collect = {.key = PMIX_COLLECT_DATA,
                                    .value = {.type = PMIX_BOOL, .data = {.flag = true}}};

/*
 * The fence is what makes the value the one of this run: an earlier process of the same rank may have put another, and
 * machines keep what they once got.
 */
static enum ronde_status exchange(struct talk *talk, const struct ronde_pmix *pmix,
                                  struct ronde_error *error)
{
    pmix_proc_t first = talk->own;
    enum ronde_status status = pmix->rank == 0 ? put(talk, error) : RONDE_OK;
    first.rank = 0;
    talk->all = talk->own;
    talk->all.rank = PMIX_RANK_WILDCARD;
    if (status == RONDE_OK)
        status = await(talk, talk->fence(&talk->all, 1, &collect, 1, on_fence, talk), "the fence",
                       pmix->deadline_ns, error);
    if (status == RONDE_OK && pmix->rank != 0)
        status = await(talk, talk->get_later(&first, KEY, NULL, 0, on_value, talk),
                       "rank 0's address", pmix->deadline_ns, error);
    return status;
}

/* PMIx and the launcher's variables must speak of the same job, or they are those of launchers one inside the other. */
static enum ronde_status check_own(const struct talk *talk, const struct ronde_pmix *pmix,
                                   struct ronde_error *error)
{
    uint32_t ranks = 0;
    const enum ronde_status status = find_ranks(talk, &ranks, error);
    if (status == RONDE_OK && (talk->own.rank != pmix->rank || ranks != pmix->ranks))
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "pmix: knows this as rank %u of %u, its launcher as rank %u of %u",
                          talk->own.rank, ranks, pmix->rank, pmix->ranks);
    return status;
}

static enum ronde_status talk_about(struct talk *talk, const struct ronde_pmix *pmix,
                                    struct ronde_error *error)
{
    enum ronde_status status = begin(talk, error);
    if (status != RONDE_OK)
        return status;
    status = check_own(talk, pmix, error);
    if (status == RONDE_OK)
        status = exchange(talk, pmix, error);
    (void)talk->finalize(NULL, 0);
    if (pmix->is_open)
        (void)talk->finalize(NULL, 0);
    return status;
}

enum ronde_status ronde_pmix_share(const struct ronde_pmix *pmix, void *data, size_t bytes,
                                   struct ronde_error *error)
{
    struct talk *talk = ronde_mem_new(pmix->mem, 1, sizeof *talk);
    if (!talk)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to ask pmix");
    talk->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    talk->bytes = bytes;
    talk->is_first = pmix->is_open;
    memcpy(talk->data, data, bytes);
    const enum ronde_status status =
        talk->answered >= 0 ? talk_about(talk, pmix, error)
                            : ronde_fail(error, RONDE_DEVICE, "the system refuses an eventfd");
    if (status == RONDE_OK)
        memcpy(data, talk->data, bytes);
    /* Our part of PMIx has ended. Where the caller uses it too, what it still owes us has to find its place. */
    if (talk->is_late && !talk->is_first)
        return status;
    if (talk->answered >= 0)
        close(talk->answered);
    ronde_mem_free(pmix->mem, talk, 1, sizeof *talk);
    return status;
}
