/*
 * What the compiler made of the kernels, for which no GPU is needed: no local memory, registers within the occupancy
 * that is planned, and 16 bytes per load and store in the loops that move data. Every kernel of the library that was
 * built is examined, for every kind of GPU: they lie in it as ELF files (cubins). The machine code is decoded: of an
 * instruction (16 bytes, sm_80 to sm_100) the low 12 bits are the operation, bits 73 to 75 the access size; registers
 * are bits 16 to 23 (written), 24 to 31, 32 to 39 and 64 to 71 (read, where bits 9 to 11 say so).
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
    LOAD_ANY = 0x980, /* of any memory: the address says which */
    LOAD_GLOBAL = 0x981,
    STORE_GLOBAL = 0x986,
    LOAD_LOCAL = 0x983,
    STORE_LOCAL = 0x387,
    BRANCH = 0x947,
    BARRIER = 0xb1d,
    EMPTY_CACHE = 0x98f, /* the first-level one: what an acquiring load does */
    FENCE = 0x992
};

/* Barriers while a block begins: all threads pass them before the first step. */
#define FIRST_BARRIERS 3u

/*
 * The most times that code up to there, read from top to bottom, waits for something it loads through an address that may
 * be any memory's. At most five of them are one after another memory that is not shared: of the job, of its tables, of ends,
 * of counters, and of the flag that stops runs. One thread that copied word by word waited 17 + 39 + 8 times a connection.
 */
#define FIRST_WAITS_MOST 16u

/* The size field of 16 bytes. */
#define SIZE_128 6u

/* Attributes in a section .nv.info: words of format and kind and size, then a symbol and a value. */
enum { INFO_REGISTERS = 0x2f04, INFO_FRAME = 0x1104 };

#define CODE_PREFIX ".text."
#define KERNEL_PREFIX CODE_PREFIX "ronde_kernel_"

/* Facts of a kernel that are checked. */
struct content {
    char name[64];
    unsigned architecture;
    unsigned registers;
    unsigned stack_bytes;
    unsigned vector_loads;
    unsigned vector_stores;
    unsigned local;
    unsigned instructions;
    unsigned barriers;
    unsigned first_waits; /* for loads, before the last of the first barriers */
    unsigned fences;
    unsigned emptied;        /* places where the first-level cache is */
    unsigned loads_in_a_row; /* the most vectors that are loaded without a store or a branch in between */
};

/* Registers whose loads are under way. */
struct under_way {
    bool is_loaded[256 + 4];
    bool is_any;
};

static bool reads(const struct under_way *loads, uint64_t first)
{
    return (first & 255) != 255 &&
           (loads->is_loaded[first & 255] || loads->is_loaded[(first & 255) + 1]);
}

/* Whether an instruction waits for a load; then all loads before it are over, as they return in order. */
static bool waits(struct under_way *loads, const uint64_t word[2])
{
    const unsigned operation = (unsigned)(word[0] & 0xfff);
    const unsigned form = operation >> 9;
    const bool is_load = operation == LOAD_ANY || operation == LOAD_GLOBAL;
    const bool is_store = operation == 0x385 || operation == 0x388 || operation == STORE_GLOBAL;
    const bool is_control = operation >= 0x941 && operation <= 0x94d;
    const bool waits_now =
        !is_control && operation != BARRIER && loads->is_any &&
        (reads(loads, word[0] >> 24) || ((form == 1 || is_store) && reads(loads, word[0] >> 32)) ||
         (!is_load && form != 3 && form < 6 && reads(loads, word[1])));
    if (waits_now)
        memset(loads, 0, sizeof *loads);
    if (is_load) {
        const unsigned size = (unsigned)(word[1] >> 9 & 7);
        const unsigned registers = size == SIZE_128 ? 4 : size == 5 ? 2 : 1;
        for (unsigned k = 0; k < registers; k++)
            loads->is_loaded[(word[0] >> 16 & 255) + k] = true;
        loads->is_any = true;
    }
    return waits_now;
}

