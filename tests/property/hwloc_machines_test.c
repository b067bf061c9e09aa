/**
 * Machines whose structure is drawn, as lstopo writes them: packages, dies and NUMA nodes or none of them, cores of one kind or two,
 * bridges that nest, GPUs of three makers, NICs with one function or two, devices that are neither, PCI speeds that hwloc saw or not, and
 * matrices of NVLink, xGMI and Xe Link between GPUs, NVSwitches and packages. What is imported has as many parts, and the rates that were
 * drawn. RONDE_TEST_SCALE is how many.
 */
#include "drawn_machine.h"

#include "support/buffers.h"
#include "support/suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GPUS = 32, MOST_PACKAGES = 4, MOST_SWITCHES = 6, TEXT_BYTES = 1 << 18 };
enum { MOST_ROWS = MOST_GPUS + MOST_SWITCHES + MOST_PACKAGES };

/** What joins the GPUs. */
enum joint { PCI_ONLY, SWITCHES, MESH, PAIRS, PACKAGES };

/** A GPU: its number in the bus order, by which ranks go. */
struct gpu {
    unsigned bus, package, number;
    double pci_GBps; /**< 0: hwloc did not see it */
};

/** A row of the matrix: a device by its own object or by that of its operating system. */
struct row {
    unsigned object, gpu; /**< MOST_GPUS of what is no GPU */
    bool is_system, is_package;
};

struct writer {
    uint64_t random;
    char *text;
    size_t used;
    unsigned object, packages, cores, used_packages, bridges, nics, gpus, rows, bus[MOST_PACKAGES];
    bool is_used[MOST_PACKAGES];
    unsigned speeds; /**< 0: hwloc sees all, 1: some, 2: none */
    unsigned maker;
    enum joint joint;
    unsigned link_MBps;
    double cpu_GBps;
    struct gpu gpu[MOST_GPUS];
    struct row row[MOST_ROWS];
};

static unsigned draw(struct writer *w, unsigned bound)
{
    return (unsigned)(buffers_draw(&w->random) % bound);
}

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    w->used += (size_t)vsnprintf(w->text + w->used, TEXT_BYTES - w->used, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(w->used < TEXT_BYTES);
}

static void open_object(struct writer *w, const char *type)
{
    put(w, "<object type=\"%s\" gp_index=\"%u\"", type, ++w->object);
}

static void put_info(struct writer *w, const char *name, const char *value)
{
    put(w, "<info name=\"%s\" value=\"%s\"/>\n", name, value);
}

static double put_speed(struct writer *w)
{
    static const double speeds[] = {3.938462, 7.876923, 15.753846, 31.507692, 63.015385};
    const bool is_seen = w->speeds == 0 || (w->speeds == 1 && draw(w, 3) > 0);
    const double GBps = is_seen ? speeds[draw(w, 5)] : 0;
    if (is_seen || draw(w, 2) == 0)
        put(w, " pci_link_speed=\"%f\"", GBps);
    return GBps;
}

static double open_device(struct writer *w, unsigned package, const char *class)
{
    open_object(w, "PCIDev");
    put(w, " pci_busid=\"0000:%02x:00.0\" pci_type=\"%s [10de:2330] [0000:0000] a1\"",
        w->bus[package]++, class);
    const double GBps = put_speed(w);
    put(w, ">\n");
    return GBps;
}

static void put_system(struct writer *w, const char *name, const char *subtype, unsigned type)
{
    open_object(w, "OSDev");
    put(w, " name=\"%s\" subtype=\"%s\" osdev_type=\"%u\"/>\n", name, subtype, type);
}

static void add_row(struct writer *w, unsigned gpu, unsigned object, bool is_system)
{
    w->row[w->rows++] = (struct row){object, gpu, is_system, false};
}

