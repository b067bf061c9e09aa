/* Options that several commands take. Letters and long names are nccl-tests' where it has them. See option_groups.h. */
#include "option_groups.h"

#define WHAT(member) offsetof(struct ronde_what_options, member)
#define SIZES(member) offsetof(struct ronde_sizes_options, member)
#define MACHINE(member) offsetof(struct ronde_machine_options, member)
#define SCENARIO(member) offsetof(struct ronde_scenario_options, member)
#define ENGINE(member) offsetof(struct ronde_engine_options, member)
#define BACKEND(member) offsetof(struct ronde_backend_options, member)
#define OUTPUT(member) offsetof(struct ronde_output_options, member)
#define VIEWS(member) offsetof(struct ronde_views_options, member)
#define FORMAT(member) offsetof(struct ronde_format_options, member)

/* ---- What is asked for ------------------------------------------------------------------------------------------ */

static const struct ronde_option what_rows[] = {
    {"ranks", 'N', "N", ronde_take_ranks, WHAT(ranks), NULL, 0, false,
     "number of ranks (default: the hosts of --topo, the launcher's ranks, or 2)"},
    {"algorithm", 'a', "NAME", ronde_take_algorithms, WHAT(algorithms), "@algorithm", 0, false,
     "algorithm (default, or auto: the best at each size)"},
    {"datatype", 'd', "TYPE", ronde_take_dtype, WHAT(dtype), "@dtype", 0, false,
     "element type (default float32):"},
    {"op", 0, "OP", ronde_take_op, WHAT(op), "@op", 0, false, "reduction operator (default sum):"},
    {"root", 'r', "RANK", ronde_take_count, WHAT(root), NULL, 0, false,
     "root of rooted collectives (default 0)"},
    {"shape", 0, "AxB", ronde_take_shape, WHAT(shape), NULL, 0, false,
     "ranks as a grid, slowest digit first: nodes x ranks of a node"},
    {"pairs", 0, "S>D,...", ronde_take_pairs, WHAT(pairs), NULL, 0, true,
     "send_recv: who sends to whom (default: rank r to r+1)"},
    {"channels", 0, "COUNT", ronde_take_count, WHAT(channels), NULL, 1, false,
     "equal channels (default: as many as the machine has ways for, else the algorithm's)"},
    {"nccl-log", 0, "FILE", ronde_take_input, WHAT(nccl_log), NULL, 0, true,
     "rings or trees (-a tree) as NCCL built them: a log with NCCL_DEBUG=INFO and "
     "NCCL_DEBUG_SUBSYS=INIT,GRAPH"},
    {"anchor", 0, "LOG", ronde_take_input, WHAT(anchor), NULL, 0, true,
     "the model of NCCL takes rates, latency and launch from what was measured on this machine: a "
     "log of nccl-tests (text, JSON), a table, or records of libnccl-profiler-ronde.so"},
};

/* A shape says how many ranks there are; whether a number beside it agrees is asked of the request. */
static enum ronde_status finish_what(void *group, struct ronde_error *error)
{
    struct ronde_what_options *const what = group;
    (void)error;
    if (what->shape.count > 0 && what->rank_counts == 0) {
        what->ranks[0] = ronde_shape_ranks(&what->shape);
        what->rank_counts = 1;
    }
    return RONDE_OK;
}

static const struct ronde_what_options what_defaults = {.dtype = RONDE_FLOAT32, .op = RONDE_SUM};

const struct ronde_option_group ronde_what_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, what_rows, struct ronde_what_options, &what_defaults,
                finish_what);

static const struct ronde_option several_rows[] = {
    {"ranks", 'N', "N,...", ronde_take_ranks, WHAT(ranks), NULL, 0, false,
     "numbers of ranks: 8, a list 2,4,8, a range 2..33 or 8:1024:x2 (default: the hosts of --topo, "
     "the launcher's ranks, or 2)"},
    {"algorithm", 'a', "NAME,...", ronde_take_algorithms, WHAT(algorithms), "@algorithm", 0, false,
     "algorithms, and files of schedules, with commas (default: all algorithms that serve)"},
};

const struct ronde_option_group ronde_several_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, several_rows, struct ronde_what_options, &what_defaults,
                finish_what);

/* As nccl-tests: the sweep starts where latency shows. */
static const struct ronde_sizes_options sizes_defaults = {.min_bytes = 8,
                                                          .max_bytes = RONDE_SIZE_NOT_GIVEN,
                                                          .factor = 4};

