/*
 * The cuda backend: ranks on the GPUs of this process, consecutive ranks on the same one where there are more ranks than
 * GPUs; a block per lane while they fit, else several lanes per block.
 *
 * This file calls no CUDA: it uses devices through gpu.h alone. Buffers of the host are copied to the device for the run;
 * with buffers of the device nothing is copied, and ronde/cuda.h enqueues runs in the caller's streams.
 */
#include "hw/comm/comm_parts.h"
#include "hw/cuda/backend.h"
#include "hw/cuda/job.h"
#include "hw/cuda/program.h"
#include "hw/cuda/registered.h"

#include "ronde/cuda.h"
#include "ronde/hw.h"

#include <stdlib.h>
#include <string.h>

/* The open backend. */
struct cuda {
    const struct ronde_mem *mem;
    const struct ronde_gpu **gpus;
    uint32_t gpu_count;
    struct ronde_comm *comm;            /* of the processes that ranks are in, or NULL */
    struct ronde_process_share *shares; /* ranks and devices of each of these */
    bool *unreachable; /* per pair of devices: the first cannot access the second's memory */
    struct ronde_cuda_place place;
};

/* Enables peer access between all devices; pairs without it are allowed where host staging is. */
static enum ronde_status join_all(const struct cuda *cuda, struct ronde_error *error)
{
    for (uint32_t a = 0; a < cuda->gpu_count; a++)
        for (uint32_t b = 0; b < cuda->gpu_count; b++) {
            struct ronde_error why = {0};
            if (a == b)
                continue;
            const enum ronde_status status =
                cuda->gpus[a]->join(cuda->gpus[a]->self, cuda->gpus[b]->self, &why);
            cuda->unreachable[a * cuda->gpu_count + b] = status != RONDE_OK;
            if (status != RONDE_OK && (status != RONDE_UNAVAILABLE || !cuda->place.may_stage_in_host))
                return ronde_fail(error, status, "%s", why.message);
        }
    return RONDE_OK;
}

/* Within what is set aside for lines. */
static uint64_t lines_limit(uint64_t wished_bytes)
{
    const uint64_t most_bytes =
        wished_bytes < RONDE_CUDA_LINES_MOST_BYTES ? wished_bytes : RONDE_CUDA_LINES_MOST_BYTES;
    return wished_bytes == 0
               ? RONDE_CUDA_LINES_UP_TO_BYTES
               : most_bytes / RONDE_CUDA_LINES_GRAIN_BYTES * RONDE_CUDA_LINES_GRAIN_BYTES;
}

/* Exchanges what each process has, and whether it could open its devices. Lines are between two: the least limit counts. */
static enum ronde_status exchange_shares(struct cuda *cuda, enum ronde_status status,
                                         struct ronde_error *error)
{
    struct ronde_cuda_place *place = &cuda->place;
    const struct ronde_process_share own = {.ranks = place->ranks ? place->ranks : cuda->gpu_count,
                                            .devices = cuda->gpu_count,
                                            .lines_up_to_bytes = (uint32_t)place->lines_up_to_bytes};
    status = ronde_comm_agree(cuda->comm, status, error);
    RONDE_THEN(status,
               ronde_control_allgather(cuda->comm->control, &own, sizeof own, cuda->shares, error));
    for (uint32_t p = 0; status == RONDE_OK && p < cuda->comm->ranks; p++)
        if (cuda->shares[p].lines_up_to_bytes < place->lines_up_to_bytes)
            place->lines_up_to_bytes = cuda->shares[p].lines_up_to_bytes;
    return status;
}

/* Buffers of processes that share a host. */
static enum ronde_status open_registry(struct cuda *cuda, struct ronde_error *error)
{
    struct ronde_comm *comm = cuda->comm;
    return comm->transport == RONDE_TRANSPORT_SHM
               ? ronde_registry_open(comm, cuda->gpus, cuda->gpu_count, cuda->mem,
                                     &cuda->place.registry, error)
               : RONDE_OK;
}

void ronde_cuda_close_on(void *self)
{
    struct cuda *cuda = self;
    if (!cuda)
        return;
    ronde_registry_close(cuda->place.registry);
    ronde_mem_free(cuda->mem, cuda->gpus, cuda->gpu_count, sizeof *cuda->gpus);
    ronde_mem_free(cuda->mem, cuda->unreachable, (size_t)cuda->gpu_count * cuda->gpu_count,
                   sizeof *cuda->unreachable);
    ronde_mem_free(cuda->mem, cuda->shares, cuda->comm ? cuda->comm->ranks : 1,
                   sizeof *cuda->shares);
    ronde_mem_free(cuda->mem, cuda, 1, sizeof *cuda);
}

