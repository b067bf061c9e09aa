/*
 * What the compiler says about the kernels, for which no GPU is needed: no local memory, registers within the occupancy
 * that is planned, and 16 bytes per load and store in the loops that move data. The machine code is read as it is: of
 * an instruction (16 bytes, sm_80 to sm_100) the low 12 bits say what it does, bits 73 to 75 how much it moves.
 */
#include "hw/cuda/job.h"
#include "support/built_with.h"
#include "support/files.h"
#include "support/suite.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Registers of a multiprocessor, and what a block may use of them at most. */
#define REGISTERS 65536u
#define REGISTERS_MOST (REGISTERS / RONDE_BLOCK_THREADS)

/* Instructions, by their low 12 bits. */
enum {
    LOAD_GLOBAL = 0x981,
    STORE_GLOBAL = 0x986,
    LOAD_LOCAL = 0x983,
    STORE_LOCAL = 0x387,
    BRANCH = 0x947
};

/* The size field of 16 bytes. */
#define SIZE_128 6u

/* What a kernel's code consists of, as far as anybody asks. */
struct content {
    unsigned vector_loads;
    unsigned vector_stores;
    unsigned local;
    unsigned instructions;
    unsigned loads_together; /* the most vectors that are loaded without a store or a branch in between */
};

static void count_instructions(const unsigned char *code, size_t bytes, struct content *content)
{
    unsigned together = 0;
    for (size_t at = 0; at + 16 <= bytes; at += 16) {
        uint64_t word[2];
        memcpy(word, code + at, sizeof word);
        const unsigned operation = (unsigned)(word[0] & 0xfff);
        const unsigned size = (unsigned)(word[1] >> 9 & 7);
        const bool loads = operation == LOAD_GLOBAL && size == SIZE_128;
        const bool stores = operation == STORE_GLOBAL && size == SIZE_128;
        content->instructions++;
        content->vector_loads += loads;
        content->vector_stores += stores;
        together = stores || operation == BRANCH ? 0 : together + loads;
        if (together > content->loads_together)
            content->loads_together = together;
        content->local += operation == LOAD_LOCAL || operation == STORE_LOCAL;
    }
}

/* Goes through the code sections of a cubin, which is an ELF file. */
static bool read_cubin(const char *path, struct content *out)
{
    memset(out, 0, sizeof *out);
    FILE *file = fopen(path, "rb");
    static unsigned char bytes[1 << 22];
    const size_t length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    Elf64_Ehdr header;
    if (length < sizeof header || length == sizeof bytes)
        return false;
    memcpy(&header, bytes, sizeof header);
    for (unsigned k = 0; k < header.e_shnum; k++) {
        Elf64_Shdr section;
        const size_t at = header.e_shoff + (size_t)k * header.e_shentsize;
        if (at + sizeof section > length)
            return false;
        memcpy(&section, bytes + at, sizeof section);
        if (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) != 0 &&
            section.sh_offset + section.sh_size <= length)
            count_instructions(bytes + section.sh_offset, section.sh_size, out);
    }
    return out->instructions > 0;
}

/* The number before a phrase, as in "104 registers"; UINT64_MAX if it is not there. */
static uint64_t number_before(const char *said, const char *phrase)
{
    const char *at = strstr(said, phrase);
    while (at && at > said && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return at ? strtoull(at, NULL, 10) : UINT64_MAX;
}

/* Compiles a file for an architecture; what ptxas said, or NULL. The caller frees. */
static char *compile(const char *source, unsigned architecture, const char *cubin)
{
    char command[4096];
    char *said = NULL;
    snprintf(command, sizeof command,
             "'%s' -std=c++17 -O3 -fmad=false -arch=sm_%u -I'%s' -I'%s/engine/include' -Xptxas -v "
             "-cubin '%s' -o '%s' 2>&1",
             RONDE_NVCC, architecture, RONDE_SOURCE_DIR, RONDE_SOURCE_DIR, source, cubin);
    const int status = files_command(command, &said);
    CU_ASSERT_EQUAL(status, 0);
    if (status == 0 && said)
        return said;
    suite_note("%.1000s", said ? said : "");
    free(said);
    return NULL;
}

static bool has_compiler(void)
{
    if (RONDE_NVCC[0] == '\0')
        suite_skip("built without nvcc (RONDE_CUDA)");
    return RONDE_NVCC[0] != '\0';
}

static const char cubin[] = RONDE_SCRATCH_DIR "/kernel.cubin";

static void check_kernel(const char *type, unsigned architecture)
{
    char source[1024];
    struct content content;
    snprintf(source, sizeof source, "%s/hw/cuda/kernel_%s.cu", RONDE_SOURCE_DIR, type);
    char *said = compile(source, architecture, cubin);
    if (!said)
        return;
    const uint64_t registers = number_before(said, " registers");
    CU_ASSERT_EQUAL(number_before(said, " bytes stack frame"), 0);
    CU_ASSERT_EQUAL(number_before(said, " bytes spill stores"), 0);
    CU_ASSERT(registers <= REGISTERS_MOST);
    CU_ASSERT_FATAL(read_cubin(cubin, &content));
    CU_ASSERT_EQUAL(content.local, 0);
    /* Nine kinds of moves; unrolled ones have at least RONDE_VECTORS_AT_ONCE of each operand. */
    CU_ASSERT(content.vector_loads >= 9 * 4);
    CU_ASSERT(content.vector_stores >= 9 * 4);
    CU_ASSERT(content.loads_together >= 2 * RONDE_VECTORS_AT_ONCE);
    suite_note("%s sm_%u: %llu registers, %u loads and %u stores of 16 bytes, %u instructions",
               type, architecture, (unsigned long long)registers, content.vector_loads,
               content.vector_stores, content.instructions);
    free(said);
}

static void kernels_use_registers_and_vectors_only(void)
{
    if (!has_compiler())
        return;
    check_kernel("int8", 90);
    check_kernel("bfloat16", 90);
    check_kernel("float8_e4m3", 90);
    check_kernel("float32", 80);
    check_kernel("float32", 90);
    check_kernel("float32", 100);
}

/* A kernel that cannot do without local memory and moves single words: the checks above can fail. */
static const char bad_kernel[] =
    "extern \"C\" __global__ void bad(int *p, int n)\n"
    "{ volatile int a[64]; for (int i = 0; i < n; i++) a[p[i] & 63] = i;\n"
    "  p[0] = a[n & 63] + a[p[1] & 63]; }\n";

static void a_bad_kernel_is_found_out(void)
{
    static const char source[] = RONDE_SCRATCH_DIR "/bad.cu";
    struct content content;
    if (!has_compiler())
        return;
    FILE *file = fopen(source, "w");
    CU_ASSERT_FATAL(file != NULL);
    fputs(bad_kernel, file);
    CU_ASSERT_FATAL(fclose(file) == 0);
    char *said = compile(source, 90, cubin);
    CU_ASSERT_FATAL(said != NULL);
    CU_ASSERT(number_before(said, " bytes stack frame") >= 256);
    CU_ASSERT_FATAL(read_cubin(cubin, &content));
    CU_ASSERT(content.local > 0);
    CU_ASSERT_EQUAL(content.vector_stores, 0);
    free(said);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"kernels_use_registers_and_vectors_only", kernels_use_registers_and_vectors_only},
        {"a_bad_kernel_is_found_out", a_bad_kernel_is_found_out},
    };
    return suite_run("compile", cases, sizeof cases / sizeof cases[0]);
}
