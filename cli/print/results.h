/**
 * What commands print of their results, for people and for programs.
 */
#ifndef RONDE_CLI_PRINT_RESULTS_H
#define RONDE_CLI_PRINT_RESULTS_H

#include "cli/options/options.h"
#include "lab/validate/compare.h"
#include "predict/scenario/co_run.h"
#include "printer.h"

#include "ronde/bound.h"
#include "ronde/builder.h"
#include "ronde/calibrate.h"
#include "ronde/doctor.h"
#include "ronde/explain.h"
#include "ronde/field.h"
#include "ronde/msccl.h"
#include "ronde/plan.h"
#include "ronde/published.h"
#include "ronde/score.h"
#include "ronde/workload_sim.h"

/* A prediction as people and programs see it: a row with what explains it below, a record with more fields,
 * pictures. */

/** One size predicted, with all that is known of it. Zeroes beside the record are allowed. */
struct ronde_result_view {
    struct ronde_record record;     /**< the result */
    struct ronde_sim_result result; /**< what the engine says; zeroes where nothing was replayed */
    struct ronde_kept kept;         /**< the replay itself */
    bool is_kept;                   /**< kept holds it */
    bool says_why;                  /**< an explanation was asked for */
    const struct ronde_co_run *co_run;     /**< the scenario, or NULL */
    const struct ronde_bound_share *share; /**< the bound it is compared with, or NULL */
};

/** Prints the header of the table. */
void ronde_view_head(const struct ronde_sink *sink);

/** Prints a view into the sink, whatever its format. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_view_print(const struct ronde_result_view *view,
                                                    struct ronde_sink *sink,
                                                    struct ronde_error *error);

/** Writes the trace and the timeline the options ask for; notes what they do not show. Errors: IO; DEVICE; NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_view_draw(const struct ronde_result_view *view,
                                                   const struct ronde_views_options *views,
                                                   struct ronde_error *error);

/** Says what the last view says in a page, and draws it there; nothing for NULL. Errors: those of ronde_html_draw. */
RONDE_MUST_CHECK enum ronde_status
ronde_view_page(struct ronde_result_view *view, struct ronde_html *html, struct ronde_error *error);

/* What share of the bound a predicted time reaches: the least time that any schedule could take, over the time. */

/** Ranks up to which shares are found: the routes of all pairs must be known, which beyond takes longer than a replay. */
#define RONDE_BOUND_SHARE_RANKS 1024u

/** The bound of what is predicted, where it is known. */
struct ronde_bound_share {
    bool is_known;            /**< bound holds */
    struct ronde_bound bound; /**< of the collective on the machine */
};

/** Whether a bound, which is of the first hosts, is of ranks on others (NULL: on those): in another order where no rank is special. */
bool ronde_bound_is_of(const struct ronde_compile_request *request, const uint32_t *host_of);

/**
 * Finds the bound of a request. Not known: a machine without links, more ranks than RONDE_BOUND_SHARE_RANKS, hosts that it is
 * not of, a barrier.
 */
struct ronde_bound_share ronde_bound_share_find(const struct ronde_platform *platform,
                                                const struct ronde_compile_request *request,
                                                const uint32_t *host_of);

/** The share, 1 = no schedule is faster; NAN where the bound is not known. `bytes`: of the size column. */
double ronde_bound_share_of(const struct ronde_bound_share *share, uint64_t bytes, double time_ns);

/* A plan, printed: a row a size with its winner, by how much it wins and why. */

/* A comparison as people and programs see it: rows as points are done, then what the filled grid says in words. */

/** Where points go. */
struct ronde_comparison_printer {
    struct ronde_sink *sink;    /**< a row each, or records */
    struct ronde_sink *records; /**< records beside what is printed, or NULL */
};

/** Runs a comparison, printing each row (or its records) as it is done. Errors: as ronde_comparison_run and ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_comparison_show(struct ronde_comparison *comparison,
                                                         struct ronde_comparison_printer *printer,
                                                         struct ronde_error *error);

/** Prints errors, winners and crossovers of a filled grid. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_summary_print(const struct ronde_validation *grid,
                                                       FILE *file, struct ronde_error *error);

/** The part of that without crossovers: errors and scores. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_summary_errors(const struct ronde_validation *grid,
                                                        FILE *file, struct ronde_error *error);

/** Points that something disturbed, by their spread; out_is_busy: so many that something else was using the machine. */
size_t ronde_disturbed_points(const struct ronde_validation *grid, bool *out_is_busy);

/** Prints one paragraph: how far off, and what dominates. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_paragraph_print(const struct ronde_comparison *comparison,
                                                         FILE *file, struct ronde_error *error);

/* Scores of a filled grid, for people and for programs. */