/* Tables of devices and processes. */
static enum ronde_status make_tables(struct cuda *cuda, struct ronde_error *error)
{
    const uint32_t count = cuda->gpu_count;
    cuda->gpus = ronde_mem_new(cuda->mem, count, sizeof *cuda->gpus);
    cuda->unreachable = ronde_mem_new(cuda->mem, (size_t)count * count, sizeof *cuda->unreachable);
    cuda->shares =
        ronde_mem_new(cuda->mem, cuda->comm ? cuda->comm->ranks : 1, sizeof *cuda->shares);
    if (!cuda->gpus || !cuda->unreachable || !cuda->shares)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", count);
    memcpy(cuda->gpus, cuda->place.gpus, count * sizeof *cuda->gpus);
    cuda->place.gpus = cuda->gpus;
    cuda->place.unreachable = cuda->unreachable;
    cuda->place.shares = cuda->shares;
    return RONDE_OK;
}

enum ronde_status ronde_cuda_open_place(const struct ronde_cuda_place *place, void **out_self,
                                        struct ronde_error *error)
{
    *out_self = NULL;
    struct cuda *cuda = ronde_mem_new(place->mem, 1, sizeof *cuda);
    if (!cuda) {
        /* The others wait in the exchange, which this process cannot enter. */
        if (place->comm)
            ronde_control_abort(place->comm->control);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to open the cuda backend");
    }
    cuda->mem = place->mem;
    cuda->gpu_count = place->gpu_count;
    cuda->comm = place->comm;
    cuda->place = *place;
    cuda->place.lines_up_to_bytes = lines_limit(place->lines_up_to_bytes);
    enum ronde_status status = make_tables(cuda, error);
    RONDE_THEN(status, join_all(cuda, error));
    if (cuda->comm && status == RONDE_OK)
        status = open_registry(cuda, error);
    if (cuda->comm)
        status = exchange_shares(cuda, status, error);
    if (status != RONDE_OK) {
        ronde_cuda_close_on(cuda);
        return status;
    }
    *out_self = cuda;
    return RONDE_OK;
}

enum ronde_status ronde_cuda_open_on(const struct ronde_gpu *const *gpus, uint32_t gpu_count,
                                     struct ronde_comm *comm, const struct ronde_mem *mem,
                                     void **out_self, struct ronde_error *error)
{
    const struct ronde_cuda_place place = {.mem = mem,
                                           .gpus = gpus,
                                           .gpu_count = gpu_count,
                                           .comm = comm};
    return ronde_cuda_open_place(&place, out_self, error);
}

/** A device of an open backend, NULL beyond the last. */
static const struct ronde_gpu *gpu_at(const void *self, uint32_t index)
{
    const struct cuda *cuda = self;
    return index < cuda->gpu_count ? cuda->gpus[index] : NULL;
}

const struct ronde_mem *ronde_cuda_mem(const void *self, uint32_t index)
{
    const struct ronde_gpu *gpu = gpu_at(self, index);
    return gpu ? gpu->buffers : NULL;
}

/* Where ranks are in several processes, checks this one's: `count` ranks from `first` on; else checks all ranks. */
static enum ronde_status check_launch(bool is_part, uint32_t first, uint32_t count,
                                      const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch, struct ronde_error *error)
{
    if (!is_part)
        return ronde_launch_check(schedule, launch, error);
    for (uint32_t rank = first; rank - first < count; rank++)
        RONDE_TRY(ronde_launch_check_rank(schedule, launch, rank, error));
    return RONDE_OK;
}

/* The same of a loaded program. */
static enum ronde_status check_run(const struct ronde_cuda_program *program,
                                   const struct ronde_launch *launch, struct ronde_error *error)
{
    const uint32_t *firsts = program->rank_map.firsts + program->rank_map.own;
    return check_launch(program->peers.comm != NULL, firsts[0],
                        firsts[program->part_count] - firsts[0], program->schedule, launch, error);
}

/* This process's first rank, and how many it has. */
static struct ronde_process_share find_own(const struct cuda *cuda, uint32_t *out_first)
{
    const uint32_t process = cuda->comm ? cuda->comm->rank : 0;
    *out_first = 0;
    for (uint32_t p = 0; p < process; p++)
        *out_first += cuda->shares[p].ranks;
    return cuda->shares[process];
}

