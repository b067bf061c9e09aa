/*
 * PMIx: rank 0 puts, a collecting fence distributes it, the others get. See pmix.h.
 *
 * Blocking calls run in PMIx's own thread, whose callback signals an eventfd: launchers do not keep PMIx's own timeout
 * across machines (Open MPI 4, Slurm 22).
 */
#include "hw/bootstrap/pmix.h"

#include "hw/bootstrap/socket.h"
#include "ronde/comm.h"

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

/* Key of the put, and its most bytes: as many as ronde_bootstrap's callback is promised. */
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

/* A process's session with PMIx: what PMIx's thread reads, and what its callbacks write. */
struct session {
#define DECLARE_CALL(name_there, name_here) __typeof__(&name_there) name_here;
    PMIX_CALLS(DECLARE_CALL)
#undef DECLARE_CALL
    pmix_proc_t own;
    pmix_proc_t all; /* of its job */
    bool is_first;   /* no other code in this process uses PMIx */
    bool is_late;    /* a callback may still run */
    int event_fd;    /* an eventfd */
    pmix_status_t status;
    size_t bytes;
    char data[DATA_BYTES];
};

static enum ronde_status fail(const struct session *session, const char *what, pmix_status_t result,
                              struct ronde_error *error)
{
    return ronde_fail(error, RONDE_IO, "pmix: %s: %.100s", what, session->text(result));
}

/* Resolves the calls. The library stays loaded: its atexit handlers run when the process ends. */
static const char *open_library(struct session *session)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? NULL : MISSING;
    void *symbol = NULL;
    /* A pointer to a function is stored as one to an object, as POSIX asks of dlsym's users. */
#define FIND_CALL(name_there, name_here)                                                           \
    symbol = library ? dlsym(library, #name_there) : NULL;                                         \
    memcpy(&session->name_here, &symbol, sizeof symbol);                                           \
    missing = missing || symbol ? missing : LIBRARY " has no " #name_there;
    PMIX_CALLS(FIND_CALL)
#undef FIND_CALL
    return missing;
}

bool ronde_pmix_available(const char **out_reason)
{
    struct session session;
    *out_reason = open_library(&session);
    return !*out_reason;
}

/* Errors: UNAVAILABLE. */
static enum ronde_status begin(struct session *session, struct ronde_error *error)
{
    const char *missing = open_library(session);
    if (missing)
        return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: %s", missing);
    session->is_first = session->is_first || !session->is_initialized();
    const pmix_status_t result = session->init(&session->own, NULL, 0);
    if (result == PMIX_SUCCESS)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: the launcher does not answer: %.100s",
                      session->text(result));
}

static enum ronde_status find_ranks(const struct session *session, uint32_t *out_ranks,
                                    struct ronde_error *error)
{
    pmix_proc_t job = session->own;
    pmix_value_t *value = NULL;
    job.rank = PMIX_RANK_WILDCARD;
    const pmix_status_t result = session->get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    const bool is_number = result == PMIX_SUCCESS && value->type == PMIX_UINT32;
    *out_ranks = is_number ? value->data.uint32 : 0;
    if (result == PMIX_SUCCESS)
        free(value);
    if (is_number)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNAVAILABLE, "pmix: no number of ranks: %.100s",
                      session->text(result));
}

enum ronde_status ronde_pmix_ranks(uint32_t *out_ranks, struct ronde_error *error)
{
    struct session session = {.is_first = true};
    *out_ranks = 0;
    RONDE_TRY(begin(&session, error));
    const enum ronde_status status = find_ranks(&session, out_ranks, error);
    if (status != RONDE_OK)
        (void)session.finalize(NULL, 0);
    return status;
}

void ronde_pmix_leave(void)
{
    struct session session;
    if (!open_library(&session))
        (void)session.finalize(NULL, 0);
}

/* In PMIx's thread. The eventfd orders these stores before the caller's loads. */
static void complete(struct session *session, pmix_status_t status)
{
    const uint64_t one = 1;
    session->status = status;
    (void)!write(session->event_fd, &one, sizeof one);
}

static void on_fence(pmix_status_t status, void *self)
{
    complete(self, status);
}

static void on_value(pmix_status_t status, pmix_value_t *value, void *self)
{
    struct session *session = self;
    if (status == PMIX_SUCCESS &&
        (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != session->bytes))
        status = PMIX_ERR_TYPE_MISMATCH;
    if (status == PMIX_SUCCESS)
        memcpy(session->data, value->data.bo.bytes, session->bytes);
    complete(session, status);
}

