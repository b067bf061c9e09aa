/**
 * Descriptions of machines: every line is taken into its field, what is left out has its default or is asked for, and what
 * does not fit is refused with its line and leaves its field alone.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/nccl_model.h"

#include "nccl/model/words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "nccl_machine_test.txt";

#define LEAST "name x\ngeneration volta\ngpus 4\nlink switch\nnvlink_GBps 150\n"

static enum ronde_status read_text(const char *text, struct ronde_nccl_machine *machine,
                                   struct ronde_error *error)
{
    *error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status = ronde_nccl_machine_read(path, machine, error);
    CU_ASSERT_EQUAL(unlink(path), 0);
    return status;
}

/** The least description with one line more. */
static enum ronde_status read_with(const char *line, struct ronde_nccl_machine *machine,
                                   struct ronde_error *error)
{
    char text[1024];
    const int length = snprintf(text, sizeof text, "%s%s\n", LEAST, line);
    CU_ASSERT_FATAL(length > 0 && (size_t)length < sizeof text);
    return read_text(text, machine, error);
}

/* All lines of values, in an arbitrary order, with comments. */
static void every_line_is_taken_into_its_field(void)
{
    struct ronde_nccl_machine machine;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(
        read_text("processes one\nnic_path bridge # of the root complex\n"
                  "fabric efa\nnic_GBps 12.5\nnics 3\nsockets 2\ncpu arm\ngpu_path host\n"
                  "# slots and links\npcie_GBps 31.5\nnvlink_GBps 450\n"
                  "nvlink_nodes 9\nlink mesh\ngpus 6\ngeneration ada\nname a.b_c-1\n",
                  &machine, &error),
        RONDE_OK);
    CU_ASSERT_STRING_EQUAL(machine.name, "a.b_c-1");
    CU_ASSERT_EQUAL(machine.generation, RONDE_NCCL_ADA);
    CU_ASSERT_EQUAL(machine.link, RONDE_NODE_MESH);
    CU_ASSERT_EQUAL(machine.fabric, RONDE_NCCL_EFA);
    CU_ASSERT_EQUAL(machine.cpu, RONDE_NCCL_ARM);
    CU_ASSERT_EQUAL(machine.gpu_path, RONDE_NCCL_GPU_HOST);
    CU_ASSERT_EQUAL(machine.gpus, 6);
    CU_ASSERT_EQUAL(machine.nvlink_nodes, 9);
    CU_ASSERT_EQUAL(machine.sockets, 2);
    CU_ASSERT_EQUAL(machine.nics, 3);
    CU_ASSERT_EQUAL(machine.nvlink_GBps, 450);
    CU_ASSERT_EQUAL(machine.pcie_GBps, 31.5);
    CU_ASSERT_EQUAL(machine.nic_GBps, 12.5);
    CU_ASSERT(machine.behind_bridge);
    CU_ASSERT(machine.is_one_process);
}

