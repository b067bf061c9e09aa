/* --nccl-log: the communicator that NCCL made, and its rings and trees in place of an algorithm. */
#include "requests.h"

#include "cli/print/report.h"

#include "ronde/nccl_graph.h"
#include "ronde/schedules.h"

#include <string.h>

enum ronde_status ronde_nccl_log_read(const struct ronde_options *options,
                                      struct ronde_nccl_graph **out_graph, struct ronde_error *error)
{
    *out_graph = NULL;
    if (options->what.rank_counts > 1)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--nccl-log: one communicator, one -N");
    RONDE_TRY(ronde_nccl_graph_read(options->what.nccl_log,
                                    options->what.rank_counts ? options->what.ranks[0] : 0,
                                    ronde_mem_default(), out_graph, error));
    if ((*out_graph)->communicators > 1)
        ronde_note("%s has %u communicators; that of %u ranks is taken, -N names another",
                   options->what.nccl_log, (*out_graph)->communicators, (*out_graph)->ranks);
    return RONDE_OK;
}

/* What NCCL has decided is in the log: nothing that is said beside it may be ignored. */
static enum ronde_status find_request(const struct ronde_options *options,
                                      struct ronde_nccl_request *out_request,
                                      struct ronde_error *error)
{
    static const char *const trees[] = {"tree", "nccl_tree"};
    static const char *const rings[] = {"ring", "chain"};
    const char *name = options->what.algorithm_count > 0 ? options->what.algorithms[0] : rings[0];
    *out_request = (struct ronde_nccl_request){.root = options->what.root};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective? `ronde list` names them");
    if (options->what.algorithm_count > 1 || options->what.shape.count > 0 ||
        options->what.channels > 0 || options->what.pairs.ranks > 0 || options->what.all_roots)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "--nccl-log has the channels and who sends to whom: leave out --shape, "
                          "--channels and --pairs, and name one algorithm at most");
    for (unsigned i = 0; i < 2; i++) {
        out_request->is_tree = out_request->is_tree || strcmp(name, trees[i]) == 0;
        if (strcmp(name, trees[i]) == 0 || strcmp(name, rings[i]) == 0)
            return ronde_parse_collective(options->arguments[0], &out_request->collective, error);
    }
    return ronde_fail(error, RONDE_BAD_ARGUMENT,
                      "--nccl-log has rings and trees: -a ring or -a tree, not %s", name);
}

enum ronde_status ronde_nccl_log_schedule(const struct ronde_options *options,
                                          struct ronde_schedule **out_schedule,
                                          struct ronde_error *error)
{
    struct ronde_nccl_request request;
    struct ronde_nccl_graph *graph = NULL;
    *out_schedule = NULL;
    enum ronde_status status = find_request(options, &request, error);
    RONDE_THEN(status, ronde_nccl_log_read(options, &graph, error));
    RONDE_THEN(status,
               ronde_nccl_graph_schedule(graph, &request, ronde_mem_default(), out_schedule, error));
    if (status == RONDE_UNSUPPORTED) {
        struct ronde_error why = {0};
        (void)ronde_fail(&why, status, "%.200s: %.300s", options->what.nccl_log, error->message);
        *error = why;
    }
    ronde_nccl_graph_destroy(graph);
    return status;
}
