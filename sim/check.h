/**
 * What both engines check of their arguments.
 */
#ifndef RONDE_SIM_CHECK_H
#define RONDE_SIM_CHECK_H

#include "ronde/sim.h"

/** Host index of a rank. */
uint32_t ronde_sim_host(const struct ronde_sim_options *options, uint32_t rank);

/** Options that mean the defaults. */
extern const struct ronde_sim_options ronde_sim_defaults;

/**
 * Every rank has a host and the graph is one: predecessors first, messages taken by the rank they were sent to.
 * Errors: BAD_INPUT for hosts, BAD_ARGUMENT for the graph; both name the numbers.
 */
enum ronde_status ronde_sim_check(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                  const struct ronde_sim_options *options,
                                  struct ronde_error *error);

/** The part about hosts alone. */
enum ronde_status ronde_sim_check_hosts(const struct ronde_platform *platform, uint32_t ranks,
                                        const struct ronde_sim_options *options,
                                        struct ronde_error *error);

/** The part about operations first .. end - 1: ranks exist, predecessors come first. */
enum ronde_status ronde_sim_check_order(const struct ronde_dag *dag, uint32_t first, uint32_t end,
                                        struct ronde_error *error);

/** The part about their messages, once their order has been checked. */
enum ronde_status ronde_sim_check_messages(const struct ronde_dag *dag, uint32_t first,
                                           uint32_t end, struct ronde_error *error);

/** Whether options need what SimGrid alone has: its flags, its latencies. */
bool ronde_sim_has_flags(const struct ronde_platform *platform,
                         const struct ronde_sim_options *options);

/** Whether ranks of this platform share cores or memory. */
bool ronde_sim_is_shared(const struct ronde_platform *platform);

/** Whether SimGrid is there, has the machine's routes and is expected to replay so many steps in half a second. */
bool ronde_sim_is_simgrid_quick(const struct ronde_platform *platform, uint64_t steps,
                                uint32_t ranks);

/**
 * Replays a graph whose flows share links: by SimGrid where ronde_sim_is_simgrid_quick says so, else by maxmin. Errors: theirs.
 */
enum ronde_status
ronde_sim_share_links(const struct ronde_platform *platform, const struct ronde_dag *dag,
                      const struct ronde_sim_options *options, const struct ronde_mem *mem,
                      struct ronde_sim_result *out_result, struct ronde_error *error);

/** UNSUPPORTED where they do, for an engine that does not model it. */
enum ronde_status ronde_sim_refuse_shared(const struct ronde_platform *platform, const char *engine,
                                          struct ronde_error *error);

/** UNSUPPORTED where switches copy or add messages, for an engine that does not model it. */
enum ronde_status ronde_sim_refuse_groups(const struct ronde_dag *dag, const char *engine,
                                          struct ronde_error *error);

#endif
