/** Bands of predicted times from their file. See nccl_bands.h. */
#include "ronde/nccl_bands.h"

#include "setting.h"
#include "words.h"

#include "ronde/data_files.h"

#include <math.h>

/** Upper bounds of the classes: latency, middle sizes, bandwidth that is approached; bandwidth that is reached lies above. */
static const uint64_t bounds[RONDE_NCCL_BAND_SIZES - 1] = {65536, 4194304, 134217728};

static const char *const kinds[RONDE_NCCL_BAND_KIND_COUNT] = {
#define RONDE_TEXT(name, text) text,
    RONDE_NCCL_BAND_KIND_LIST(RONDE_TEXT)
#undef RONDE_TEXT
};

unsigned ronde_nccl_band_size(uint64_t bytes)
{
    unsigned size = 0;
    while (size + 1 < RONDE_NCCL_BAND_SIZES && bytes > bounds[size])
        size++;
    return size;
}

const char *ronde_nccl_band_kind_text(enum ronde_nccl_band_kind kind)
{
    return kind < RONDE_NCCL_BAND_KIND_COUNT ? kinds[kind] : "?";
}

enum ronde_nccl_band_kind ronde_nccl_band_kind_of(const struct ronde_nccl_machine *machine,
                                                  const struct ronde_nccl_call *call)
{
    const struct ronde_nccl_joined joined = ronde_nccl_join(machine, call);
    const uint32_t g = joined.call.nodes > 0 ? joined.call.ranks / joined.call.nodes : 0;
    if (joined.call.nodes <= 1)
        return ronde_nccl_has_nvlink(&joined.machine, g) ? RONDE_NCCL_BAND_NVLINK
                                                         : RONDE_NCCL_BAND_PCIE;
    switch (machine->fabric) {
    case RONDE_NCCL_INFINIBAND:
    case RONDE_NCCL_ROCE:
        return RONDE_NCCL_BAND_VERBS;
    case RONDE_NCCL_SLINGSHOT:
    case RONDE_NCCL_EFA:
        return RONDE_NCCL_BAND_LIBFABRIC;
    default:
        return RONDE_NCCL_BAND_SOCKETS;
    }
}

struct ronde_nccl_band ronde_nccl_band_of(const struct ronde_nccl_bands *bands,
                                          const struct ronde_nccl_machine *machine,
                                          const struct ronde_nccl_call *call)
{
    return bands->at[ronde_nccl_band_kind_of(machine, call)][ronde_nccl_band_size(call->bytes)];
}

/**
 * Logarithmic width of a band that is left by class of sizes once a machine is anchored: of left-out systems' other rows, inside the
 * same place, what holds 80 % of |log(measured / predicted)| goes from .20 to .16 and from .18 to .13. Measured once with the residuals
 * of `validate --fit anchored`, which does not print it.
 */
static const double anchored_share[RONDE_NCCL_BAND_SIZES] = {1, 1, .78, .73};

void ronde_nccl_bands_anchor(struct ronde_nccl_bands *bands, bool is_several)
{
    for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
        for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++) {
            struct ronde_nccl_band *band = &bands->at[k][s];
            if ((k >= RONDE_NCCL_BAND_VERBS) != is_several)
                continue;
            band->low = pow(band->low, anchored_share[s]);
            band->high = pow(band->high, anchored_share[s]);
        }
}

/** "KIND SIZE LOW HIGH SYSTEMS". */
static enum ronde_status take(void *self, const struct ronde_nccl_words *words,
                              struct ronde_error *error)
{
    struct ronde_nccl_bands *to = self;
    struct ronde_nccl_band band = {0, 0};
    uint32_t kind = 0;
    double size = 0, systems = 0;
    if (words->count != 5)
        return ronde_nccl_words_refuse(words, error, "is to be KIND SIZE LOW HIGH SYSTEMS");
    RONDE_TRY(ronde_nccl_words_name(words, 0, kinds, RONDE_NCCL_BAND_KIND_COUNT, &kind, error));
    RONDE_TRY(ronde_nccl_words_number(words, 1, 0, RONDE_NCCL_BAND_SIZES - 1, &size, error));
    RONDE_TRY(ronde_nccl_words_number(words, 2, .01, 1, &band.low, error));
    RONDE_TRY(ronde_nccl_words_number(words, 3, 1, 100, &band.high, error));
    RONDE_TRY(ronde_nccl_words_number(words, 4, 0, 1e4, &systems, error));
    to->at[kind][(unsigned)size] = band;
    to->systems[kind][(unsigned)size] = (uint32_t)systems;
    return RONDE_OK;
}

enum ronde_status ronde_nccl_bands_read(const char *folder, struct ronde_nccl_bands *out,
                                        struct ronde_error *error)
{
    char path[RONDE_PATH_BYTES];
    *out = (struct ronde_nccl_bands){0};
    RONDE_TRY(ronde_nccl_shipped_file(folder, "bands", path, error));
    RONDE_TRY(ronde_nccl_words_read(path, take, out, error));
    for (unsigned k = 0; k < RONDE_NCCL_BAND_KIND_COUNT; k++)
        for (unsigned s = 0; s < RONDE_NCCL_BAND_SIZES; s++)
            if (!(out->at[k][s].low > 0))
                return ronde_fail(error, RONDE_BAD_INPUT, "%s: no line says %s %u", path, kinds[k],
                                  s);
    return RONDE_OK;
}
