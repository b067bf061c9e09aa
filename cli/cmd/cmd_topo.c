/* ronde topo: one verb each for pictures, generators, importers and checks of platform files. */
#include "commands.h"

#include "verbs.h"

/* Each verb has options of its own; its files are the arguments behind it. */
static const struct ronde_command verbs[] = {
    {"topo show", "FILE", "a machine as a tree on a terminal, or as a picture",
     "  ronde topo show crossbar-64\n  ronde topo show dgx-h100-pod -o pod.svg\n"
     "  ronde topo show --local\n  ronde topo generate rail --nodes 4 | ronde topo show -\n",
     " local degrade without nics nodes fabric json csv output ", 1, false, ronde_topo_show},
    {"topo generate", "KIND [SHAPE]", "a platform file of one of the usual kinds, of any size",
     "  ronde topo generate rail --nodes 16 -o pod.xml\n"
     "  ronde topo generate torus 8x8x8 -o torus.xml\n"
     "  ronde topo generate dgx --gpus 8 --nvlink 450GBps --nics 8x50GBps --nodes 64 -o pod.xml\n"
     "  ronde topo generate H100-cluster01 --nodes 4 -o four.xml\n"
     "Kinds are listed by `ronde topo generate` alone; a machine's description\n"
     "(topologies/published/README.md) is one, too.\n",
     " nodes gpus nvlink nics multicast levels shape oversubscription fabric output ", 2, false,
     ronde_topo_generate},
    {"topo import", "[FILE]",
     "a dump of NCCL, RCCL or hwloc, a description, or this machine, as a platform file",
     "  ronde topo import nccl-topo.xml --nodes 4 --fabric rail -o cluster.xml\n"
     "  ronde topo import H100-cluster01 --nodes 10 -o cluster.xml\n"
     "  ronde topo import live -o machine.xml\n",
     " nodes fabric nic-GBps nvlink-GBps memory-GBps multicast output ", 1, false, ronde_topo_import},
    {"topo check", "FILE", "reads a platform file as every command does and says what is there",
     "  ronde topo check pod.xml\n  ronde topo check dgx-h100 --json\n",
     " degrade without nics nodes fabric json csv output ", 1, false, ronde_topo_check},
};

static const struct ronde_verbs topo = {
    .command = "topo",
    .all = verbs,
    .count = sizeof verbs / sizeof verbs[0],
    .list = "show, generate, import, check",
    .choice = "show, generate, import or check",
    .rows_refused = "writes a platform file; --json and --csv are for show and check",
};

const struct ronde_command *ronde_topo_verb(const char *word)
{
    return ronde_verbs_find(&topo, word);
}

int ronde_cmd_topo(const struct ronde_options *options)
{
    return ronde_verbs_run(&topo, options);
}
