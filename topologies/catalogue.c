/* What data sheets say of GPUs. See ronde/catalogue.h. */
#include "ronde/catalogue.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct ronde_gpu_sheet gpus[] = {
    {"MI355", "cdna3", 538, 63, "AMD Instinct MI355X data sheet: 7 links of 153.6 GB/s both ways"},
    {"MI350", "cdna3", 538, 63, "AMD Instinct MI350X data sheet: 7 links of 153.6 GB/s both ways"},
    {"MI325", "cdna3", 448, 63, "AMD Instinct MI325X data sheet: 7 links of 128 GB/s both ways"},
    {"MI308", "cdna3", 448, 63, "as MI300X"},
    {"MI300A", "cdna3", 384, 63, "AMD Instinct MI300A data sheet: 3 x 128 GB/s to each of 3 others"},
    {"MI300", "cdna3", 448, 63, "AMD Instinct MI300X data sheet: 7 links of 128 GB/s both ways"},
    /* A chiplet is a device: three links of 50 GB/s leave its package. */
    {"MI250", "cdna2", 150, 31.5, "AMD Instinct MI250X data sheet: links of 100 GB/s both ways"},
    {"MI210", "cdna2", 150, 31.5, "AMD Instinct MI210 data sheet: 3 links of 100 GB/s both ways"},
    {"MI100", "cdna2", 138, 31.5, "AMD Instinct MI100 data sheet: 3 links of 92 GB/s both ways"},
    {"GB300", "blackwell", 900, 126, "NVIDIA GB300 NVL72 data sheet: NVLink 1.8 TB/s both ways"},
    {"GB200", "blackwell", 900, 63, "NVIDIA GB200 NVL72 data sheet: NVLink 1.8 TB/s both ways"},
    {"B300", "blackwell", 900, 126, "NVIDIA HGX B300 data sheet: NVLink 1.8 TB/s both ways"},
    {"B200", "blackwell", 900, 63, "NVIDIA HGX B200 data sheet: NVLink 1.8 TB/s both ways"},
    {"B100", "blackwell", 900, 63, "NVIDIA HGX B100 data sheet: NVLink 1.8 TB/s both ways"},
    {"GB10", "blackwell", 0, 31.5, "NVIDIA DGX Spark data sheet"},
    {"DGX SPARK", "blackwell", 0, 31.5, "NVIDIA DGX Spark data sheet"},
    {"RTX 5000", "volta", 25, 15.75,
     "NVIDIA Quadro RTX 5000 data sheet: bridge of 50 GB/s both ways"},
    {"RTX 50##", "blackwell", 0, 63, "NVIDIA GeForce RTX 50 specifications: PCIe 5.0"},
    {"5090", "blackwell", 0, 63, "NVIDIA GeForce RTX 50 specifications: PCIe 5.0"},
    {"RTX 6000D", "blackwell", 0, 63, "as RTX PRO 6000"},
    {"PRO 6000", "blackwell", 0, 63, "NVIDIA RTX PRO 6000 Blackwell data sheet: PCIe 5.0"},
    {"PRO 5000", "blackwell", 0, 63, "NVIDIA RTX PRO 5000 Blackwell data sheet: PCIe 5.0"},
    {"PRO 4500", "blackwell", 0, 63, "NVIDIA RTX PRO 4500 Blackwell data sheet: PCIe 5.0"},
    {"PRO 4000", "blackwell", 0, 63, "NVIDIA RTX PRO 4000 Blackwell data sheet: PCIe 5.0"},
    {"GH200", "hopper", 450, 63, "NVIDIA GH200 data sheet: NVLink 900 GB/s both ways"},
    {"H200 NVL", "hopper", 450, 63, "NVIDIA H200 NVL data sheet: NVLink 900 GB/s both ways"},
    {"H200", "hopper", 450, 63, "NVIDIA H200 data sheet: NVLink 900 GB/s both ways"},
    {"H100 NVL", "hopper", 300, 63, "NVIDIA H100 NVL data sheet: bridges of 600 GB/s both ways"},
    {"H100 PCIE", "hopper", 300, 63, "NVIDIA H100 PCIe data sheet: bridges of 600 GB/s both ways"},
    {"H100-PCIE", "hopper", 300, 63, "NVIDIA H100 PCIe data sheet: bridges of 600 GB/s both ways"},
    {"H100", "hopper", 450, 63, "NVIDIA H100 data sheet: NVLink 900 GB/s both ways"},
    {"H800", "hopper", 200, 63, "NVIDIA H800: NVLink 400 GB/s both ways"},
    {"H20", "hopper", 450, 63, "NVIDIA H20: NVLink 900 GB/s both ways"},
    {"RTX #### ADA", "ada", 0, 31.5, "NVIDIA RTX Ada Generation data sheets: PCIe 4.0"},
    {" ADA", "ada", 0, 31.5, "NVIDIA RTX Ada Generation data sheets: PCIe 4.0"},
    {"RTX 40##", "ada", 0, 31.5, "NVIDIA GeForce RTX 40 specifications: PCIe 4.0"},
    {"4090", "ada", 0, 31.5, "NVIDIA GeForce RTX 40 specifications: PCIe 4.0"},
    {"L40", "ada", 0, 31.5, "NVIDIA L40 and L40S data sheets: PCIe 4.0"},
    {"L20", "ada", 0, 31.5, "NVIDIA L20: PCIe 4.0"},
    {"L4", "ada", 0, 31.5, "NVIDIA L4 data sheet: PCIe 4.0"},
    {"NVIDIA L2", "ada", 0, 31.5, "NVIDIA L2: PCIe 4.0"},
    {"A100", "ampere", 300, 31.5, "NVIDIA A100 data sheet: NVLink 600 GB/s both ways"},
    {"A800", "ampere", 200, 31.5, "NVIDIA A800: NVLink 400 GB/s both ways"},
    {"A30", "ampere", 100, 31.5, "NVIDIA A30 data sheet: bridge of 200 GB/s both ways"},
    {"A6000", "ampere_rtx", 56, 31.5, "NVIDIA RTX A6000 data sheet: bridge of 112.5 GB/s both ways"},
    {"A5500", "ampere_rtx", 56, 31.5, "NVIDIA RTX A5500 data sheet: bridge of 112.5 GB/s both ways"},
    {"A5000", "ampere_rtx", 56, 31.5, "NVIDIA RTX A5000 data sheet: bridge of 112.5 GB/s both ways"},
    {"A4500", "ampere_rtx", 56, 31.5, "NVIDIA RTX A4500 data sheet: bridge of 112.5 GB/s both ways"},
    {"A40", "ampere_rtx", 56, 31.5, "NVIDIA A40 data sheet: bridge of 112.5 GB/s both ways"},
    {"A4000", "ampere_rtx", 0, 31.5, "NVIDIA RTX A4000 data sheet: PCIe 4.0"},
    {"A2000", "ampere_rtx", 0, 31.5, "NVIDIA RTX A2000 data sheet: PCIe 4.0"},
    {"A16", "ampere_rtx", 0, 31.5, "NVIDIA A16 data sheet: PCIe 4.0"},
    {"A10", "ampere_rtx", 0, 31.5, "NVIDIA A10 data sheet: PCIe 4.0"},
    {"NVIDIA A2", "ampere_rtx", 0, 15.75, "NVIDIA A2 data sheet: PCIe 4.0 x8"},
    {"RTX 3090", "ampere_rtx", 56, 31.5,
     "NVIDIA Ampere GA102 white paper: bridge of 112.5 GB/s both ways"},
    {"3090", "ampere_rtx", 56, 31.5,
     "NVIDIA Ampere GA102 white paper: bridge of 112.5 GB/s both ways"},
    {"RTX 30##", "ampere_rtx", 0, 31.5, "NVIDIA GeForce RTX 30 specifications: PCIe 4.0"},
    {"V100", "volta", 150, 15.75, "NVIDIA V100 data sheet: NVLink 300 GB/s both ways"},
    {"TITAN V", "volta", 0, 15.75, "NVIDIA TITAN V specifications: PCIe 3.0"},
    {"T4", "volta", 0, 15.75, "NVIDIA T4 data sheet: PCIe 3.0"},
    {"RTX 2080", "volta", 50, 15.75, "NVIDIA Turing white paper: bridge of 100 GB/s both ways"},
    {"2080", "volta", 50, 15.75, "NVIDIA Turing white paper: bridge of 100 GB/s both ways"},
    {"RTX 20##", "volta", 0, 15.75, "NVIDIA Turing white paper: PCIe 3.0"},
    {"GTX 16##", "volta", 0, 15.75, "NVIDIA GeForce GTX 16 specifications: PCIe 3.0"},
    {"TITAN RTX", "volta", 50, 15.75, "NVIDIA Turing white paper: bridge of 100 GB/s both ways"},
    {"RTX 8000", "volta", 50, 15.75,
     "NVIDIA Quadro RTX 8000 data sheet: bridge of 100 GB/s both ways"},
    {"QUADRO RTX 8000", "volta", 50, 15.75,
     "NVIDIA Quadro RTX 8000 data sheet: bridge of 100 GB/s both ways"},
    {"RTX 6000", "volta", 50, 15.75,
     "NVIDIA Quadro RTX 6000 data sheet: bridge of 100 GB/s both ways"},
    {"QUADRO RTX 6000", "volta", 50, 15.75,
     "NVIDIA Quadro RTX 6000 data sheet: bridge of 100 GB/s both ways"},
    {"QUADRO RTX 5000", "volta", 25, 15.75,
     "NVIDIA Quadro RTX 5000 data sheet: bridge of 50 GB/s both ways"},
    {"QUADRO RTX ####", "volta", 0, 15.75, "NVIDIA Turing white paper: PCIe 3.0"},
    {"P100", "pascal", 80, 15.75, "NVIDIA P100 data sheet: NVLink 160 GB/s both ways"},
    {"P40", "pascal", 0, 15.75, "NVIDIA P40 data sheet: PCIe 3.0"},
    {"P4", "pascal", 0, 15.75, "NVIDIA P4 data sheet: PCIe 3.0"},
    {"1080", "pascal", 0, 15.75, "NVIDIA GeForce GTX 10 specifications: PCIe 3.0"},
    {"TITAN X", "pascal", 0, 15.75, "NVIDIA TITAN X specifications: PCIe 3.0"},
};

/* How much of a pattern a text begins with: all of it, or 0. */
static size_t match(const char *text, const char *pattern)
{
    size_t at = 0;
    for (; pattern[at]; at++) {
        const unsigned char letter = (unsigned char)text[at];
        if (pattern[at] == '#' ? !isdigit(letter) : toupper(letter) != pattern[at])
            return 0;
    }
    return isdigit((unsigned char)text[at]) ? 0 : at;
}

static size_t longest_match(const char *text, const char *pattern)
{
    for (; *text; text++)
        if (match(text, pattern) > 0)
            return strlen(pattern);
    return 0;
}

const struct ronde_gpu_sheet *ronde_gpu_find(const char *text)
{
    const struct ronde_gpu_sheet *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        const size_t length = longest_match(text, gpus[i].pattern);
        if (length <= most)
            continue;
        most = length;
        best = &gpus[i];
    }
    return best;
}
