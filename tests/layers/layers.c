#include "layers/layers.h"

#include "support/built_with.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Longest path or include target looked at. */
#define PATH_BYTES 4096

/** Headers every folder may use: C11 without clocks, threads, signals and locales. */
static const char *const c11[] = {"assert.h",    "complex.h", "ctype.h",       "errno.h",
                                  "fenv.h",      "float.h",   "inttypes.h",    "limits.h",
                                  "math.h",      "setjmp.h",  "stdalign.h",    "stdarg.h",
                                  "stdatomic.h", "stdbool.h", "stddef.h",      "stdint.h",
                                  "stdio.h",     "stdlib.h",  "stdnoreturn.h", "string.h",
                                  NULL};

/** Of engine/execute/library.h, which rooms outside the engine alone include. */
static const char *const loading[] = {"dlfcn.h", NULL};

/** What the outer folders may ask of the operating system. */
static const char *const posix[] = {"argp.h",    "arpa/",         "dirent.h",
                                    "dlfcn.h",   "fcntl.h",       "getopt.h",
                                    "ifaddrs.h", "locale.h",      "netdb.h",
                                    "net/",      "netinet/",      "poll.h",
                                    "pthread.h", "sched.h",       "signal.h",
                                    "strings.h", "sys/",          "time.h",
                                    "unistd.h",  "linux/futex.h", "linux/membarrier.h",
                                    NULL};

static const char *const cxx[] = {"algorithm", "array",         "cmath",   "cstdint",
                                  "cstdio",    "cstdlib",       "cstring", "deque",
                                  "exception", "functional",    "limits",  "map",
                                  "memory",    "queue",         "set",     "stdexcept",
                                  "string",    "unordered_map", "utility", "vector",
                                  NULL};

static const char *const libxml[] = {"libxml/", NULL};
static const char *const hwloc[] = {"hwloc.h", NULL};
/* The shell's patterns: POSIX, and nothing that a machine could change. */
static const char *const patterns[] = {"fnmatch.h", NULL};
static const char *const simgrid[] = {"simgrid/", "xbt/", NULL};
static const char *const cuda[] = {"cuda.h", "cuda_runtime_api.h", NULL};
static const char *const jansson[] = {"jansson.h", NULL};
/* Generated while building, from formats/chakra/et_def.proto. */
static const char *const protobuf[] = {"et_def.pb-c.h", NULL};
/* How the C library keeps freed memory: a program's business, no library's. */
static const char *const glibc[] = {"malloc.h", NULL};
static const char *const zlib[] = {"zlib.h", NULL};
static const char *const ucx[] = {"ucp/", "ucs/debug/debug.h", NULL};
static const char *const pmix[] = {"pmix.h", NULL};

/** One row of the table: who may include whom, and which external headers. */
static const struct layer {
    const char *folder;
    const char *const folders[13];
    const char *const *const headers[7]; /* ended by NULL */
} layers[] = {
    {"engine", {"engine"}, {c11, loading}},
    {"schedules", {"schedules", "engine"}, {c11}},
    {"topologies", {"topologies", "engine"}, {c11, libxml, hwloc, patterns}},
    {"sim", {"sim", "topologies", "engine"}, {c11, posix, cxx}},
    {"hw", {"hw", "topologies", "engine"}, {c11, posix, ucx, pmix}},
    {"formats",
     {"formats", "schedules", "topologies", "engine"},
     {c11, posix, libxml, jansson, protobuf, zlib}},
    {"predict", {"predict", "formats", "schedules", "sim", "topologies", "engine"}, {c11, posix}},
    {"nccl",
     {"nccl", "predict", "formats", "schedules", "sim", "topologies", "engine"},
     {c11, posix, jansson}},
    {"lab",
     {"lab", "nccl", "predict", "formats", "schedules", "sim", "hw", "topologies", "engine"},
     {c11, posix}},
    {"api", {"api", "nccl", "predict", "schedules", "hw", "topologies", "engine"}, {c11, posix}},
    {"cli",
     {"cli", "api", "lab", "nccl", "predict", "formats", "schedules", "sim", "hw", "topologies",
      "engine"},
     {c11, posix, glibc}},
};

/** Folders whose headers are reached without naming them. */
static const char *const roots[] = {"engine",  "schedules", "topologies", "sim", "hw", "formats",
                                    "predict", "nccl",      "lab",        "api", "cli"};

static const struct layer *find_layer(const char *folder)
{
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        if (strcmp(layers[i].folder, folder) == 0)
            return &layers[i];
    return NULL;
}

/** A list entry that ends in a slash stands for everything below. */
static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++) {
        const size_t length = strlen(*list);
        const bool is_prefix = (*list)[length - 1] == '/';
        if (is_prefix ? strncmp(*list, name, length) == 0 : strcmp(*list, name) == 0)
            return true;
    }
    return false;
}

static bool exists(const char *folder, const char *middle, const char *name)
{
    char path[4 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s%s/%s", RONDE_SOURCE_DIR, folder, middle, name);
    return access(path, F_OK) == 0;
}

/** The top folder a quoted include lands in, or NULL: beside the file, from the root, a public or a folder's own header. */
static const char *resolve(const char *folder, const char *file, const char *name)
{
    char beside[PATH_BYTES];
    const char *slash = strrchr(file, '/');
    const int folder_bytes = slash ? (int)(slash - file) : 0;
    const int bytes = snprintf(beside, sizeof beside, "%.*s/%s", folder_bytes, file, name);
    if (bytes > 0 && bytes < PATH_BYTES && access(beside, F_OK) == 0)
        return folder;
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const size_t length = strlen(roots[i]);
        const bool names_it = strncmp(name, roots[i], length) == 0 && name[length] == '/';
        if (exists(roots[i], "/include", name) || exists(roots[i], "", name) ||
            (names_it && exists(".", "", name)))
            return roots[i];
    }
    return NULL;
}

