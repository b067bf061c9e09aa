/* Which kernels there are, and which this processor runs. See kernels.h. */
#include "engine/execute/kernels.h"

#include <stddef.h>

/* Whether the processor, and the system that keeps its registers, has some instructions. */
#if defined(__x86_64__) && defined(__GNUC__)
#define HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define HAS(feature) false
#endif

static const char *const texts[] = {RONDE_LEVEL_LIST(RONDE_LIST_TEXT)};

const char *ronde_level_text(enum ronde_level level)
{
    return (uint32_t)level < RONDE_LEVEL_COUNT ? texts[level] : "?";
}

/* The kernels of a level as far as they were compiled. */
static const struct ronde_kernel_set *set_of(enum ronde_level level)
{
    static const struct ronde_kernel_set *(*const sets[RONDE_LEVEL_COUNT])(
        void) = {[RONDE_LEVEL_PLAIN] = ronde_kernels_plain,
                 [RONDE_LEVEL_AVX2] = ronde_kernels_avx2,
                 [RONDE_LEVEL_AVX512] = ronde_kernels_avx512};
    return (uint32_t)level < RONDE_LEVEL_COUNT && sets[level] ? sets[level]() : NULL;
}

/* Whether the processor has a level's instructions. Every one with AVX2 has F16C, which compilers cannot ask for. */
static bool runs(enum ronde_level level)
{
    if (level == RONDE_LEVEL_AVX2)
        return HAS("avx2");
    if (level == RONDE_LEVEL_AVX512)
        return HAS("avx512f") && HAS("avx512bw") && HAS("avx512vl") && HAS("avx512dq");
    return level == RONDE_LEVEL_PLAIN;
}

enum ronde_level ronde_level_widest(void)
{
    uint32_t level = RONDE_LEVEL_COUNT - 1;
    while (level > RONDE_LEVEL_PLAIN && !ronde_level_is_here((enum ronde_level)level))
        level--;
    return (enum ronde_level)level;
}

bool ronde_level_is_here(enum ronde_level level)
{
    return level == RONDE_LEVEL_WIDEST || (set_of(level) && runs(level));
}

struct ronde_kernels ronde_kernels_find(enum ronde_level level, enum ronde_dtype dtype,
                                        enum ronde_op op)
{
    const struct ronde_kernel_set *set =
        set_of(level == RONDE_LEVEL_WIDEST ? ronde_level_widest() : level);
    struct ronde_kernels kernels = set->others[dtype];
    kernels.combine = set->combine[dtype][op];
    return kernels;
}