/* Of NVIDIA, AMD or Intel; a display adapter that computes is one as well. */
static void put_gpu(struct writer *w, unsigned package)
{
    static const char *const classes[][2] = {{"0302", "0300"}, {"1200", "0380"}, {"0380", "0300"}};
    static const char *const systems[][3] = {{"cuda", "nvml", "CUDA"},
                                             {"rsmi", "opencl0d", "RSMI"},
                                             {"ze", "opencl1d", "LevelZero"}};
    struct gpu *gpu = &w->gpu[w->gpus];
    char name[2][24];
    *gpu = (struct gpu){.bus = w->bus[package], .package = package};
    gpu->pci_GBps = open_device(w, package, classes[w->maker][draw(w, 2)]);
    const bool is_system = w->maker == 0 && draw(w, 2) == 0;
    const unsigned device = w->object;
    for (unsigned s = 0; s < 2; s++) {
        snprintf(name[s], sizeof name[s], "%s%u", systems[w->maker][s], w->gpus);
        put_system(w, name[s], systems[w->maker][2], 5);
    }
    add_row(w, w->gpus++, is_system ? w->object : device, is_system);
    put(w, "</object>\n");
}

/* One function or two; Ethernet, InfiniBand, or another network. */
static void put_nic(struct writer *w, unsigned package)
{
    static const char *const classes[] = {"0200", "0207", "0280"};
    const char *class = classes[draw(w, 3)];
    for (unsigned functions = 1 + draw(w, 2); functions > 0; functions--) {
        (void)open_device(w, package, class);
        put_system(w, "ib0", "", 2);
        put_system(w, "mlx5_0", "OpenFabrics", 3);
        put(w, "</object>\n");
        w->nics++;
    }
}

static void put_idle(struct writer *w, unsigned package)
{
    static const char *const classes[] = {"0108", "0300", "0c03", "0106"};
    (void)open_device(w, package, classes[draw(w, 4)]);
    put(w, "</object>\n");
}

/* What is below a bridge; those of bridges with nothing of use below them are no part. */
static bool put_devices(struct writer *w, unsigned package, unsigned depth)
{
    bool is_used = false;
    for (unsigned devices = 1 + draw(w, 3); devices > 0; devices--) {
        const unsigned what = draw(w, 8);
        if (what < 2 && depth < 3) {
            open_object(w, "Bridge");
            put(w,
                " bridge_type=\"1-1\" depth=\"%u\" bridge_pci=\"0000:[00-ff]\" "
                "pci_busid=\"0000:%02x:00.0\" pci_type=\"0604 [10b5:9797] [0000:0000] b0\"",
                depth, w->bus[package]++);
            (void)put_speed(w);
            put(w, ">\n");
            const bool is_below = put_devices(w, package, depth + 1);
            w->bridges += is_below;
            is_used = is_used || is_below;
            put(w, "</object>\n");
        } else if (what < 5 && w->gpus < MOST_GPUS && w->maker < 3) {
            put_gpu(w, package);
            is_used = true;
        } else if (what < 7) {
            put_nic(w, package);
            is_used = true;
        } else {
            put_idle(w, package);
        }
    }
    return is_used;
}

/* Cores of two threads and of one, in caches, dies and groups or not. */
static void put_cores(struct writer *w)
{
    static const char *const around[] = {"Die", "Group", "L3Cache", "L2Cache"};
    unsigned open = 0;
    for (unsigned a = 0; a < 4; a++)
        if (draw(w, 2) == 0) {
            open_object(w, around[a]);
            put(w, ">\n");
            open++;
        }
    if (draw(w, 2) == 0) {
        open_object(w, "NUMANode");
        put(w, " local_memory=\"1000\"><page_type size=\"4096\" count=\"0\"/></object>\n");
    }
    for (unsigned cores = 1 + draw(w, 6); cores > 0; cores--) {
        open_object(w, "Core");
        put(w, ">");
        for (unsigned threads = 1 + draw(w, 2); threads > 0; threads--) {
            open_object(w, "PU");
            put(w, "/>");
        }
        put(w, "</object>\n");
        w->cores++;
    }
    while (open-- > 0)
        put(w, "</object>\n");
}

static void put_processor(struct writer *w, unsigned make)
{
    static const char *const makes[][3] = {{"GenuineIntel", "6", "207"},
                                           {"GenuineIntel", "6", "143"},
                                           {"AuthenticAMD", "25", "1"},
                                           {"", "", ""}};
    static const char *const names[] = {"CPUVendor", "CPUFamilyNumber", "CPUModelNumber"};
    for (unsigned i = 0; i < 3 && makes[make][0][0]; i++)
        put_info(w, names[i], makes[make][i]);
}

