/**
 * The commands: one file each. Every one prints its own errors and returns the exit code.
 */
#ifndef RONDE_CLI_COMMANDS_H
#define RONDE_CLI_COMMANDS_H

#include "cli/options/options.h"

/** All of them, in the order of help; main.c has the table. */
const struct ronde_command *ronde_commands(uint32_t *out_count);

/** Completions of a shell. */
int ronde_cmd_completion(const struct ronde_options *options);
/** A page for `man`, of a command or of all together. */
int ronde_cmd_manual(const struct ronde_options *options);
/** What is here, and why something is missing. */
int ronde_cmd_list(const struct ronde_options *options);
/** Prints or stores a schedule's text. */
int ronde_cmd_compile(const struct ronde_options *options);
/** Writes a schedule in another format. */
int ronde_cmd_convert(const struct ronde_options *options);
/** Proves a schedule; accounting and minimum depth. */
int ronde_cmd_check(const struct ronde_options *options);
/** Executes, measures and checks. */
int ronde_cmd_run(const struct ronde_options *options);
/** Replays on a platform file. */
int ronde_cmd_sim(const struct ronde_options *options);
/** Replays a grid of ranks and sizes in parallel; resumable. */
int ronde_cmd_sweep(const struct ronde_options *options);
/** Closed form and DAG price. */
int ronde_cmd_price(const struct ronde_options *options);
/** The best algorithm per size, and why. */
int ronde_cmd_plan(const struct ronde_options *options);
/** The least time that any schedule can take on a platform file. */
int ronde_cmd_bound(const struct ronde_options *options);
/** The best schedule that a platform file allows, as a text. */
int ronde_cmd_synthesize(const struct ronde_options *options);
/** Measures all algorithms on this machine for `auto`. */
int ronde_cmd_tune(const struct ronde_options *options);
/** Measures this machine and writes it as a platform file. */
int ronde_cmd_calibrate(const struct ronde_options *options);
/** Measured, simulated and modelled side by side. */
int ronde_cmd_validate(const struct ronde_options *options);
/** Whether a log is what the machine should give, and what may be wrong. */
int ronde_cmd_doctor(const struct ronde_options *options);
/** The tour, then calibrate and validate. */
int ronde_cmd_demo(const struct ronde_options *options);
/** Pictures, generators, importers and checks of platform files: ronde topo VERB ... */
int ronde_cmd_topo(const struct ronde_options *options);
/** The verb of a word, with its own help and options; NULL for none. */
const struct ronde_command *ronde_topo_verb(const char *word);
/** Workloads: replayed, made, written in other formats: ronde workload VERB ... */
int ronde_cmd_workload(const struct ronde_options *options);
/** The verb of a word, with its own help and options; NULL for none. */
const struct ronde_command *ronde_workload_verb(const char *word);
/** ronde workload sim FILE: a step on a platform file. */
int ronde_workload_sim_command(const struct ronde_options *options);
/** ronde workload gpt: a step of a GPT-like model. */
int ronde_workload_gpt_command(const struct ronde_options *options);
/** ronde workload convert FILE FILE: a workload as GOAL or Chakra. */
int ronde_workload_convert_command(const struct ronde_options *options);
/** ronde topo show FILE: a tree on a terminal, or an SVG. */
int ronde_topo_show(const struct ronde_options *options);

/** `topo show --local`: the GPUs here and what joins them. */
int ronde_topo_show_local(const struct ronde_options *options);
/** ronde topo generate KIND: a platform file of any size. */
int ronde_topo_generate(const struct ronde_options *options);
/** ronde topo check FILE: reads it as every command does and says what is there. */
int ronde_topo_check(const struct ronde_options *options);
/** ronde topo import FILE: NCCL topology XML or hwloc XML to a platform file. */
int ronde_topo_import(const struct ronde_options *options);

#endif