static void count_instructions(const unsigned char *code, size_t bytes, struct content *content)
{
    struct under_way pending = {.is_any = false};
    unsigned together = 0;
    for (size_t at = 0; at + 16 <= bytes; at += 16) {
        uint64_t word[2];
        memcpy(word, code + at, sizeof word);
        const unsigned operation = (unsigned)(word[0] & 0xfff);
        const unsigned size = (unsigned)(word[1] >> 9 & 7);
        const bool loads = operation == LOAD_GLOBAL && size == SIZE_128;
        const bool stores = operation == STORE_GLOBAL && size == SIZE_128;
        content->instructions++;
        content->barriers += operation == BARRIER;
        content->fences += operation == FENCE;
        content->emptied += operation == EMPTY_CACHE;
        content->first_waits += content->barriers < FIRST_BARRIERS && waits(&pending, word);
        content->vector_loads += loads;
        content->vector_stores += stores;
        together = stores || operation == BRANCH ? 0 : together + loads;
        if (together > content->loads_in_a_row)
            content->loads_in_a_row = together;
        content->local += operation == LOAD_LOCAL || operation == STORE_LOCAL;
    }
}

/* The largest value of an attribute of any function. */
static void read_info(const unsigned char *info, size_t bytes, struct content *content)
{
    for (size_t at = 0; at + 4 <= bytes;) {
        uint16_t head[2];
        uint32_t value[2];
        memcpy(head, info + at, sizeof head);
        at += sizeof head;
        if (head[1] >= sizeof value && at + sizeof value <= bytes) {
            memcpy(value, info + at, sizeof value);
            if (head[0] == INFO_REGISTERS && value[1] > content->registers)
                content->registers = value[1];
            if (head[0] == INFO_FRAME && value[1] > content->stack_bytes)
                content->stack_bytes = value[1];
        }
        at += head[1];
    }
}

/* A section of a cubin that lies within `bytes`; its name is within them too. */
static void read_section(const unsigned char *cubin, size_t bytes, const Elf64_Shdr *section,
                         const Elf64_Shdr *names, struct content *content)
{
    if (names->sh_offset + section->sh_name >= bytes ||
        section->sh_offset + section->sh_size > bytes)
        return;
    const char *name = (const char *)cubin + names->sh_offset + section->sh_name;
    const unsigned char *data = cubin + section->sh_offset;
    const bool is_code = section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR;
    if (strcmp(name, ".nv.info") == 0)
        read_info(data, section->sh_size, content);
    if (!is_code || strncmp(name, CODE_PREFIX, strlen(CODE_PREFIX)) != 0)
        return;
    snprintf(content->name, sizeof content->name, "%s", name);
    count_instructions(data, section->sh_size, content);
}

/* Reads a cubin at the beginning of `bytes`; false if none begins there. */
static bool read_cubin(const unsigned char *cubin, size_t bytes, struct content *out)
{
    Elf64_Ehdr header;
    memset(out, 0, sizeof *out);
    if (bytes < sizeof header)
        return false;
    memcpy(&header, cubin, sizeof header);
    const size_t table = header.e_shoff;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_CUDA ||
        table + (size_t)header.e_shnum * sizeof(Elf64_Shdr) > bytes ||
        header.e_shstrndx >= header.e_shnum)
        return false;
    Elf64_Shdr names;
    memcpy(&names, cubin + table + header.e_shstrndx * sizeof names, sizeof names);
    for (unsigned k = 0; k < header.e_shnum; k++) {
        Elf64_Shdr section;
        memcpy(&section, cubin + table + k * sizeof section, sizeof section);
        read_section(cubin, bytes, &section, &names, out);
    }
    out->architecture = header.e_flags >> 8 & 0xff;
    return out->instructions > 0;
}

static bool has_compiler(void)
{
    if (RONDE_NVCC[0] == '\0')
        suite_skip("built without nvcc (RONDE_CUDA)");
    return RONDE_NVCC[0] != '\0';
}