/**
 * Writes the scores as JSON: for each source a row per pair, then the sum. Nothing for a table, nor as CSV, whose columns are
 * those of records. Errors: as ronde_sink_row.
 */
RONDE_MUST_CHECK enum ronde_status ronde_score_rows(const struct ronde_validation *validation,
                                                    struct ronde_sink *sink,
                                                    struct ronde_error *error);

/* What ronde validate --published prints: records, tables and what documents show of them. */

/** How a mode calls itself. */
struct ronde_published_mode {
    const char *name;  /**< as typed */
    const char *title; /**< as printed */
    const char *says;  /**< what a prediction has seen */
};

/** Where to print, and how. */
struct ronde_published_view {
    struct ronde_sink *sink;
    const struct ronde_published *published;
    const struct ronde_published_mode *mode;
    const struct ronde_nccl_bands *bands;
    const char *path; /**< of the table or log */
};

/** What stands above the scores of a mode. */
void ronde_published_print_head(const struct ronde_published_view *view);

/** The score of a system. Errors: as ronde_sink_print. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_score(const struct ronde_published_view *view, const char *name,
                            const struct ronde_published_score *score, struct ronde_error *error);

/** What the scores of so many systems come to: medians over them, by size beside NCCL's formula; nothing for fewer than three. */
void ronde_published_print_summary(const struct ronde_published_view *view, const char *lead,
                                   const struct ronde_published_score *scores, uint32_t count);

/** Every row of a system as a record. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_rows(const struct ronde_published_view *view, uint32_t system,
                           struct ronde_error *error);

/** Every row that was refused as a record: its line, and why. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_refused(const struct ronde_published_view *view, struct ronde_error *error);

/** Rows that are not predicted and words that are not understood, by reason; nothing where there are none. */
void ronde_published_print_whys(const struct ronde_published_view *view);

/** Where the fastest algorithm changes with the size, by system; nothing where no system has two. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_crossovers(const struct ronde_published_view *view, struct ronde_error *error);

/** The ten rows that are furthest off, whatever they are. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_worst(const struct ronde_published_view *view, struct ronde_error *error);

/* What ronde doctor prints. */

/** What was diagnosed, and where it goes. */
struct ronde_doctor_view {
    struct ronde_sink *sink;
    const struct ronde_published *published;
    const struct ronde_doctor_spread *spread;
    const struct ronde_nccl_bands *bands;
    const char *path;    /**< of the log or table; of several, what they are called */
    bool is_joint;       /**< several */
    bool is_faulty;      /**< of the rows that are marked so */
    const char *trouble; /**< what the log says is wrong, whatever the times are; NULL = nothing */
    const char *trouble_path; /**< in which of them */
    uint32_t trouble_line;    /**< where */
};

/** What the log says of itself that no numbers are needed for; sets the view's trouble. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_doctor_print_log(struct ronde_doctor_view *view,
                                                          struct ronde_error *error);

/**
 * Sizes, verdict, causes and how sure all that is; with diagnosis NULL the verdict alone, which the trouble is then. Errors:
 * as ronde_sink_row.
 */
RONDE_MUST_CHECK enum ronde_status ronde_doctor_print(const struct ronde_doctor_view *view,
                                                      const struct ronde_diagnosis *diagnosis,
                                                      struct ronde_error *error);

/** Every size measured and expected, with the band of the model's own error, into the page of the sink if it has one. */
void ronde_doctor_page_rows(const struct ronde_doctor_view *view,
                            const struct ronde_doctor_request *request);

/* What ronde explain prints. */

/** What was found, and where it goes. */
struct ronde_explain_view {
    struct ronde_sink *sink;
    const struct ronde_traces *traces;
    const struct ronde_explanation *found;
    const struct ronde_nccl_machine *machine;     /**< NULL: none was given */
    const struct ronde_nccl_constants *constants; /**< of its model */
    const struct ronde_diagnosis *diagnosis;      /**< of all rows together; NULL: none */
};

/** What all of its calls take beyond what is expected; 0 where that is within what the model of the machine can be off by. */
static inline double ronde_explain_excess_us(const struct ronde_explain_row *row)
{
    const bool is_slow =
        row->expected_us > 0 && row->time_us > row->expected_high_us && !row->is_bound;
    return is_slow ? (row->time_us - row->expected_us) * (double)row->calls : 0;
}

/** The job, rows, and what to do. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_explain_print(const struct ronde_explain_view *view,
                                                       struct ronde_error *error);

/* A replayed step as a table, and as rows. */

