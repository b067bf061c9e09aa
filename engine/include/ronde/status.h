/**
 * Status codes and the caller-supplied error record.
 *
 * A code is for the program, the message for the user. Messages are lower case, name the place, the
 * value and the bound, and end without a full stop.
 */
#ifndef RONDE_STATUS_H
#define RONDE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define RONDE_API
#else
#define RONDE_API __attribute__((visibility("default")))
#endif
/* What stands before small functions that schedules are read with: a CUDA program may call them on the device too. */
#if defined(__CUDACC__)
#define RONDE_INLINE static __host__ __device__ __forceinline__
#else
#define RONDE_INLINE static inline
#endif
#define RONDE_MUST_CHECK __attribute__((warn_unused_result))
#define RONDE_FORMAT(string, first) __attribute__((format(printf, string, first)))

/** Of a list's rows of two columns, enumerator and text, the text: RONDE_X_LIST(RONDE_LIST_TEXT) fills a table of texts. */
#define RONDE_LIST_TEXT(name, text) text,

/** One row per status: enumerator suffix and the word that is printed. */
#define RONDE_STATUS_LIST(X)                                                                       \
    X(OK, "ok")                                                                                    \
    X(NO_MEMORY, "no memory")                                                                      \
    X(BAD_ARGUMENT, "bad argument")                                                                \
    X(BAD_INPUT, "bad input")                                                                      \
    X(REJECTED, "rejected")                                                                        \
    X(UNSUPPORTED, "unsupported")                                                                  \
    X(UNAVAILABLE, "unavailable")                                                                  \
    X(DEVICE, "device")                                                                            \
    X(IO, "io")                                                                                    \
    X(TIMEOUT, "timeout")                                                                          \
    X(CANCELLED, "cancelled")

/** What a function that can fail returns. */
enum ronde_status {
#define RONDE_STATUS_ENUMERATOR(name, text) RONDE_##name,
    RONDE_STATUS_LIST(RONDE_STATUS_ENUMERATOR)
#undef RONDE_STATUS_ENUMERATOR
};

/** Bytes of an error message, the terminating zero included. */
#define RONDE_ERROR_MESSAGE_BYTES 512

/** Filled in by a function that fails; owned by the caller. Start from a zeroed struct: the first writer wins. */
struct ronde_error {
    enum ronde_status status; /**< RONDE_OK until something failed */
    uint32_t line;            /**< line of the input file the message is about, 0 if none */
    char message[RONDE_ERROR_MESSAGE_BYTES]; /**< one line, lower case, no full stop; begins "path:line: " for files */
};

/**
 * Records a failure and returns its status, so that callers write `return ronde_fail(error, RONDE_..., "...")`.
 *
 * error may be NULL. A record that already holds a failure is left alone (the first writer wins).
 */
RONDE_API enum ronde_status ronde_fail(struct ronde_error *error, enum ronde_status status,
                                       const char *format, ...) RONDE_FORMAT(3, 4);

/** Does `call`, and returns what it came to from the function around it unless that is RONDE_OK; where nothing is to be undone. */
#define RONDE_TRY(call)                                                                            \
    do {                                                                                           \
        const enum ronde_status ronde_tried = (call);                                              \
        if (ronde_tried != RONDE_OK)                                                               \
            return ronde_tried;                                                                    \
    } while (0)

/** Does `call`, and sets `status` to what it came to, unless something has failed before; what is to be undone follows. */
#define RONDE_THEN(status, call)                                                                   \
    do {                                                                                           \
        if ((status) == RONDE_OK)                                                                  \
            (status) = (call);                                                                     \
    } while (0)

/** As ronde_fail, with the line of the input file the message is about. */
RONDE_API enum ronde_status ronde_fail_at(struct ronde_error *error, enum ronde_status status,
                                          uint32_t line, const char *format, ...) RONDE_FORMAT(4, 5);

/** The printed word of a status; never NULL. */
RONDE_API const char *ronde_status_text(enum ronde_status status);

#ifdef __cplusplus
}
#endif
#endif