/* A machine in its operator's words; lines of values go before what words come to. */
static void words_stand_for_what_no_line_says(void)
{
    struct ronde_nccl_machine machine;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(read_text("name x\ngpu NVIDIA H100 80GB HBM3\ninside NVLink4 NVSwitch 8 "
                                    "GPU # a board\nbetween 8x 400Gb/s NDR\nnotes one process\n",
                                    &machine, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(machine.generation, RONDE_NCCL_HOPPER);
    CU_ASSERT_EQUAL(machine.link, RONDE_NODE_SWITCH);
    CU_ASSERT_EQUAL(machine.gpus, 8);
    CU_ASSERT_EQUAL(machine.nvlink_GBps, 450);
    CU_ASSERT_EQUAL(machine.nics, 8);
    CU_ASSERT_EQUAL(machine.nic_GBps, 50);
    CU_ASSERT_EQUAL(machine.fabric, RONDE_NCCL_INFINIBAND);
    CU_ASSERT_EQUAL(machine.sockets, 2);
    CU_ASSERT(machine.is_one_process);
    CU_ASSERT_EQUAL_FATAL(read_text("name x\ngpu RTX 4090\ngpus 2\ngpu_path switch\n", &machine,
                                    &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(machine.gpu_path, RONDE_NCCL_GPU_SWITCH);
    CU_ASSERT_EQUAL_FATAL(read_text("name x\ngpu RTX 4090\ngpus 2\n", &machine, &error), RONDE_OK);
    CU_ASSERT_EQUAL(machine.gpu_path, RONDE_NCCL_GPU_HOST);
    CU_ASSERT_EQUAL_FATAL(read_text("name x\ngpus 4\nnics 2\nnic_GBps 25\nfabric roce\ncpu amd\n"
                                    "sockets 1\nnic_path bridge\nprocesses per_gpu\n"
                                    "nvlink_GBps 200\npcie_GBps 16\nlink mesh\n"
                                    "gpu A100-SXM4\nbetween 8x HDR\nnotes one process\n",
                                    &machine, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(machine.generation, RONDE_NCCL_AMPERE);
    CU_ASSERT_EQUAL(machine.link, RONDE_NODE_MESH);
    CU_ASSERT_EQUAL(machine.gpus, 4);
    CU_ASSERT_EQUAL(machine.nvlink_GBps, 200);
    CU_ASSERT_EQUAL(machine.pcie_GBps, 16);
    CU_ASSERT_EQUAL(machine.nics, 2);
    CU_ASSERT_EQUAL(machine.nic_GBps, 25);
    CU_ASSERT_EQUAL(machine.fabric, RONDE_NCCL_ROCE);
    CU_ASSERT_EQUAL(machine.cpu, RONDE_NCCL_AMD);
    CU_ASSERT_EQUAL(machine.sockets, 1);
    CU_ASSERT(machine.behind_bridge);
    CU_ASSERT_FALSE(machine.is_one_process);
}

/* A count of one is a count; a computer of one superchip needs none. */
static void one_gpu_may_be_said_in_words(void)
{
    static const char *const texts[] = {
        "name x\ngpu 1x NVIDIA H100\n", "name x\ngpu NVIDIA H100\ninside 1 GPU\n",
        "name x\ngpu 1x NVIDIA GB10\n", "name x\ngpu NVIDIA GB10\nbetween 200 Gb/s RoCE\n",
        "name x\ngpu NVIDIA DGX Spark\nbetween ConnectX-7 200Gb/s RoCE\n"};
    struct ronde_nccl_machine machine;
    struct ronde_error error = {0};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        CU_ASSERT_EQUAL(read_text(texts[t], &machine, &error), RONDE_OK);
        CU_ASSERT_EQUAL(machine.gpus, 1);
        CU_ASSERT(t < 2 || (machine.generation == RONDE_NCCL_BLACKWELL &&
                            machine.cpu == RONDE_NCCL_ARM && machine.sockets == 1));
    }
    CU_ASSERT_EQUAL(read_text("name x\ngpu NVIDIA H100\n", &machine, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(read_text("name x\ngpu 11x NVIDIA H100\n", &machine, &error), RONDE_OK);
    CU_ASSERT_EQUAL(machine.gpus, 11);
}

static void what_is_left_out_has_its_default(void)
{
    struct ronde_nccl_machine machine;
    struct ronde_error error;
    memset(&machine, 0xff, sizeof machine);
    CU_ASSERT_EQUAL_FATAL(read_text(LEAST, &machine, &error), RONDE_OK);
    CU_ASSERT_EQUAL(machine.sockets, 1);
    CU_ASSERT_EQUAL(machine.nvlink_nodes, 0);
    CU_ASSERT_EQUAL(machine.nics, 0);
    CU_ASSERT_EQUAL(machine.cpu, RONDE_NCCL_INTEL);
    CU_ASSERT_EQUAL(machine.gpu_path, RONDE_NCCL_GPU_BRIDGE);
    CU_ASSERT_EQUAL(machine.pcie_GBps, 0);
    CU_ASSERT_FALSE(machine.behind_bridge);
    CU_ASSERT_FALSE(machine.is_one_process);
}

/** Which value a machine has of the words of a line. */
static unsigned of_line(const struct ronde_nccl_machine *machine, const char *key)
{
    return strcmp(key, "generation") == 0 ? (unsigned)machine->generation
           : strcmp(key, "link") == 0     ? (unsigned)machine->link
           : strcmp(key, "cpu") == 0      ? (unsigned)machine->cpu
           : strcmp(key, "fabric") == 0   ? (unsigned)machine->fabric
           : strcmp(key, "gpu_path") == 0 ? (unsigned)machine->gpu_path
           : strcmp(key, "nic_path") == 0 ? machine->behind_bridge
                                          : machine->is_one_process;
}

/* Every word of every list is its enumerator, and nothing else is one. */
static void words_are_their_enumerators(void)
{
    static const char *const nic_paths[] = {"switch", "bridge"};
    static const char *const processes[] = {"per_gpu", "one"};
    static const struct {
        const char *key;
        const char *const *words;
        unsigned count;
    } lists[] = {{"generation", ronde_nccl_generations, RONDE_NCCL_GENERATION_COUNT},
                 {"link", ronde_nccl_links, RONDE_NODE_PCIE + 1},
                 {"cpu", ronde_nccl_cpus, RONDE_NCCL_CPU_COUNT},
                 {"fabric", ronde_nccl_fabrics, RONDE_NCCL_FABRIC_COUNT},
                 {"gpu_path", ronde_nccl_gpu_paths, RONDE_NCCL_GPU_PATH_COUNT},
                 {"nic_path", nic_paths, 2},
                 {"processes", processes, 2}};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++)
        for (unsigned w = 0; w <= lists[l].count; w++) {
            const bool is_word = w < lists[l].count;
            const bool is_generation = strcmp(lists[l].key, "generation") == 0;
            const bool is_link = strcmp(lists[l].key, "link") == 0;
            char text[512];
            struct ronde_nccl_machine machine;
            struct ronde_error error;
            snprintf(text, sizeof text, "%s %s\nname x\n%sgpus 4\n%snvlink_GBps 150\npcie_GBps 16\n",
                     lists[l].key, is_word ? lists[l].words[w] : "none",
                     is_generation ? "" : "generation ada\n", is_link ? "" : "link pcie\n");
            CU_ASSERT_EQUAL(read_text(text, &machine, &error), is_word ? RONDE_OK : RONDE_BAD_INPUT);
            CU_ASSERT_EQUAL(error.line, is_word ? 0 : 1);
            if (is_word)
                CU_ASSERT_EQUAL(of_line(&machine, lists[l].key), w);
            for (unsigned other = 0; !is_word && other < lists[l].count; other++)
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, lists[l].words[other]));
        }
}

/* What a refused line would have set stays as it was: nothing is cut, rounded or converted. */
static void counts_are_whole_and_within_bounds(void)
{
    static const struct {
        const char *value;
        bool is_gpus, is_nics;
        uint32_t number;
    } cases[] = {
        {"1", true, true, 1},      {"1024", true, true, 1024}, {"8.0", true, true, 8},
        {"1e2", true, true, 100},  {"0", false, true, 0},      {"1025", false, false, 0},
        {"-1", false, false, 0},   {"2.5", false, false, 0},   {"1e30", false, false, 0},
        {"nan", false, false, 0},  {"inf", false, false, 0},   {"4294967297", false, false, 0},
        {"four", false, false, 0}, {"4x", false, false, 0},
    };
    static const char rest[] = "name x\ngeneration volta\nlink pcie\npcie_GBps 16\n";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_nccl_machine machine;
        struct ronde_error error;
        char text[256];
        snprintf(text, sizeof text, "%sgpus %s\n", rest, cases[i].value);
        CU_ASSERT_EQUAL(read_text(text, &machine, &error) == RONDE_OK, cases[i].is_gpus);
        CU_ASSERT_EQUAL(machine.gpus, cases[i].is_gpus ? cases[i].number : 0);
        CU_ASSERT_EQUAL(error.line, cases[i].is_gpus ? 0 : 5);
        snprintf(text, sizeof text, "%sgpus 4\nsockets %s\n", rest, cases[i].value);
        CU_ASSERT_EQUAL(read_text(text, &machine, &error) == RONDE_OK, cases[i].is_gpus);
        CU_ASSERT_EQUAL(machine.sockets, cases[i].is_gpus ? cases[i].number : 1);
        snprintf(text, sizeof text, "%sgpus 4\nnic_GBps 25\nfabric roce\nnics %s\n", rest,
                 cases[i].value);
        CU_ASSERT_EQUAL(read_text(text, &machine, &error) == RONDE_OK, cases[i].is_nics);
        CU_ASSERT_EQUAL(machine.nics, cases[i].is_nics ? cases[i].number : 0);
        CU_ASSERT_EQUAL(error.line, cases[i].is_nics ? 0 : 8);
    }
}

static void rates_are_within_bounds(void)
{
    static const struct {
        const char *line;
        bool is_taken;
    } cases[] = {
        {"pcie_GBps 1", true},       {"pcie_GBps .99", false},  {"pcie_GBps 100000", true},
        {"pcie_GBps 100001", false}, {"pcie_GBps -16", false},  {"pcie_GBps inf", false},
        {"nic_GBps 0.01", true},     {"nic_GBps 0.009", false}, {"nic_GBps 1e5", true},
        {"nic_GBps 1e5000", false},  {"nic_GBps 12,5", false},  {"nic_GBps 25GB", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_nccl_machine machine;
        struct ronde_error error;
        CU_ASSERT_EQUAL(read_with(cases[i].line, &machine, &error),
                        cases[i].is_taken ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, cases[i].is_taken ? 0 : 6);
    }
}

static void names_have_a_longest(void)
{
    for (size_t length = 60; length < 70; length++) {
        char line[256] = "", name[128] = "";
        struct ronde_nccl_machine machine;
        struct ronde_error error;
        memset(name, 'n', length);
        snprintf(line, sizeof line, "gpus 1\nlink pcie\npcie_GBps 8\nname %s\n", name);
        const enum ronde_status status = read_text(line, &machine, &error);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT); /* without a generation in any case */
        CU_ASSERT_EQUAL(error.line, length < RONDE_NCCL_NAME_BYTES ? 0 : 4);
        CU_ASSERT_STRING_EQUAL(machine.name, length < RONDE_NCCL_NAME_BYTES ? name : "");
    }
}

/* Each line a second time, and each with no value or two. */
static void lines_are_there_once_and_have_one_value(void)
{
    static const char *const keys[] = {"name",        "generation", "gpus",     "link",
                                       "nvlink_GBps", "pcie_GBps",  "cpu",      "nics",
                                       "nic_GBps",    "fabric",     "nic_path", "processes",
                                       "sockets"};
    static const char *const values[] = {"x", "volta", "4",    "switch", "150", "16", "amd",
                                         "2", "25",    "roce", "bridge", "one", "2"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        for (int fault = 0; fault < 3; fault++) {
            static const char *const says[] = {"is there twice", "one value", "one value"};
            char text[256];
            struct ronde_nccl_machine machine;
            struct ronde_error error;
            if (fault == 0)
                snprintf(text, sizeof text, "%s %s\n\n%s %s\n", keys[k], values[k], keys[k],
                         values[k]);
            else
                snprintf(text, sizeof text, "#\n\n%s%s%s%s%s\n", keys[k], fault > 1 ? " " : "",
                         fault > 1 ? values[k] : "", fault > 1 ? " " : "",
                         fault > 1 ? values[k] : "");
            CU_ASSERT_EQUAL(read_text(text, &machine, &error), RONDE_BAD_INPUT);
            CU_ASSERT_EQUAL(error.line, 3);
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, says[fault]));
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, keys[k]));
        }
}

