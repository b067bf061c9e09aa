/**
 * Importers on texts: what is refused and why, what must be given, what happens when memory runs
 * out.
 */
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"
#include "support/sweep.h"
#include "unit/topologies/imported.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file in memory's place: a name of its own and a text. */
static enum ronde_status import_text(const char *text, const struct ronde_import_request *base,
                                     struct ronde_import **out_import, struct ronde_error *error)
{
    char path[] = RONDE_SCRATCH_DIR "/import-XXXXXX";
    struct ronde_import_request request = *base;
    const int number = mkstemp(path);
    CU_ASSERT_FATAL(number >= 0);
    CU_ASSERT_EQUAL(write(number, text, strlen(text)), (ssize_t)strlen(text));
    close(number);
    request.path = path;
    const enum ronde_status status =
        ronde_import_read(&request, ronde_mem_default(), out_import, error);
    unlink(path);
    return status;
}

#define CPU "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n"
#define END "</cpu></system>"
#define GPU(bus, rank, inside)                                                                     \
    "<pci busid=\"" bus "\" class=\"0x030200\"><gpu rank=\"" rank "\" sm=\"90\">" inside           \
    "</gpu></pci>\n"
#define HWLOC "<topology version=\"2.0\"><object type=\"Machine\">\n"
#define NVML                                                                                       \
    "<object type=\"PCIDev\" gp_index=\"7\" pci_busid=\"0:0:0.0\" pci_type=\"0302\" "              \
    "pci_link_speed=\"8\"/></object>\n"

static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"<system version=\"3\"/>", ":1: version of <system> is '3'"},
    {"<platform version=\"4.1\"/>", ":1: this is a platform file already"},
    {"<nccl/>", ":1: root element is <nccl>"},
    {"<system version=\"1\">\n<cpu>", ":2: not well-formed XML"},
    {CPU "<pci busid=\"x\"/>" END, ":3: busid of <pci> is 'x'"},
    {CPU "<pci busid=\"0:0:0.0\" link_width=\"-1\"/>" END, ":3: link_width of <pci> is '-1'"},
    {CPU GPU("0:0:0.0", "0", "") GPU("0:0:0.0", "1", "") END, ":4: a second device 0:0:0.0"},
    {CPU GPU("0:0:0.0", "0", "") GPU("0:1:0.0", "0", "") END,
     ":4: a second gpu of rank (or dev) 0"},
    {CPU "<pci busid=\"0:7:0.0\"><pci busid=\"0:7:0.0\">\n<pcilink target=\"0:0:0.0\"/>" GPU(
         "0:0:0.0", "0", "") "</pci></pci>" END,
     ":4: a pcilink of 0:7:0.0, which several bridges are called"},
    {CPU "<pci busid=\"0:0:0.0\" class=\"0x0302&#155;31m\"/>" END,
     ":3: class of <pci> has a control character"},
    {CPU "<nic>\n<net speed=\"1e-300\"/></nic>" END, ":4: speed is '1e-300'"},
    {"<!DOCTYPE system [\n<!ENTITY a \"b\">]>" CPU END, ":2: declares an entity"},
    {CPU GPU("0:0:0.0", "z", "") END, ":3: rank of <gpu> is 'z'"},
    {CPU GPU("0:0:0.0", "0", "\n<nvlink count=\"x\"/>") END, ":4: count of <nvlink> is 'x'"},
    {CPU GPU("0:0:0.0", "0", "\n<c2c bw=\"0\" count=\"2\"/>") END, ":4: c2c of 0 MB/s"},
    {CPU "<nic>\n<net speed=\"fast\"/></nic>" END, ":4: speed is 'fast'"},
    {CPU "</cpu>\n<cpu numaid=\"0\">" END, ":4: a second cpu 0; the first is on line 2"},
    {"<system version=\"1\">\n<cpu numaid=\"a\">" END, ":2: numaid is 'a'"},
    {CPU GPU("0:0:0.0", "0", "") "</cpu>\n<cpu host_hash=\"1\" numaid=\"0\">" GPU("0:1:0.0", "1", "")
         END,
     "no link of known rate leads from gpu0 to gpu1"},
    {"<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\">" GPU(
         "0:0:0.0", "0", "<nvlink count=\"1\" tclass=\"0x068000\"/>")
         GPU("0:1:0.0", "1",
             "<nvlink count=\"1\" tclass=\"0x068000\"/>") "</cpu>"
                                                          "<cpu host_hash=\"1\" numaid=\"0\">" GPU(
                                                              "0:1:0.0", "2", "") END,
     ":4: of 3 GPUs gpu2 alone has no NVLink, and nothing else of known rate leads there"},
    {CPU "<pci busid=\"0:0:0.0\" class=\"0x030200\">\n<gpu rank=\"0\">"
         "<nvlink count=\"1\" target=\"0:1:0.0\"/></gpu></pci>" END,
     ":4: a gpu with nvlink but without sm"},
    {"<topology/>", ":1: version of <topology> is ''"},
    {HWLOC "</object></topology>", ":1: neither GPUs nor cores"},
    {HWLOC "<object type=\"Core\"/></object></topology>",
     ":1: no GPU, so the ranks are its 1 cores"},
    {HWLOC NVML "<distances2 type=\"PCIDev\" nbobjs=\"1\" name=\"NVLinkBandwidth\">"
                "<indexes>9</indexes></distances2></topology>",
     ":3: the matrix names 9"},
    {HWLOC NVML "<distances2 type=\"PCIDev\" nbobjs=\"2\" name=\"NVLinkBandwidth\">"
                "<indexes>7</indexes></distances2></topology>",
     ":3: 1 indexes, expected 2"},
    {HWLOC NVML "<distances2 type=\"PCIDev\" nbobjs=\"1\" name=\"NVLinkBandwidth\">"
                "<indexes>7</indexes><u64values>x</u64values></distances2></topology>",
     ":3: value 0 of row 0 is 'x'"},
    {HWLOC NVML "<distances2 type=\"PCIDev\" nbobjs=\"1\" name=\"NVLinkBandwidth\">"
                "<indexes>7</indexes><u64values></u64values></distances2></topology>",
     ":3: 0 values, expected 1"},
    {CPU "<pci busid=\"0:0:0.0\" class=\"0x030200\"><gpu rank=\"1\"/>\n<gpu rank=\"1\"/></pci>" END,
     ":4: a second gpu of rank (or dev) 1"},
};