static const struct ronde_option sizes_rows[] = {
    {"minbytes", 'b', "SIZE", ronde_take_size, SIZES(min_bytes), NULL, 0, false,
     "smallest size (default 8); K, M, G and KiB, MiB, GiB are powers of 1024, KB, MB, GB refused"},
    {"maxbytes", 'e', "SIZE", ronde_take_size, SIZES(max_bytes), NULL, 0, false,
     "largest size (default 16M)"},
    {"stepbytes", 'i', "SIZE", ronde_take_size, SIZES(step_bytes), NULL, 0, true,
     "add this from size to size instead of multiplying"},
    {"stepfactor", 'f', "FACTOR", ronde_take_factor, SIZES(factor), NULL, 0, false,
     "multiply by this from size to size (default 4)"},
    {"bytes", 0, "A:B:xF|+S", ronde_take_sizes, 0, NULL, 0, false,
     "all of these at once: from A to B, times F or plus S; or one size"},
};

#define DEFAULT_MAX_BYTES ((uint64_t)16 << 20)

static enum ronde_status finish_sizes(void *group, struct ronde_error *error)
{
    struct ronde_sizes_options *const sizes = group;
    if (sizes->max_bytes == RONDE_SIZE_NOT_GIVEN)
        sizes->max_bytes =
            sizes->min_bytes > DEFAULT_MAX_BYTES ? sizes->min_bytes : DEFAULT_MAX_BYTES;
    if (sizes->max_bytes < sizes->min_bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "largest size %llu is less than smallest size %llu",
                          (unsigned long long)sizes->max_bytes,
                          (unsigned long long)sizes->min_bytes);
    return RONDE_OK;
}

const struct ronde_option_group ronde_sizes_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, sizes_rows, struct ronde_sizes_options, &sizes_defaults,
                finish_sizes);

static const struct ronde_option format_rows[] = {
    {"to", 0, "FORMAT", ronde_take_text, FORMAT(to), "ronde msccl mscclpp nccl-graph goal chakra",
     0, false,
     "ronde, msccl, mscclpp, nccl-graph, goal or chakra (default: by the name of the output: "
     ".ronde, .xml, .json, .goal, .et)"},
    {"dialect", 0, "NAME", ronde_take_text, FORMAT(dialect), "msccl rccl", 0, false,
     "of an MSCCL file: msccl (default; reduce_scatter) or rccl (reducescatter, gather, scatter; "
     "Azure's too)"},
};

const struct ronde_option_group ronde_format_group =
    RONDE_GROUP(RONDE_SECTION_WHAT, format_rows, struct ronde_format_options, NULL, NULL);

/* ---- The machine, and what else happens on it ------------------------------------------------------------------- */

static const struct ronde_option machine_rows[] = {
    {"topo", 0, "FILE", ronde_take_input, MACHINE(topo), "@machine", 0, false,
     "the machine: a platform file, a description, a dump of NCCL or hwloc, the name of a shipped "
     "one, live, or - for standard input"},
    {"without", 0, "NAME,...", ronde_take_texts, MACHINE(without), NULL, 0,
     false, "links, NICs, switches or hosts that are out, by name or pattern (n3g*); routes are found anew"},
    {"degrade", 0, "LINK=FACTOR", ronde_take_texts, MACHINE(degrade), NULL, 0, false,
     "scale the rate of a link; 0: as --without"},
    {"nodes", 0, "COUNT", ronde_take_count, MACHINE(nodes), NULL, 1, false,
     "nodes of a described machine"},
    {"nics", 0, "COUNT", ronde_take_text, MACHINE(nics), NULL, 0, false,
     "so many NICs of each node are left"},
    {"fabric", 0, "NAME", ronde_take_word, MACHINE(fabric), "crossbar rail fat-tree", 0, true,
     "what joins described nodes: crossbar, rail or fat-tree"},
};

const struct ronde_option_group ronde_machine_group =
    RONDE_GROUP(RONDE_SECTION_MACHINE, machine_rows, struct ronde_machine_options, NULL, NULL);