enum ronde_status ronde_cuda_supports(void *self, const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch, struct ronde_error *why_not)
{
    const struct cuda *cuda = self;
    uint32_t first;
    const struct ronde_process_share own = find_own(cuda, &first);
    if (cuda->comm && (uint64_t)first + own.ranks > schedule->ranks)
        return ronde_fail(why_not, RONDE_BAD_ARGUMENT,
                          "the schedule is for %u ranks, this process has the %u from rank %u on",
                          schedule->ranks, own.ranks, first);
    RONDE_TRY(check_launch(cuda->comm != NULL, first, own.ranks, schedule, launch, why_not));
    for (uint32_t g = 0; g < cuda->gpu_count; g++) {
        uint32_t resident;
        const struct ronde_gpu *gpu = cuda->gpus[g];
        RONDE_TRY(gpu->resident_blocks(gpu->self, launch->dtype, &resident, why_not));
        if (resident == 0)
            return ronde_fail(why_not, RONDE_UNSUPPORTED,
                              "no block of %u threads and %u bytes of shared memory fits device %u",
                              RONDE_BLOCK_THREADS, RONDE_ROOM_BYTES, g);
    }
    return RONDE_OK;
}

void ronde_cuda_unload(void *self)
{
    struct ronde_cuda_program *program = self;
    if (!program)
        return;
    ronde_cuda_program_fini(program);
    ronde_mem_free(program->mem, program, 1, sizeof *program);
}

enum ronde_status ronde_cuda_load(void *self, const struct ronde_schedule *schedule,
                                  void **out_program, struct ronde_error *error)
{
    *out_program = NULL;
    struct cuda *cuda = self;
    struct ronde_cuda_program *program = ronde_mem_new(cuda->mem, 1, sizeof *program);
    if (!program)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule");
    const enum ronde_status status = ronde_cuda_program_init(program, &cuda->place, schedule, error);
    if (status != RONDE_OK) {
        ronde_cuda_unload(program);
        return status;
    }
    *out_program = program;
    return RONDE_OK;
}

static enum ronde_status prepare(struct ronde_cuda_program *program,
                                 const struct ronde_launch *launch, struct ronde_error *error)
{
    if (program->is_running)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is running already");
    RONDE_TRY(check_run(program, launch, error));
    return ronde_cuda_program_prepare(program, launch, error);
}

enum ronde_status ronde_cuda_run(void *self, const struct ronde_launch *launch, void **out_run,
                                 struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    *out_run = NULL;
    RONDE_TRY(prepare(program, launch, error));
    program->launch = *launch;
    RONDE_TRY(ronde_cuda_program_start(program, error));
    program->is_running = true;
    *out_run = program;
    return RONDE_OK;
}

enum ronde_status ronde_cuda_wait(void *self, struct ronde_result *out_result,
                                  struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    double elapsed_ns;
    program->is_running = false;
    enum ronde_status status = ronde_cuda_program_finish(program, &elapsed_ns, error);
    if (status != RONDE_OK) {
        ronde_cuda_program_abandon(program);
        return status;
    }
    status = ronde_cuda_program_outcome(program, error);
    RONDE_THEN(status, ronde_cuda_program_unstage(program, error));
    if (status != RONDE_OK)
        return status;
    out_result->elapsed_ns = elapsed_ns;
    out_result->is_virtual = false;
    out_result->protocol = program->registry && program->parts[0].given.readable == 0
                               ? RONDE_PROTOCOL_STAGED
                               : ronde_loaded_protocol(program->parts[0].loaded);
    return RONDE_OK;
}

/* Several hosts share no buffers. */
static enum ronde_status refuse(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "buffers are registered where ranks are processes of one host");
}

enum ronde_status ronde_cuda_register(void *self, void *start, uint64_t bytes,
                                      struct ronde_registration **out_registration,
                                      struct ronde_error *error)
{
    struct ronde_registry *registry = ((const struct cuda *)self)->place.registry;
    *out_registration = NULL;
    return registry ? ronde_registry_add(registry, start, bytes, out_registration, error)
                    : refuse(error);
}

enum ronde_status ronde_cuda_deregister(void *self, struct ronde_registration *registration,
                                        struct ronde_error *error)
{
    struct ronde_registry *registry = ((const struct cuda *)self)->place.registry;
    return registry ? ronde_registry_drop(registry, registration, error) : refuse(error);
}

/* May be called from any thread, also while another is in wait. */
void ronde_cuda_abort(void *self)
{
    __atomic_store_n(&ronde_cuda_program_words(self)[0], 1, __ATOMIC_RELEASE);
}