/* GPUs and NVSwitches; a package has its own number. */
static void put_package(struct writer *w, unsigned package, bool is_object, unsigned make)
{
    const unsigned before = w->gpus + w->nics;
    if (is_object) {
        open_object(w, "Package");
        put(w, ">\n");
        if (w->joint == PACKAGES)
            w->row[w->rows++] = (struct row){w->object, MOST_GPUS + package, false, true};
        put_processor(w, make);
    }
    put_cores(w);
    for (unsigned roots = 1 + draw(w, 2); roots > 0; roots--) {
        open_object(w, "Bridge");
        put(w, " bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[00-ff]\">\n");
        (void)put_devices(w, package, 1);
        put(w, "</object>\n");
    }
    w->is_used[package] = w->gpus + w->nics > before;
    w->used_packages += w->is_used[package];
    if (is_object)
        put(w, "</object>\n");
}

/* Rate of a pair of rows, both ways. */
static unsigned pair_MBps(const struct writer *w, const struct row *a, const struct row *b)
{
    const bool is_gpu[2] = {a->gpu < MOST_GPUS, b->gpu < MOST_GPUS};
    if (a == b)
        return 1000000;
    if (w->joint == MESH)
        return is_gpu[0] && is_gpu[1] ? w->link_MBps : 0;
    if (w->joint == PAIRS)
        return is_gpu[0] && is_gpu[1] && a->gpu / 2 == b->gpu / 2 ? w->link_MBps : 0;
    if (is_gpu[0] == is_gpu[1])
        return 0;
    const struct row *gpu = is_gpu[0] ? a : b, *other = is_gpu[0] ? b : a;
    return !other->is_package || w->gpu[gpu->gpu].package == other->gpu - MOST_GPUS ? w->link_MBps
                                                                                    : 0;
}

/* Ten numbers an element, as hwloc breaks them. */
static void put_matrix(struct writer *w)
{
    static const char *const names[] = {"NVLinkBandwidth", "XGMIBandwidth", "XeLinkBandwidth"};
    put(w, "<distances2hetero nbobjs=\"%u\" kind=\"25\" name=\"%s\">\n", w->rows, names[w->maker]);
    for (unsigned r = 0; r < w->rows; r++)
        put(w, "%s%s:%u %s", r % 10 == 0 ? "<indexes length=\"1\">" : "",
            w->row[r].is_package  ? "Package"
            : w->row[r].is_system ? "OSDev"
                                  : "PCIDev",
            w->row[r].object, r % 10 == 9 || r + 1 == w->rows ? "</indexes>\n" : "");
    const unsigned count = w->rows * w->rows;
    for (unsigned i = 0; i < count; i++)
        put(w, "%s%u %s", i % 10 == 0 ? "<u64values length=\"1\">" : "",
            pair_MBps(w, &w->row[i / w->rows], &w->row[i % w->rows]),
            i % 10 == 9 || i + 1 == count ? "</u64values>\n" : "");
    put(w, "</distances2hetero>\n");
}

/* Drivers number GPUs by bus. */
static void number_gpus(struct writer *w)
{
    for (unsigned g = 0; g < w->gpus; g++)
        for (unsigned other = 0; other < w->gpus; other++)
            w->gpu[g].number += w->gpu[other].bus < w->gpu[g].bus;
}