static void bad_files_are_refused_with_their_line(void)
{
    const struct ronde_import_request base = {.nodes = 1};
    if (!imported_can())
        return;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct ronde_import *import = NULL;
        struct ronde_error error = {0};
        const enum ronde_status status = import_text(refused[i].text, &base, &import, &error);
        const bool is_right = status != RONDE_OK && strstr(error.message, refused[i].message);
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("case %zu: '%s', expected '%s'", i, error.message, refused[i].message);
        ronde_import_destroy(import);
    }
}

/* Opens an element `depth` times, each with a number of its own, and reads that as a whole file. */
static void expect_too_deep(const char *begin, const char *format, uint32_t depth, const char *end,
                            const char *message)
{
    char text[16384];
    const struct ronde_import_request request = {.nodes = 1};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    size_t used = (size_t)snprintf(text, sizeof text, "%s", begin);
    for (uint32_t i = 0; i < depth; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, format, i);
    for (uint32_t i = 0; i < depth; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", end);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                             strstr(begin, "cpu") ? END : "</topology>");
    CU_ASSERT_FATAL(used < sizeof text);
    CU_ASSERT_EQUAL(import_text(text, &request, &import, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NULL(import);
    const bool is_named = strstr(error.message, message) != NULL;
    CU_ASSERT(is_named);
    if (!is_named)
        suite_note("%s", error.message);
}

static void files_nested_too_deeply_are_refused(void)
{
    if (!imported_can())
        return;
    expect_too_deep(CPU, "<pci busid=\"0:%x:0.0\" class=\"0x060400\">", 34, "</pci>",
                    "pci nested deeper than 32");
    expect_too_deep("<topology version=\"2.0\">", "<object type=\"Group\" gp_index=\"%u\">", 140,
                    "</object>", "objects nested deeper than 128");
}

static void what_the_file_leaves_out_is_asked_for(void)
{
    static const char pci_only[] =
        CPU "<pci busid=\"0:0:0.0\" class=\"0x030200\"/><pci busid=\"0:1:0.0\" class=\"0x030200\"/>"
            "<pci busid=\"0:2:0.0\" class=\"0x020000\"/>" END;
    struct ronde_import_request request = {.nodes = 2};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    struct imported machine = {0};
    if (!imported_can())
        return;
    CU_ASSERT_EQUAL(import_text(pci_only, &request, &import, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--nic-GBps"));
    request.nic_GBps = 25;
    request.fabric = RONDE_FABRIC_RAIL;
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(import_text(pci_only, &request, &import, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "2 GPUs share nic0"));
    request.fabric = RONDE_FABRIC_CROSSBAR;
    request.nvlink_GBps = 450;
    CU_ASSERT_EQUAL_FATAL(import_text(pci_only, &request, &import, &error), RONDE_OK);
    CU_ASSERT_FATAL(imported_read_back(import, &machine));
    ronde_import_destroy(import);
    imported_assert_route(&machine, 2, 3, "n1-nvlink-gpu0_UP n1-nvlink-gpu1_DOWN");
    CU_ASSERT_EQUAL(imported_rate(&machine, "n1-nvlink-gpu0_UP"), 450);
    CU_ASSERT_EQUAL(imported_rate(&machine, "n0-net-nic0_UP"), 25);
    imported_close(&machine);
}

static void devices_below_a_gpu_have_names_of_their_own(void)
{
    static const char nested[] =
        CPU "<pci busid=\"0:0:0.0\" class=\"0x030200\"><gpu rank=\"0\" sm=\"90\"/>"
            "<pci busid=\"0:1:0.0\" class=\"0x060400\"><pci busid=\"0:2:0.0\">"
            "<nic><net name=\"x\" speed=\"8000\"/></nic></pci></pci></pci>" END;
    const struct ronde_import_request request = {.nodes = 2};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    struct imported machine = {0};
    if (!imported_can())
        return;
    CU_ASSERT_EQUAL_FATAL(import_text(nested, &request, &import, &error), RONDE_OK);
    CU_ASSERT_FATAL(imported_read_back(import, &machine));
    ronde_import_destroy(import);
    imported_assert_route(&machine, 0, 1,
                          "n0-pcie-0:1:0.0_DOWN n0-pcie-nic0_DOWN n0-net-nic0_UP port-n0 port-n1 "
                          "n1-net-nic0_DOWN n1-pcie-nic0_UP n1-pcie-0:1:0.0_UP");
    imported_close(&machine);
}

/*
 * Two bridges of the id of a third, and one of the id of the GPU below it: what is reached is told apart by the tree, and a
 * link to the id means the GPU.
 */
static void bridges_that_repeat_a_bus_id_are_told_apart(void)
{
    static const char repeated[] = CPU
        "<pci busid=\"0:7:0.0\">" GPU("0:1:0.0", "0", "<nvlink count=\"1\" target=\"0:2:0.0\"/>") "</pci>\n<pci busid=\"0:7:0.0\">" GPU(
            "0:3:0.0", "1",
            "") "</pci>\n<pci busid=\"0:7:0.0\"><pci busid=\"0:2:0.0\">" GPU("0:2:0.0", "2",
                                                                             "") "</pci></"
                                                                                 "pci>\n" END;
    const struct ronde_import_request request = {.nodes = 1};
    struct ronde_import *import = NULL;
    struct ronde_error error = {0};
    struct imported machine = {0};
    char line[256] = "", last[256] = "";
    if (!imported_can())
        return;
    CU_ASSERT_EQUAL_FATAL(import_text(repeated, &request, &import, &error), RONDE_OK);
    for (uint32_t i = 0; ronde_import_remark(import, i, line, sizeof line); i++)
        if (strstr(line, "told apart"))
            memcpy(last, line, sizeof last);
    CU_ASSERT_STRING_EQUAL(last, "PCI bridges with the bus id of another device, told apart by a "
                                 "number: 3 (line 5 and others)");
    CU_ASSERT_FATAL(imported_read_back(import, &machine));
    ronde_import_destroy(import);
    imported_assert_route(&machine, 1, 2,
                          "pcie-gpu1_UP pcie-0:7:0.0-2_UP pcie-0:7:0.0-3_DOWN pcie-0:2:0.0_DOWN "
                          "pcie-gpu2_DOWN");
    imported_assert_route(&machine, 0, 2, "nvlink-gpu0-gpu2");
    imported_close(&machine);
}

/* Ports that are the same one again, or part of another, are not counted twice; a GPU that lost its links is named. */
static void what_is_there_once_is_counted_once(void)
{
#define NET(name, rest) "<net name=\"" name "\" speed=\"10000\" port=\"0\" " rest "/>"
#define LINK "<nvlink count=\"18\" tclass=\"0x068000\" target=\"fffffff:ff:ff.0\"/>"
#define TWO GPU("0:0:0.0", "0", LINK) GPU("0:1:0.0", "1", LINK)
#define SECOND "</cpu>\n<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n"
    static const struct {
        const char *text;
        uint32_t nics, ports;
        const char *remark;
    } rows[] = {
        {CPU TWO "<nic>" NET("a", "") NET("b", "") "</nic>" END, 1, 2, "latencies"},
        {CPU TWO "<nic>" NET("a", "") NET("b", "") NET("a+b", "dev=\"0\"") "</nic>" END, 1, 1,
         "parts of fused NICs, which NCCL gives no number, left out: 2 (line 5 and others)"},
        {CPU TWO "<nic>" NET("a", "dev=\"0\" guid=\"0x0\"") "</nic>\n" SECOND "<nic>" NET(
             "a", "dev=\"0\" guid=\"0x0\"") "</nic>" END,
         1, 1, "NICs that stand below several CPUs, taken once: 1 (line 8)"},
        {CPU TWO "<nic>" NET("a", "dev=\"0\" guid=\"0x0\"") "</nic>\n" SECOND "<nic>" NET(
             "b", "dev=\"1\" guid=\"0x0\"") "</nic>" END,
         2, 2, "latencies"},
        {CPU TWO GPU("0:2:0.0", "2", "") "<nic>" NET("a", "") "</nic>" END, 1, 1,
         "GPUs without NVLink beside others that have it, lost by a fault?: 1 (line 5)"},
    };
    const struct ronde_import_request request = {.nodes = 1};
    if (!imported_can())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_import *import = NULL;
        struct ronde_error error = {0};
        char line[256] = "";
        bool is_said = strcmp(rows[i].remark, "latencies") == 0;
        CU_ASSERT_EQUAL(import_text(rows[i].text, &request, &import, &error), RONDE_OK);
        if (!import) {
            suite_note("row %zu: %s", i, error.message);
            continue;
        }
        const struct ronde_import_summary summary = ronde_import_summary(import);
        CU_ASSERT_EQUAL(summary.nics, rows[i].nics);
        CU_ASSERT_EQUAL(summary.ports, rows[i].ports);
        for (uint32_t k = 0; ronde_import_remark(import, k, line, sizeof line); k++)
            is_said = is_said || strcmp(line, rows[i].remark) == 0;
        CU_ASSERT(is_said);
        ronde_import_destroy(import);
    }
}

static void requests_out_of_range_are_refused(void)
{
    char path[512];
    if (!imported_can() || !suite_source(path, sizeof path, "tests/data/import/mesh.xml"))
        return;
    const struct {
        struct ronde_import_request request;
        const char *message;
    } bad[] = {
        {{.path = path}, "0 nodes, expected 1 to"},
        {{.path = path, .nodes = UINT32_MAX}, "4294967295 nodes, expected 1 to"},
        {{.path = path, .nodes = 1, .fabric = RONDE_FABRIC_COUNT}, "fabric number 3"},
        {{.path = path, .nodes = 1, .nic_GBps = -1}, "a rate of -1 GB/s, expected 0 to 1e9"},
        {{.path = path, .nodes = 1, .nic_GBps = 1e10}, "a rate of 1e+10 GB/s"},
        {{.path = path, .nodes = 1, .nic_GBps = NAN}, "a rate of nan GB/s"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ronde_import *import = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_import_read(&bad[i].request, ronde_mem_default(), &import, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(import);
        const bool is_named = strstr(error.message, bad[i].message) != NULL;
        CU_ASSERT(is_named);
        if (!is_named)
            suite_note("wanted \"%s\", got \"%s\"", bad[i].message, error.message);
    }
}

static enum ronde_status import_file(const void *path, const struct ronde_mem *mem,
                                     struct ronde_error *error)
{
    const struct ronde_import_request request = {.path = path, .nodes = 1};
    struct ronde_import *import = NULL;
    const enum ronde_status status = ronde_import_read(&request, mem, &import, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, import != NULL);
    ronde_import_destroy(import);
    return status;
}

/* libxml2's own allocations are not ours to fail. */
static void allocation_failures_are_clean(void)
{
    static const char *const names[] = {"nearest-nic.xml", "mesh.xml", "hwloc.xml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && imported_can(); i++) {
        char path[512];
        char relative[128];
        snprintf(relative, sizeof relative, "tests/data/import/%s", names[i]);
        CU_ASSERT_FATAL(suite_source(path, sizeof path, relative));
        const struct sweep sweep = {.what = relative, .operation = import_file, .context = path};
        CU_ASSERT(sweep_run(&sweep) > 1);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"bridges_that_repeat_a_bus_id_are_told_apart", bridges_that_repeat_a_bus_id_are_told_apart},
        {"what_is_there_once_is_counted_once", what_is_there_once_is_counted_once},
        {"requests_out_of_range_are_refused", requests_out_of_range_are_refused},
        {"bad_files_are_refused_with_their_line", bad_files_are_refused_with_their_line},
        {"files_nested_too_deeply_are_refused", files_nested_too_deeply_are_refused},
        {"what_the_file_leaves_out_is_asked_for", what_the_file_leaves_out_is_asked_for},
        {"devices_below_a_gpu_have_names_of_their_own", devices_below_a_gpu_have_names_of_their_own},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("import_text", cases, sizeof cases / sizeof cases[0]);
}
