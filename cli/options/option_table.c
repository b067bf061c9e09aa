/* All options of all commands. See option_table.h. */
#include "option_table.h"

#include "ronde/executors.h"

#include <stdio.h>
#include <string.h>

/* Letters and long names are nccl-tests' where it has them. */
static const struct argp_option all_options[] = {
    {"ranks", 'N', "N", 0,
     "number of ranks (default: the hosts of --topo, the launcher's ranks, or 2); a list 2,4,8, a "
     "range 2..33 or "
     "8:1024:x2 where several make sense",
     0},
    {"algorithm", 'a', "NAME", 0,
     "algorithm, or several with commas where several make sense; plan, sweep: files of schedules, "
     "too; auto: by size; in run race: the fastest of all",
     0},
    {"minbytes", 'b', "SIZE", 0, "smallest size (default 8); K, M, G are powers of 1024", 1},
    {"maxbytes", 'e', "SIZE", 0, "largest size (default 16M)", 1},
    {"stepbytes", 'i', "SIZE", 0, "add this from size to size instead of multiplying", 1},
    {"stepfactor", 'f', "FACTOR", 0, "multiply by this from size to size (default 4)", 1},
    {"bytes", KEY_BYTES, "A:B:xF|+S", 0, "all of these at once: from A to B, times F or plus S", 1},
    {"ngpus", 'g', "COUNT", 0,
     "nccl-tests' words for -N: ranks a thread (default 1); its table, with algorithm and protocol",
     1},
    {"nthreads", 't', "COUNT", 0, "threads, each with -g ranks (default 1)", 1},
    {"iters", 'n', "COUNT", 0, "measured iterations of a size (default 20)", 1},
    {"warmup_iters", 'w', "COUNT", 0,
     "unmeasured iterations before them (default: until times are stable)", 1},
    {"check", 'c', "0|1", 0,
     "compare results with the host backend, host's with the definition (default 1)", 1},
    {"datatype", 'd', "TYPE", 0, "element type (default float32)", 1},
    {"op", KEY_OP, "OP", 0, "reduction operator (default sum)", 1},
    {"root", 'r', "RANK", 0, "root of rooted collectives (default 0)", 1},
    {"shape", KEY_SHAPE, "AxB", 0, "ranks as a grid, slowest digit first: nodes x ranks of a node",
     1},
    {"pairs", KEY_PAIRS, "S>D,...", 0, "send_recv: who sends to whom (default: rank r to r+1)", 1},
    {"operation", KEY_OPERATION, "NAME", 0, "show a collective, a composition, or all", 1},
    {"world-size", KEY_WORLD_SIZE, "N", 0, "number of ranks shown (default 4)", 1},
    {"channels", KEY_CHANNELS, "COUNT", 0,
     "equal channels (default: as many as the machine has ways for, else the algorithm's)", 2},
    {"trees", KEY_TREES, "COUNT", 0,
     "trees of each root (default: as few as come near the best of 16)", 2},
    {"connections", KEY_CONNECTIONS, "COUNT", 0,
     "connections that a rank may receive by (default: one for each edge of a tree)", 2},
    {"for", KEY_FOR, "SIZE", 0,
     "the size that it is to be fastest at: trees of several heights are replayed (default: large)",
     2},
    {"synthesize", KEY_SYNTHESIZE, NULL, 0,
     "weigh schedules made for this machine (-a forest) also where that takes long", 2},
    {"slot", KEY_SLOT, "SIZE", 0, "bytes of a connection's slot: the length of a piece", 2},
    {"depth", KEY_DEPTH, "COUNT", 0, "slots of a connection", 2},
    {"protocol", KEY_PROTOCOL, "NAME", 0,
     "how messages travel: auto (default: by size), staged in slots, pull (read in place) or push "
     "(written in place)",
     2},
    {"seed", KEY_SEED, "NUMBER", 0, "host backend: order of the random interleaving", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "give up a run after this long (default 60, a replay 600)", 2},
    {"budget", KEY_BUDGET, "SECONDS", 0,
     "measure in as many rounds as this long allows, one at least (default 100)", 2},
    {"backend", KEY_BACKEND, "NAME", 0, "what executes", 2},
    {"rank", KEY_RANK, "R|R..S", 0,
     "processes: this one's rank, or those to make here, where nobody else starts them", 2},
    {"join", KEY_JOIN, "HOST:PORT", 0, "processes: where rank 0 listens and the others come", 2},
    {"token", KEY_TOKEN, "TEXT", 0,
     "processes: the job's secret, the same on all ranks; - reads it from the first line of input",
     2},
    {"buffers", KEY_BUFFERS, "KIND", 0,
     "processes: registered buffers (default), which others read in place, or any the user has", 2},
    {"bind", KEY_BIND, "WHAT", 0,
     "core: ranks keep to cores of their own, where there are enough (default), or none", 2},
    {"transport", KEY_TRANSPORT, "NAME", 0,
     "ucx: hybrid (default; shared memory inside a host) or ucx everywhere", 2},
    {"hosts", KEY_HOSTS, "A,B,...", 0, "processes: start them there, in equal shares", 2},
    {"launcher", KEY_LAUNCHER, "COMMAND", 0,
     "with --hosts: what runs a command on a host (default: ssh -o BatchMode=yes)", 2},
    {"rig", KEY_RIG, "NAME", 0, "hosts of a virtual cluster that tests/rig/up has made", 2},
    {"topo", KEY_TOPO, "FILE", 0,
     "platform file, the name of a shipped one, or - for standard input, as where any file is read",
     2},
    {"engine", KEY_ENGINE, "NAME", 0,
     "what replays: auto (default), flat, simgrid, maxmin, flat_fifo, ports, cores or extrapolate",
     2},
    {"style", KEY_STYLE, "NAME", 0,
     "nccl: no replay, but the model of how NCCL executes it on the machine that --topo describes; "
     "plan: what NCCL takes beside what is fastest",
     2},
    {"nccl-log", KEY_NCCL_LOG, "FILE", 0,
     "rings or trees (-a tree) as NCCL built them: a log with NCCL_DEBUG=INFO and "
     "NCCL_DEBUG_SUBSYS=INIT,GRAPH",
     2},
    {"placement", KEY_PLACEMENT, "NAME", 0,
     "ranks on hosts: auto (default), file, packed, scattered", 2},
    {"with", KEY_WITH, "COLL:ALGO:SIZE[:HOSTS]", 0,
     "another collective at the same time; or FILE:SIZE[:HOSTS], a schedule from a file", 2},
    {"background", KEY_BACKGROUND, "S>D:SIZE", 0, "a flow from host S to D at the same time", 2},
    {"degrade", KEY_DEGRADE, "LINK=FACTOR", 0, "scale the rate of a link; 0: as --without", 2},
    {"without", KEY_WITHOUT, "NAME,...",
     0, "links, NICs, switches or hosts that are out, by name or pattern (n3g*); routes are found anew",
     2},
    {"straggler", KEY_STRAGGLER, "rank=R,delay=TIME", 0, "a rank that enters late", 2},
    {"scenario", KEY_SCENARIO, "FILE", 0, "all of these from a file", 2},
    {"cfg", KEY_CFG, "KEY:VALUE", 0, "an option for SimGrid, after ronde's own", 2},
    {"native-latency", KEY_NATIVE_LATENCY, NULL, 0, "leave link latencies to SimGrid's model", 2},
    {"nodes", KEY_NODES, "COUNT", 0, "nodes of a machine", 2},
    {"gpus", KEY_GPUS, "COUNT", 0, "GPUs of a node", 2},
    {"levels", KEY_LEVELS, "COUNT", 0, "levels of switches", 2},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "RATIO", 0, "ports below a switch per port above", 2},
    {"fabric", KEY_FABRIC, "NAME", 0, "what joins nodes: crossbar, rail or fat-tree", 2},
    {"nvlink", KEY_NVLINK, "RATE", 0, "all links of a GPU, one direction: 450GBps, 3600Gbps", 2},
    {"nics", KEY_NICS, "COUNT[xRATE]",
     0, "NICs of a node: so many of those it has are left; generated, one direction: 8x50GBps, 8x400Gbps",
     2},
    {"multicast", KEY_MULTICAST, NULL, 0,
     "the switch of a node's GPUs copies and adds, as NVLink SHARP does", 2},
    {"nic-GBps", KEY_NIC_RATE, "RATE", 0, "of each NIC whose rate the imported file leaves out", 2},
    {"nvlink-GBps", KEY_NVLINK_RATE, "RATE", 0,
     "of each GPU into NVSwitches that the imported file leaves out", 2},
    {"memory-GBps", KEY_MEMORY_RATE, "RATE", 0,
     "of the memory that cores share, for a machine without GPUs", 2},
    {"jobs", KEY_JOBS, "COUNT", 0, "processes at a time (default: one a core)", 2},
    {"shard", KEY_SHARD, "I/N", 0, "only every N-th point, from the I-th (0 .. N-1)", 2},
    {"resume", KEY_RESUME, NULL, 0, "keep what the output file holds, do the rest", 2},
    {"local", KEY_LOCAL, NULL, 0, "topo show: this machine's GPUs, and how they reach each other", 2},
    {"expand", KEY_EXPAND, NULL, 0, "also prove every rank's steps where the quotient decided", 2},
    {"all", KEY_ALL, NULL, 0, "every collective and algorithm", 2},
    {"to", KEY_TO, "FORMAT", 0,
     "ronde, msccl, mscclpp, nccl-graph, goal or chakra (default: by the name of the output: "
     ".ronde, "
     ".xml, .json, .goal, .et); plan: nccl-tuner, what NCCL's tuner plugin reads",
     3},
    {"dialect", KEY_DIALECT, "NAME", 0,
     "of an MSCCL file: msccl (default; reduce_scatter) or rccl (reducescatter, gather, scatter; "
     "Azure's too)",
     3},
    {"model", KEY_MODEL, "NAME", 0,
     "sizes of a known model, which other options change: 7b, 13b, llama2-70b, llama3-8b, "
     "llama3-70b, 405b, "
     "gpt3-175b",
     2},
    {"layers", KEY_LAYERS, "COUNT", 0, "transformer layers", 2},
    {"hidden", KEY_HIDDEN, "SIZE", 0, "hidden size", 2},
    {"seq", KEY_SEQ, "TOKENS", 0, "tokens of a sequence (default 2048)", 2},
    {"batch", KEY_BATCH, "COUNT", 0, "sequences of a step (default: one a microbatch)", 2},
    {"vocab", KEY_VOCAB, "COUNT", 0, "words of the last layer (default 51200); 0: without it", 2},
    {"tp", KEY_TP, "RANKS", 0, "ranks that share each layer (default 1)", 2},
    {"dp", KEY_DP, "RANKS", 0, "replicas (default 1)", 2},
    {"pp", KEY_PP, "STAGES", 0, "stages of the pipeline (default 1)", 2},
    {"micro", KEY_MICRO, "COUNT", 0,
     "microbatches of a pipeline (default: 1, or four a stage where there are several)", 2},
    {"dtype", KEY_DTYPE, "TYPE", 0, "of activations and gradients (default bfloat16)", 2},
    {"flops", KEY_FLOPS, "RATE", 0,
     "operations a second that a rank attains (default 400e12: 40% of an H100's 989e12)", 2},
    {"bucket", KEY_BUCKET, "SIZE", 0, "gradients reduced at once, at least (default 25M)", 2},
    {"sequence-parallel", KEY_SEQUENCE_PARALLEL, NULL, 0,
     "reduce_scatter and all_gather instead of each all_reduce of a layer", 2},
    {"what-if", KEY_WHAT_IF, "COUNT", 0,
     "try other algorithms for so many kinds of calls, those with most of the critical path first",
     3},
    {"markdown", KEY_MARKDOWN, NULL, 0, "with --all: tables for a document, by number of ranks", 3},
    {"verbose", KEY_VERBOSE, NULL, 0, "say more; with --all: also what is left out and why", 3},
    {"why", KEY_WHY, NULL, 0, "bottleneck, busiest links and what the critical path is made of", 3},
    {"trace", KEY_TRACE, "FILE", 0, "write a timeline for ui.perfetto.dev", 3},
    {"timeline", KEY_TIMELINE, "FILE", 0, "write an SVG of ranks over time (up to 64 ranks)", 3},
    {"map", KEY_MAP, "FILE", 0, "write an SVG of the fastest algorithm by ranks and bytes", 3},
    {"records", KEY_RECORDS, "FILE", 0, "write records there, whatever else is printed", 3},
    {"from", KEY_FROM, "FILE", 0,
     "sum up and draw these records of an earlier run; nothing is measured", 3},
    {"published", KEY_PUBLISHED, "FILE", 0,
     "times of NCCL, a table (CSV) or a log of nccl-tests (text, JSON), beside the model of NCCL; "
     "nothing is measured",
     3},
    {"auto-topo", KEY_AUTO_TOPO, NULL, 0,
     "with --published: machines are those that the table's own columns describe", 3},
    {"system", KEY_SYSTEM, "NAME", 0,
     "with --published: only this system, or whose a log is; --topo describes the one there is, or "
     "is a folder of descriptions",
     3},
    {"replay", KEY_REPLAY, NULL, 0,
     "with --published: replay rings and trees of large calls on the links of their machines, too",
     3},
    {"fit", KEY_FIT, "MODE", 0,
     "with --published: nominal (default), smallest, leave-one-out; constants prints those fitted "
     "to all, spread how far off leave-one-out is",
     3},
    {"plot", KEY_PLOT, "FILE", 0,
     "write an SVG plot (needs gnuplot); of synthesize: the trees of --root", 3},
    {"output", KEY_OUTPUT, "FILE", 0, "write results there instead of to stdout", 3},
    {"wide", KEY_WIDE, NULL, 0, "tables as wide as they are, also on a terminal of fewer columns", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object per line (needs libjansson)", 3},
    {"csv", KEY_CSV, NULL, 0, "comma-separated values with a header line", 3},
    {"help", 'h', NULL, 0, "show this help", 4},
};