static unsigned char *read_bytes(const char *path, size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    CU_ASSERT_FATAL(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const long length = ftell(file);
    CU_ASSERT_FATAL(length > 0 && fseek(file, 0, SEEK_SET) == 0);
    unsigned char *bytes = malloc((size_t)length);
    CU_ASSERT_FATAL(bytes != NULL && fread(bytes, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    *out_bytes = (size_t)length;
    return bytes;
}

/* Element types of the width at the end of a kernel's name; bool, which has bitwise operators alone, is not counted. */
static unsigned types_of(const struct content *kernel)
{
    const unsigned width = (unsigned)atoi(kernel->name + strlen(KERNEL_PREFIX));
    unsigned types = 0;
    for (unsigned dtype = 0; dtype < RONDE_DTYPE_COUNT; dtype++)
        types += dtype != RONDE_BOOL && ronde_dtype_bytes((enum ronde_dtype)dtype) == width;
    return types;
}

static void check_kernel(const struct content *kernel)
{
    const unsigned types = types_of(kernel);
    CU_ASSERT(types > 0);
    CU_ASSERT(kernel->registers > 0 && kernel->registers <= REGISTERS_MOST);
    CU_ASSERT_EQUAL(kernel->stack_bytes, 0);
    CU_ASSERT_EQUAL(kernel->local, 0);
    /* Every type has four kinds of moves of its own at least, with RONDE_VECTORS_AT_ONCE loads of each operand, all but
     * the quotient of two, and as many again for the last vectors. The narrowest store by halves, and these one by one. */
    CU_ASSERT(kernel->vector_loads >= types * 7 * RONDE_VECTORS_AT_ONCE * 2);
    CU_ASSERT(kernel->vector_stores >= types * 4 * (RONDE_VECTORS_AT_ONCE / 2 + 1));
    CU_ASSERT(kernel->loads_in_a_row >= 2 * RONDE_VECTORS_AT_ONCE);
    /* Waiting for a message empties no cache: only one acquiring load at each of the places that wait, and one fence. */
    CU_ASSERT(kernel->fences <= 2);
    CU_ASSERT(kernel->emptied <= 9);
    CU_ASSERT(kernel->barriers > FIRST_BARRIERS);
    CU_ASSERT(kernel->first_waits > 0 && kernel->first_waits <= FIRST_WAITS_MOST);
    suite_note("%s sm_%u: %u registers, %u waits before the first step, %u loads and %u stores of "
               "16 bytes, %u instructions",
               kernel->name + strlen(KERNEL_PREFIX), kernel->architecture, kernel->registers,
               kernel->first_waits, kernel->vector_loads, kernel->vector_stores,
               kernel->instructions);
}

static void count_file(const char *path, void *context)
{
    (void)path;
    ++*(unsigned *)context;
}

static void kernels_use_registers_and_vectors_only(void)
{
    struct content content;
    size_t bytes;
    unsigned widths = 0, kernels = 0;
    if (!has_compiler())
        return;
    files_walk("hw/cuda", ".cu", count_file, &widths);
    unsigned char *library = read_bytes(RONDE_CUDA_LIBRARY, &bytes);
    for (size_t at = 0; at < bytes; at++)
        if (library[at] == ELFMAG0 && read_cubin(library + at, bytes - at, &content) &&
            strncmp(content.name, KERNEL_PREFIX, strlen(KERNEL_PREFIX)) == 0) {
            check_kernel(&content);
            kernels++;
        }
    free(library);
    /* Each width for each kind of GPU; none would be found if nvcc began to compress them. */
    CU_ASSERT(kernels >= widths && kernels % widths == 0);
}

/* The number before a phrase, as in "104 registers"; UINT64_MAX if it is not there. */
static uint64_t number_before(const char *said, const char *phrase)
{
    const char *at = strstr(said, phrase);
    while (at && at > said && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return at ? strtoull(at, NULL, 10) : UINT64_MAX;
}

/* A kernel that cannot do without local memory and moves single words: the checks above can fail. */
static const char bad_kernel[] =
    "extern \"C\" __global__ void bad(int *p, int n)\n"
    "{ volatile int a[64]; for (int i = 0; i < n; i++) a[p[i] & 63] = i;\n"
    "  p[0] = a[n & 63] + a[p[1] & 63]; }\n";

static void a_bad_kernel_is_found_out(void)
{
    static const char source[] = RONDE_SCRATCH_DIR "/bad.cu";
    static const char cubin[] = RONDE_SCRATCH_DIR "/bad.cubin";
    struct content content;
    char *said = NULL;
    size_t bytes;
    if (!has_compiler())
        return;
    CU_ASSERT_FATAL(files_write(source, bad_kernel));
    CU_ASSERT_EQUAL_FATAL(files_command("'" RONDE_NVCC
                                        "' -O3 -arch=sm_90 -Xptxas -v -cubin '" RONDE_SCRATCH_DIR
                                        "/bad.cu' -o '" RONDE_SCRATCH_DIR "/bad.cubin' 2>&1",
                                        &said),
                          0);
    unsigned char *read = read_bytes(cubin, &bytes);
    CU_ASSERT_FATAL(read_cubin(read, bytes, &content));
    free(read);
    /* What is decoded here must be what the compiler reports. */
    CU_ASSERT_EQUAL(content.architecture, 90);
    CU_ASSERT_EQUAL(content.registers, number_before(said, " registers"));
    CU_ASSERT_EQUAL(content.stack_bytes, number_before(said, " bytes stack frame"));
    CU_ASSERT(content.stack_bytes >= 256);
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
