/**
 * Buffers of several processes of a host that are mapped to each other once, and then read in place.
 *
 * Registering is collective: every process brings memory of its own or none, and has the others' mapped when it returns. So
 * a sender knows that all can read what it offers, no receiver has to find anything out during a run, and a host may run
 * ahead. Each message says how it travels: a process whose buffers are not registered copies its own into slots, whatever the
 * others do.
 *
 * What is mapped are whole allocations, since handles stand for these; a buffer may begin anywhere in one, and reach over
 * several that follow one another, as those of an allocator that grows in place. A registered place whose
 * allocation has gone meanwhile, however its address is used now, is found out by the allocation's number.
 */
#ifndef RONDE_HW_CUDA_REGISTERED_H
#define RONDE_HW_CUDA_REGISTERED_H

#include "hw/comm/comm_parts.h"
#include "hw/cuda/gpu.h"

/** Registrations of a communicator at a time. */
#define RONDE_CUDA_REGISTERED_MOST 1024u

/** Allocations that a registered buffer reaches over, at most. */
#define RONDE_CUDA_PIECES_MOST 512u

struct ronde_registry;

/** Where others find a place: an address there plus `shift` is its reference (job.h). */
struct ronde_readable {
    const struct ronde_registration *registration; /**< NULL = they do not */
    uint64_t shift;
};

/** Prepares devices. Owner: the caller closes. Errors: NO_MEMORY, DEVICE. */
enum ronde_status ronde_registry_open(struct ronde_comm *comm, const struct ronde_gpu *const *gpus,
                                      uint32_t gpu_count, const struct ronde_mem *mem,
                                      struct ronde_registry **out_registry,
                                      struct ronde_error *error);

/** Unmaps what is still mapped; collective where anything is. NULL is allowed. */
void ronde_registry_close(struct ronde_registry *registry);

/** Makes this process's bytes (none where start is NULL) readable to the others. Collective; see ronde_cuda_register. */
enum ronde_status ronde_registry_add(struct ronde_registry *registry, void *start, uint64_t bytes,
                                     struct ronde_registration **out_registration,
                                     struct ronde_error *error);

/** Ends that. Collective; see ronde_cuda_deregister. */
enum ronde_status ronde_registry_drop(struct ronde_registry *registry,
                                      struct ronde_registration *registration,
                                      struct ronde_error *error);

/** Looks whether bytes of memory here are registered, and still are what was. NULL has none. */
struct ronde_readable ronde_registry_find(const struct ronde_registry *registry, const void *start,
                                          uint64_t bytes);

/** What a captured graph reads stays mapped. */
void ronde_registry_keep(struct ronde_registry *registry,
                         const struct ronde_registration *registration);

/** A device's table of mappings, at its address; NULL without a registry. */
unsigned char *const *ronde_registry_mapped(const struct ronde_registry *registry,
                                            const struct ronde_gpu *gpu);

#endif