enum ronde_status ronde_cuda_prepare(void *self, const struct ronde_launch *launch,
                                     struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    RONDE_TRY(prepare(program, launch, error));
    if (ronde_cuda_program_staged_bytes(program) > 0) {
        program->is_prepared = false;
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%llu bytes of the buffers are not memory of the device, which runs in a "
                          "stream need",
                          (unsigned long long)ronde_cuda_program_staged_bytes(program));
    }
    /* The tables must be on the device before any stream starts. */
    RONDE_TRY(ronde_cuda_program_finish(program, NULL, error));
    return ronde_cuda_program_expect_streams(program, launch, error);
}

enum ronde_status ronde_cuda_give(void *self, const struct ronde_launch *launch,
                                  struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    RONDE_TRY(check_run(program, launch, error));
    return ronde_cuda_program_give(program, launch, error);
}

uint32_t ronde_cuda_parts(const void *program)
{
    return ((const struct ronde_cuda_program *)program)->part_count;
}

uint32_t ronde_device_program_of(const void *program, uint32_t rank)
{
    const struct ronde_rank_map *rank_map = &((const struct ronde_cuda_program *)program)->rank_map;
    const uint32_t device = ronde_rank_map_device_of(rank_map, rank);
    return ronde_rank_map_is_here(rank_map, device) ? device - rank_map->own : RONDE_NONE;
}

enum ronde_status ronde_cuda_is_captured(const void *self, void *stream, bool *out_captured,
                                         struct ronde_error *error)
{
    const struct ronde_gpu *gpu = gpu_at(self, 0);
    return gpu->is_captured(gpu->self, stream, out_captured, error);
}

bool ronde_cuda_is_stopped(const void *self)
{
    const uint32_t *const words = ronde_cuda_program_words(self);
    return __atomic_load_n(&words[0], __ATOMIC_RELAXED) != 0 ||
           __atomic_load_n(&words[1], __ATOMIC_RELAXED) != RONDE_STOP_NOT;
}

enum ronde_status ronde_cuda_check(void *self, struct ronde_error *error)
{
    RONDE_TRY(ronde_cuda_program_poll_peers(self, error));
    return ronde_cuda_program_outcome(self, error);
}

/* Closes devices that were opened. */
static void close_devices(const struct ronde_mem *mem, const struct ronde_gpu **gpus, uint32_t count)
{
    for (uint32_t g = 0; gpus && g < count; g++)
        ronde_gpu_close(mem, gpus[g]);
    ronde_mem_free(mem, gpus, count, sizeof *gpus);
}

/* Opens the devices of a list, or the first so many. */
static enum ronde_status open_devices(const struct ronde_cuda_choices *choices, uint32_t count,
                                      const struct ronde_mem *mem,
                                      const struct ronde_gpu ***out_gpus, struct ronde_error *error)
{
    const struct ronde_gpu **gpus = ronde_mem_new(mem, count, sizeof *gpus);
    *out_gpus = gpus;
    if (!gpus)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", count);
    for (uint32_t g = 0; g < count; g++)
        RONDE_TRY(ronde_gpu_open(mem, choices->devices ? choices->devices[g] : g, &gpus[g], error));
    return RONDE_OK;
}

/* Whether there are devices, and those of a list are among them. */
static enum ronde_status check_devices(const uint32_t *devices, uint32_t count,
                                       uint32_t *out_visible, struct ronde_error *error)
{
    RONDE_TRY(ronde_gpu_count(out_visible, error));
    for (uint32_t g = 0; devices && g < count; g++)
        if (devices[g] >= *out_visible)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "cuda: device %u, %u are visible",
                              devices[g], *out_visible);
    if (devices && count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "cuda: no device was chosen");
    return RONDE_OK;
}

/* CUDA's switch for debugging has every launch wait for its kernel: one that waits for another launch would never end. */
static enum ronde_status check_launches(const struct ronde_cuda_choices *choices, uint32_t count,
                                        struct ronde_error *error)
{
    const char *const text = getenv("CUDA_LAUNCH_BLOCKING");
    const bool waits_for_host = choices->comm && choices->comm->transport != RONDE_TRANSPORT_SHM;
    if (!text || strtol(text, NULL, 10) == 0 || (count <= 1 && !waits_for_host))
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "cuda: CUDA_LAUNCH_BLOCKING is set, and %s would hang; unset it, or use one "
                      "device per process on one host",
                      count > 1 ? "kernels of a process that wait for each other"
                                : "kernels whose messages this process moves");
}

