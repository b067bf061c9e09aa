/**
 * Machines whose structure is drawn, as NCCL and RCCL dump them: GPUs below switches or processors, on NVSwitches or xGMI, two ranks
 * on one, one that lost its links; NICs of several ports, fused, without a speed, seen under two processors. What is imported has as many
 * parts and the same bandwidths, or a line that says what is not known. And platforms with what SimGrid has besides, which change
 * nothing. RONDE_TEST_SCALE is how many.
 */
#include "drawn_machine.h"

#include "support/buffers.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/import.h"
#include "ronde/topologies.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GPUS = 16, MOST_NICS = 16, TEXT_BYTES = 1 << 16 };

/** What a file is of. */
struct truth {
    uint32_t gpus, nics, ports;
    double link_GBps[MOST_GPUS]; /**< all links of a GPU */
    double nic_GBps[MOST_NICS];
    bool is_switched;        /**< links lead to NVSwitches, else to each other GPU */
    bool has_lost;           /**< one GPU has no links */
    bool has_unknown;        /**< a speed is not said */
    bool has_shared;         /**< a device is listed as two GPUs */
    uint32_t lost, lost_gpu; /**< device and number of that */
};

/** A file that is written. */
struct writer {
    struct truth truth;
    uint64_t random;
    char *text;
    size_t used;
    bool is_rccl, is_said; /**< gfx architecture is one that RCCL knows */
    unsigned sm, links, bus, dev;
    const char *gcn;
    char twin[512]; /**< a NIC that other processors see, too */
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

static const char *pci_speed(struct writer *w)
{
    static const char *const speeds[] = {"32.0 GT/s PCIe", "16.0 GT/s PCIe", "64.0 GT/s PCIe", "",
                                         "Unknown"};
    const unsigned at = draw(w, 4) > 0 ? draw(w, 3) : draw(w, 5);
    w->truth.has_unknown = w->truth.has_unknown || at > 2;
    return speeds[at];
}

static void open_pci(struct writer *w, const char *class)
{
    put(w, "<pci busid=\"0000:%02x:00.0\" class=\"%s\" link_speed=\"%s\" link_width=\"16\">\n",
        w->bus++, class, pci_speed(w));
}

/* A GPU, or two ranks on one. Links of xGMI name the others, which have the next bus ids. */
static void put_gpu(struct writer *w, uint32_t gpus)
{
    struct truth *truth = &w->truth;
    const bool is_lost = truth->has_lost && truth->lost == w->dev;
    const bool is_shared = !w->is_rccl && !is_lost && truth->is_switched && draw(w, 12) == 0;
    open_pci(w, w->is_rccl ? "0x120000" : "0x030200");
    for (unsigned rank = 0; rank < 1u + is_shared; rank++) {
        const uint32_t gpu = truth->gpus++;
        put(w, "<gpu dev=\"%u\" sm=\"%u\" %s%s%s rank=\"%u\" gdr=\"1\">\n", w->dev, w->sm,
            w->is_rccl ? "gcn=\"" : "", w->is_rccl ? w->gcn : "", w->is_rccl ? "\"" : "", gpu);
        truth->lost_gpu = is_lost ? gpu : truth->lost_gpu;
        truth->link_GBps[gpu] = is_lost ? 0 : w->links;
        if (!is_lost && truth->is_switched)
            put(w, "<nvlink target=\"fffffff:ff:ff.0\" count=\"%u\" tclass=\"0x068000\"/>\n",
                w->links);
        for (uint32_t other = 0; !is_lost && !truth->is_switched && other < gpus; other++)
            if (other != gpu)
                put(w, "<%s target=\"0000:%02x:00.0\" count=\"%u\" tclass=\"0x030200\"/>\n",
                    w->is_rccl ? "xgmi" : "nvlink", other, w->links);
        put(w, "</gpu>");
    }
    truth->has_shared = truth->has_shared || is_shared;
    w->dev++;
    put(w, "</pci>\n");
}

static void put_net(struct writer *w, const char *name, bool is_part, double Gbps)
{
    char number[32] = "";
    if (!is_part)
        snprintf(number, sizeof number, "dev=\"%u\" ", w->truth.ports++);
    put(w, "<net name=\"%s\" %sspeed=\"%.0f\" port=\"1\" guid=\"0x%x\" maxconn=\"1\" gdr=\"1\"/>\n",
        name, number, 1000 * Gbps, 0x100 + draw(w, 1u << 30));
}

/* One or two ports, of which a fused NIC is made or not; one has no speed. */
static void put_nic(struct writer *w)
{
    struct truth *truth = &w->truth;
    static const double speeds[] = {10, 25, 100, 200, 400, 800};
    const double Gbps = draw(w, 16) == 0 ? 0 : speeds[draw(w, 6)];
    const unsigned ports = 1 + draw(w, 2);
    const bool is_fused = ports == 2 && Gbps > 0 && draw(w, 2) == 0;
    truth->has_unknown = truth->has_unknown || Gbps == 0;
    open_pci(w, "0x020000");
    put(w, "<nic>");
    for (unsigned p = 0; p < ports; p++)
        put_net(w, p ? "mlx5_1" : "mlx5_0", is_fused, Gbps);
    if (is_fused)
        put_net(w, "mlx5_0+mlx5_1", false, 2 * Gbps);
    truth->nic_GBps[truth->nics++] = ports * (Gbps > 0 ? Gbps : 10) / 8;
    put(w, "</nic></pci>\n");
}

static void write_file(struct writer *w)
{
    struct truth *truth = &w->truth;
    static const unsigned sms[] = {60, 70, 80, 86, 90, 100, 103};
    static const char *const gcns[] = {"gfx90a", "gfx942", "gfx950", "gfx1201"};
    static const double gcn_GBps[] = {36, 48, 48, 24},
                        sm_GBps[] = {18, 20, 20, 12, 20.6, 40.1, 40.1};
    const unsigned architecture = draw(w, 4), sm = draw(w, 7), cpus = 1 + draw(w, 2);
    const unsigned groups = 1 + draw(w, 2), per_group = 1 + draw(w, 3),
                   all = cpus * groups * per_group;
    const bool has_nics = draw(w, 4) > 0, has_twin = cpus > 1 && draw(w, 3) == 0;
    w->is_rccl = draw(w, 3) == 0;
    w->is_said = !w->is_rccl || architecture < 3 || all < 2;
    w->gcn = gcns[architecture];
    w->sm = sms[sm];
    truth->is_switched = !w->is_rccl && draw(w, 2) == 0;
    w->links = truth->is_switched ? 6 + draw(w, 13) : 1 + draw(w, 3);
    truth->has_lost = truth->is_switched && all > 2 && draw(w, 8) == 0;
    truth->lost = draw(w, all);
    put(w, "<system version=\"%d\">\n", w->is_rccl ? 2 : 1);
    /* Bus ids of the GPUs come first, so that links can name them. */
    unsigned bridge = 0x80;
    for (unsigned c = 0; c < cpus; c++) {
        put(w,
            "<cpu host_hash=\"0x11\" numaid=\"%u\" affinity=\"ff\" arch=\"x86_64\" "
            "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"207\">\n",
            c);
        for (unsigned g = 0; g < groups; g++) {
            const bool is_bridged = draw(w, 4) > 0;
            if (is_bridged)
                put(w,
                    "<pci busid=\"0000:%02x:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s "
                    "PCIe\" "
                    "link_width=\"16\">\n",
                    bridge++);
            for (unsigned i = 0; i < per_group; i++)
                put_gpu(w, all);
            const unsigned bus = w->bus;
            w->bus = bridge;
            if (has_nics)
                put_nic(w);
            bridge = w->bus;
            w->bus = bus;
            if (is_bridged)
                put(w, "</pci>\n");
        }
        if (has_twin)
            put(w, "<nic><net name=\"eth0\" dev=\"99\" speed=\"10000\" port=\"0\" guid=\"0x7\" "
                   "gdr=\"0\"/></nic>\n");
        put(w, "</cpu>\n");
    }
    if (has_twin) {
        truth->ports++;
        truth->nic_GBps[truth->nics++] = 1.25;
    }
    for (uint32_t g = 0; g < truth->gpus; g++)
        truth->link_GBps[g] *= w->is_rccl ? gcn_GBps[architecture] : sm_GBps[sm];
    put(w, "</system>\n");
}

/* Sum of what NICs are written with, in the platform: those that no GPU is near to are left out with a remark. */
static bool are_rates(const struct truth *truth, bool is_rccl, const struct ronde_import *import,
                      const struct ronde_platform *platform, char why[128])
{
    char name[64];
    for (uint32_t g = 0; g < truth->gpus && truth->is_switched && !truth->has_shared; g++) {
        snprintf(name, sizeof name, "nvlink-gpu%u_UP", g);
        if (fabs(drawn_rate(platform, name) - truth->link_GBps[g]) > 1e-6 * truth->link_GBps[g]) {
            snprintf(why, 128, "%s %g, not %g GB/s", name, drawn_rate(platform, name),
                     truth->link_GBps[g]);
            return false;
        }
    }
    for (uint32_t g = 1; g < truth->gpus && !truth->is_switched; g++) {
        snprintf(name, sizeof name, "%s-gpu0-gpu%u_UP", is_rccl ? "xgmi" : "nvlink", g);
        if (fabs(drawn_rate(platform, name) - truth->link_GBps[g]) > 1e-6 * truth->link_GBps[g]) {
            snprintf(why, 128, "%s %g, not %g GB/s", name, drawn_rate(platform, name),
                     truth->link_GBps[g]);
            return false;
        }
    }
    double sum = 0, least = 0;
    for (uint32_t n = 0; n < truth->nics; n++) {
        snprintf(name, sizeof name, "net-nic%u_UP", n);
        sum += drawn_rate(platform, name);
        least += truth->nic_GBps[n];
    }
    if (fabs(sum - least) > 1e-6 * least && !drawn_is_said(import, "nearest to no GPU") &&
        !drawn_is_said(import, "faster than their PCI")) {
        snprintf(why, 128, "NICs of %g, not %g GB/s", sum, least);
        return false;
    }
    return true;
}

static bool is_right(const struct writer *w, const struct ronde_import *import, char why[128])
{
    const struct truth *truth = &w->truth;
    const struct ronde_import_summary found = ronde_import_summary(import);
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (found.gpus != truth->gpus || found.nics != truth->nics || found.ports != truth->ports) {
        snprintf(why, 128, "%u GPUs, %u NICs, %u ports, not %u, %u, %u", found.gpus, found.nics,
                 found.ports, truth->gpus, truth->nics, truth->ports);
        return false;
    }
    if ((truth->has_unknown && !drawn_is_said(import, "unknown speed") &&
         !drawn_is_said(import, "without a speed")) ||
        (truth->has_shared && !drawn_is_said(import, "several GPUs")) ||
        (truth->has_lost && !drawn_is_said(import, "without NVLink beside")) ||
        (!w->is_said && !drawn_is_said(import, "RCCL does not know"))) {
        snprintf(why, 128, "not said");
        return false;
    }
    if (ronde_import_platform(import, "drawn", ronde_mem_default(), &platform, &error) != RONDE_OK) {
        snprintf(why, 128, "%.120s", error.message);
        return false;
    }
    const bool are = are_rates(truth, w->is_rccl, import, platform, why);
    ronde_platform_destroy(platform);
    return are;
}

/* A GPU without links beside others that have some may be a fault, and where nothing else leads to it it is named. */
static bool is_refused_rightly(const struct writer *w, const char *message)
{
    char name[64];
    snprintf(name, sizeof name, "gpu%u alone has no NVLink", w->truth.lost_gpu);
    return w->truth.has_lost && strstr(message, name);
}

static void drawn_machines_are_imported_as_they_are(void)
{
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100);
    const uint64_t only = suite_number("RONDE_TEST_SEED", 0);
    unsigned wrong = 0, refused = 0;
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
        const struct ronde_import_request request = {.path = path, .nodes = 1};
        const enum ronde_status status =
            ronde_import_read(&request, ronde_mem_default(), &import, &error);
        close(file);
        refused += status != RONDE_OK;
        const bool is_good =
            status == RONDE_OK ? is_right(&w, import, why) : is_refused_rightly(&w, error.message);
        if (!is_good && ++wrong <= 10)
            suite_note("%llu: %s%.200s", (unsigned long long)seed, why, error.message);
        ronde_import_destroy(import);
    }
    suite_note("%llu machines, %u refused, %u wrong", (unsigned long long)tries, refused, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* What SimGrid has besides and what changes nothing here: settings, disks, hosts of several speeds. */
static char *decorate(const char *text, uint64_t *random)
{
    char *out = malloc(4 * strlen(text) + 4096), *to = out;
    bool is_set = false;
    for (const char *at = text; out && *at;) {
        const char *speed = "speed=\"1Gf\"/>";
        if (strncmp(at, speed, strlen(speed)) == 0 && buffers_draw(random) % 4 == 0) {
            static const char *const hosts[] = {
                "speed=\"3Gf,1Gf\" pstate=\"1\"/>", "speed=\"1Gf\" core=\"8\"/>",
                "speed=\"1Gf\"><disk id=\"d%u\" read_bw=\"100MBps\" write_bw=\"40MBps\"/></host>"};
            to += sprintf(to, hosts[buffers_draw(random) % 3], (unsigned)(at - text));
            at += strlen(speed);
            continue;
        }
        const bool is_zone = !is_set && strncmp(at, "<zone", 5) == 0;
        if (is_zone)
            to += sprintf(to, "<config id=\"General\"><prop id=\"precision/timing\" "
                              "value=\"1e-9\"/></config>\n");
        is_set = is_set || is_zone;
        *to++ = *at++;
    }
    if (out)
        *to = '\0';
    return out;
}

static bool are_alike(const struct ronde_platform *a, const struct ronde_platform *b)
{
    bool are = ronde_platform_link_count(a) == ronde_platform_link_count(b);
    for (uint32_t h = 0; are && ronde_platform_host(a, h); h++)
        are = ronde_platform_host(b, h) &&
              strcmp(ronde_platform_host(a, h), ronde_platform_host(b, h)) == 0;
    for (uint32_t l = 0; are && l < ronde_platform_link_count(a); l++)
        are = ronde_platform_link(a, l)->rate_GBps == ronde_platform_link(b, l)->rate_GBps;
    return are;
}

static void what_simgrid_has_besides_changes_nothing(void)
{
    static const char *const names[] = {"dgx-h100", "mi300x", "pcie-8", "hgx-h200"};
    const uint64_t tries = suite_number("RONDE_TEST_SCALE", 100) / 2;
    unsigned wrong = 0;
    uint64_t random = 1;
    if (!suite_can_read_platforms())
        return;
    for (uint64_t t = 0; t < tries; t++) {
        char path[512], relative[64], drawn[64];
        struct ronde_platform *plain = NULL, *more = NULL;
        struct ronde_error error = {0};
        int file;
        snprintf(relative, sizeof relative, "topologies/%s.xml", names[buffers_draw(&random) % 4]);
        CU_ASSERT_FATAL(suite_source(path, sizeof path, relative));
        char *text = files_read(path), *decorated = text ? decorate(text, &random) : NULL;
        CU_ASSERT_PTR_NOT_NULL_FATAL(decorated);
        drawn_file(decorated, strlen(decorated), &file, drawn);
        const bool is_good =
            ronde_platform_read(path, ronde_mem_default(), &plain, &error) == RONDE_OK &&
            ronde_platform_read(drawn, ronde_mem_default(), &more, &error) == RONDE_OK &&
            are_alike(plain, more);
        if (!is_good && ++wrong <= 5)
            suite_note("%s: %.200s", relative, error.message);
        close(file);
        ronde_platform_destroy(plain);
        ronde_platform_destroy(more);
        free(decorated);
        free(text);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(drawn_machines_are_imported_as_they_are),
        SUITE_CASE(what_simgrid_has_besides_changes_nothing),
    };
    return suite_run("machines", cases, sizeof cases / sizeof cases[0]);
}
