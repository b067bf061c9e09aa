/* The rates that NCCL and RCCL put in where a topology file has none, each as their sources have it. */
#include "support/suite.h"

#include "topologies/import/nccl_rates.h"

static void lanes_of_pcie_are_as_fast_as_their_generation(void)
{
    static const struct {
        const char *speed;
        uint32_t lanes;
        double GBps;
        bool is_known;
    } rows[] = {
        {"2.5 GT/s", 8, 1.5, true},       {"5 GT/s", 16, 6, true},
        {"5.0 GT/s PCIe", 16, 6, true},   {"8 GT/s", 16, 12, true},
        {"8.0 GT/s PCIe", 1, 0.75, true}, {"16 GT/s", 16, 24, true},
        {"16.0 GT/s PCIe", 0, 24, true},  {"32 GT/s", 8, 24, true},
        {"32.0 GT/s PCIe", 16, 48, true}, {"64 GT/s", 16, 96, true},
        {"64.0 GT/s PCIe", 16, 96, true}, {"", 16, 12, false},
        {"Unknown speed", 0, 12, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_known = !rows[i].is_known;
        CU_ASSERT_EQUAL(ronde_nccl_pcie_GBps(rows[i].speed, rows[i].lanes, &is_known), rows[i].GBps);
        CU_ASSERT_EQUAL(is_known, rows[i].is_known);
    }
}

static void a_link_of_nvlink_is_as_fast_as_its_generation(void)
{
    static const struct {
        uint32_t sm;
        double GBps;
    } rows[] = {{60, 18}, {61, 18},   {69, 18},   {70, 20},    {75, 20},
                {80, 20}, {86, 12},   {87, 20},   {89, 20},    {59, 20},
                {0, 20},  {90, 20.6}, {99, 20.6}, {100, 40.1}, {120, 40.1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(ronde_nccl_nvlink_GBps(rows[i].sm), rows[i].GBps);
}

static void a_link_of_xgmi_is_as_fast_as_its_architecture(void)
{
    static const struct {
        const char *gcn;
        double GBps;
        bool is_known;
    } rows[] = {{"gfx90a", 36, true}, {"910", 36, true},      {"gfx942", 48, true},
                {"940", 48, true},    {"gfx950", 48, true},   {"gfx906", 24, true},
                {"gfx908", 24, true}, {"gfx1100", 24, false}, {"", 24, false},
                {"sm_90", 24, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_known = !rows[i].is_known;
        CU_ASSERT_EQUAL(ronde_nccl_xgmi_GBps(rows[i].gcn, &is_known), rows[i].GBps);
        CU_ASSERT_EQUAL(is_known, rows[i].is_known);
    }
}

static void processors_are_joined_as_fast_as_their_makers_join_them(void)
{
    static const struct {
        struct ronde_nccl_cpu cpu;
        double GBps;
    } rows[] = {
        {{"ppc64", "IBM", 0, 0}, 32},
        {{"arm64", "ARM", 0, 0}, 6},
        {{"x86_64", "GenuineIntel", 6, 0x54}, 6},
        {{"x86_64", "GenuineIntel", 6, 0x55}, 10},
        {{"x86_64", "GenuineIntel", 6, 0x8e}, 10},
        {{"x86_64", "GenuineIntel", 6, 0x8f}, 22},
        {{"x86_64", "GenuineIntel", 6, 0xce}, 22},
        {{"x86_64", "GenuineIntel", 6, 0xcf}, 40},
        {{"x86_64", "GenuineIntel", 5, 0xcf}, 6},
        {{"x86_64", "AuthenticAMD", 25, 1}, 16},
        {{"x86_64", "  Shanghai  ", 7, 0x5b}, 9},
        {{"x86_64", "  Shanghai  ", 7, 0x3b}, 6},
        {{"x86_64", "  Shanghai  ", 6, 0x5b}, 6},
        {{"x86_64", "HygonGenuine", 24, 1}, RONDE_NCCL_NO_LIMIT_GBPS},
        {{"riscv", "", 0, 0}, RONDE_NCCL_NO_LIMIT_GBPS},
        {{"arm", "GenuineIntel", 6, 0xcf}, RONDE_NCCL_NO_LIMIT_GBPS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(ronde_nccl_cpu_GBps(&rows[i].cpu), rows[i].GBps);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"lanes_of_pcie_are_as_fast_as_their_generation",
         lanes_of_pcie_are_as_fast_as_their_generation},
        {"a_link_of_nvlink_is_as_fast_as_its_generation",
         a_link_of_nvlink_is_as_fast_as_its_generation},
        {"a_link_of_xgmi_is_as_fast_as_its_architecture",
         a_link_of_xgmi_is_as_fast_as_its_architecture},
        {"processors_are_joined_as_fast_as_their_makers_join_them",
         processors_are_joined_as_fast_as_their_makers_join_them},
    };
    return suite_run("nccl_rates", cases, sizeof cases / sizeof cases[0]);
}
