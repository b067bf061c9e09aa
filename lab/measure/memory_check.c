/* Whether there is room for the buffers of a run. See ronde/buffers.h. */
#include "ronde/buffers.h"

#include "ronde/comm.h"
#include "ronde/memory_available.h"

#include <stdio.h>
#include <string.h>

/* What one process says of itself and its machine. */
struct demand {
    uint64_t machine; /* a number of the machine and its control group */
    uint64_t bytes;
    uint64_t available;
    char limit[96];
};

/* FNV-1a of a file's text. */
static uint64_t hash_file(const char *path, uint64_t hash)
{
    FILE *file = fopen(path, "r");
    for (int next = file ? fgetc(file) : EOF; next != EOF; next = fgetc(file))
        hash = (hash ^ (unsigned char)next) * 0x100000001b3u;
    if (file)
        (void)fclose(file);
    return hash;
}

static enum ronde_status refuse(uint32_t ranks, uint64_t bytes, uint64_t available,
                                const char *limit, struct ronde_error *error)
{
    return ronde_fail(
        error, RONDE_NO_MEMORY,
        "buffers of %u ranks take %.1f GiB, and %s leaves %.1f GiB: smaller sizes (-e) "
        "or fewer ranks would fit",
        ranks, (double)bytes / (1 << 30), limit, (double)available / (1 << 30));
}

/* A sum that stays at the most there is: it must not come round to a small one. */
static uint64_t add(uint64_t bytes, uint64_t more)
{
    return more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
}

static uint64_t multiply(uint64_t bytes, uint32_t ranks)
{
    return ranks > 0 && bytes > UINT64_MAX / ranks ? UINT64_MAX : bytes * ranks;
}

/* Each machine's ranks, at the first of them. */
static enum ronde_status compare(const struct demand *all, uint32_t ranks, struct ronde_error *error)
{
    for (uint32_t first = 0; first < ranks; first++) {
        uint64_t bytes = 0, available = UINT64_MAX;
        const char *limit = "";
        uint32_t here = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            if (all[rank].machine != all[first].machine)
                continue;
            bytes = add(bytes, all[rank].bytes);
            here++;
            if (all[rank].available < available) {
                available = all[rank].available;
                limit = all[rank].limit;
            }
        }
        if (bytes > available)
            return refuse(here, bytes, available, limit, error);
    }
    return RONDE_OK;
}

enum ronde_status ronde_memory_check(struct ronde_comm *comm, uint32_t ranks_here,
                                     uint64_t rank_bytes, struct ronde_error *error)
{
    const struct ronde_memory_available available = ronde_memory_available("");
    const struct ronde_mem *mem = ronde_mem_default();
    const uint64_t bytes = multiply(rank_bytes, ranks_here);
    if (!comm)
        return bytes <= available.bytes
                   ? RONDE_OK
                   : refuse(ranks_here, bytes, available.bytes, available.limit, error);
    const uint32_t ranks = ronde_comm_ranks(comm);
    struct demand mine = {.bytes = bytes, .available = available.bytes};
    memcpy(mine.limit, available.limit, sizeof mine.limit);
    mine.machine = hash_file("/proc/self/cgroup",
                             hash_file("/proc/sys/kernel/random/boot_id", 0xcbf29ce484222325u));
    struct demand *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", ranks);
    enum ronde_status status = ronde_comm_allgather(comm, &mine, sizeof mine, all, error);
    if (status == RONDE_OK)
        status = compare(all, ranks, error);
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}
