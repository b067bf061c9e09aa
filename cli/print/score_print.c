/* Scores as comment lines under a table, and as JSON rows. */
#include "score_print.h"

void ronde_score_print(const struct ronde_validation *validation, FILE *file)
{
    if (validation->algorithm_count < 2)
        return;
    fprintf(file, "# score, all pairs of algorithms\n");
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++) {
        if (!ronde_validation_has(validation, (enum ronde_source)source))
            continue;
        const struct ronde_score score = ronde_score_all(validation, (enum ronde_source)source);
        fprintf(file,
                "#   %-11s  same winner at %zu of %zu decided sizes; crossovers within a factor of "
                "%.1f: %zu of %zu\n",
                ronde_source_text((enum ronde_source)source), score.winners.agreed,
                score.winners.decided, RONDE_CLOSE_FACTOR, score.close, score.crossings);
    }
}

/* A size or a factor that may be missing. */
static struct ronde_field present(const char *name, double value)
{
    return value > 0.0 ? ronde_field_real(name, value) : ronde_field_null(name);
}

/* One score, of a pair or a sum, which has neither ranks nor names. */
struct entry {
    enum ronde_source source;
    uint32_t ranks; /* 0 = a sum */
    const char *first, *second;
    struct ronde_score score;
};

static enum ronde_status print_entry(const struct ronde_validation *validation,
                                     const struct entry *entry, struct ronde_sink *sink,
                                     struct ronde_error *error)
{
    const struct ronde_score *score = &entry->score;
    const struct ronde_field fields[] = {
        ronde_field_text("kind", "score"),
        ronde_field_text("source", ronde_source_text(entry->source)),
        ronde_field_text("collective", ronde_collective_text(validation->collective)),
        entry->ranks ? ronde_field_integer("ranks", entry->ranks) : ronde_field_null("ranks"),
        ronde_field_text("first", entry->first),
        ronde_field_text("second", entry->second),
        ronde_field_integer("winners_decided", score->winners.decided),
        ronde_field_integer("winners_agreed", score->winners.agreed),
        ronde_field_integer("crossovers", score->crossings),
        ronde_field_integer("crossovers_close", score->close),
        present("crossover_measured_bytes", score->first.measured_bytes),
        present("crossover_predicted_bytes", score->first.predicted_bytes),
        present("crossover_factor", score->first.factor),
    };
    const struct ronde_row row = {fields, sizeof fields / sizeof fields[0]};
    return ronde_sink_row(sink, &row, error);
}

/* All pairs at all numbers of ranks, then their sum. */
static enum ronde_status print_source(const struct ronde_validation *validation,
                                      enum ronde_source source, struct ronde_sink *sink,
                                      struct ronde_error *error)
{
    const struct entry sum = {.source = source, .score = ronde_score_all(validation, source)};
    enum ronde_status status = RONDE_OK;
    for (uint32_t r = 0; r < validation->rank_counts; r++)
        for (uint32_t a = 0; a < validation->algorithm_count; a++)
            for (uint32_t b = a + 1; status == RONDE_OK && b < validation->algorithm_count; b++) {
                const uint32_t pair[2] = {a, b};
                const struct entry one = {source, validation->ranks[r], validation->algorithms[a],
                                          validation->algorithms[b],
                                          ronde_score_pair(validation, source, r, pair)};
                status = print_entry(validation, &one, sink, error);
            }
    return status == RONDE_OK ? print_entry(validation, &sum, sink, error) : status;
}

enum ronde_status ronde_score_rows(const struct ronde_validation *validation,
                                   struct ronde_sink *sink, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (!sink->json || validation->algorithm_count < 2)
        return RONDE_OK;
    for (uint32_t source = RONDE_SOURCE_MEASURED + 1; source < RONDE_SOURCE_COUNT; source++)
        if (status == RONDE_OK && ronde_validation_has(validation, (enum ronde_source)source))
            status = print_source(validation, (enum ronde_source)source, sink, error);
    return status;
}