/** Commands stand above what they parse, print, draw and launch with; main.c and the pages list them. */
static bool may_name_commands(const char *file)
{
    static const char *const below[] = {"/cli/options/", "/cli/print/",  "/cli/draw/",
                                        "/cli/html/",    "/cli/launch/", "/cli/demo/"};
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
        if (strstr(file, below[i]))
            return false;
    return true;
}

static const char *refuse_quoted(const struct layer *layer, const char *file, const char *name)
{
    if (strncmp(name, "cli/cmd/", 8) == 0 && !may_name_commands(file))
        return "what commands use includes no command";
    const char *landed = resolve(layer->folder, file, name);
    if (!landed)
        return "no such header in the repository";
    for (size_t i = 0; layer->folders[i]; i++)
        if (strcmp(layer->folders[i], landed) == 0)
            return NULL;
    return "the layer table does not let this folder include that one";
}

const char *layers_refuse_include(const char *folder, const char *file, const char *target)
{
    const struct layer *layer = find_layer(folder);
    if (!layer)
        return "the folder is not in the layer table";
    char name[PATH_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(target + 1, ">\""), target + 1);
    if (target[0] == '"')
        return refuse_quoted(layer, file, name);
    /* The C++ file of sim/ is the only one that talks to SimGrid. */
    const size_t length = strlen(file);
    if (length > 4 && strcmp(file + length - 4, ".cpp") == 0 && is_listed(simgrid, name))
        return NULL;
    /* As is one file of hw/ with CUDA's runtime. */
    if (strstr(file, "hw/cuda/runtime") && is_listed(cuda, name))
        return NULL;
    for (size_t i = 0; layer->headers[i]; i++)
        if (is_listed(layer->headers[i], name))
            return NULL;
    return "the header is not on the folder's list";
}

/** Pure functions of the C library; no stream, clock, thread, environment, exit or random number. */
static const char *const pure[] = {"memchr",
                                   "memcmp",
                                   "memcpy",
                                   "memmove",
                                   "memset",
                                   "strchr",
                                   "strcmp",
                                   "strcspn",
                                   "strlen",
                                   "strncmp",
                                   "strncpy",
                                   "strpbrk",
                                   "strrchr",
                                   "strspn",
                                   "strstr",
                                   "strtod",
                                   "strtol",
                                   "strtoll",
                                   "strtoul",
                                   "strtoull",
                                   "qsort",
                                   "bsearch",
                                   "snprintf",
                                   "vsnprintf",
                                   "ceil",
                                   "fabs",
                                   "floor",
                                   "fmax",
                                   "fmaxf",
                                   "fmin",
                                   "fminf",
                                   "fmod",
                                   "isfinite",
                                   "log2",
                                   "pow",
                                   "round",
                                   "sqrt",
                                   "__ctype_b_loc",
                                   "__errno_location",
                                   "__stack_chk_fail",
                                   "__assert_fail",
                                   NULL};

/** What compilers and sanitizers add behind the source's back. */
static const char *const inserted[] = {"__udivti3",
                                       "__divti3",
                                       "__modti3",
                                       "__umodti3",
                                       "__asan_",
                                       "__ubsan_",
                                       "__tsan_",
                                       "__sanitizer_",
                                       "__isoc23_str",
                                       "_GLOBAL_OFFSET_TABLE_",
                                       "__gcov_",
                                       "__cpu_model",
                                       NULL};

static const char *const heap[] = {"malloc", "calloc", "realloc", "free", NULL};

static bool starts_with_any(const char *const *prefixes, const char *name)
{
    for (; *prefixes; prefixes++)
        if (strncmp(*prefixes, name, strlen(*prefixes)) == 0)
            return true;
    return false;
}

bool layers_allow_symbol(const char *member, const char *symbol)
{
    char plain[256];
    const size_t length = strlen(symbol);
    snprintf(plain, sizeof plain, "%s", symbol);
    /* _FORTIFY_SOURCE calls memcpy __memcpy_chk. */
    if (strncmp(symbol, "__", 2) == 0 && length > 6 && strcmp(symbol + length - 4, "_chk") == 0)
        snprintf(plain, sizeof plain, "%.*s", (int)(length - 6), symbol + 2);
    if (is_listed(pure, plain) || starts_with_any(inserted, symbol))
        return true;
    return is_listed(heap, symbol) && strcmp(member, "mem.c.o") == 0;
}

void layers_each_include(const char *text, void (*visit)(const char *target, void *context),
                         void *context)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strspn(line, " \t");
        if (*at != '#')
            continue;
        at += 1 + strspn(at + 1, " \t");
        if (strncmp(at, "include", 7) != 0)
            continue;
        char target[PATH_BYTES];
        at += 7 + strspn(at + 7, " \t");
        snprintf(target, sizeof target, "%.*s", (int)strcspn(at, "\n"), at);
        visit(target, context);
    }
}
