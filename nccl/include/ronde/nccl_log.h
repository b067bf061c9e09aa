/**
 * What an nccl-tests log says beside its numbers: who took part, what NCCL was told, which ways it took, what went wrong.
 *
 * Read are the text that nccl-tests 1 to 2.20 and rccl-tests print, with whatever a launcher puts before a line and NCCL's
 * own output (NCCL_DEBUG=INFO) between, and the JSON of -J. Several runs may follow each other. ronde_published_open reads
 * both, giving the rows a CSV table gives.
 */
#ifndef RONDE_NCCL_LOG_H
#define RONDE_NCCL_LOG_H

#include "ronde/collective.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ways between two ranks, as NCCL's log names them: enumerator, text in the log, what it is. */
#define RONDE_LOG_VIA_LIST(X)                                                                      \
    X(GDR, "/GDRDMA", "network, straight into GPU memory (GPUDirect RDMA)")                        \
    X(SOCKET, "via NET/Socket", "TCP sockets")                                                     \
    X(NET, "via NET/", "network through host memory")                                              \
    X(SHM, "via SHM", "host memory (SHM)")                                                         \
    X(P2P, "via P2P", "GPU to GPU (P2P)")

enum ronde_log_via {
#define RONDE_ENUMERATOR(name, text, what) RONDE_LOG_VIA_##name,
    RONDE_LOG_VIA_LIST(RONDE_ENUMERATOR)
#undef RONDE_ENUMERATOR
        RONDE_LOG_VIA_COUNT /**< how many */
};

/** Who said which collective a log is of. */
enum ronde_log_told {
    RONDE_LOG_TOLD_TEST,      /**< nccl-tests itself, or its command line */
    RONDE_LOG_TOLD_CALLER,    /**< the request */
    RONDE_LOG_TOLD_FILE_NAME, /**< the name of the file */
    RONDE_LOG_TOLD_RATES,     /**< busbw over algbw, operator and root */
    RONDE_LOG_TOLD_COUNT      /**< how many */
};

/** Room for what is quoted. */
#define RONDE_LOG_TEXT_BYTES 160u

/** A log's facts; zeroes of a table. */
struct ronde_log_facts {
    bool is_log;              /**< text or JSON of nccl-tests */
    enum ronde_log_told told; /**< of the last run */
    uint32_t separate_line; /**< ranks 0 of several jobs from here on: built without MPI=1; 0 = no */
    uint32_t failure_line;  /**< "Test NCCL failure" and the like; 0 = none */
    uint32_t unfinished_line; /**< a row without times that no line completes; 0 = none */
    uint32_t unread_line; /**< first line on a row or a rank that cannot be read, or in part; 0 = none */
    uint32_t unread_count;              /**< how many */
    char unread[RONDE_LOG_TEXT_BYTES];  /**< what is wrong with it */
    uint32_t wrong_line;                /**< first row or footer with wrong results; 0 = none */
    uint32_t via[RONDE_LOG_VIA_COUNT];  /**< connections by way */
    char failure[RONDE_LOG_TEXT_BYTES]; /**< that line */
    char gpu[RONDE_LOG_TEXT_BYTES];     /**< model of rank 0's GPU; "" = not said */
    char settings[512]; /**< NCCL_* variables that were set: "NCCL_P2P_DISABLE=1 ..." */
};

/** Adds what another log of the same machine says: ways and settings. Of what both say the first is kept. */
RONDE_API void ronde_log_facts_join(struct ronde_log_facts *to, const struct ronde_log_facts *from);

/** The value of a variable among the settings; NULL where it is not set. `bytes` of out_value are written at most. */
RONDE_API const char *ronde_log_setting(const struct ronde_log_facts *facts, const char *variable,
                                        char *out_value, uint32_t bytes);

/** What a way is. */
RONDE_API const char *ronde_log_via_text(enum ronde_log_via via);

#ifdef __cplusplus
}
#endif
#endif
