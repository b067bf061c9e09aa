/* `ronde topo generate` and `ronde topo check` as a user meets them. */
#include "support/suite.h"

#include "ronde/topologies.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/said.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRATCH RONDE_SCRATCH_DIR "/topo-generate.xml"

static void expect(const char *arguments, const char *streams, int code, const char *part)
{
    char command[4096];
    snprintf(command, sizeof command, "\"%s\" topo %s %s", suite_ronde(), arguments, streams);
    said_has(said_by(command, code), part);
}

/* Refused: one line on stderr and exit 2. */
static void refuses(const char *arguments, const char *part)
{
    expect(arguments, "2>&1 >/dev/null", 2, part);
}

static void what_is_generated_checks(void)
{
    if (!suite_can_read_platforms())
        return;
    expect("generate rail --nodes 64 --oversubscription 2 -o " SCRATCH, "", 0, "");
    expect("check " SCRATCH, "", 0, "hosts         512\n");
    expect("check " SCRATCH, "", 0, "node_hosts    8\n");
    expect("check " SCRATCH, "", 0, "slowest_GBps  50\n");
    expect("generate torus --shape 4x2 -o " SCRATCH, "", 0, "");
    expect("check " SCRATCH, "", 0, "routed_by     ronde and simgrid\n");
    unlink(SCRATCH);
    expect("check crossbar-64", "", 0, "64 hosts, one non-blocking switch");
}

/* A machine's description is what is imported of it; with a generated fabric it is a node by its numbers, of alike GPUs. */
static void descriptions_are_generated(void)
{
    refuses("generate ABCI-A100 --nodes 2 --levels 2", "ABCI-A100 has 4 NICs for 8 GPUs");
    refuses("generate L40S-PCIe-4 --gpus 4", "joins its GPUs by PCIe");
    refuses("generate A6000-NV-4 --gpus 4", "joins its GPUs by pairs");
    refuses("generate H100-together-8 --nodes 2", "2 nodes, but a node has no NIC");
    if (!suite_can_read_platforms())
        return;
    expect("generate H100-cluster01 --nodes 4 -o " SCRATCH, "2>/dev/null", 0, "");
    expect("check " SCRATCH, "", 0, "hosts         32\n");
    expect("check " SCRATCH, "", 0, "slowest_GBps  22\n");
    expect("generate H100-cluster01 --nodes 4 --multicast -o " SCRATCH, "2>/dev/null", 0, "");
    expect("check " SCRATCH, "", 0, "hosts         32\n");
    refuses("generate mi300x --multicast", "no switch copies or adds there");
    refuses("generate torus 4x4 --multicast", "torus has no switch that copies and adds");
    refuses("import A6000-NV-4 --multicast", "no NVSwitch: nothing copies or adds there");
    expect("generate Alps-GH200 --nodes 4 -o " SCRATCH, "2>/dev/null", 0, "");
    expect("check " SCRATCH, "", 0, "node_hosts    4\n");
    unlink(SCRATCH);
}

static void generated_files_go_to_stdout_unless_told(void)
{
    expect("generate crossbar --nodes 3", "2>/dev/null", 0, "radical=\"0-2\"");
}

static void slips_are_refused_in_one_line(void)
{
    refuses("generate rial", "unknown kind \"rial\"; did you mean rail?");
    refuses("generate", "there are crossbar, ethernet, fat-tree, torus, dragonfly");
    refuses("generate torus", "a torus needs a shape");
    refuses("generate torus --shape 2x2x2x2", "shape has 4 axes, at most 3");
    refuses("generate crossbar --gpus 8", "crossbar has no gpus");
    refuses("generate dgx-h100 --nodes 2 --fabric rai", "did you mean rail?");
    refuses("check", "which file?");
    if (suite_can_read_platforms())
        refuses("check no/such.xml", "no/such.xml");
}

/* A refused request leaves the file of an earlier one as it was. */
static void a_refused_request_leaves_the_output_alone(void)
{
    CU_ASSERT(files_write(SCRATCH, "precious\n"));
    refuses("generate torus -o " SCRATCH, "a torus needs a shape");
    char *kept = files_read(SCRATCH);
    CU_ASSERT(kept && strcmp(kept, "precious\n") == 0);
    free(kept);
    unlink(SCRATCH);
}

static void errors_of_a_file_have_its_line(void)
{
    char path[1024];
    char arguments[1200];
    if (!suite_can_read_platforms() ||
        !suite_source(path, sizeof path, "tests/invalid/platform-bad-unit.xml"))
        return;
    snprintf(arguments, sizeof arguments, "check \"%s\"", path);
    refuses(arguments, "platform-bad-unit.xml:7: bandwidth of <link>");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_is_generated_checks", what_is_generated_checks},
        {"descriptions_are_generated", descriptions_are_generated},
        {"generated_files_go_to_stdout_unless_told", generated_files_go_to_stdout_unless_told},
        {"slips_are_refused_in_one_line", slips_are_refused_in_one_line},
        {"a_refused_request_leaves_the_output_alone", a_refused_request_leaves_the_output_alone},
        {"errors_of_a_file_have_its_line", errors_of_a_file_have_its_line},
    };
    return suite_run("topo_generate", cases, sizeof cases / sizeof cases[0]);
}