static const struct ronde_option scenario_rows[] = {
    {"with", 0, "COLL:ALGO:SIZE[:HOSTS]", ronde_take_texts, SCENARIO(with), NULL, 0, false,
     "another collective at the same time; or FILE:SIZE[:HOSTS], a schedule from a file"},
    {"background", 0, "S>D:SIZE", ronde_take_texts, SCENARIO(background), NULL, 0, true,
     "a flow from host S to D at the same time"},
    {"straggler", 0, "rank=R,delay=TIME", ronde_take_texts, SCENARIO(straggler), NULL, 0, true,
     "a rank that enters late"},
    {"scenario", 0, "FILE", ronde_take_input, SCENARIO(file), NULL, 0, true,
     "all of these from a file"},
};

const struct ronde_option_group ronde_scenario_group =
    RONDE_GROUP(RONDE_SECTION_SCENARIO, scenario_rows, struct ronde_scenario_options, NULL, NULL);

/* ---- How it is found out ---------------------------------------------------------------------------------------- */

static const struct ronde_engine_options engine_defaults = {.name = "auto"};

static const struct ronde_option engine_rows[] = {
    {"engine", 0, "NAME", ronde_take_word, ENGINE(name),
     "auto flat simgrid maxmin flat_fifo ports cores extrapolate", 0, false,
     "what replays: auto (default), flat, simgrid, maxmin, flat_fifo, ports, cores or extrapolate"},
    {"placement", 0, "NAME", ronde_take_text, ENGINE(placement), "file packed scattered auto", 0,
     false, "ranks on hosts: auto (default), file, packed, scattered"},
    {"slot", 0, "SIZE", ronde_take_slot, ENGINE(slot_bytes), NULL, 0, false,
     "bytes of a connection's slot: the length of a piece (default: as NCCL's by size)"},
    {"synthesize", 0, NULL, ronde_take_switch, ENGINE(synthesize), NULL, 0, false,
     "weigh schedules made for this machine (-a forest) also where that takes long"},
    {"depth", 0, "COUNT", ronde_take_count, ENGINE(depth), NULL, 1, true, "slots of a connection"},
    {"timeout", 0, "SECONDS", ronde_take_positive, ENGINE(timeout_s), NULL, 0, true,
     "give up after this long (a run: default 60, a replay: 600)"},
    {"cfg", 0, "KEY:VALUE", ronde_take_texts, ENGINE(cfg), NULL, 0, true,
     "an option for SimGrid, after ronde's own"},
    {"native-latency", 0, NULL, ronde_take_switch, ENGINE(native_latency), NULL, 0, true,
     "leave link latencies to SimGrid's model"},
};

const struct ronde_option_group ronde_engine_group =
    RONDE_GROUP(RONDE_SECTION_ENGINE, engine_rows, struct ronde_engine_options, &engine_defaults,
                NULL);

static const struct ronde_option style_rows[] = {
    {"style", 0, "NAME", ronde_take_text, 0, "nccl openmpi mpich", 0, false,
     "nccl: no replay, but the model of how NCCL executes it on the machine of --topo; openmpi, "
     "mpich: what the library takes by its own rules, replayed"},
};

const struct ronde_option_group ronde_style_group =
    RONDE_GROUP(RONDE_SECTION_ENGINE, style_rows, const char *, NULL, NULL);

static const struct ronde_backend_options backend_defaults = {
    .name = "cpu", .iterations = 20, .warmups = RONDE_NONE, .check = true, .rank = RONDE_NONE};

