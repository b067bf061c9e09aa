/** The groups of a step graph: which ranks a run joins, and what its operations move. */
#ifndef RONDE_ENGINE_PRICE_DAG_GROUPS_H
#define RONDE_ENGINE_PRICE_DAG_GROUPS_H

#include "dag_index.h"

/** Makes groups, members and group_of of a graph whose op_count is not set yet; false when there is no memory. */
bool ronde_dag_groups_make(const struct ronde_dag_index *index, const struct ronde_mem *mem,
                           struct ronde_dag *dag);

/**
 * Notes in the operation that is being placed, at dag->op_count, what it moves for a group, and takes off what others move
 * for it. `bytes` are those of its step.
 */
void ronde_dag_place_group(const struct ronde_dag_index *index, const struct ronde_dag_actor *actor,
                           uint32_t step, uint64_t bytes, struct ronde_dag *dag);

#endif
