/* The commands in the order of help. */
#include "commands.h"

/* The first page of help; then what --help all adds. */
static const struct ronde_command *const commands[] = {
    &ronde_command_doctor,   &ronde_command_explain,   &ronde_command_sim,
    &ronde_command_plan,     &ronde_command_bound,     &ronde_command_synthesize,
    &ronde_command_check,    &ronde_command_run,       &ronde_command_topo,
    &ronde_command_workload, &ronde_command_validate,  &ronde_command_convert,
    &ronde_command_demo,     &ronde_command_list,      &ronde_command_sweep,
    &ronde_command_tune,     &ronde_command_calibrate,
};

const struct ronde_command *const *ronde_commands(uint32_t *out_count)
{
    *out_count = sizeof commands / sizeof commands[0];
    return commands;
}