static void write_file(struct writer *w)
{
    static const double cpu_GBps[] = {40, 22, 16, 5000};
    static const struct {
        const char *name;
        double GBps; /**< between two packages; 0: by make */
    } archs[] = {{"x86_64", 0}, {"x86_64", 0}, {"aarch64", 6}, {"ppc64le", 32}};
    const unsigned arch = draw(w, 4), make = draw(w, 4);
    const bool has_packages = draw(w, 5) > 0;
    w->packages = has_packages ? 1 + draw(w, MOST_PACKAGES) : 1;
    w->maker = draw(w, 4);
    w->speeds = draw(w, 3);
    w->joint = w->maker < 3 ? (enum joint)draw(w, w->maker == 0 ? 5 : 4) : PCI_ONLY;
    if ((w->joint == SWITCHES && w->maker > 0) || (w->joint == PACKAGES && !has_packages))
        w->joint = MESH;
    w->link_MBps = 25000 * (1 + draw(w, 18));
    w->cpu_GBps = archs[arch].GBps > 0 ? archs[arch].GBps : cpu_GBps[has_packages ? make : 3];
    /* Packages are not in the order of their buses. */
    const unsigned turn = draw(w, MOST_PACKAGES);
    for (unsigned p = 0; p < MOST_PACKAGES; p++)
        w->bus[p] = 64 * ((p + turn) % MOST_PACKAGES);
    put(w,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
        "\"hwloc2.dtd\">\n<topology version=\"%s\">\n",
        draw(w, 2) == 0 ? "2.0" : "3.0");
    open_object(w, "Machine");
    put(w, ">\n");
    put_info(w, "Architecture", archs[arch].name);
    for (unsigned p = 0; p < w->packages; p++)
        put_package(w, p, has_packages, make);
    for (unsigned s = 0; w->joint == SWITCHES && s < 1 + w->link_MBps % MOST_SWITCHES; s++) {
        open_object(w, "PCIDev");
        put(w,
            " subtype=\"NVSwitch\" pci_busid=\"0001:%02x:00.0\" pci_type=\"0680 [10de:1ac2] "
            "[0000:0000] a1\" pci_link_speed=\"1.000000\"/>\n",
            s);
        add_row(w, MOST_GPUS, w->object, false);
    }
    put(w, "</object>\n");
    if (draw(w, 2) == 0)
        put(w, "<distances2 type=\"NUMANode\" nbobjs=\"1\" kind=\"5\" name=\"NUMALatency\" "
               "indexing=\"os\"><indexes length=\"2\">0 </indexes><u64values length=\"3\">10 "
               "</u64values></distances2>\n");
    if (w->joint != PCI_ONLY && w->gpus > 0)
        put_matrix(w);
    put(w, "<cpukind cpuset=\"0x1\" forced_efficiency=\"1\"><info name=\"CPUPart\" "
           "value=\"0xd87\"/></cpukind>\n</topology>\n");
    number_gpus(w);
}

static unsigned switch_count(const struct writer *w)
{
    unsigned count = 0;
    for (unsigned r = 0; r < w->rows; r++)
        count += w->row[r].gpu == MOST_GPUS && !w->row[r].is_package;
    return count;
}

/* Whether a link has a rate: "" or the wrong one. */
static bool is_rate(const struct ronde_platform *platform, const char *name, double GBps,
                    char why[128])
{
    const double found = drawn_rate(platform, name);
    if (fabs(found - GBps) <= 1e-6 * GBps)
        return true;
    snprintf(why, 128, "%s is %g, not %g GB/s", name, found, GBps);
    return false;
}

/* Of GPUs that are joined by pairs or all, the link is named by the lower end in the file. */
static bool is_direct(const struct writer *w, const struct ronde_platform *platform, unsigned a,
                      unsigned b, char why[128])
{
    static const char *const words[] = {"nvlink", "xgmi", "xelink"};
    char name[64];
    snprintf(name, sizeof name, "%s-gpu%u-gpu%u_UP", words[w->maker], w->gpu[a].number,
             w->gpu[b].number);
    return is_rate(platform, name, w->link_MBps / 1e3, why);
}

static bool are_rates(const struct writer *w, const struct ronde_platform *platform,
                      double nic_GBps, char why[128])
{
    char name[64];
    bool are = true;
    for (unsigned g = 0; g < w->gpus && are; g++) {
        snprintf(name, sizeof name, "pcie-gpu%u_UP", w->gpu[g].number);
        are = is_rate(platform, name, w->gpu[g].pci_GBps > 0 ? w->gpu[g].pci_GBps : 15.75, why);
        snprintf(name, sizeof name, "nvlink-gpu%u_UP", w->gpu[g].number);
        if (are && w->joint == SWITCHES)
            are = is_rate(platform, name, switch_count(w) * w->link_MBps / 1e3, why);
        snprintf(name, sizeof name, "nvlink-gpu%u-cpu%u_UP", w->gpu[g].number, w->gpu[g].package);
        if (are && w->joint == PACKAGES && drawn_rate(platform, name) <= 0)
            snprintf(name, sizeof name, "nvlink-cpu%u-gpu%u_UP", w->gpu[g].package,
                     w->gpu[g].number);
        if (are && w->joint == PACKAGES)
            are = is_rate(platform, name, w->link_MBps / 1e3, why);
        for (unsigned other = g + 1; other < w->gpus && are; other++)
            if (w->joint == MESH || (w->joint == PAIRS && g / 2 == other / 2))
                are = is_direct(w, platform, g, other, why);
    }
    for (unsigned a = 0; a < w->packages; a++)
        for (unsigned b = a + 1; b < w->packages && are; b++) {
            snprintf(name, sizeof name, "cpu-cpu%u-cpu%u_UP", a, b);
            are = is_rate(platform, name, w->is_used[a] && w->is_used[b] ? w->cpu_GBps : 0, why);
        }
    for (unsigned n = 0; n < w->nics && are; n++) {
        snprintf(name, sizeof name, "net-nic%u_UP", n);
        are = is_rate(platform, name, nic_GBps, why);
    }
    return are;
}