/* Each line that is needed, left out; what it is needed for says what links and NICs there are. */
static void what_is_missing_is_named(void)
{
    static const struct {
        const char *text, *missing;
    } cases[] = {
        {"", "name"},
        {"name x\ngpus 4\nlink pcie\npcie_GBps 16\n", "generation"},
        {"name x\ngeneration ada\nlink pcie\npcie_GBps 16\n", "gpus"},
        {"name x\ngeneration ada\ngpus 4\nnvlink_GBps 150\npcie_GBps 16\n", "link"},
        {"name x\ngeneration ada\ngpus 4\nlink mesh\npcie_GBps 16\n", "nvlink_GBps"},
        {"name x\ngeneration ada\ngpus 4\nlink pairs\npcie_GBps 16\n", "nvlink_GBps"},
        {"name x\ngeneration ada\ngpus 4\nlink pairs\nnvlink_GBps 16\n", "pcie_GBps"},
        {"name x\ngeneration ada\ngpus 4\nlink pcie\nnvlink_GBps 16\n", "pcie_GBps"},
        {LEAST "nics 2\nfabric roce\n", "nic_GBps"},
        {LEAST "nics 2\nnic_GBps 25\n", "fabric"},
        {LEAST "nics 2\nnic_GBps 25\nfabric roce\n", NULL},
        {LEAST "nics 0\n", NULL},
        {"name x\ngeneration ada\ngpus 4\nlink pcie\npcie_GBps 16\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[128] = "";
        struct ronde_nccl_machine machine;
        struct ronde_error error;
        CU_ASSERT_EQUAL(read_text(cases[i].text, &machine, &error),
                        cases[i].missing ? RONDE_BAD_INPUT : RONDE_OK);
        if (cases[i].missing)
            snprintf(expected, sizeof expected, "%s: no line says %s, as in \"%s ", path,
                     cases[i].missing, cases[i].missing);
        CU_ASSERT(strncmp(error.message, expected, strlen(expected)) == 0);
        CU_ASSERT(cases[i].missing || error.message[0] == '\0');
    }
}

static void read_shipped(const char *file, void *context)
{
    const char *name = strrchr(file, '/') + 1;
    struct ronde_nccl_machine machine;
    struct ronde_error error = {.status = RONDE_OK};
    unsigned *read = context;
    CU_ASSERT_EQUAL(ronde_nccl_machine_read(file, &machine, &error), RONDE_OK);
    CU_ASSERT_EQUAL(strncmp(name, machine.name, strlen(machine.name)), 0);
    CU_ASSERT_STRING_EQUAL(name + strlen(machine.name), ".txt");
    CU_ASSERT(machine.nics == 0 || machine.nic_GBps > 0);
    ++*read;
}

/* A published row finds its machine by the name of the file: that is the name in it. */
static void shipped_descriptions_are_named_as_their_files(void)
{
    unsigned read = 0;
    CU_ASSERT_EQUAL(files_walk("topologies/published", ".txt", read_shipped, &read), read);
    CU_ASSERT(read >= 17);
}

static void texts_are_those_of_nccl(void)
{
    static const char *const algorithms[] = {"Ring", "Tree", "NVLS",     "NVLSTree",
                                             "auto", "P2P",  "AllPairs", "auto"};
    static const char *const protocols[] = {"LL", "LL128", "Simple", "auto", "auto"};
    static const char *const generations[] = {"cdna2",     "cdna3",      "pascal", "volta",
                                              "ampere",    "ampere_rtx", "ada",    "hopper",
                                              "blackwell", "?",          "?"};
    for (unsigned a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++)
        CU_ASSERT_STRING_EQUAL(ronde_nccl_algorithm_text((enum ronde_nccl_algorithm)a),
                               algorithms[a]);
    for (unsigned p = 0; p < sizeof protocols / sizeof protocols[0]; p++)
        CU_ASSERT_STRING_EQUAL(ronde_nccl_protocol_text((enum ronde_nccl_protocol)p), protocols[p]);
    for (unsigned g = 0; g < sizeof generations / sizeof generations[0]; g++)
        CU_ASSERT_STRING_EQUAL(ronde_nccl_generation_text((enum ronde_nccl_generation)g),
                               generations[g]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"one_gpu_may_be_said_in_words", one_gpu_may_be_said_in_words},
        {"every_line_is_taken_into_its_field", every_line_is_taken_into_its_field},
        {"words_stand_for_what_no_line_says", words_stand_for_what_no_line_says},
        {"what_is_left_out_has_its_default", what_is_left_out_has_its_default},
        {"words_are_their_enumerators", words_are_their_enumerators},
        {"counts_are_whole_and_within_bounds", counts_are_whole_and_within_bounds},
        {"rates_are_within_bounds", rates_are_within_bounds},
        {"names_have_a_longest", names_have_a_longest},
        {"lines_are_there_once_and_have_one_value", lines_are_there_once_and_have_one_value},
        {"what_is_missing_is_named", what_is_missing_is_named},
        {"shipped_descriptions_are_named_as_their_files",
         shipped_descriptions_are_named_as_their_files},
        {"texts_are_those_of_nccl", texts_are_those_of_nccl},
    };
    return suite_run("nccl_machine", cases, sizeof cases / sizeof cases[0]);
}