static const struct ronde_option backend_rows[] = {
    {"backend", 0, "NAME", ronde_take_backend, BACKEND(name), "@backend", 0, false,
     "what executes (default cpu; proc, ucx and hybrid: processes):"},
    {"iters", 'n', "COUNT", ronde_take_count, BACKEND(iterations), NULL, 1, false,
     "measured iterations of a size (default 20)"},
    {"warmup_iters", 'w', "COUNT", ronde_take_count, BACKEND(warmups), NULL, 0, false,
     "unmeasured iterations before them (default: until times are stable)"},
    {"check", 'c', "0|1", ronde_take_check, BACKEND(check), "0 1", 0, false,
     "compare results with the host backend, host's with the definition (default 1)"},
    {"protocol", 0, "NAME", ronde_take_protocol, BACKEND(protocol), "@protocol", 0, true,
     "how messages travel: auto (default: by size), staged in slots, pull (read in place) or push "
     "(written in place)"},
    {"seed", 0, "NUMBER", ronde_take_seed, BACKEND(seed), NULL, 0, true,
     "host backend: order of the random interleaving"},
    {"buffers", 0, "KIND", ronde_take_buffers, BACKEND(has_user_buffers), "registered user", 0, true,
     "processes: registered buffers (default), which others read in place, or any the user has"},
    {"bind", 0, "WHAT", ronde_take_bind, BACKEND(is_unbound), "core none", 0, true,
     "core: ranks keep to cores of their own, where there are enough (default), or none"},
    {"rank", 0, "R|R..S", ronde_take_rank, BACKEND(rank), NULL, 0, true,
     "processes: this one's rank, or those to make here, where nobody else starts them"},
    {"join", 0, "HOST:PORT", ronde_take_text, BACKEND(join), NULL, 0, true,
     "processes: where rank 0 listens and the others come"},
    {"token", 0, "TEXT", ronde_take_text, BACKEND(token), NULL, 0, true,
     "processes: the job's secret, the same on all ranks; - reads it from the first line of input"},
    {"transport", 0, "NAME", ronde_take_text, BACKEND(transport), "hybrid ucx", 0, true,
     "ucx: hybrid (default; shared memory inside a host) or ucx everywhere"},
    {"hosts", 0, "A,B,...", ronde_take_text, BACKEND(hosts), NULL, 0, false,
     "processes: start them there, in equal shares"},
    {"launcher", 0, "COMMAND", ronde_take_text, BACKEND(launcher), NULL, 0, true,
     "with --hosts: what runs a command on a host (default: ssh -o BatchMode=yes)"},
    {"ngpus", 'g', "COUNT", ronde_take_count, BACKEND(ngpus), NULL, 1,
     true, "nccl-tests' words for -N: ranks a thread (default 1); its table, with algorithm and protocol"},
    {"nthreads", 't', "COUNT", ronde_take_count, BACKEND(nthreads), NULL, 1, true,
     "threads, each with -g ranks (default 1)"},
};

const struct ronde_option_group ronde_backend_group =
    RONDE_GROUP(RONDE_SECTION_ENGINE, backend_rows, struct ronde_backend_options, &backend_defaults,
                NULL);

/* ---- What is printed, and where --------------------------------------------------------------------------------- */

static const struct ronde_option output_rows[] = {
    {"json", 0, NULL, ronde_take_switch, OUTPUT(json), NULL, 0, false,
     "one JSON object per line (needs libjansson)"},
    {"csv", 0, NULL, ronde_take_switch, OUTPUT(csv), NULL, 0, false,
     "comma-separated values with a header line"},
    {"wide", 0, NULL, ronde_take_switch, OUTPUT(wide), NULL, 0, false,
     "all columns of a table, which may be wider than 100 characters"},
    {"output", 'o', "FILE", ronde_take_text, OUTPUT(path), NULL, 0, false,
     "write results there, not to stdout"},
    {"plot", 0, "FILE", ronde_take_plot, OUTPUT(plot), NULL, 0, false,
     "write a plot (needs gnuplot): SVG, or PDF where the name ends in .pdf"},
    {"html", 0, "FILE", ronde_take_text, OUTPUT(html), NULL, 0, false,
     "write a page besides: the answer, curves, pictures, report and data in one file"},
    {"markdown", 0, NULL, ronde_take_switch, OUTPUT(markdown), NULL, 0, true,
     "tables for a document"},
    {"verbose", 0, NULL, ronde_take_switch, OUTPUT(verbose), NULL, 0, true, "say more"},
};

static enum ronde_status finish_output(void *group, struct ronde_error *error)
{
    const struct ronde_output_options *const output = group;
    if (output->json && output->csv)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--json and --csv exclude each other");
    return RONDE_OK;
}

const struct ronde_option_group ronde_output_group =
    RONDE_GROUP(RONDE_SECTION_OUTPUT, output_rows, struct ronde_output_options, NULL, finish_output);

static const struct ronde_option views_rows[] = {
    {"why", 0, NULL, ronde_take_switch, VIEWS(why), NULL, 0, false,
     "bottleneck, busiest links and what the critical path is made of"},
    {"trace", 0, "FILE", ronde_take_text, VIEWS(trace), NULL, 0, false,
     "write a timeline for ui.perfetto.dev"},
    {"timeline", 0, "FILE", ronde_take_picture, VIEWS(timeline), NULL, 0, false,
     "write an SVG of ranks over time (up to 64 ranks)"},
};

const struct ronde_option_group ronde_views_group =
    RONDE_GROUP(RONDE_SECTION_OUTPUT, views_rows, struct ronde_views_options, NULL, NULL);
