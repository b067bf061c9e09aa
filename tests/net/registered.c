/* Processes whose memory is registered. See registered.h. */
#include "net/registered.h"

#include <string.h>

/* How far buffers lie from the segment's start at most. */
#define OFFSETS 100000u

/* A buffer somewhere in the segment, aligned to any element. One at a time. */
static void *take_part(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct registered_proc *proc = self;
    (void)old;
    (void)old_bytes;
    const size_t offset = buffers_draw(&proc->random) % OFFSETS * 8;
    return new_bytes > 0 && new_bytes + offset <= REGISTERED_BYTES ? proc->segment + offset : NULL;
}

enum ronde_status registered_open(struct registered_proc *proc, const struct team_member *member,
                                  const struct registered_plan *plan, struct ronde_error *error)
{
    const struct emulated_options options = {.room_bytes = 2000,
                                             .lacks_descriptors = plan->lacks_descriptors,
                                             .piece_bytes = plan->piece_bytes};
    memset(proc, 0, sizeof *proc);
    proc->devices = plan->devices;
    for (uint32_t g = 0; g < plan->devices; g++)
        proc->gpus[g] = g == 0 ? emulated_gpu_open(&options)
                               : emulated_gpu_open_beside(proc->gpus[0], &options);
    enum ronde_status status = team_join(member, 30, &proc->comm, error);
    if (status != RONDE_OK)
        return status;
    proc->random = 1 + member->join.rank;
    proc->mem = (struct ronde_mem){take_part, proc};
    const struct ronde_cuda_place place = {.mem = ronde_mem_default(),
                                           .gpus = proc->gpus,
                                           .gpu_count = plan->devices,
                                           .comm = proc->comm,
                                           .ranks = plan->ranks};
    status = ronde_cuda_open_place(&place, &proc->self, error);
    if (status == RONDE_OK)
        registered_take(proc);
    return status;
}

enum ronde_status
registered_open_shared(struct registered_proc *proc, const struct team_member *member,
                       const struct registered_plan *plan, struct ronde_error *error)
{
    const enum ronde_status status = registered_open(proc, member, plan, error);
    return status == RONDE_OK ? ronde_cuda_register(proc->self, proc->segment, REGISTERED_BYTES,
                                                    &proc->registration, error)
                              : status;
}

enum ronde_status registered_load(struct registered_proc *proc, enum ronde_collective collective,
                                  const char *algorithm, struct ronde_error *error)
{
    const enum ronde_status status =
        run_compile(collective, algorithm, ronde_comm_ranks(proc->comm), 0, &proc->schedule, error);
    return status == RONDE_OK ? ronde_cuda_load(proc->self, proc->schedule, &proc->program, error)
                              : status;
}

void registered_unload(struct registered_proc *proc)
{
    ronde_cuda_unload(proc->program);
    ronde_schedule_destroy(proc->schedule);
    proc->program = NULL;
    proc->schedule = NULL;
}

void registered_take(struct registered_proc *proc)
{
    const struct ronde_mem *mem = ronde_cuda_mem(proc->self, proc->devices - 1);
    proc->segment = mem->resize(mem->self, NULL, 0, REGISTERED_BYTES);
}

void registered_free(struct registered_proc *proc)
{
    const struct ronde_mem *mem = ronde_cuda_mem(proc->self, proc->devices - 1);
    if (proc->segment)
        mem->resize(mem->self, proc->segment, REGISTERED_BYTES, 0);
    proc->segment = NULL;
}

/* Nothing of a device may be left. */
void registered_close(struct registered_proc *proc, const struct team_member *member)
{
    registered_unload(proc);
    if (proc->self && proc->segment)
        registered_free(proc);
    ronde_cuda_close_on(proc->self);
    ronde_comm_destroy(proc->comm);
    for (uint32_t g = 0; g < proc->devices; g++) {
        (void)team_check(member, emulated_gpu_counts(proc->gpus[g]).live_blocks == 0,
                         "memory of a device is left");
        (void)team_check(member, emulated_gpu_counts(proc->gpus[g]).held == 0,
                         "an allocation is held");
        emulated_gpu_close(proc->gpus[g]);
    }
}

/* Launches of which this process's messages were offered to others. */
uint64_t registered_pulled(const struct registered_proc *proc)
{
    uint64_t launches = 0;
    for (uint32_t g = 0; g < proc->devices; g++)
        launches += emulated_gpu_counts(proc->gpus[g]).pulled_launches;
    return launches;
}