#define ALL_COUNT (sizeof all_options / sizeof all_options[0])

_Static_assert(ALL_COUNT < RONDE_OPTION_ROOM, "room for all options and their end");

/* A whole word of the command's list. */
static bool takes(const struct ronde_command *command, const char *name)
{
    const size_t length = strlen(name);
    if (strcmp(name, "help") == 0)
        return true;
    for (const char *at = strstr(command->takes, name); at; at = strstr(at + 1, name))
        if ((at == command->takes || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* What --backend takes, from the registry. */
static void write_backends(char *text, size_t bytes)
{
    char here[128];
    char processes[128];
    ronde_executor_names(false, here, sizeof here);
    ronde_executor_names(true, processes, sizeof processes);
    snprintf(text, bytes, "what executes: %s (default cpu), or processes: %s", here, processes);
}

/* What -d and --op take, from the tables of the engine; the default stands first. */
static void write_dtypes(char *text, size_t bytes, bool takes_all)
{
    size_t used = (size_t)snprintf(text, bytes, "element type (default float32):");
    for (int i = 0; i < RONDE_DTYPE_COUNT && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s %s", i ? "," : "",
                                 ronde_dtype_text((enum ronde_dtype)i));
    if (takes_all && used < bytes)
        (void)snprintf(text + used, bytes - used, "; or all");
}

static void write_ops(char *text, size_t bytes, bool takes_all)
{
    size_t used = (size_t)snprintf(text, bytes, "reduction operator (default sum):");
    for (int i = 0; i < RONDE_OP_COUNT && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s %s", i ? "," : "",
                                 ronde_op_text((enum ronde_op)i));
    if (takes_all && used < bytes)
        (void)snprintf(text + used, bytes - used, "; or all");
}

/* What a row says that follows from this build and the command. */
static const char *doc_of(const struct ronde_command *command, const struct ronde_own_options *own,
                          const struct argp_option *option)
{
    switch (option->key) {
    case KEY_BACKEND:
        return own->backends;
    case 'd':
        return own->dtypes;
    case KEY_OP:
        return own->ops;
    case 'r':
        return command->is_bench ? "root of rooted collectives (default 0), or all" : option->doc;
    case KEY_STYLE:
        return command->is_bench ? "nccl-tests: its table, byte by byte, and algorithm and protocol"
                                 : option->doc;
    default:
        return option->doc;
    }
}

uint32_t ronde_option_table(const struct ronde_command *command,
                            struct ronde_own_options *out_options)
{
    struct argp_option *own = out_options->all;
    uint32_t count = 0;
    write_backends(out_options->backends, sizeof out_options->backends);
    write_dtypes(out_options->dtypes, sizeof out_options->dtypes, command->is_bench);
    write_ops(out_options->ops, sizeof out_options->ops, command->is_bench);
    for (size_t i = 0; i < ALL_COUNT; i++) {
        if (!takes(command, all_options[i].name))
            continue;
        own[count] = all_options[i];
        own[count].doc = doc_of(command, out_options, &all_options[i]);
        if (own[count].key == (command->is_bench ? KEY_OP : KEY_OUTPUT))
            own[count].key = 'o';
        count++;
    }
    own[count] = (struct argp_option){0};
    return count;
}
