/** Runs of steps that a switch which copies and adds makes one store or load of; see ronde_dag_group. */
#ifndef RONDE_ENGINE_PRICE_DAG_RUNS_H
#define RONDE_ENGINE_PRICE_DAG_RUNS_H

#include "dag_index.h"

/** Finds those of a program and notes them in its steps. `runs` has room for half as many as there are steps. */
uint32_t ronde_dag_find_runs(const struct ronde_program *program, struct ronde_dag_step *steps,
                             struct ronde_dag_run *runs);

#endif
