/** NCCL's side of a tuner plug-in. See tuner_host.h. */
#include "tuner_host.h"

#include "support/built_with.h"
#include "support/suite.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The layouts that NCCL has; a version's never changes. */
_Static_assert(sizeof(struct tuner_v2) == 32 && sizeof(struct tuner_v3) == 32 &&
                   sizeof(struct tuner_v4) == 32 && sizeof(struct tuner_v5) == 32,
               "four pointers");
_Static_assert(sizeof(struct tuner_v6) == 40 && offsetof(struct tuner_v6, chunk) == 32,
               "one more at the end");

/* Of init and finalize, which threads call: asserts are for one thread. */
static atomic_int faults;

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char warning[1024], information[1024], said[1024];

static void host_log(int level, unsigned long flags, const char *file, int line, const char *format,
                     ...)
{
    va_list arguments;
    (void)flags, (void)file, (void)line;
    pthread_mutex_lock(&log_lock);
    va_start(arguments, format);
    vsnprintf(level == ABI_WARN ? warning : information, sizeof warning, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&log_lock);
}

static const char *take(char *text)
{
    snprintf(said, sizeof said, "%s", text);
    text[0] = '\0';
    return said;
}

const char *tuner_host_warning(void)
{
    return take(warning);
}

const char *tuner_host_information(void)
{
    return take(information);
}

bool tuner_host_open(struct tuner_host *out, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", version);
    *out = (struct tuner_host){.version = version};
    out->library = dlopen(RONDE_NCCL_TUNER, RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT_PTR_NOT_NULL(out->library);
    if (!out->library) {
        suite_note("%s", dlerror());
        return false;
    }
    out->symbol = dlsym(out->library, symbol);
    CU_ASSERT_PTR_NOT_NULL(out->symbol);
    return out->symbol != NULL;
}

void tuner_host_close(struct tuner_host *host)
{
    CU_ASSERT_EQUAL(atomic_exchange(&faults, 0), 0);
    if (host->library)
        CU_ASSERT_EQUAL(dlclose(host->library), 0);
    host->library = NULL;
}

void *tuner_host_init(const struct tuner_host *host, size_t ranks, size_t nodes)
{
    void *context = NULL;
    double constants[144] = {0};
    int nvlink[3] = {(int)nodes, (int)(ranks / nodes), (int)(ranks / nodes)};
    int code;
    if (host->version >= 5)
        code = ((const struct tuner_v5 *)host->symbol)
                   ->init(&context, 0x5eed, ranks, nodes, host_log, nvlink, constants);
    else
        code = ((const struct tuner_v4 *)host->symbol)->init(ranks, nodes, host_log, &context);
    faults += code != ABI_SUCCESS;
    /* NCCL would compute with these constants. */
    for (unsigned i = 0; i < 144; i++)
        faults += constants[i] != 0;
    return context;
}

void tuner_host_finish(const struct tuner_host *host, void *context)
{
    /* destroy and finalize are in one place. */
    faults += ((const struct tuner_v5 *)host->symbol)->finalize(context) != ABI_SUCCESS;
}

static int ask_v2(const struct tuner_host *host, void *context, const struct host_call *call,
                  float *costs)
{
    int algorithm = -1, protocol = -1, channels = 0;
    const int code = ((const struct tuner_v2 *)host->symbol)
                         ->get(context, (int)call->collective, call->bytes, 0, 1, call->pipe_ops,
                               &algorithm, &protocol, &channels);
    const bool is_whole = (algorithm < 0) == (protocol < 0) && channels == 0;
    if (is_whole && algorithm >= 0 && costs[algorithm * ABI_PROTOCOLS + protocol] >= 0)
        costs[algorithm * ABI_PROTOCOLS + protocol] = 0;
    return is_whole ? code : -1;
}

static int ask(const struct tuner_host *host, void *context, const struct host_call *call,
               float *costs, int *channels)
{
    float **table = (float **)(void *)costs;
    if (host->version == 2)
        return ask_v2(host, context, call, costs);
    if (host->version == 3)
        return ((const struct tuner_v3 *)host->symbol)
            ->get(context, (int)call->collective, call->bytes, call->pipe_ops, table,
                  call->algorithms, ABI_PROTOCOLS, channels);
    return ((const struct tuner_v4 *)host->symbol)
        ->get(context, (int)call->collective, call->bytes, call->pipe_ops, table, call->algorithms,
              ABI_PROTOCOLS, call->is_registered, channels);
}

bool tuner_host_ask(const struct tuner_host *host, void *context, const struct host_call *call,
                    float costs[HOST_COSTS])
{
    static const float guard = 12345.5f;
    float table[HOST_COSTS + 2];
    const int count = call->algorithms * ABI_PROTOCOLS;
    int channels = 0;
    for (int i = 0; i < HOST_COSTS + 2; i++)
        table[i] = guard;
    memcpy(table + 1, costs, (size_t)count * sizeof *table);
    bool is_fine = ask(host, context, call, table + 1, &channels) == ABI_SUCCESS && channels == 0;
    for (int i = 0; i < count; i++) {
        const float was = costs[i], is = table[1 + i];
        is_fine = is_fine && (was >= 0 ? is >= 0 && is <= was : memcmp(&is, &was, sizeof is) == 0);
        costs[i] = is;
    }
    is_fine = is_fine && table[0] == guard;
    for (int i = count; i < HOST_COSTS + 1; i++)
        is_fine = is_fine && table[1 + i] == guard;
    return is_fine;
}

int tuner_host_taken(const float costs[HOST_COSTS], int algorithms)
{
    int taken = -1;
    for (int i = 0; i < algorithms * ABI_PROTOCOLS; i++)
        if (costs[i] >= 0 && (taken < 0 || costs[i] < costs[taken]))
            taken = i;
    return taken;
}

static bool is_possible(const struct host_call *call, size_t nodes, int algorithm, int protocol)
{
    const bool is_sum = call->collective == ABI_ALL_REDUCE;
    switch (algorithm) {
    case ABI_RING:
        return true;
    case ABI_TREE:
        return is_sum;
    case ABI_NVLS:
        return protocol == ABI_SIMPLE && nodes == 1 && call->collective >= ABI_ALL_GATHER;
    case ABI_NVLS_TREE:
        return protocol == ABI_SIMPLE && nodes > 1 && is_sum;
    default:
        return false;
    }
}

void tuner_host_costs(const struct host_call *call, size_t ranks, size_t nodes,
                      float out_costs[HOST_COSTS])
{
    static const double hop_us[ABI_PROTOCOLS] = {1, 1.9, 4.2}, share[ABI_PROTOCOLS] = {.25, .92, 1};
    for (int a = 0; a < ABI_ALGORITHMS; a++)
        for (int p = 0; p < ABI_PROTOCOLS; p++) {
            const double hops = a == ABI_RING ? (double)ranks : 4 + 2 * log2((double)nodes);
            const double rate = (a == ABI_RING ? 360e3 : 300e3) * share[p];
            out_costs[a * ABI_PROTOCOLS + p] =
                is_possible(call, nodes, a, p)
                    ? (float)(6 + hops * hop_us[p] + (double)call->bytes / rate)
                    : -1;
        }
}