static unsigned silent_gpus(const struct writer *w)
{
    unsigned count = 0;
    for (unsigned g = 0; g < w->gpus; g++)
        count += w->gpu[g].pci_GBps <= 0;
    return count;
}

static bool is_right(const struct writer *w, const struct ronde_import *import, double nic_GBps,
                     char why[128])
{
    const struct ronde_import_summary found = ronde_import_summary(import);
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    char part[64];
    if (found.gpus != w->gpus || found.cores != w->cores ||
        (w->gpus > 0 && (found.nics != w->nics || found.cpus != w->used_packages ||
                         found.switches != w->bridges))) {
        snprintf(why, 128, "%u GPUs, %u cores, %u NICs, %u CPUs, %u switches, not %u %u %u %u %u",
                 found.gpus, found.cores, found.nics, found.cpus, found.switches, w->gpus, w->cores,
                 w->nics, w->used_packages, w->bridges);
        return false;
    }
    snprintf(part, sizeof part, "taken as Gen3 like NCCL does: %u", silent_gpus(w));
    if ((silent_gpus(w) > 0 && !drawn_is_said(import, part)) ||
        (w->gpus > 0 && w->nics > 0 && !drawn_is_said(import, "NICs without a rate"))) {
        snprintf(why, 128, "not said: %s", part);
        return false;
    }
    if (ronde_import_platform(import, "drawn", ronde_mem_default(), &platform, &error) != RONDE_OK) {
        snprintf(why, 128, "%.120s", error.message);
        return false;
    }
    const bool are = w->gpus == 0 ? ronde_platform_facts(platform)->hosts == w->cores
                                  : are_rates(w, platform, nic_GBps, why);
    if (!are && why[0] == '\0')
        snprintf(why, 128, "%u hosts", ronde_platform_facts(platform)->hosts);
    ronde_platform_destroy(platform);
    return are;
}

static void drawn_machines_are_imported_as_they_are(void)
{
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    const uint64_t only = suite_number("RONDE_TEST_SEED", 0);
    unsigned wrong = 0;
    static char text[TEXT_BYTES];
    if (!suite_can_read_platforms())
        return;
    for (uint64_t seed = only > 0 ? only : 1; seed <= (only > 0 ? only : tries); seed++) {
        struct writer w = {.random = seed, .text = text};
        struct ronde_import *import = NULL;
        struct ronde_error error = {0};
        char path[64], why[128] = "";
        int file;
        write_file(&w);
        drawn_file(text, w.used, &file, path);
        const double nic_GBps = draw(&w, 2) == 0 ? 25 : 0;
        const struct ronde_import_request request = {.path = path,
                                                     .nodes = 1,
                                                     .nic_GBps = nic_GBps,
                                                     .memory_GBps = 10};
        const enum ronde_status status =
            ronde_import_read(&request, ronde_mem_default(), &import, &error);
        if (only > 0)
            suite_note("%s", text);
        close(file);
        if ((status != RONDE_OK || !is_right(&w, import, nic_GBps, why)) && ++wrong <= 10)
            suite_note("%llu: %s%.200s", (unsigned long long)seed, why, error.message);
        ronde_import_destroy(import);
    }
    suite_note("%llu machines, %u wrong", (unsigned long long)tries, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(drawn_machines_are_imported_as_they_are),
    };
    return suite_run("hwloc_machines", cases, sizeof cases / sizeof cases[0]);
}