/* A failure to open is sent to the other processes, which wait for this one's status. */
static enum ronde_status open_chosen(const struct ronde_cuda_choices *choices, uint32_t count,
                                     enum ronde_status status, const struct ronde_mem *mem,
                                     void **out_self, struct ronde_error *error)
{
    const struct ronde_gpu **gpus = NULL;
    RONDE_THEN(status, check_launches(choices, count, error));
    RONDE_THEN(status, open_devices(choices, count, mem, &gpus, error));
    if (status != RONDE_OK && choices->comm)
        status = ronde_comm_agree(choices->comm, status, error);
    const struct ronde_cuda_place place = {.mem = mem,
                                           .gpus = gpus,
                                           .gpu_count = count,
                                           .comm = choices->comm,
                                           .ranks = choices->ranks,
                                           .sharing = choices->sharing,
                                           .may_stage_in_host = choices->may_stage_in_host,
                                           .gpu_direct = choices->gpu_direct,
                                           .lines_up_to_bytes = choices->lines_up_to_bytes};
    RONDE_THEN(status, ronde_cuda_open_place(&place, out_self, error));
    if (status != RONDE_OK)
        close_devices(mem, gpus, count);
    else
        ronde_mem_free(mem, gpus, count, sizeof *gpus);
    return status;
}

enum ronde_status ronde_cuda_open_with(const struct ronde_cuda_choices *choices,
                                       const struct ronde_mem *mem, void **out_self,
                                       struct ronde_error *error)
{
    uint32_t visible = 0;
    *out_self = NULL;
    enum ronde_status status =
        check_devices(choices->devices, choices->device_count, &visible, error);
    if (status == RONDE_OK && choices->device_count > visible)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "cuda: %u devices, %u are visible",
                            choices->device_count, visible);
    if (status == RONDE_OK && (unsigned)choices->sharing >= RONDE_SHARING_COUNT)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "cuda: sharing %u, there are %u",
                            (unsigned)choices->sharing, (unsigned)RONDE_SHARING_COUNT);
    return open_chosen(choices, choices->device_count ? choices->device_count : visible, status,
                       mem, out_self, error);
}

enum ronde_status ronde_cuda_open(const uint32_t *devices, uint32_t count,
                                  const struct ronde_mem *mem, void **out_self,
                                  struct ronde_error *error)
{
    const struct ronde_cuda_choices choices = {.devices = devices,
                                               .device_count = devices ? count : 0};
    return ronde_cuda_open_with(&choices, mem, out_self, error);
}

/* Whether all of the driver's GPUs of that product have NVLinks that are up; a process may see only one of them. */
static bool has_links(const char *product)
{
    struct ronde_gpu_survey survey = {.count = 0};
    struct ronde_error unseen = {0};
    uint32_t without = 0, with = 0;
    if (ronde_nvml_survey(&survey, &unseen) != RONDE_OK)
        return false;
    for (uint32_t g = 0; g < survey.count; g++)
        if (strcmp(survey.gpus[g].name, product) == 0)
            *(survey.gpus[g].nvlinks > 0 ? &with : &without) += 1;
    return with > 0 && without == 0;
}

static enum ronde_status cuda_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    RONDE_TRY(ronde_gpu_probe(out_machine, why_not));
    out_machine->has_device_links |= has_links(out_machine->product);
    return RONDE_OK;
}

/* Probing kept no device open: devices are opened here, since they belong to the open backend. */
static enum ronde_status cuda_open(const struct ronde_machine *machine, const struct ronde_mem *mem,
                                   void **out_self, struct ronde_error *error)
{
    const struct ronde_cuda_choices choices = {.lines_up_to_bytes = machine->lines_up_to_bytes};
    return ronde_cuda_open_with(&choices, mem, out_self, error);
}

/* What is registered is unmapped by devices that are open. */
static void cuda_close(void *self)
{
    struct cuda *cuda = self;
    if (cuda) {
        ronde_registry_close(cuda->place.registry);
        cuda->place.registry = NULL;
    }
    for (uint32_t g = 0; cuda && g < cuda->gpu_count; g++)
        ronde_gpu_close(cuda->mem, cuda->gpus[g]);
    ronde_cuda_close_on(self);
}

const struct ronde_backend ronde_backend_cuda = {
    .name = "cuda",
    .probe = cuda_probe,
    .open = cuda_open,
    .supports = ronde_cuda_supports,
    .load = ronde_cuda_load,
    .run = ronde_cuda_run,
    .test = ronde_cuda_test,
    .wait = ronde_cuda_wait,
    .abort = ronde_cuda_abort,
    .unload = ronde_cuda_unload,
    .close = cuda_close,
};
