/**
 * How sure the model of nccl_model.h is: of machines that no constant was fitted to, four of five times lie in a band around what is
 * predicted. By what joins the ranks and by size; nccl/model/constants/bands.txt, from predictions of published systems that were
 * left out of the fit (`ronde validate --published F.csv --fit bands`).
 */
#ifndef RONDE_NCCL_BANDS_H
#define RONDE_NCCL_BANDS_H

#include "ronde/nccl_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What joins the ranks of a call: enumerator, name in the file. */
#define RONDE_NCCL_BAND_KIND_LIST(X)                                                               \
    X(NVLINK, "nvlink")       /* one node, or rack: NVLink to all */                               \
    X(PCIE, "pcie")           /* one node: PCIe, or bridged pairs */                               \
    X(VERBS, "verbs")         /* several: InfiniBand, RoCE */                                      \
    X(LIBFABRIC, "libfabric") /* Slingshot, EFA */                                                 \
    X(SOCKETS, "sockets")     /* TCP, and Google's */

enum ronde_nccl_band_kind {
#define RONDE_ENUMERATOR(name, text) RONDE_NCCL_BAND_##name,
    RONDE_NCCL_BAND_KIND_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_NCCL_BAND_KIND_COUNT /**< how many */
};

/** Classes of sizes: to 64 KiB, 4 MiB, 128 MiB, and above. */
#define RONDE_NCCL_BAND_SIZES 4u

/** Factors of a predicted time. */
struct ronde_nccl_band {
    double low, high;
};

/** All bands. */
struct ronde_nccl_bands {
    struct ronde_nccl_band at[RONDE_NCCL_BAND_KIND_COUNT][RONDE_NCCL_BAND_SIZES];
    uint32_t systems[RONDE_NCCL_BAND_KIND_COUNT][RONDE_NCCL_BAND_SIZES]; /**< that each stands on */
};

/** Reads bands.txt of a folder; NULL is the shipped one, beside the constants. Errors: IO, BAD_INPUT with the line. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_nccl_bands_read(const char *folder, struct ronde_nccl_bands *out, struct ronde_error *error);

/** The band of a call. */
RONDE_API struct ronde_nccl_band ronde_nccl_band_of(const struct ronde_nccl_bands *bands,
                                                    const struct ronde_nccl_machine *machine,
                                                    const struct ronde_nccl_call *call);

/**
 * Narrows the bands of calls inside a node, or those between nodes, of a machine whose own measurements there the constants were
 * fitted to (ronde_published_fit_system): from 4 MiB on, below which such a fit does not help.
 */
RONDE_API void ronde_nccl_bands_anchor(struct ronde_nccl_bands *bands, bool is_several);

/** What joins its ranks. */
RONDE_API enum ronde_nccl_band_kind ronde_nccl_band_kind_of(const struct ronde_nccl_machine *machine,
                                                            const struct ronde_nccl_call *call);

/** The class of a size. */
RONDE_API unsigned ronde_nccl_band_size(uint64_t bytes);

/** A kind's name in the file. */
RONDE_API const char *ronde_nccl_band_kind_text(enum ronde_nccl_band_kind kind);

#ifdef __cplusplus
}
#endif
#endif