/** What was replayed, where, and what came out. */
struct ronde_workload_report {
    const char *path;                           /**< of the workload */
    const struct ronde_workload *workload;      /**< itself */
    const struct ronde_platform *platform;      /**< where */
    const struct ronde_workload_result *result; /**< what came out */
    bool has_alternatives;                      /**< other algorithms were tried */
    bool is_nccl;                               /**< calls take what NCCL's model says */
    const char *algorithm;                      /**< of calls that name none; NULL = the fastest */
};

/**
 * Writes what --trace (for Perfetto or chrome://tracing), --timeline and --plot (NULL: none) ask for. Errors: IO;
 * DEVICE; NO_MEMORY; UNAVAILABLE.
 */
RONDE_MUST_CHECK enum ronde_status ronde_workload_draw(const struct ronde_workload_report *report,
                                                       const struct ronde_views_options *views,
                                                       const char *plot_path,
                                                       struct ronde_error *error);

/** Prints it. Errors: those of ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_workload_print(const struct ronde_workload_report *report,
                                                        struct ronde_sink *sink,
                                                        struct ronde_error *error);

/* What `ronde check` reports of a proof, in the user's units. */

/** A verdict on one schedule. */
struct ronde_account {
    bool ok;       /**< proved */
    bool is_known; /**< the following three are known (an unreadable file says nothing) */
    enum ronde_collective collective; /**< what it claims to compute */
    const char *algorithm;            /**< its name */
    uint32_t ranks;                   /**< N */
    uint64_t steps;                   /**< of all ranks and channels */
    uint64_t messages;                /**< of all ranks and channels */
    double sent_max;                  /**< blocks the busiest rank sends, all channels together */
    double sent_bound;                /**< blocks some rank must send whatever the algorithm */
    double received_max;   /**< blocks the busiest rank receives, all channels together */
    double received_bound; /**< blocks it must receive at least, see ronde_received_bound */
    const char *v_form;    /**< what it asks of blocks of different lengths; NULL when rejected */
    const struct ronde_proof *proof;       /**< the rest */
    const struct ronde_msccl_facts *msccl; /**< what an MSCCL file says beside its schedule, or NULL */
};

/** Fields of a printed account. */
#define RONDE_PROOF_REPORT_FIELDS 24u
/** Fields of a printed finding. */
#define RONDE_FINDING_FIELDS 6u

/** Room for a printed account. */
struct ronde_proof_report_row {
    struct ronde_field fields[RONDE_PROOF_REPORT_FIELDS]; /**< in the fixed order */
    struct ronde_field findings[RONDE_MAX_FINDINGS][RONDE_FINDING_FIELDS]; /**< of `errors` */
    struct ronde_row errors[RONDE_MAX_FINDINGS];                           /**< of `errors` */
    struct ronde_row row;                                                  /**< the whole */
};

/** Account of a proved schedule. `proof` may differ from the schedule's own (the expansion's). */
struct ronde_account ronde_proof_report_of(const struct ronde_schedule *schedule,
                                           const struct ronde_proof *proof);

/** Adds what is known of an MSCCL file, which says what it is even where it is rejected; facts of another are left out. */
void ronde_proof_report_add_msccl(struct ronde_account *account,
                                  const struct ronde_msccl_facts *facts);

/**
 * Account of a schedule that was rejected, and so never made: only the request and the proof can
 * speak. Without a request (a file) nothing is known but the proof.
 */
struct ronde_account ronde_proof_report_rejected(const struct ronde_compile_request *request,
                                                 const struct ronde_proof *proof);

/** Lays an account out as a row; *out points into itself and into the account. */
void ronde_proof_report_layout(const struct ronde_account *account,
                               struct ronde_proof_report_row *out);

/* ronde run as nccl-tests prints it: --style nccl-tests, -g, -t, and the named front ends. */

/** Whether the options ask for nccl-tests' table. Errors: BAD_ARGUMENT for another style. */
RONDE_MUST_CHECK enum ronde_status ronde_run_is_nccl_tests(const struct ronde_options *options,
                                                           bool *out_is, struct ronde_error *error);

/** nccl-tests' name of the program that measures a collective, e.g. "alltoall_perf"; NULL where it has none. */
const char *ronde_nccl_tests_program(enum ronde_collective collective);

/* What a calibration has found, for people. */

/** Notes on stderr which constants vary so much that they say little. */
void ronde_calibration_warn(const struct ronde_calibration_report *report);

/** Prints the constants. Errors: as ronde_sink_print. */
RONDE_MUST_CHECK enum ronde_status
ronde_calibration_print(const struct ronde_calibration_report *report, struct ronde_sink *sink,
                        struct ronde_error *error);

#endif