/* Waits for the callback of a call that was accepted. */
static enum ronde_status await_callback(struct session *session, pmix_status_t accepted,
                                        const char *what, double deadline_ns,
                                        struct ronde_error *error)
{
    struct pollfd one = {session->event_fd, POLLIN, 0};
    uint64_t unused = 0;
    if (accepted != PMIX_SUCCESS)
        return fail(session, what, accepted, error);
    for (int left_ms = 1; poll(&one, 1, left_ms) <= 0;) {
        left_ms = ronde_socket_left_ms(deadline_ns, 1000);
        session->is_late = left_ms == 0;
        if (session->is_late)
            return ronde_fail(error, RONDE_TIMEOUT,
                              "pmix: %s has not ended in time: a rank has not come", what);
    }
    (void)!read(session->event_fd, &unused, sizeof unused);
    return session->status == PMIX_SUCCESS ? RONDE_OK : fail(session, what, session->status, error);
}

static enum ronde_status put(struct session *session, struct ronde_error *error)
{
    pmix_value_t value;
    memset(&value, 0, sizeof value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = session->data;
    value.data.bo.size = session->bytes;
    pmix_status_t result = session->put(PMIX_GLOBAL, KEY, &value);
    if (result == PMIX_SUCCESS)
        result = session->commit();
    return result == PMIX_SUCCESS ? RONDE_OK : fail(session, "put", result, error);
}

/* Read by PMIx's thread, too. */
static const pmix_info_t collect = {.key = PMIX_COLLECT_DATA,
                                    .value = {.type = PMIX_BOOL, .data = {.flag = true}}};

/*
 * The fence makes the value this run's: an earlier process of the same rank may have put another, and servers cache
 * what they once got.
 */
static enum ronde_status exchange(struct session *session, const struct ronde_pmix *pmix,
                                  struct ronde_error *error)
{
    pmix_proc_t first = session->own;
    enum ronde_status status = pmix->rank == 0 ? put(session, error) : RONDE_OK;
    first.rank = 0;
    session->all = session->own;
    session->all.rank = PMIX_RANK_WILDCARD;
    RONDE_THEN(status,
               await_callback(session,
                              session->fence(&session->all, 1, &collect, 1, on_fence, session),
                              "the fence", pmix->deadline_ns, error));
    if (status == RONDE_OK && pmix->rank != 0)
        status = await_callback(session, session->get_later(&first, KEY, NULL, 0, on_value, session),
                                "rank 0's address", pmix->deadline_ns, error);
    return status;
}

/* PMIx and the launcher's variables must describe the same job; else they are those of two nested launchers. */
static enum ronde_status check_own(const struct session *session, const struct ronde_pmix *pmix,
                                   struct ronde_error *error)
{
    uint32_t ranks = 0;
    RONDE_TRY(find_ranks(session, &ranks, error));
    if (session->own.rank != pmix->rank || ranks != pmix->ranks)
        return ronde_fail(error, RONDE_UNAVAILABLE,
                          "pmix: knows this as rank %u of %u, its launcher as rank %u of %u",
                          session->own.rank, ranks, pmix->rank, pmix->ranks);
    return RONDE_OK;
}

static enum ronde_status run_session(struct session *session, const struct ronde_pmix *pmix,
                                     struct ronde_error *error)
{
    RONDE_TRY(begin(session, error));
    enum ronde_status status = check_own(session, pmix, error);
    RONDE_THEN(status, exchange(session, pmix, error));
    (void)session->finalize(NULL, 0);
    if (pmix->is_open)
        (void)session->finalize(NULL, 0);
    return status;
}

enum ronde_status ronde_pmix_share(const struct ronde_pmix *pmix, void *data, size_t bytes,
                                   struct ronde_error *error)
{
    struct session *session = ronde_mem_new(pmix->mem, 1, sizeof *session);
    if (!session)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to ask pmix");
    session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    session->bytes = bytes;
    session->is_first = pmix->is_open;
    memcpy(session->data, data, bytes);
    const enum ronde_status status =
        session->event_fd >= 0 ? run_session(session, pmix, error)
                               : ronde_fail(error, RONDE_DEVICE, "the system refuses an eventfd");
    if (status == RONDE_OK)
        memcpy(data, session->data, bytes);
    /* Our use of PMIx has ended. Where the caller uses it too, a pending callback may still write to the session: it stays. */
    if (session->is_late && !session->is_first)
        return status;
    if (session->event_fd >= 0)
        close(session->event_fd);
    ronde_mem_free(pmix->mem, session, 1, sizeof *session);
    return status;
}
