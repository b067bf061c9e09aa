/** GPUs by the names that nvidia-smi, rocm-smi, data sheets and people have for them. */
#include "support/suite.h"

#include "ronde/catalogue.h"

#include <string.h>

static void names_find_their_parts(void)
{
    static const struct {
        const char *name, *generation;
        double nvlink_GBps;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", "hopper", 450},
        {"NVIDIA H100 PCIe", "hopper", 300},
        {"NVIDIA H100 NVL", "hopper", 300},
        {"NVIDIA H200", "hopper", 450},
        {"NVIDIA GH200 480GB", "hopper", 450},
        {"NVIDIA H800", "hopper", 200},
        {"NVIDIA H20", "hopper", 450},
        {"8xH100", "hopper", 450},
        {"dgx-h100-8", "hopper", 450},
        {"NVIDIA B200", "blackwell", 900},
        {"NVIDIA GB200", "blackwell", 900},
        {"NVIDIA B300 SXM6 AC", "blackwell", 900},
        {"NVIDIA GB10", "blackwell", 0},
        {"NVIDIA GeForce RTX 5090", "blackwell", 0},
        {"NVIDIA GeForce RTX 5070 Ti", "blackwell", 0},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "blackwell", 0},
        {"NVIDIA RTX 6000D", "blackwell", 0},
        {"NVIDIA A100-SXM4-40GB", "ampere", 300},
        {"GRID A100X-40C", "ampere", 300},
        {"NVIDIA A800-SXM4-80GB", "ampere", 200},
        {"NVIDIA A30", "ampere", 100},
        {"NVIDIA RTX A6000", "ampere_rtx", 56},
        {"NVIDIA A40", "ampere_rtx", 56},
        {"NVIDIA A10G", "ampere_rtx", 0},
        {"NVIDIA A16", "ampere_rtx", 0},
        {"NVIDIA A2", "ampere_rtx", 0},
        {"NVIDIA RTX A2000 12GB", "ampere_rtx", 0},
        {"NVIDIA RTX A4000", "ampere_rtx", 0},
        {"NVIDIA GeForce RTX 3090", "ampere_rtx", 56},
        {"NVIDIA GeForce RTX 3080 Ti", "ampere_rtx", 0},
        {"NVIDIA L4", "ada", 0},
        {"NVIDIA L40S", "ada", 0},
        {"NVIDIA L20", "ada", 0},
        {"NVIDIA GeForce RTX 4090", "ada", 0},
        {"NVIDIA RTX 6000 Ada Generation", "ada", 0},
        {"NVIDIA RTX 5000 Ada Generation", "ada", 0},
        {"NVIDIA RTX 2000 Ada Generation", "ada", 0},
        {"Tesla V100-SXM2-16GB", "volta", 150},
        {"Tesla T4", "volta", 0},
        {"Quadro RTX 8000", "volta", 50},
        {"Quadro RTX 6000", "volta", 50},
        {"Quadro RTX 5000", "volta", 25},
        {"Quadro RTX 4000", "volta", 0},
        {"NVIDIA GeForce RTX 2080 Ti", "volta", 50},
        {"NVIDIA GeForce RTX 2060", "volta", 0},
        {"NVIDIA TITAN RTX", "volta", 50},
        {"NVIDIA TITAN V", "volta", 0},
        {"Tesla P100-PCIE-16GB", "pascal", 80},
        {"Tesla P40", "pascal", 0},
        {"NVIDIA GeForce GTX 1080 Ti", "pascal", 0},
        {"AMD Instinct MI300X", "cdna3", 448},
        {"AMD Instinct MI300A", "cdna3", 384},
        {"AMD Instinct MI355X", "cdna3", 538},
        {"AMD Instinct MI250X / MI250", "cdna2", 150},
        {"AMD Instinct MI210", "cdna2", 150},
        {"AMD Instinct MI100", "cdna2", 138},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_gpu_sheet *gpu = ronde_gpu_find(rows[i].name);
        CU_ASSERT_PTR_NOT_NULL(gpu);
        if (!gpu) {
            suite_note("%s: not found", rows[i].name);
            continue;
        }
        CU_ASSERT_STRING_EQUAL(gpu->generation, rows[i].generation);
        CU_ASSERT_EQUAL(gpu->nvlink_GBps, rows[i].nvlink_GBps);
        CU_ASSERT(gpu->pcie_GBps > 0 && gpu->source[0] != '\0');
        if (strcmp(gpu->generation, rows[i].generation) != 0 ||
            gpu->nvlink_GBps != rows[i].nvlink_GBps)
            suite_note("%s: %s, %s, %g GB/s", rows[i].name, gpu->pattern, gpu->generation,
                       gpu->nvlink_GBps);
    }
}

/* More digits are another part. */
static void other_names_find_none(void)
{
    static const char *const names[] = {
        "",          "Intel Gaudi 3", "NVIDIA A1000", "NVIDIA H2000",
        "Tesla K80", "TPU v4",        "MI3000",       "GTX 10800"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CU_ASSERT_PTR_NULL(ronde_gpu_find(names[i]));
        if (ronde_gpu_find(names[i]))
            suite_note("%s: %s", names[i], ronde_gpu_find(names[i])->pattern);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"names_find_their_parts", names_find_their_parts},
        {"other_names_find_none", other_names_find_none},
    };
    return suite_run("catalogue", cases, sizeof cases / sizeof cases[0]);
}
